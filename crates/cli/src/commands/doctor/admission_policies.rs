//! Whether the API server enforces the rules that request a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.

use std::sync::Arc;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{AdmissionPolicy, WatchRole};
use kubewright_k8s::ObjectName;
use kubewright_report::text::plural;
use kubewright_serve::admission_policies::GenerationProgress;
use kubewright_serve::{Snapshot, cluster_dialects};
use kubewright_value::{Document, Value};

use super::finding::DoctorFindings;
use super::view::{ClusterView, short_object_name, view_text};

/// Where the status of a rule object says why it has none: a ClusterPolicy's, and that of a policy in CEL.
const MESSAGES: [&[&str]; 2] =
    [&["status", "validatingadmissionpolicy", "message"], &["status", "conditionStatus", "message"]];

/// Where it says that it has one.
const GENERATED: [&[&str]; 2] =
    [&["status", "validatingadmissionpolicy", "generated"], &["status", "generated"]];

pub(super) fn check_admission_policies(view: &ClusterView, findings: &mut DoctorFindings) {
    let asking = generating_rules(view, &compile_snapshot(view, &GenerationProgress::default()));
    if asking.is_empty() {
        return;
    }
    let (done, missing): (Vec<_>, Vec<_>) = asking.iter().partition(|(_, _, rule)| is_generated(rule));
    for (name, _, rule) in &missing {
        let why = MESSAGES.map(|path| view_text(rule, path)).into_iter().find(|message| !message.is_empty());
        let why = why.unwrap_or("its status does not say why");
        let why = format!("{name} requests one and has none: {why}");
        let remedy =
            "the webhook enforces it; `kubewright install --generate-vap` adds the flag and permissions";
        findings.warn("admission policies", why, remedy);
    }
    if !done.is_empty() {
        findings.ok(
            "admission policies",
            format!("the API server enforces {} itself", plural(done.len(), "rule")),
        );
    }
}

/// Returns the current rules, without those that the API server enforces itself.
pub(super) fn snapshot(view: &ClusterView) -> Snapshot {
    let all = generating_rules(view, &compile_snapshot(view, &GenerationProgress::default()));
    let enforced = all.into_iter().filter(|(_, _, rule)| is_generated(rule));
    let in_force = enforced.map(|(name, policy, _)| (name, policy)).collect();
    compile_snapshot(view, &GenerationProgress { is_on: true, in_force, ..GenerationProgress::default() })
}

fn compile_snapshot(view: &ClusterView, progress: &GenerationProgress) -> Snapshot {
    let documents: Vec<Document> = view
        .rules(WatchRole::Rule)
        .map(|(_, rule)| Document::written(rule.clone(), short_object_name(rule)))
        .collect();
    let names: Vec<String> = view.dialects.iter().map(|dialect| dialect.name().to_owned()).collect();
    let mut options = DialectOptions::default();
    options.modrule.targets = view.flag("targets");
    Snapshot::compile(cluster_dialects(&options, &names), &documents, 0, progress)
}

/// Returns the rule objects that request a policy of the API server and can have one.
fn generating_rules<'v>(
    view: &'v ClusterView,
    snapshot: &Snapshot,
) -> Vec<(ObjectName, Arc<AdmissionPolicy>, &'v Value)> {
    let rules = view.rules(WatchRole::Rule).map(|(_, rule)| (ObjectName::of(rule), rule));
    let of = |(name, rule): (ObjectName, &'v Value)| {
        let state = snapshot.states.iter().find(|state| state.name == name)?;
        let policy = state.admission_policy.as_ref()?.as_ref().ok()?;
        Some((name, Arc::clone(policy), rule))
    };
    rules.filter_map(of).collect()
}

fn is_generated(rule: &Value) -> bool {
    GENERATED.iter().any(|path| rule.at(path).and_then(Value::as_bool) == Some(true))
}
