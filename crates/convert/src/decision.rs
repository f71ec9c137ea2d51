//! Which rules in CEL Kyverno itself makes a ValidatingAdmissionPolicy of, and the words in which it refuses others.
//!
//! It does not ask here whether `generate` is set: who calls this has asked for it.

use kubewright_golib::glob::has_wildcard;
use kubewright_value::Step;

use super::Inexpressible;
use super::resources::{self, Found};
use kubewright_dialect_kit::fields::{Placed, child};
use kubewright_kyverno::source::{
    ActionOverride, ExceptionSource, Match, PolicySource, ResourceFilter, RuleSource,
};

/// Returns why no ValidatingAdmissionPolicy is made of `rule`, which is in CEL; nothing when one is.
pub(super) fn refusal(
    policy: &PolicySource,
    rule: &RuleSource,
    exceptions: &[&ExceptionSource],
) -> Option<Inexpressible> {
    let overrides = [&policy.settings.failure_action_overrides, &rule.validate.failure_action_overrides];
    let mut reason = overrides.into_iter().find_map(|overrides| of_overrides(overrides, &rule.path));
    reason = reason.or_else(|| of_match(&rule.matching, Side::Match));
    reason = reason.or_else(|| rule.exclude.as_ref().and_then(|exclude| of_match(exclude, Side::Exclude)));
    reason = reason.or_else(|| exceptions.iter().find_map(|exception| of_exception(exception, rule)));
    reason.or_else(|| {
        let excluded = rule.exclude.iter().chain(exceptions.iter().map(|exception| &exception.matching));
        std::iter::once(&rule.matching).chain(excluded).find_map(|matching| of_kinds(matching, &rule.path))
    })
}

/// Where entries stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Match,
    Exclude,
    Exception,
}

fn of_overrides(overrides: &[ActionOverride], rule: &[Step]) -> Option<Inexpressible> {
    match overrides {
        [] => None,
        [one] if !one.namespaces.is_empty() => {
            refuse("Namespaces in validationFailureActionOverrides is not applicable", &one.path)
        }
        [_] => None,
        [_, second, ..] => {
            let path = if second.path.is_empty() { rule } else { &second.path };
            refuse("multiple validationFailureActionOverrides are not applicable", path)
        }
    }
}

fn of_match(matching: &Match, side: Side) -> Option<Inexpressible> {
    let flat = matching.flat.iter().find_map(|filter| of_user(filter).or_else(|| of_filter(filter, side)));
    flat.or_else(|| of_list(&matching.any, side))
        .or_else(|| {
            let place = match side {
                Side::Match => "the match block",
                Side::Exclude => "the exclude block",
                Side::Exception => "the PolicyException's match block",
            };
            let second = matching.all.get(1)?;
            refuse(&format!("multiple 'all' in {place} is not applicable"), &second.path)
        })
        .or_else(|| of_list(&matching.all, side))
}

fn of_list(filters: &[ResourceFilter], side: Side) -> Option<Inexpressible> {
    let one = filters.iter().find_map(|filter| of_user(filter).or_else(|| of_filter(filter, side)));
    one.or_else(|| {
        let selecting =
            filters.iter().find(|filter| filter.namespace_selector.is_some() || filter.selector.is_some())?;
        match side {
            Side::Match if filters.len() > 1 => refuse(
                "NamespaceSelector / ObjectSelector across multiple resources in the match block are not applicable",
                &selecting.path,
            ),
            Side::Match => None,
            Side::Exclude | Side::Exception => refuse(
                "NamespaceSelector / ObjectSelector in the exclude block is not applicable",
                &selecting.path,
            ),
        }
    })
}

fn of_user(filter: &ResourceFilter) -> Option<Inexpressible> {
    let has_user =
        !(filter.subjects.is_empty() && filter.roles.is_empty() && filter.cluster_roles.is_empty());
    has_user
        .then(|| refuse("Roles / ClusterRoles / Subjects in `any/all` is not applicable", &filter.path))
        .flatten()
}

fn of_filter(filter: &ResourceFilter, side: Side) -> Option<Inexpressible> {
    let resources = child(&filter.path, "resources");
    if side != Side::Match && !filter.kinds.is_empty() && !filter.namespaces.is_empty() {
        let path = child(&resources, "namespaces");
        return refuse("excluding a resource within a namespace is not applicable", &path);
    }
    if !filter.annotations.is_empty() {
        let path = child(&resources, "annotations");
        return refuse("Annotations in resource description is not applicable", &path);
    }
    if let Some(name) = filter.name.iter().chain(&filter.names).find(is_wild) {
        return refuse("wildcards in resource name is not applicable", &name.path);
    }
    let wild = filter.namespaces.iter().find(is_wild)?;
    refuse("wildcards in namespace name is not applicable", &wild.path)
}

fn is_wild(text: &&Placed<kubewright_value::Text>) -> bool {
    has_wildcard(&text.value)
}

fn of_exception(exception: &ExceptionSource, rule: &RuleSource) -> Option<Inexpressible> {
    if exception.policies.iter().any(|(_, rules)| rules.len() > 1) {
        return refuse("multiple ruleNames in PolicyException is not applicable", &rule.path);
    }
    if exception.conditions.is_some() {
        return refuse("Conditions in PolicyException is not applicable", &rule.path);
    }
    // Its places are in another document.
    let entries = Match { flat: None, ..exception.matching.clone() };
    of_match(&entries, Side::Exception).map(|reason| Inexpressible { path: rule.path.clone(), ..reason })
}

/// Returns why the kinds of a match cannot be named: each must be one resource.
fn of_kinds(matching: &Match, rule: &[Step]) -> Option<Inexpressible> {
    let filters = matching.flat.iter().chain(&matching.any).chain(&matching.all);
    for kind in filters.flat_map(|filter| &filter.kinds) {
        let is_one = kind.value == "*"
            || match resources::find(&kind.value) {
                Found::Known(resources) => {
                    matches!(resources.as_slice(), [one] if one.name != "*")
                }
                Found::Guessed(_) => true,
                Found::Wild => false,
            };
        if !is_one {
            let [_, _, name, _] = kubewright_kyverno::matching::kind::kind_parts(&kind.value);
            let path = if kind.path.is_empty() { rule } else { &kind.path };
            return refuse(&format!("no unique match for kind {name}"), path);
        }
    }
    None
}

fn refuse(why: &str, path: &[Step]) -> Option<Inexpressible> {
    Some(Inexpressible { why: why.to_owned(), path: path.to_vec() })
}
