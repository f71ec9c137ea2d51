//! Writes a ValidatingPolicy, or a NamespacedValidatingPolicy of a Policy.
//!
//! A ValidatingPolicy for Pods also evaluates controllers, by rewriting its expressions. Where that gives the same as
//! Kyverno's autogen of the rule, it is used; otherwise controllers get a separate policy.

use kubewright_k8s::WorkloadKind;
use kubewright_value::{Document, Map, Text, Value};

use super::ConvertedPolicy;
use super::policy::{ConvertedRuleDraft, SourcePolicy, draft_expressions};
use super::rebase::autogen_rewrite;
use kubewright_k8s::PodTemplatePath;
use kubewright_kyverno::source::{FailureAction, PolicySource};

pub(super) const POLICIES_API_VERSION: &str = "policies.kyverno.io/v1";

/// Annotations that concern the older policy only.
const DROPPED_ANNOTATIONS: [&str; 2] =
    ["kubectl.kubernetes.io/last-applied-configuration", "pod-policies.kyverno.io/autogen-controllers"];

/// The controllers that a ValidatingPolicy for Pods also covers.
const CONTROLLERS: [WorkloadKind; 6] = [
    WorkloadKind::CronJob,
    WorkloadKind::DaemonSet,
    WorkloadKind::Deployment,
    WorkloadKind::Job,
    WorkloadKind::ReplicaSet,
    WorkloadKind::StatefulSet,
];

/// Returns the policies that replace rules; each rule is a draft followed by those for controllers.
pub(super) fn write_validating_policies(
    origin: &SourcePolicy<'_>,
    rules: Vec<(Text, Vec<ConvertedRuleDraft>)>,
) -> Vec<ConvertedPolicy> {
    let planned: Vec<(Text, Vec<PolicyPlan>)> =
        rules.into_iter().map(|(rule, drafts)| (rule, plan_policies(drafts))).collect();
    if let Some(plan) = join_plans(origin, &planned) {
        let rules = planned.into_iter().map(|(rule, _)| rule).collect();
        let documents = vec![validating_policy_document(origin, &plan, false)];
        return vec![ConvertedPolicy { rules, documents, covers_controllers: true }];
    }
    let write = |(rule, plans): (Text, Vec<PolicyPlan>)| ConvertedPolicy {
        rules: vec![rule],
        documents: plans
            .iter()
            .map(|plan| validating_policy_document(origin, plan, origin.rules > 1))
            .collect(),
        covers_controllers: true,
    };
    planned.into_iter().map(write).collect()
}

/// Returns whether it is left to the policy itself to judge controllers.
pub(super) fn relies_on_autogen(drafts: &[ConvertedRuleDraft]) -> bool {
    let Some((first, others)) = drafts.split_first() else { return false };
    covers_controllers(first)
        && !others.is_empty()
        && others.iter().all(|other| is_rewritten_to(first, other))
}

/// A policy to be written.
#[derive(Debug, Clone)]
struct PolicyPlan {
    draft: ConvertedRuleDraft,
    /// The controllers that its own autogen covers; `None` where that does not apply.
    controllers: Option<Vec<&'static str>>,
}

/// Returns the policies that one rule needs.
fn plan_policies(drafts: Vec<ConvertedRuleDraft>) -> Vec<PolicyPlan> {
    let mut drafts = drafts.into_iter();
    let Some(first) = drafts.next() else { return Vec::new() };
    let others: Vec<ConvertedRuleDraft> = drafts.collect();
    let can_cover = covers_controllers(&first);
    if can_cover && others.iter().all(|other| is_rewritten_to(&first, other)) {
        let resources = CONTROLLERS.map(WorkloadKind::resource).into_iter();
        let covered = resources.filter(|name| others.iter().any(|other| is_about_resource(other, name)));
        return vec![PolicyPlan { draft: first, controllers: Some(covered.collect()) }];
    }
    let first = PolicyPlan { draft: first, controllers: can_cover.then(Vec::new) };
    let others = others.into_iter().map(|draft| PolicyPlan { draft, controllers: None });
    std::iter::once(first).chain(others).collect()
}

/// Returns whether a policy with these constraints judges controllers by itself.
fn covers_controllers(draft: &ConvertedRuleDraft) -> bool {
    let constraints = &draft.constraints;
    match constraints.rules.as_slice() {
        [rule] => {
            constraints.object_selector.is_none()
                && rule.groups == [Text::new_static("")]
                && rule.versions == ["v1"]
                && rule.resources == ["pods"]
                && rule.names.is_empty()
        }
        _ => false,
    }
}

/// Returns whether a ValidatingPolicy's autogen rewrites `draft` to `other`.
fn is_rewritten_to(draft: &ConvertedRuleDraft, other: &ConvertedRuleDraft) -> bool {
    let to = other.variant.unwrap_or(PodTemplatePath::Pod);
    let own: Vec<String> = draft_expressions(draft).map(|text| autogen_rewrite(text, to)).collect();
    own.iter().map(String::as_str).eq(draft_expressions(other))
        && draft.constraints.namespace_selector == other.constraints.namespace_selector
        && draft.constraints.rules.first().map(|rule| &rule.operations)
            == other.constraints.rules.first().map(|rule| &rule.operations)
}

fn is_about_resource(draft: &ConvertedRuleDraft, resource: &str) -> bool {
    draft.constraints.rules.iter().any(|rule| rule.resources.iter().any(|name| name == resource))
}

/// Returns one policy for all rules, where they have the same match constraints and action.
fn join_plans(origin: &SourcePolicy<'_>, planned: &[(Text, Vec<PolicyPlan>)]) -> Option<PolicyPlan> {
    if planned.len() != origin.rules || planned.len() < 2 {
        return None;
    }
    let plans: Vec<&PolicyPlan> = planned
        .iter()
        .map(|(_, plans)| match plans.as_slice() {
            [plan] => Some(plan),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let first = *plans.first()?;
    let mut all = first.clone();
    for plan in plans.iter().skip(1) {
        let (one, other) = (&first.draft, &plan.draft);
        let is_alike = one.constraints == other.constraints
            && one.conditions == other.conditions
            && one.action == other.action
            && first.controllers == plan.controllers;
        if !is_alike {
            return None;
        }
        for variable in &other.variables {
            let name = variable.get("name");
            match all.draft.variables.iter().find(|known| known.get("name") == name) {
                Some(known) if known != variable => return None,
                Some(_) => {}
                None => all.draft.variables.push(variable.clone()),
            }
        }
        all.draft.validations.extend(other.validations.iter().cloned());
        if other.audit_annotations.is_some() {
            return None;
        }
    }
    Some(all)
}

fn validating_policy_document(
    origin: &SourcePolicy<'_>,
    plan: &PolicyPlan,
    is_one_of_several: bool,
) -> Value {
    let draft = &plan.draft;
    let policy = origin.policy;
    let mut name = policy.name.value.to_string();
    if is_one_of_several {
        name.push_str(&format!("-{}", draft.rule));
    }
    match draft.variant {
        Some(PodTemplatePath::JobTemplate) => name.push_str("-autogen-cronjob"),
        Some(_) => name.push_str("-autogen"),
        None => {}
    }
    let kind = if policy.namespace.is_some() { "NamespacedValidatingPolicy" } else { "ValidatingPolicy" };
    Map::from([
        ("apiVersion", Value::from(POLICIES_API_VERSION)),
        ("kind", kind.into()),
        ("metadata", policy_metadata(origin, &name)),
        ("spec", validating_policy_spec(origin, plan)),
    ])
    .into()
}

/// Returns the metadata of a policy called `name`, with the labels and annotations of its source.
pub(super) fn policy_metadata(origin: &SourcePolicy<'_>, name: &str) -> Value {
    successor_metadata(origin.document, origin.policy.namespace.as_ref(), name)
}

/// Returns the metadata of a policy called `name` that succeeds the one in `document`.
pub(super) fn successor_metadata(document: &Document, namespace: Option<&Text>, name: &str) -> Value {
    let mut metadata = Map::from([("name", Value::from(name))]);
    if let Some(namespace) = namespace {
        metadata.insert("namespace".into(), namespace.clone().into());
    }
    for key in ["labels", "annotations"] {
        let written = document.value.at(&["metadata", key]).and_then(Value::as_object);
        let kept = written.into_iter().flat_map(Map::iter);
        let kept = kept.filter(|(name, _)| !DROPPED_ANNOTATIONS.contains(&name.as_str()));
        let kept: Map = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !kept.is_empty() {
            metadata.insert(key.into(), kept.into());
        }
    }
    metadata.into()
}

fn validating_policy_spec(origin: &SourcePolicy<'_>, plan: &PolicyPlan) -> Value {
    let (draft, settings) = (&plan.draft, &origin.policy.settings);
    let actions = match (draft.action, settings.emits_warning) {
        (FailureAction::Enforce, _) => vec!["Deny"],
        (FailureAction::Audit, true) => vec!["Audit", "Warn"],
        (FailureAction::Audit, false) => vec!["Audit"],
    };
    let mut spec = Map::from([("validationActions", Value::from(actions))]);
    if !settings.is_fail_closed {
        spec.insert("failurePolicy".into(), "Ignore".into());
    }
    if let Some(webhook) = webhook_value(origin) {
        spec.insert("webhookConfiguration".into(), webhook);
    }
    if let Some(evaluation) = evaluation_value(origin.policy) {
        spec.insert("evaluation".into(), evaluation);
    }
    if let Some(autogen) = autogen_value(plan) {
        spec.insert("autogen".into(), autogen);
    }
    spec.insert("matchConstraints".into(), draft.constraints.value());
    for (key, list) in [
        ("matchConditions", draft.all_conditions()),
        ("variables", draft.variables.clone()),
        ("validations", draft.validations.clone()),
    ] {
        if !list.is_empty() {
            spec.insert(key.into(), list.into());
        }
    }
    if let Some(annotations) = &draft.audit_annotations {
        spec.insert("auditAnnotations".into(), annotations.clone());
    }
    spec.into()
}

/// Returns the settings of the webhook, where the source has any.
pub(super) fn webhook_value(origin: &SourcePolicy<'_>) -> Option<Value> {
    let timeout = origin.document.value.at(&["spec", "webhookConfiguration", "timeoutSeconds"]);
    let timeout = timeout.or_else(|| origin.document.value.at(&["spec", "webhookTimeoutSeconds"]));
    let timeout = timeout.filter(|timeout| !timeout.is_null())?;
    Some(Map::from([("timeoutSeconds", timeout.clone())]).into())
}

/// Returns what is evaluated when, where that is not always.
pub(super) fn evaluation_value(policy: &PolicySource) -> Option<Value> {
    let settings = &policy.settings;
    let off = || Value::from(Map::from([("enabled", Value::from(false))]));
    let mut evaluation = Map::new();
    if !settings.is_admission {
        evaluation.insert("admission".into(), off());
    }
    if !settings.is_background {
        evaluation.insert("background".into(), off());
    }
    (!evaluation.is_empty()).then(|| evaluation.into())
}

/// Returns the covered controllers, where they differ from the default of a ValidatingPolicy.
fn autogen_value(plan: &PolicyPlan) -> Option<Value> {
    let controllers = plan.controllers.as_ref()?;
    if *controllers == CONTROLLERS.map(WorkloadKind::resource) {
        return None;
    }
    let controllers = Map::from([("controllers", Value::from(controllers.clone()))]);
    Some(Map::from([("podControllers", controllers.into())]).into())
}
