//! KubeMod's dry-run request: rules and an object in, patch, diff and rejections out.
//!
//! KubeMod evaluates it without an operation, so that since 0.18 no rule ever applies; here the operation is
//! CREATE unless the request says otherwise.

use kubewright_engine::{ClosedWorld, Diagnostic, Dialect, Engine, Operation, Request, Settings};
use kubewright_lang::textdiff;
use kubewright_value::{Document, Source, Value, yaml};

use super::ModRule;
use super::annotation::sorted;
use crate::Options;

/// The namespace that every rule of a dry run is put into.
const NAMESPACE: &str = "dryrun-namespace";

/// What a dry run found.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The JSON Patch to the object.
    pub patch: Vec<kubewright_lang::patch::Operation>,
    /// The object before.
    pub before: Value,
    /// The object after.
    pub after: Value,
    /// Who rejects it, and why.
    pub rejections: Vec<String>,
}

impl DryRun {
    /// Returns the change as a unified diff of YAML with sorted keys.
    #[must_use]
    pub fn diff(&self) -> String {
        let text = |value: &Value| yaml::write(&sorted(value));
        textdiff::unified(&text(&self.before), &text(&self.after), 3)
    }
}

/// Answers a dry-run request: `resourceManifest`, `modRules`, and optionally `operation`, `namespaceManifest`, `nodeManifest`.
///
/// # Errors
/// What is wrong with the request, in one line.
pub fn dry_run(request: &Value) -> Result<DryRun, String> {
    let manifest = request
        .get("resourceManifest")
        .filter(|v| !v.is_null())
        .ok_or("field `resourceManifest` is missing")?;
    let rules = request.get("modRules").filter(|v| !v.is_null()).ok_or("field `modRules` is missing")?;
    let rules = rules.as_array().ok_or("field `modRules` is not an array")?;
    let operation = match request.get("operation").and_then(Value::as_str) {
        None | Some("") => Operation::Create,
        Some(name) => Operation::named(name).ok_or_else(|| format!("unknown operation `{name}`"))?,
    };
    let mut compiled = Vec::new();
    for rule in rules {
        compiled.extend(compile(rule)?);
    }
    let world = ClosedWorld::new(
        ["namespaceManifest", "nodeManifest"].iter().filter_map(|key| request.get(key).cloned()),
    );
    let mut review = Request::for_object(manifest.clone(), operation, NAMESPACE);
    review.namespace = NAMESPACE.into();
    let decision = Engine::new(compiled).decide(&review, &world, &Settings::default());
    let rejections = decision.outcomes.iter().filter_map(|outcome| outcome.denial.clone()).collect();
    Ok(DryRun {
        patch: decision.patch(manifest),
        before: manifest.clone(),
        after: decision.object,
        rejections,
    })
}

fn compile(rule: &Value) -> Result<Vec<kubewright_engine::Rule>, String> {
    let mut rule = rule.clone();
    let root = rule.as_object_mut().ok_or("an item of `modRules` is not a rule")?;
    // The version and kind may be left out, and an empty operation means "as is usual".
    root.insert("apiVersion".into(), "api.kubemod.io/v1beta1".into());
    root.insert("kind".into(), "ModRule".into());
    let metadata =
        root.get_mut("metadata").and_then(Value::as_object_mut).ok_or("a rule has no `metadata`")?;
    metadata.insert("namespace".into(), NAMESPACE.into());
    if let Some(operations) = root
        .get_mut("spec")
        .and_then(Value::as_object_mut)
        .and_then(|spec| spec.get_mut("admissionOperations"))
        && operations.as_array().is_some_and(|items| items.iter().all(|item| item.as_str() == Some("")))
    {
        *operations = Value::array(Vec::new());
    }
    let dialect = ModRule::new(&Options::default());
    let compiled = dialect.compile(&Document::made(rule, Source::new("modRules", "")), &[]);
    match compiled.diagnostics.into_iter().find(Diagnostic::is_error) {
        Some(error) => Err(error.message),
        None => Ok(compiled.rules),
    }
}
