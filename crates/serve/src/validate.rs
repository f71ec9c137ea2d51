//! Rule objects that are about to be stored: one with a mistake is refused, and told everything that is wrong with it.
//!
//! What is stored already may stay: a rule with a mistake can be deleted, labelled, and given a status, because whoever
//! wants to mend or remove it must be able to.

use kubewright_engine::{Diagnostic, Fault, invalid};
use kubewright_golib::compile_budget::CompileBudget;
use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Document, Map, Text, Value};

use crate::Snapshot;

/// How long a warning may be; the API server cuts what is longer.
const MAX_WARNING: usize = 256;

/// Answers `request`, the request of an AdmissionReview about a rule object, with the response of that review.
#[must_use]
pub fn review(snapshot: &Snapshot, request: &Value) -> Value {
    let mut response = Map::from([("uid", request.get("uid").cloned().unwrap_or_default())]);
    let (object, findings) = match findings(snapshot, request) {
        Some(found) => found,
        None => (Value::Null, Findings::default()),
    };
    response.insert("allowed".into(), findings.errors.is_empty().into());
    if !findings.errors.is_empty() {
        response.insert("status".into(), status(&object, &findings.errors));
    }
    if !findings.warnings.is_empty() {
        let warnings = findings.warnings.iter().map(|warning| cut(&warning.to_string()).into());
        response.insert("warnings".into(), Value::array(warnings.collect()));
    }
    response.into()
}

/// What is wrong with a rule object.
#[derive(Debug, Default)]
struct Findings {
    errors: Vec<Fault>,
    warnings: Vec<Fault>,
}

/// Returns the rule object of `request` and what is wrong with it, or nothing where that does not matter.
fn findings(snapshot: &Snapshot, request: &Value) -> Option<(Value, Findings)> {
    let text = |key: &str| request.str_at(&[key]);
    let operation = Operation::named(text("operation"))?;
    if !matches!(operation, Operation::Create | Operation::Update) || !text("subResource").is_empty() {
        return None;
    }
    let object = request.get("object").filter(|object| !object.is_null())?;
    if object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null()) {
        return None;
    }
    let object = named(object, text("namespace"), text("name"));
    let mut findings = look(snapshot, &object)?;
    let old = request.get("oldObject").filter(|old| !old.is_null());
    if let Some(old) = old.filter(|old| !findings.errors.is_empty() && has_same_content(old, &object)) {
        let was_broken = look(snapshot, old).is_some_and(|before| !before.errors.is_empty());
        if was_broken {
            findings.warnings.append(&mut findings.errors);
        }
    }
    Some((object, findings))
}

/// Returns what is wrong with `object`, or nothing if it is no rule.
fn look(snapshot: &Snapshot, object: &Value) -> Option<Findings> {
    let document = Document::written(object.clone(), "the object");
    let dialect = snapshot.dialects().find(|dialect| dialect.claims(&document))?;
    let compiled = kubewright_dialects::compile(dialect, &document, &[], &mut CompileBudget::default());
    let fault = |diagnostic: &Diagnostic| Fault::of(&document, diagnostic);
    let doubtful = compiled.diagnostics.iter().filter(|found| found.is_doubtful());
    let (errors, warnings): (Vec<_>, Vec<_>) = doubtful.partition(|found| found.is_error());
    Some(Findings {
        errors: errors.into_iter().map(fault).collect(),
        warnings: warnings.into_iter().map(fault).collect(),
    })
}

/// Returns `object` with the name and namespace that it will have.
fn named(object: &Value, namespace: &str, name: &str) -> Value {
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

/// Returns the status of a refusal, in the form in which the API server says that an object is invalid.
fn status(object: &Value, faults: &[Fault]) -> Value {
    let GroupVersionKind { group, kind, .. } = GroupVersionKind::of(object);
    let name = object.at(&["metadata", "name"]).cloned().unwrap_or_default();
    let cause = |fault: &Fault| {
        Value::from(Map::from([
            ("reason", "FieldValueInvalid".into()),
            ("message", format!("{} ({})", fault.message, fault.code.id).into()),
            ("field", fault.field.as_str().into()),
        ]))
    };
    let causes = Value::array(faults.iter().map(cause).collect());
    let details =
        Map::from([("name", name), ("group", group.into()), ("kind", kind.into()), ("causes", causes)]);
    Map::from([
        ("code", 422_i64.into()),
        ("reason", "Invalid".into()),
        ("message", invalid(object, faults).into()),
        ("details", details.into()),
    ])
    .into()
}

fn cut(warning: &str) -> String {
    match warning.char_indices().nth(MAX_WARNING - 1) {
        None => warning.to_owned(),
        Some((at, _)) => format!("{}…", warning.get(..at).unwrap_or_default()),
    }
}
