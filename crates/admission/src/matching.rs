//! Matches requests by resource, operation, name and labels, as the API server does.

use std::sync::Arc;

use kubewright_engine::{
    Applies, EvalError, Evaluation, KindOrResource, KindScope, NamespaceScope, RuleScope, TraceNode,
    TraceVerdict, WebhookRule,
};
use kubewright_k8s::{AdmissionRequest, Operations, kind_of_resource};
use kubewright_value::{Budget, Map, Text, Value};

use super::source::{ConstraintPlaces, ConstraintsSource, ResourceRule};
use kubewright_dialect_kit::selector::WildcardSelector;

/// The label that every namespace has.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Compiled constraints.
#[derive(Debug, Clone)]
pub(super) struct ConstraintsMatcher {
    rules: Vec<ResourceRule>,
    exclude: Vec<ResourceRule>,
    namespaces: Option<WildcardSelector>,
    objects: Option<WildcardSelector>,
    selectors: (String, String),
    places: Option<Arc<ConstraintPlaces>>,
}

/// Returns whether a policy with these constraints, and perhaps further ones of its binding, is about the request. A policy
/// without constraints is about none.
pub(super) fn applies_within(
    constraints: Option<&ConstraintsMatcher>,
    binding: Option<&ConstraintsMatcher>,
    object: &Value,
    evaluation: &mut Evaluation<'_>,
) -> Result<Applies, EvalError> {
    let Some(constraints) = constraints else {
        return Ok(Applies::OutOfScope("the policy has no match constraints".into()));
    };
    for matcher in std::iter::once(constraints).chain(binding) {
        if let Some(unmet) = matcher.matches(object, evaluation)? {
            matcher.trace(&unmet, object, evaluation);
            return Ok(Applies::OutOfScope(unmet.text));
        }
    }
    Ok(Applies::Yes)
}

/// Why constraints do not select a request.
#[derive(Debug)]
pub(super) struct UnmetConstraint {
    pub(super) part: ConstraintPart,
    pub(super) text: Text,
}

/// A part of constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConstraintPart {
    Rules,
    Exclude,
    Objects,
    Namespaces,
}

impl ConstraintPart {
    fn name(self) -> &'static str {
        match self {
            Self::Rules => "resourceRules",
            Self::Exclude => "excludeResourceRules",
            Self::Objects => "objectSelector",
            Self::Namespaces => "namespaceSelector",
        }
    }

    fn unmet(self, text: impl Into<Text>) -> UnmetConstraint {
        UnmetConstraint { part: self, text: text.into() }
    }
}

impl ConstraintsMatcher {
    pub(super) fn compile(constraints: &ConstraintsSource) -> Self {
        Self {
            rules: constraints.rules.clone(),
            exclude: constraints.exclude.clone(),
            namespaces: constraints.namespace_selector.as_ref().map(WildcardSelector::compile),
            objects: constraints.object_selector.as_ref().map(WildcardSelector::compile),
            selectors: (
                constraints.object_selector.as_ref().map(ToString::to_string).unwrap_or_default(),
                constraints.namespace_selector.as_ref().map(ToString::to_string).unwrap_or_default(),
            ),
            places: constraints.places.clone(),
        }
    }

    /// Adds to the trace which part of the constraints does not select the request, and what it was compared with.
    fn trace(&self, unmet: &UnmetConstraint, object: &Value, evaluation: &mut Evaluation<'_>) {
        let Some(places) = self.places.as_ref().filter(|_| evaluation.tracer.is_on()) else { return };
        let labels = |object: Option<&Value>| {
            object.and_then(object_labels).map_or_else(
                || "no labels".to_owned(),
                |labels| TraceNode::show(&Value::Object(labels.clone().into())),
            )
        };
        let kind: &[&str] = &["kind"];
        let (location, wanted, found, subject) = match unmet.part {
            ConstraintPart::Rules => (&places.rules, "", String::new(), kind),
            ConstraintPart::Exclude => {
                (&places.exclude, "", "it fits, so the policy does not apply".to_owned(), kind)
            }
            ConstraintPart::Objects => (
                &places.objects,
                self.selectors.0.as_str(),
                labels(Some(object)),
                ["metadata", "labels"].as_slice(),
            ),
            ConstraintPart::Namespaces => {
                let namespace = evaluation.namespace().ok().flatten();
                let found = match namespace {
                    Some(_) => labels(namespace),
                    None => "labels that are not known".to_owned(),
                };
                (&places.namespaces, self.selectors.1.as_str(), found, ["metadata", "namespace"].as_slice())
            }
        };
        let help = match unmet.part {
            ConstraintPart::Namespaces if found.starts_with("labels") => format!(
                "nothing says which labels namespace `{}` has: give its manifest with `-r` or `--world`",
                evaluation.request.namespace
            ),
            _ => String::new(),
        };
        let node = TraceNode {
            what: format!("{} {wanted}", unmet.part.name()).trim_end().to_owned(),
            found: match (found.is_empty(), unmet.text.split_once(": ")) {
                (false, _) => found,
                (true, Some((_, named))) => named.to_owned(),
                (true, None) => unmet.text.to_string(),
            },
            verdict: TraceVerdict::No,
            location: Some(location.clone()),
            subject: subject.iter().map(|key| (*key).into()).collect(),
            help,
            ..TraceNode::default()
        };
        evaluation.tracer.say(|| node);
    }

    /// Returns which resources are named, and which one the request is about.
    fn named_others(&self, resource: &str, request: &AdmissionRequest) -> String {
        let one = |rule: &ResourceRule| {
            let resources: Vec<&str> = rule.resources.iter().map(|one| one.value.as_str()).collect();
            let group = |group: &Text| if group.is_empty() { "\"\"".to_owned() } else { group.to_string() };
            let groups: Vec<String> = rule.groups.iter().map(group).collect();
            let operations = match rule.operations.contains(request.operation) {
                true => String::new(),
                false => format!("{} of ", rule.operations),
            };
            format!(
                "{operations}`{}` of {} {}",
                resources.join(", "),
                groups.join(", "),
                rule.versions.join(", ")
            )
        };
        let named: Vec<String> = self.rules.iter().map(one).collect();
        let kind = request.addressed();
        let api = if kind.group.is_empty() { String::new() } else { format!("{}/", kind.group) };
        format!(
            "resourceRules name other resources or operations: {}; this is {} of `{resource}` of {api}{}",
            named.join(" and "),
            request.operation,
            kind.version
        )
    }

    /// Returns nothing when the request is one of those, otherwise why it is not.
    pub(super) fn matches(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
    ) -> Result<Option<UnmetConstraint>, EvalError> {
        let request = evaluation.request;
        let resource = evaluation.resource();
        if !self.rules.is_empty()
            && !self.rules.iter().any(|rule| matches_resource_rule(rule, resource, request))
        {
            return Ok(Some(ConstraintPart::Rules.unmet(match evaluation.tracer.is_on() {
                true => self.named_others(resource, request),
                false => "resourceRules name other resources or operations".to_owned(),
            })));
        }
        if self.exclude.iter().any(|rule| matches_resource_rule(rule, resource, request)) {
            return Ok(Some(ConstraintPart::Exclude.unmet("excludeResourceRules exclude it")));
        }
        if let Some(selector) = &self.objects
            && !selects_object(selector, object, request, evaluation.budget)?
        {
            return Ok(Some(ConstraintPart::Objects.unmet("objectSelector does not match its labels")));
        }
        if let Some(selector) = &self.namespaces
            && !selects_request_namespace(selector, object, evaluation)?
        {
            let text = "namespaceSelector does not match the labels of its namespace";
            return Ok(Some(ConstraintPart::Namespaces.unmet(text)));
        }
        Ok(None)
    }

    /// Returns whether it names no resources.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the resources that it names, whatever is excluded from them.
    pub(super) fn resources(&self) -> Vec<WebhookRule> {
        let mut found = Vec::new();
        for rule in &self.rules {
            for (group, version) in rule.groups.iter().flat_map(|g| rule.versions.iter().map(move |v| (g, v)))
            {
                found.extend(rule.resources.iter().map(|resource| {
                    let (name, part) = resource.value.split_once('/').unwrap_or((&resource.value, ""));
                    WebhookRule {
                        group: group.clone(),
                        version: version.clone(),
                        name: KindOrResource::Resource(name.into()),
                        subresource: part.into(),
                        operations: rule.operations,
                    }
                }));
            }
        }
        found
    }

    /// Returns the index scope of a policy in the namespace `home`. It may be wider than the rules.
    pub(super) fn scope(&self, home: Option<&Text>) -> RuleScope {
        let operations = match self.rules.as_slice() {
            [] => Operations::ALL,
            rules => rules.iter().fold(Operations::NONE, |all, rule| all.and(rule.operations)),
        };
        let namespaces = match home {
            Some(home) => NamespaceScope::Named(vec![home.clone()]),
            None => NamespaceScope::Any,
        };
        let kinds = matched_kinds(&self.rules).map_or(KindScope::Any, KindScope::Named);
        RuleScope { kinds, namespaces, operations, ..RuleScope::default() }
    }
}

/// Returns the kinds of the resources that `rules` name; `None` where one may be of an unknown kind.
fn matched_kinds(rules: &[ResourceRule]) -> Option<Vec<Text>> {
    let mut kinds: Vec<Text> = Vec::new();
    for rule in rules {
        let is_own = |group: &Text| !group.contains(['.', '*']) || group.ends_with(".k8s.io");
        if !rule.groups.iter().all(is_own) {
            return None;
        }
        for resource in &rule.resources {
            // A subresource may be sent as a kind of its own: `pods/exec` as PodExecOptions.
            if resource.value.contains('/') {
                return None;
            }
            kinds.push(kind_of_resource(&resource.value)?.into());
        }
    }
    (!kinds.is_empty()).then_some(kinds)
}

fn matches_resource_rule(rule: &ResourceRule, resource: &str, request: &AdmissionRequest) -> bool {
    let has = |list: &[Text], value: &str| list.iter().any(|one| one == value || one == "*");
    rule.operations.contains(request.operation)
        && has(&rule.groups, &request.addressed().group)
        && has(&rule.versions, &request.addressed().version)
        && rule.resources.iter().any(|one| is_resource(&one.value, resource, &request.subresource))
        && rule.is_namespaced.is_none_or(|is_namespaced| is_namespaced != request.namespace.is_empty())
        && (rule.names.is_empty() || rule.names.iter().any(|name| has_request_name(request, name)))
}

/// A name that the API server will generate equals no name in a policy.
fn has_request_name(request: &AdmissionRequest, name: &Text) -> bool {
    let text = |key| request.object.str_at(&["metadata", key]);
    request.name == *name && (text("generateName").is_empty() || !text("name").is_empty())
}

/// Returns whether `written` means the resource and its part.
fn is_resource(written: &str, resource: &str, subresource: &str) -> bool {
    // Most rules name a resource without a part.
    if written == resource && !written.contains('/') {
        return subresource.is_empty();
    }
    let (name, part) = written.split_once('/').unwrap_or((written, ""));
    (name == "*" || name == resource) && (part == "*" || part == subresource)
}

/// Either the old or the new labels of the object may match.
fn selects_object(
    selector: &WildcardSelector,
    object: &Value,
    request: &AdmissionRequest,
    budget: &mut Budget,
) -> Result<bool, EvalError> {
    for object in [object, &request.old_object] {
        if !object.is_null() && selector.matches(object_labels(object), budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Objects outside of namespaces are never left out by it.
fn selects_request_namespace(
    selector: &WildcardSelector,
    object: &Value,
    evaluation: &mut Evaluation<'_>,
) -> Result<bool, EvalError> {
    let request = evaluation.request;
    if request.kind.group.is_empty() && request.kind.kind == "Namespace" && request.subresource.is_empty() {
        let named = with_name_label(object_labels(object), &request.name);
        return Ok(selector.matches(Some(&named), evaluation.budget)?);
    }
    if request.namespace.is_empty() {
        return Ok(true);
    }
    let namespace = evaluation.namespace()?;
    let named = with_name_label(namespace.and_then(object_labels), &request.namespace);
    Ok(selector.matches(Some(&named), evaluation.budget)?)
}

/// The API server sets the label; outside a cluster it may not be there yet.
fn with_name_label(labels: Option<&Map>, name: &Text) -> Map {
    let mut labels = labels.cloned().unwrap_or_default();
    labels.insert(NAMESPACE_NAME_LABEL.into(), name.clone().into());
    labels
}

fn object_labels(object: &Value) -> Option<&Map> {
    object.at(&["metadata", "labels"]).and_then(Value::as_object)
}
