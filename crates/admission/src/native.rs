//! What ValidatingAdmissionPolicies and MutatingAdmissionPolicies that are generated from policies have in common.

use std::collections::HashSet;

use kubewright_engine::{CompiledPolicy, GENERATED_LABEL};
use kubewright_value::{Document, Map, Text, Value};

/// The version in which they are made; what the API server serves decides in which they are written.
const ADMISSION_API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// The label of a policy that has no reports.
const NO_REPORTS_LABEL: &str = "reports.kyverno.io/disabled";

/// Returns an object that goes with the policy of `document`, which owns it.
pub(crate) fn generated_object(document: &Document, kind: &str, name: &str, spec: Map) -> Value {
    let own = |path: &[&str]| document.value.at(path).cloned().unwrap_or_default();
    let owner = Map::from([
        ("apiVersion", own(&["apiVersion"])),
        ("kind", own(&["kind"])),
        ("name", own(&["metadata", "name"])),
        ("uid", own(&["metadata", "uid"])),
    ]);
    let mut labels = Map::from([
        ("app.kubernetes.io/managed-by", Value::from("kyverno")),
        (GENERATED_LABEL, Value::from("true")),
    ]);
    if document.value.at(&["metadata", "labels", NO_REPORTS_LABEL]).is_some() {
        labels.insert(NO_REPORTS_LABEL.into(), "true".into());
    }
    let metadata = Map::from([
        ("name", Value::from(name)),
        ("labels", labels.into()),
        ("ownerReferences", Value::array(vec![owner.into()])),
    ]);
    Map::from([
        ("apiVersion", Value::from(ADMISSION_API_VERSION)),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ])
    .into()
}

/// Returns match conditions with names of their own: the API server refuses a name that is there twice.
pub(crate) fn match_conditions(all: impl Iterator<Item = (Text, Text)>) -> Vec<Value> {
    let mut names = HashSet::new();
    let condition = |(number, (name, expression)): (usize, (Text, Text))| {
        let is_new = names.insert(name.clone());
        let name = if is_new { name } else { format!("{name}-{number}").into() };
        Value::from(Map::from([("name", name.into()), ("expression", expression.into())]))
    };
    all.enumerate().map(condition).collect()
}

/// Fails with the first reason why the API server would refuse a policy that was compiled as its own: it has none of the
/// functions and variables of policies.
pub(crate) fn check_native_policy(compiled: &CompiledPolicy) -> Result<(), String> {
    match compiled.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        None => Ok(()),
        Some(error) => Err(format!("the API server cannot evaluate it: {}", error.message)),
    }
}
