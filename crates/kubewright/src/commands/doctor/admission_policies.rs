//! Whether the API server enforces the rules itself that ask for it.

use std::sync::Arc;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{AdmissionPolicy, WatchRole};
use kubewright_k8s::ObjectName;
use kubewright_serve::admission_policies::GenerationProgress;
use kubewright_serve::{Snapshot, cluster_dialects};
use kubewright_value::{Document, Value};

use super::finding::Findings;
use super::view::{View, called, text};

/// What the status of a rule object says of its ValidatingAdmissionPolicy.
const STATUS: &str = "validatingadmissionpolicy";

pub(super) fn check(view: &View, findings: &mut Findings) {
    let asking = asking(view, &compiled(view, &GenerationProgress::default()));
    if asking.is_empty() {
        return;
    }
    let (done, missing): (Vec<_>, Vec<_>) = asking.iter().partition(|(_, _, rule)| is_generated(rule));
    for (name, _, rule) in &missing {
        let why = match text(rule, &["status", STATUS, "message"]) {
            "" => "its status does not say why",
            message => message,
        };
        let why = format!("{name} asks for one and has none: {why}");
        let remedy =
            "the webhook enforces it; `kubewright install --generate-vap` gives the server flag and rights";
        findings.warn("admission policies", why, remedy);
    }
    if !done.is_empty() {
        findings.ok("admission policies", format!("the API server enforces {} rules itself", done.len()));
    }
}

/// Returns the rules of the moment, without those that the API server enforces itself.
pub(super) fn snapshot(view: &View) -> Snapshot {
    let all = asking(view, &compiled(view, &GenerationProgress::default()));
    let enforced = all.into_iter().filter(|(_, _, rule)| is_generated(rule));
    let in_force = enforced.map(|(name, policy, _)| (name, policy)).collect();
    compiled(view, &GenerationProgress { is_on: true, in_force, ..GenerationProgress::default() })
}

fn compiled(view: &View, progress: &GenerationProgress) -> Snapshot {
    let documents: Vec<Document> =
        view.rules(WatchRole::Rule).map(|(_, rule)| Document::written(rule.clone(), called(rule))).collect();
    let names: Vec<String> = view.dialects.iter().map(|dialect| dialect.name().to_owned()).collect();
    let mut options = DialectOptions::default();
    options.modrule.targets = view.flag("targets");
    Snapshot::compile(cluster_dialects(&options, &names), &documents, 0, progress)
}

/// Returns the rule objects that ask for a ValidatingAdmissionPolicy and can have one.
fn asking<'v>(view: &'v View, snapshot: &Snapshot) -> Vec<(ObjectName, Arc<AdmissionPolicy>, &'v Value)> {
    let rules = view.rules(WatchRole::Rule).map(|(_, rule)| (ObjectName::of(rule), rule));
    let of = |(name, rule): (ObjectName, &'v Value)| {
        let state = snapshot.states.iter().find(|state| state.name == name)?;
        let policy = state.admission_policy.as_ref()?.as_ref().ok()?;
        Some((name, Arc::clone(policy), rule))
    };
    rules.filter_map(of).collect()
}

fn is_generated(rule: &Value) -> bool {
    rule.at(&["status", STATUS, "generated"]).and_then(Value::as_bool) == Some(true)
}
