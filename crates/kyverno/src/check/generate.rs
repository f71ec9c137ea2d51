//! Checks of `generate`: what is made, where, and whether making it triggers the rule again.

use kubewright_k8s::{BUILT_IN_KINDS, GroupVersionKind, is_cluster_scoped};
use kubewright_value::{Step, Text, Value};

use super::super::matching::kind::kind_parts;
use super::super::source::{
    DownstreamContent, DownstreamSource, GenerateSource, Match, Method, PolicySource, ResourceFilter,
    RuleSource,
};
use super::conditions::{ConditionPlace, check_conditions};
use super::pattern::AnchorKey;
use super::{PolicyChecks, code};
use kubewright_dialect_kit::fields::{Located, child_path};

/// Checks the `generate` of a rule, if it has one.
pub(super) fn check_generate(findings: &mut PolicyChecks<'_>, policy: &PolicySource, rule: &RuleSource) {
    let Method::Generate(generate) = &rule.validate.method else { return };
    if !policy.settings.is_admission {
        let path = [Step::from("spec"), Step::from("admission")];
        let message = format!("rule `{}` generates, and `admission: false` leaves it out", rule.name.value);
        findings.at_key(&code::NOT_AT_ADMISSION, &path, message, "leave out `admission: false`");
    }
    for one in &generate.downstreams {
        if let Some(conditions) = one.each.as_ref().and_then(|each| each.preconditions.as_ref()) {
            check_conditions(findings, conditions, ConditionPlace::Loop);
        }
        check_identity(findings, one);
        check_content(findings, one);
        check_scope(findings, one);
        check_home(findings, policy, one);
        check_self_copy(findings, one);
    }
    check_own_trigger(findings, rule, generate);
}

fn check_identity(findings: &mut PolicyChecks<'_>, one: &DownstreamSource) {
    let mut missing = |path: &[Step], field: &str| {
        let message = format!("field `{field}` is missing");
        findings.at_key(&code::MISSING_FIELD, path, message, "");
    };
    if let DownstreamContent::CloneList { path, kinds, namespace, .. } = &one.content {
        if kinds.is_empty() {
            missing(path, "kinds");
        }
        let is_namespaced = kinds.iter().any(|kind| scope_of_kind(&kind.value) == Some(KindLevel::Namespace));
        if is_namespaced && is_blank(namespace.as_ref()) {
            missing(path, "namespace");
        }
        return;
    }
    for (field, found) in [("apiVersion", &one.api_version), ("kind", &one.kind), ("name", &one.name)] {
        if is_blank(found.as_ref()) {
            missing(&one.path, field);
        }
    }
}

fn check_content(findings: &mut PolicyChecks<'_>, one: &DownstreamSource) {
    match &one.content {
        DownstreamContent::Data(data) => {
            if matches!(data.value, Value::Array(_) | Value::Bool(_) | Value::Number(_)) {
                let message = "`data` is the content of an object, and must be a map";
                findings.at(&code::WRONG_TYPE, &data.path, message, "");
            }
            check_data_anchors(findings, &data.value, &mut data.path.clone());
        }
        DownstreamContent::CloneList { selector: Some(selector), .. } => check_selector(findings, selector),
        DownstreamContent::CloneList { .. }
        | DownstreamContent::Clone { .. }
        | DownstreamContent::Nothing => {}
    }
    if let DownstreamContent::CloneList { kinds, .. } = &one.content {
        let is_wide = |kind: &&Located<Text>| scope_of_kind(&kind.value) == Some(KindLevel::Cluster);
        let (wide, narrow) = (kinds.iter().find(is_wide), kinds.iter().find(|kind| !is_wide(kind)));
        if let (Some(wide), Some(narrow)) = (wide, narrow) {
            let message = format!("`{}` has no namespace, and `{}` has one", wide.value, narrow.value);
            findings.at(&code::MIXED_SCOPE, &wide.path, message, "write a rule for each of the two");
        }
    }
}

/// Walks the data for anchors, as deep as the document is.
fn check_data_anchors(findings: &mut PolicyChecks<'_>, data: &Value, path: &mut Vec<Step>) {
    match data {
        Value::Object(map) => {
            for (key, value) in map.iter() {
                path.push(Step::Key(key.clone()));
                if AnchorKey::of(key).is_some() {
                    let message = format!("`{key}` is an anchor, and `data` is written as it is");
                    findings.at_key(&code::ANCHOR_IN_DATA, path, message, "write the key without brackets");
                }
                check_data_anchors(findings, value, path);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                check_data_anchors(findings, item, path);
                path.pop();
            }
        }
        _ => {}
    }
}

fn check_selector(findings: &mut PolicyChecks<'_>, selector: &Located<Value>) {
    let labels = selector.value.get("matchLabels").and_then(Value::as_object);
    let has_wildcard = |text: &str| text.contains(['*', '?']);
    let wild = labels.into_iter().flat_map(|labels| labels.iter());
    let wild = wild.filter(|(key, value)| has_wildcard(key) || value.as_str().is_some_and(has_wildcard));
    for (key, _) in wild {
        let path = child_path(&child_path(&selector.path, "matchLabels"), key.as_str());
        let message = "the selector of `cloneList` has no wildcards";
        findings.at(&code::BAD_SELECTOR, &path, message, "name the labels");
    }
}

/// Only the scopes of kinds that every cluster has are known here.
fn check_scope(findings: &mut PolicyChecks<'_>, one: &DownstreamSource) {
    let (Some(kind), Some(version)) = (&one.kind, &one.api_version) else { return };
    if matches!(one.content, DownstreamContent::CloneList { .. }) {
        return;
    }
    let level = scope_of_kind(&format!("{}/{}", version.value, kind.value));
    match (level, &one.namespace) {
        (Some(KindLevel::Cluster), Some(namespace)) if !namespace.value.is_empty() => {
            let message = format!("a {} has no namespace", kind.value);
            findings.at(&code::DOWNSTREAM_NAMESPACE, &namespace.path, message, "leave out `namespace`");
        }
        (Some(KindLevel::Namespace), namespace) if is_blank(namespace.as_ref()) => {
            let message = format!("a {} is in a namespace, and none is given", kind.value);
            findings.at(&code::DOWNSTREAM_NAMESPACE, &kind.path, message, "give `namespace`");
        }
        _ => {}
    }
}

/// A Policy makes and reads objects of its own namespace only.
fn check_home(findings: &mut PolicyChecks<'_>, policy: &PolicySource, one: &DownstreamSource) {
    let Some(home) = &policy.namespace else { return };
    let source = match &one.content {
        DownstreamContent::Clone { namespace, .. } | DownstreamContent::CloneList { namespace, .. } => {
            namespace.as_ref()
        }
        DownstreamContent::Data(_) | DownstreamContent::Nothing => None,
    };
    for namespace in one.namespace.iter().chain(source) {
        if is_literal(&namespace.value) && namespace.value != *home {
            let message = format!("namespace `{}` is not that of the policy, `{home}`", namespace.value);
            let help = "a Policy generates in its own namespace; use a ClusterPolicy for others";
            findings.at(&code::GENERATE_ELSEWHERE, &namespace.path, message, help);
        }
    }
    let mut wide = |kind: &Located<Text>, written: &str| {
        if scope_of_kind(written) == Some(KindLevel::Cluster) {
            let message = format!("a {} is in no namespace, and a Policy generates in its own", kind.value);
            findings.at(&code::GENERATE_ELSEWHERE, &kind.path, message, "use a ClusterPolicy");
        }
    };
    if let DownstreamContent::CloneList { kinds, .. } = &one.content {
        kinds.iter().for_each(|kind| wide(kind, &kind.value));
    } else if let (Some(kind), Some(version)) = (&one.kind, &one.api_version) {
        wide(kind, &format!("{}/{}", version.value, kind.value));
    }
}

/// A source that would be its own copy is skipped, so the rule makes nothing.
fn check_self_copy(findings: &mut PolicyChecks<'_>, one: &DownstreamSource) {
    let DownstreamContent::Clone { path, name: Some(name), namespace } = &one.content else { return };
    let text = |found: Option<&Located<Text>>| found.map(|found| found.value.clone()).unwrap_or_default();
    let is_same = one.name.as_ref().is_some_and(|own| own.value == name.value)
        && text(one.namespace.as_ref()) == text(namespace.as_ref());
    if is_same {
        let message = "the copy is the source itself, so nothing is made";
        findings.at_key(&code::SELF_COPY, path, message, "give another `name` or `namespace`");
    }
}

/// Reports a rule that is triggered by what it makes.
fn check_own_trigger(findings: &mut PolicyChecks<'_>, rule: &RuleSource, generate: &GenerateSource) {
    let made: Vec<&str> = generate.downstreams.iter().flat_map(made_kinds).collect();
    let triggers = |filter: &ResourceFilter| {
        let fits = |kind: &&Located<Text>| {
            let [_, _, kind, subresource] = kind_parts(&kind.value);
            subresource.is_empty() && made.contains(&kind)
        };
        filter.kinds.iter().find(fits).cloned()
    };
    let Match { any, all, flat, .. } = &rule.matching;
    if let Some(kind) = flat.as_ref().and_then(triggers) {
        let message = format!("the rule is triggered by each {} that it makes", kind.value);
        findings.at(&code::GENERATE_LOOP, &kind.path, message, "generate another kind than it matches");
        return;
    }
    let is_open = |filter: &&ResourceFilter| {
        filter.name.is_none()
            && filter.names.is_empty()
            && filter.selector.is_none()
            && filter.namespaces.is_empty()
            && filter.namespace_selector.is_none()
            && filter.annotations.is_empty()
    };
    let is_guarded = rule.exclude.is_some() || rule.preconditions.is_some();
    let open = any.iter().chain(all).filter(|filter| is_open(filter) && !is_guarded);
    if let Some(kind) = open.filter_map(triggers).next() {
        let message = format!("each {} that the rule makes may trigger it again", kind.value);
        let help = "limit the match by names or labels, or exclude what is generated";
        findings.at(&code::POSSIBLE_LOOP, &kind.path, message, help);
    }
}

fn made_kinds(one: &DownstreamSource) -> Vec<&str> {
    match &one.content {
        DownstreamContent::CloneList { kinds, .. } => {
            kinds.iter().map(|kind| kind_parts(&kind.value)[2]).collect()
        }
        _ => one.kind.iter().map(|kind| kind.value.as_str()).collect(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KindLevel {
    Cluster,
    Namespace,
}

/// Returns whether objects of `version/kind` are in namespaces; nothing for kinds that not every cluster has.
fn scope_of_kind(written: &str) -> Option<KindLevel> {
    let (version, kind) = written.rsplit_once('/')?;
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let (_, _, kinds) = BUILT_IN_KINDS
        .iter()
        .find(|(known, number, kinds)| (*known, *number) == (group, version) && kinds.contains(&kind))?;
    let kind = GroupVersionKind { group: group.into(), version: version.into(), kind: kind.into() };
    kinds.contains(&kind.kind.as_str()).then(|| match is_cluster_scoped(&kind) {
        true => KindLevel::Cluster,
        false => KindLevel::Namespace,
    })
}

fn is_blank(found: Option<&Located<Text>>) -> bool {
    found.is_none_or(|found| found.value.trim().is_empty())
}

fn is_literal(text: &str) -> bool {
    !text.contains("{{") && !text.contains("$(")
}
