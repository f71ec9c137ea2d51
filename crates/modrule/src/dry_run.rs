//! KubeMod's dry-run request: rules and an object in, patch, diff and rejections out.
//!
//! KubeMod evaluates it without an operation, so that since 0.18 no rule ever applies; here the operation is
//! CREATE unless the request says otherwise. KubeMod has no namespace and no node there; here both can be given.

use kubewright_engine::{
    ClosedWorld, DecisionSettings, Diagnostic, Dialect, Engine, FieldError, Query, Rule, RuleId, RuleOutcome,
    TraceNode, invalid_object_message,
};
use kubewright_gotemplate::Inputs;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_patch as patch;
use kubewright_patch::textdiff;
use kubewright_value::{Budget, Deadline, Document, Limits, Map, Text, Value, bounded, yaml};

use super::annotation::with_sorted_keys;
use super::{ModRule, ModRuleOptions};

/// The namespace that every rule of a dry run is put into, unless the request names another one.
const DRY_RUN_NAMESPACE: &str = "dryrun-namespace";

/// How many rules a request may have.
const MAX_RULES: usize = 256;

/// The budget of all its rules together.
const MAX_DRY_RUN_STEPS: u64 = 20_000_000;

/// The message when the deadline passes first.
const TIMEOUT_MESSAGE: &str = "the rules took too long";

/// The result of a dry run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DryRun {
    /// The JSON Patch to the object.
    pub patch: Vec<patch::JsonPatchOperation>,
    /// The object before.
    pub before: Value,
    /// The object after.
    pub after: Value,
    /// Who rejects it, and why.
    pub rejections: Vec<String>,
    /// The result of each rule, in the order in which they ran; rules that do not match the object come last.
    pub rules: Vec<RuleRun>,
}

/// The result of one rule.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RuleRun {
    /// The rule: `namespace/name`.
    pub rule: String,
    /// Its verdict, in one word.
    pub status: &'static str,
    /// Why; may be empty.
    pub message: String,
    /// The changes it made.
    pub patch: Vec<patch::JsonPatchOperation>,
    /// Its trace.
    pub trace: Option<Box<TraceNode>>,
}

/// How large objects may be that are compared as text.
const MAX_DIFF_BYTES: u64 = 8 << 20;

impl DryRun {
    /// Returns the change as a unified diff of YAML with sorted keys.
    #[must_use]
    pub fn diff(&self) -> String {
        let text = |value: &Value| {
            let limits = Limits { bytes: MAX_DIFF_BYTES, ..Limits::default() };
            bounded::charge_text(value, &mut Budget::new(limits)).ok()?;
            Some(yaml::write(&with_sorted_keys(value)))
        };
        match (text(&self.before), text(&self.after)) {
            (Some(before), Some(after)) => textdiff::unified(&before, &after, 3),
            _ => format!("(an object of more than {} MiB is not compared)", MAX_DIFF_BYTES >> 20),
        }
    }

    /// Returns the response: `patch`, `diff`, `rejections` as KubeMod has them, and `rules` with the result of each rule.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let rejections = self.rejections.iter().map(|rejection| rejection.as_str().into()).collect();
        Map::from([
            ("patch", patch_operations_value(&self.patch)),
            ("diff", if self.patch.is_empty() { "".into() } else { self.diff().into() }),
            ("rejections", Value::array(rejections)),
            ("rules", Value::array(self.rules.iter().map(RuleRun::to_value).collect())),
        ])
        .into()
    }
}

impl RuleRun {
    fn of(outcome: RuleOutcome) -> Self {
        Self {
            rule: outcome.rule.short(),
            status: outcome.status.name(),
            message: outcome.message.to_string(),
            patch: outcome.patch,
            trace: outcome.trace,
        }
    }

    fn left_out(rule: &RuleId, message: &str) -> Self {
        Self { rule: rule.short(), status: "skip", message: message.into(), patch: Vec::new(), trace: None }
    }

    fn to_value(&self) -> Value {
        let trace = self.trace.iter().flat_map(|root| &root.children).map(trace_value).collect();
        Map::from([
            ("rule", self.rule.as_str().into()),
            ("status", self.status.into()),
            ("message", self.message.as_str().into()),
            ("patch", patch_operations_value(&self.patch)),
            ("trace", Value::array(trace)),
        ])
        .into()
    }
}

/// Answers a dry-run request: `resourceManifest`, `modRules`, and optionally `operation`, `namespace`,
/// `namespaceManifest`, `nodeManifest`.
///
/// # Errors
/// The mistake in the request, in one line.
pub fn run_dry_run(request: &Value) -> Result<DryRun, String> {
    run_dry_run_with(&ModRule::new(&ModRuleOptions::default(), Inputs::default()), request, None)
}

/// Answers a dry-run request with rules as `dialect` compiles them, before `deadline`.
pub(super) fn run_dry_run_with(
    dialect: &ModRule,
    request: &Value,
    deadline: Option<Deadline>,
) -> Result<DryRun, String> {
    let given = |key: &str| request.get(key).filter(|value| !value.is_null());
    let manifest = given("resourceManifest").ok_or("field `resourceManifest` is missing")?;
    let rules = given("modRules").ok_or("field `modRules` is missing")?;
    let rules = rules.as_array().ok_or("field `modRules` is not an array")?;
    if rules.len() > MAX_RULES {
        return Err(format!("field `modRules` has {} rules, at most {MAX_RULES} can be tried", rules.len()));
    }
    let (around, world) = DryRunContext::read(&given)?;
    let dialect = ModRule { assumed_node: around.node, ..dialect.clone() };
    let mut compiled = Vec::new();
    for rule in rules {
        if is_past_deadline(deadline) {
            return Err(TIMEOUT_MESSAGE.to_owned());
        }
        compiled.extend(compile_dry_run_rule(&dialect, rule, &around.namespace, around.is_named)?);
    }
    let mut review = AdmissionRequest::for_object(manifest.clone(), around.operation, &around.namespace);
    // KubeMod pays no heed to the manifest's namespace.
    if !review.namespace.is_empty() || !around.is_named {
        review.namespace = around.namespace;
    }
    run_rules(&Engine::new(compiled), &review, &world, deadline)
}

fn is_past_deadline(deadline: Option<Deadline>) -> bool {
    deadline.is_some_and(|deadline| deadline.has_passed())
}

/// The namespace and node around the object.
struct DryRunContext {
    operation: Operation,
    namespace: Text,
    /// Whether the request names the namespace.
    is_named: bool,
    node: Option<Text>,
}

impl DryRunContext {
    fn read<'a>(given: &impl Fn(&str) -> Option<&'a Value>) -> Result<(Self, ClosedWorld), String> {
        let text = |key: &str| match given(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(other) => Err(format!("field `{key}` is not text, found {}", other.kind())),
        };
        let manifest = |key: &str| match given(key) {
            None => Ok(None),
            Some(value @ Value::Object(_)) => Ok(Some(value)),
            Some(other) => Err(format!("field `{key}` is not a manifest, found {}", other.kind())),
        };
        let operation = match text("operation")? {
            None => Operation::Create,
            Some(name) => Operation::named(name).ok_or_else(|| format!("unknown operation `{name}`"))?,
        };
        let mut world = ClosedWorld::default();
        let home = manifest("namespaceManifest")?;
        let name = text("namespace")?.or_else(|| home.and_then(metadata_name));
        let namespace = Text::from(name.unwrap_or(DRY_RUN_NAMESPACE));
        if let Some(home) = home {
            world.answer(Query::namespace(&namespace), home.clone());
        }
        let node =
            manifest("nodeManifest")?.map(|node| (Text::from(metadata_name(node).unwrap_or("node")), node));
        if let Some((name, node)) = &node {
            world.answer(Query::node(name), (*node).clone());
        }
        let around =
            Self { operation, namespace, is_named: name.is_some(), node: node.map(|(name, _)| name) };
        Ok((around, world))
    }
}

fn run_rules(
    engine: &Engine,
    review: &AdmissionRequest,
    world: &ClosedWorld,
    deadline: Option<Deadline>,
) -> Result<DryRun, String> {
    let settings = DecisionSettings {
        is_traced: true,
        total: Some(MAX_DRY_RUN_STEPS),
        deadline,
        ..DecisionSettings::default()
    };
    let decision = engine.decide(review, world, &settings);
    if decision.is_unfinished && is_past_deadline(deadline) {
        return Err(TIMEOUT_MESSAGE.to_owned());
    }
    if decision.is_unfinished {
        return Err(format!("the rules take more than {MAX_DRY_RUN_STEPS} steps together"));
    }
    let patch = decision.patch(&review.object);
    let rejections = decision.outcomes.iter().filter_map(|outcome| outcome.denial.clone()).collect();
    let message = format!("the rule is not about {} of {}", review.operation, review.subject());
    let is_left_out = |rule: &Rule| decision.outcomes.iter().all(|outcome| outcome.rule != rule.id);
    let left_out: Vec<_> = engine.rules().iter().filter(|rule| is_left_out(rule)).collect();
    let left_out: Vec<_> = left_out.iter().map(|rule| RuleRun::left_out(&rule.id, &message)).collect();
    let rules = decision.outcomes.into_iter().map(RuleRun::of).chain(left_out).collect();
    Ok(DryRun { patch, before: review.object.clone(), after: decision.object, rejections, rules })
}

/// Compiles `rule`. It is put into `namespace`, unless the request says which namespace it is about and the rule
/// which one it lives in.
fn compile_dry_run_rule(
    dialect: &ModRule,
    rule: &Value,
    namespace: &Text,
    keeps_home: bool,
) -> Result<Vec<Rule>, String> {
    let mut rule = rule.clone();
    let root = rule.as_object_mut().ok_or("an item of `modRules` is not a rule")?;
    // The version and kind may be left out, and an empty operation means "as is usual".
    root.insert("apiVersion".into(), "api.kubemod.io/v1beta1".into());
    root.insert("kind".into(), "ModRule".into());
    let metadata =
        root.get_mut("metadata").and_then(Value::as_object_mut).ok_or("a rule has no `metadata`")?;
    if !keeps_home || metadata.get("namespace").and_then(Value::as_str).is_none_or(str::is_empty) {
        metadata.insert("namespace".into(), namespace.clone().into());
    }
    if let Some(operations) = root
        .get_mut("spec")
        .and_then(Value::as_object_mut)
        .and_then(|spec| spec.get_mut("admissionOperations"))
        && operations.as_array().is_some_and(|items| items.iter().all(|item| item.as_str() == Some("")))
    {
        *operations = Value::array(Vec::new());
    }
    let document = Document::written(rule, "modRules");
    let compiled = dialect.compile(&document, &[]);
    let errors = compiled.diagnostics.iter().filter(|diagnostic| Diagnostic::is_error(diagnostic));
    let faults: Vec<_> = errors.map(|error| FieldError::of(&document, error)).collect();
    if faults.is_empty() { Ok(compiled.rules) } else { Err(invalid_object_message(&document.value, &faults)) }
}

fn metadata_name(object: &Value) -> Option<&str> {
    object.at(&["metadata", "name"]).and_then(Value::as_str).filter(|name| !name.is_empty())
}

fn patch_operations_value(patch: &[patch::JsonPatchOperation]) -> Value {
    Value::array(patch.iter().map(patch::JsonPatchOperation::to_value).collect())
}

fn trace_value(node: &TraceNode) -> Value {
    Map::from([
        ("what", node.what.as_str().into()),
        ("found", node.found.as_str().into()),
        ("wanted", node.wanted.as_str().into()),
        ("verdict", node.verdict.name().into()),
        ("children", Value::array(node.children.iter().map(trace_value).collect())),
    ])
    .into()
}
