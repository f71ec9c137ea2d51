//! Validation of rule objects: one with a mistake is refused, with everything that is wrong with it.
//!
//! A rule with a mistake that is already stored can still be deleted, labelled and given a status, so that it can be
//! repaired or removed.

mod checked;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_cluster::DiscoveredResources;
use kubewright_engine::{BackgroundProgram, Diagnostic, FieldError, ResourceAccess, invalid_object_message};
use kubewright_golib::compile_budget::CompileBudget;
use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Document, Map, Text, Value};

use crate::Snapshot;
use crate::access::{AccessScope, exactly_named};
use crate::review::AdmissionResponse;

pub(crate) use checked::CheckedRuleObject;

/// How long a warning may be; the API server cuts what is longer.
const MAX_RULE_WARNING_CHARACTERS: usize = 256;

/// Returns the response to `request`, the request of an AdmissionReview about a rule object.
#[must_use]
pub fn validate_rule_object(snapshot: &Snapshot, served: &ServedKinds, request: &Value) -> AdmissionResponse {
    check_rule_object(snapshot, served, request).response
}

/// Returns the response to `request`, and what the rules of its object do in the background.
pub(crate) fn check_rule_object(
    snapshot: &Snapshot,
    served: &ServedKinds,
    request: &Value,
) -> CheckedRuleObject {
    let checking = RuleObjectCheck { snapshot, served };
    let Some((object, findings)) = rule_object_findings(&checking, request) else {
        return CheckedRuleObject::allowed();
    };
    let response = match findings.errors.as_slice() {
        [] => AdmissionResponse::allowed(),
        errors => invalid_response(&object, errors),
    };
    let warnings = findings.warnings.iter().map(rule_warning);
    let response = AdmissionResponse { warnings: warnings.collect(), ..response };
    let background = match response.is_allowed {
        true => with_accesses(served, &object, findings.background),
        false => Vec::new(),
    };
    CheckedRuleObject { response, object, background }
}

/// Returns the programs of the rule object `object`, each with what it does.
fn with_accesses(
    served: &ServedKinds,
    object: &Value,
    programs: Vec<BackgroundProgram>,
) -> Vec<(BackgroundProgram, Vec<ResourceAccess>)> {
    let namespace = Text::from(object.str_at(&["metadata", "namespace"]));
    let resources = &served.resources;
    let scope = AccessScope {
        served: resources,
        named: &|rules| exactly_named(rules, resources),
        namespace: &namespace,
    };
    let with_access = |program: BackgroundProgram| {
        let accesses = scope.of_program(&program);
        (program, accesses)
    };
    programs.into_iter().map(with_access).collect()
}

fn rule_warning(warning: &FieldError) -> String {
    match &warning.upstream_words {
        Some(words) => shortened_warning(words),
        None => shortened_warning(&warning.to_string()),
    }
}

/// What rule objects are checked with.
struct RuleObjectCheck<'c> {
    snapshot: &'c Snapshot,
    served: &'c ServedKinds,
}

/// The kinds that there are, and whether a rule object named another.
#[derive(Debug, Default)]
pub struct ServedKinds {
    resources: Arc<DiscoveredResources>,
    is_missing: AtomicBool,
}

impl ServedKinds {
    /// Returns the kinds of `resources`.
    #[must_use]
    pub fn of(resources: Arc<DiscoveredResources>) -> Self {
        Self { resources, is_missing: AtomicBool::new(false) }
    }

    /// Returns whether a rule object named a kind that is not known, or not yet.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.is_missing.load(Ordering::Relaxed)
    }

    fn is_namespaced(&self, group: &str, kind: &str) -> Option<bool> {
        let found = self.resources.of_kind(group, kind);
        self.is_missing.fetch_or(found.is_none(), Ordering::Relaxed);
        found.map(|found| found.is_namespaced)
    }
}

/// What is wrong with a rule object.
#[derive(Debug, Default)]
struct RuleObjectFindings {
    errors: Vec<FieldError>,
    warnings: Vec<FieldError>,
    background: Vec<BackgroundProgram>,
}

/// Returns the rule object of `request` and what is wrong with it, or nothing where that does not matter.
fn rule_object_findings(
    checking: &RuleObjectCheck<'_>,
    request: &Value,
) -> Option<(Value, RuleObjectFindings)> {
    let text = |key: &str| request.str_at(&[key]);
    let operation = Operation::named(text("operation"))?;
    if !matches!(operation, Operation::Create | Operation::Update) || !text("subResource").is_empty() {
        return None;
    }
    let object = request.get("object").filter(|object| !object.is_null())?;
    if object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null()) {
        return None;
    }
    let object = with_request_name(object, text("namespace"), text("name"));
    let mut findings = compile_findings(checking, &object)?;
    let old = request.get("oldObject").filter(|old| !old.is_null());
    if let Some(old) = old.filter(|old| has_same_content(old, &object)) {
        // A policy can still be labelled after a right was taken away.
        findings.background.clear();
        let is_broken = !findings.errors.is_empty();
        if is_broken && compile_findings(checking, old).is_some_and(|before| !before.errors.is_empty()) {
            findings.warnings.append(&mut findings.errors);
        }
    }
    if let Some(old) = old {
        add_update_findings(checking.snapshot, old, &object, &mut findings);
    }
    Some((object, findings))
}

/// Adds what is wrong with replacing `old` by `object`.
fn add_update_findings(snapshot: &Snapshot, old: &Value, object: &Value, findings: &mut RuleObjectFindings) {
    let [old, document] = [old, object].map(|value| Document::written(value.clone(), "the object"));
    for found in snapshot.languages().flat_map(|language| language.update_problems(&old, &document)) {
        let list = if found.is_error() { &mut findings.errors } else { &mut findings.warnings };
        list.push(FieldError::of(&document, &found));
    }
}

/// Returns what is wrong with `object`, or nothing if it is neither a rule nor an exception.
fn compile_findings(checking: &RuleObjectCheck<'_>, object: &Value) -> Option<RuleObjectFindings> {
    let snapshot = checking.snapshot;
    let document = Document::written(object.clone(), "the object");
    let dialect = snapshot.dialects().find(|dialect| dialect.claims(&document));
    let budget = &mut CompileBudget::default();
    let compiled = dialect.map(|dialect| {
        let compiled = kubewright_dialects::compile_within_budget(dialect, &document, &[], budget);
        (compiled.diagnostics, compiled.background)
    });
    let mut stored: Vec<Diagnostic> =
        snapshot.languages().flat_map(|language| language.storing_problems(&document)).collect();
    let scopes = |group: &str, kind: &str| checking.served.is_namespaced(group, kind);
    stored.extend(snapshot.languages().flat_map(|language| language.scope_problems(&document, &scopes)));
    if compiled.is_none() && stored.is_empty() {
        return None;
    }
    let (compiled, background) = compiled.unwrap_or_default();
    let fault = |diagnostic: &Diagnostic| FieldError::of(&document, diagnostic);
    let doubtful = compiled.iter().chain(&stored).filter(|found| found.is_doubtful());
    let (errors, warnings): (Vec<_>, Vec<_>) = doubtful.partition(|found| found.is_error());
    Some(RuleObjectFindings {
        errors: errors.into_iter().map(fault).collect(),
        warnings: warnings.into_iter().map(fault).collect(),
        background,
    })
}

/// Returns `object` with the name and namespace that it will have.
fn with_request_name(object: &Value, namespace: &str, name: &str) -> Value {
    let mut object = object.clone();
    let Some(metadata) =
        object.as_object_mut().and_then(|root| root.get_mut("metadata")).and_then(Value::as_object_mut)
    else {
        return object;
    };
    // The API server makes a name from `generateName` only later.
    let made_up = metadata.get("generateName").and_then(Value::as_str).map(Text::new).unwrap_or_default();
    let name = if name.is_empty() { made_up } else { name.into() };
    for (key, text) in [("name", name), ("namespace", namespace.into())] {
        if !text.is_empty() && metadata.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
            metadata.insert(key.into(), text.into());
        }
    }
    object
}

/// Returns whether the two differ in nothing but metadata and status.
fn has_same_content(one: &Value, other: &Value) -> bool {
    let content = |object: &Value| {
        let mut object = object.clone();
        if let Some(root) = object.as_object_mut() {
            root.remove("metadata");
            root.remove("status");
        }
        object
    };
    content(one) == content(other)
}

/// Returns a refusal, in the form in which the API server reports an invalid object.
fn invalid_response(object: &Value, faults: &[FieldError]) -> AdmissionResponse {
    let GroupVersionKind { group, kind, .. } = GroupVersionKind::of(object);
    let name = object.at(&["metadata", "name"]).cloned().unwrap_or_default();
    let cause = |fault: &FieldError| {
        Value::from(Map::from([
            ("reason", "FieldValueInvalid".into()),
            // kubectl shows the causes in place of the message.
            ("message", FieldError { field: String::new(), ..fault.clone() }.to_string().into()),
            ("field", fault.field.as_str().into()),
        ]))
    };
    let causes = Value::array(faults.iter().map(cause).collect());
    let details =
        Map::from([("name", name), ("group", group.into()), ("kind", kind.into()), ("causes", causes)]);
    AdmissionResponse {
        reason: "Invalid".to_owned(),
        details: details.into(),
        ..AdmissionResponse::refused(422, invalid_object_message(object, faults))
    }
}

fn shortened_warning(warning: &str) -> String {
    match warning.char_indices().nth(MAX_RULE_WARNING_CHARACTERS - 1) {
        None => warning.to_owned(),
        Some((at, _)) => format!("{}…", warning.get(..at).unwrap_or_default()),
    }
}
