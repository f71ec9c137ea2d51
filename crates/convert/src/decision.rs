//! Which CEL rules Kyverno itself turns into a ValidatingAdmissionPolicy, with its messages for the others.
//!
//! `generate` is not checked here: the caller has asked for the policy.

use kubewright_golib::glob::has_wildcard;
use kubewright_value::Step;

use super::ConversionRefusal;
use super::resources::{self, KindLookup};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_kyverno::source::{
    ActionOverride, ExceptionSource, Match, PolicySource, ResourceFilter, RuleSource,
};

/// Returns why Kyverno writes no ValidatingAdmissionPolicy for `rule`, which is in CEL; `None` when it writes one.
pub(super) fn native_refusal(
    policy: &PolicySource,
    rule: &RuleSource,
    exceptions: &[&ExceptionSource],
) -> Option<ConversionRefusal> {
    let overrides = [&policy.settings.failure_action_overrides, &rule.validate.failure_action_overrides];
    let mut reason = overrides.into_iter().find_map(|overrides| overrides_refusal(overrides, &rule.path));
    reason = reason.or_else(|| match_refusal(&rule.matching, FilterSide::Match));
    reason = reason
        .or_else(|| rule.exclude.as_ref().and_then(|exclude| match_refusal(exclude, FilterSide::Exclude)));
    reason = reason.or_else(|| exceptions.iter().find_map(|exception| exception_refusal(exception, rule)));
    reason.or_else(|| {
        let excluded = rule.exclude.iter().chain(exceptions.iter().map(|exception| &exception.matching));
        std::iter::once(&rule.matching)
            .chain(excluded)
            .find_map(|matching| kinds_refusal(matching, &rule.path))
    })
}

/// The list that entries belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterSide {
    Match,
    Exclude,
    Exception,
}

fn overrides_refusal(overrides: &[ActionOverride], rule: &[Step]) -> Option<ConversionRefusal> {
    match overrides {
        [] => None,
        [one] if !one.namespaces.is_empty() => {
            refuse_native("Namespaces in validationFailureActionOverrides is not applicable", &one.path)
        }
        [_] => None,
        [_, second, ..] => {
            let path = if second.path.is_empty() { rule } else { &second.path };
            refuse_native("multiple validationFailureActionOverrides are not applicable", path)
        }
    }
}

fn match_refusal(matching: &Match, side: FilterSide) -> Option<ConversionRefusal> {
    let flat =
        matching.flat.iter().find_map(|filter| user_refusal(filter).or_else(|| filter_refusal(filter, side)));
    flat.or_else(|| filters_refusal(&matching.any, side))
        .or_else(|| {
            let place = match side {
                FilterSide::Match => "the match block",
                FilterSide::Exclude => "the exclude block",
                FilterSide::Exception => "the PolicyException's match block",
            };
            let second = matching.all.get(1)?;
            refuse_native(&format!("multiple 'all' in {place} is not applicable"), &second.path)
        })
        .or_else(|| filters_refusal(&matching.all, side))
}

fn filters_refusal(filters: &[ResourceFilter], side: FilterSide) -> Option<ConversionRefusal> {
    let one = filters.iter().find_map(|filter| user_refusal(filter).or_else(|| filter_refusal(filter, side)));
    one.or_else(|| {
        let selecting =
            filters.iter().find(|filter| filter.namespace_selector.is_some() || filter.selector.is_some())?;
        match side {
            FilterSide::Match if filters.len() > 1 => refuse_native(
                "NamespaceSelector / ObjectSelector across multiple resources in the match block are not applicable",
                &selecting.path,
            ),
            FilterSide::Match => None,
            FilterSide::Exclude | FilterSide::Exception => refuse_native(
                "NamespaceSelector / ObjectSelector in the exclude block is not applicable",
                &selecting.path,
            ),
        }
    })
}

fn user_refusal(filter: &ResourceFilter) -> Option<ConversionRefusal> {
    let has_user =
        !(filter.subjects.is_empty() && filter.roles.is_empty() && filter.cluster_roles.is_empty());
    has_user
        .then(|| {
            refuse_native("Roles / ClusterRoles / Subjects in `any/all` is not applicable", &filter.path)
        })
        .flatten()
}

fn filter_refusal(filter: &ResourceFilter, side: FilterSide) -> Option<ConversionRefusal> {
    let resources = child_path(&filter.path, "resources");
    if side != FilterSide::Match && !filter.kinds.is_empty() && !filter.namespaces.is_empty() {
        let path = child_path(&resources, "namespaces");
        return refuse_native("excluding a resource within a namespace is not applicable", &path);
    }
    if !filter.annotations.is_empty() {
        let path = child_path(&resources, "annotations");
        return refuse_native("Annotations in resource description is not applicable", &path);
    }
    if let Some(name) = filter.name.iter().chain(&filter.names).find(is_wildcard_text) {
        return refuse_native("wildcards in resource name is not applicable", &name.path);
    }
    let wild = filter.namespaces.iter().find(is_wildcard_text)?;
    refuse_native("wildcards in namespace name is not applicable", &wild.path)
}

fn is_wildcard_text(text: &&Located<kubewright_value::Text>) -> bool {
    has_wildcard(&text.value)
}

fn exception_refusal(exception: &ExceptionSource, rule: &RuleSource) -> Option<ConversionRefusal> {
    if exception.policies.iter().any(|(_, rules)| rules.len() > 1) {
        return refuse_native("multiple ruleNames in PolicyException is not applicable", &rule.path);
    }
    if exception.conditions.is_some() {
        return refuse_native("Conditions in PolicyException is not applicable", &rule.path);
    }
    // Its places are in another document.
    let entries = Match { flat: None, ..exception.matching.clone() };
    match_refusal(&entries, FilterSide::Exception)
        .map(|reason| ConversionRefusal { path: rule.path.clone(), ..reason })
}

/// Returns why the kinds of a match cannot be named: each must be one resource.
fn kinds_refusal(matching: &Match, rule: &[Step]) -> Option<ConversionRefusal> {
    let filters = matching.flat.iter().chain(&matching.any).chain(&matching.all);
    for kind in filters.flat_map(|filter| &filter.kinds) {
        let is_one = kind.value == "*"
            || match resources::find_resources(&kind.value) {
                KindLookup::Known(resources) => {
                    matches!(resources.as_slice(), [one] if one.name != "*")
                }
                KindLookup::Guessed(_) => true,
                KindLookup::Wild => false,
            };
        if !is_one {
            let [_, _, name, _] = kubewright_kyverno::matching::kind::kind_parts(&kind.value);
            let path = if kind.path.is_empty() { rule } else { &kind.path };
            return refuse_native(&format!("no unique match for kind {name}"), path);
        }
    }
    None
}

fn refuse_native(why: &str, path: &[Step]) -> Option<ConversionRefusal> {
    Some(ConversionRefusal { why: why.to_owned(), path: path.to_vec() })
}
