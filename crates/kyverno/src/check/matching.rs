//! Checks of `match` and `exclude`.

use kubewright_golib::glob;
use kubewright_value::{Step, Text, Value};

use super::super::source::{Match, Method, PolicySource, ResourceFilter, RuleSource};
use super::{PolicyChecks, code, variables};
use kubewright_dialect_kit::fields::child_path;
use kubewright_dialect_kit::selector::SelectorSource;

/// Checks the `match` and `exclude` of a rule.
pub(super) fn check_match(findings: &mut PolicyChecks<'_>, policy: &PolicySource, rule: &RuleSource) {
    let namespace = policy.namespace.as_ref();
    check_match_shape(findings, &rule.matching, namespace);
    check_kinds_present(findings, policy, &rule.matching);
    for matching in std::iter::once(&rule.matching).chain(&rule.exclude) {
        if policy.settings.is_background {
            users(findings, matching);
        }
        check_wildcard_kinds(findings, policy, rule, matching);
        check_text_values(findings, &matching.path);
    }
    if let Some(exclude) = &rule.exclude {
        check_match_shape(findings, exclude, namespace);
        conflict(findings, &rule.matching, exclude);
    }
}

/// Checks a `match` or `exclude`, of rules and of exceptions.
pub(super) fn check_match_shape(findings: &mut PolicyChecks<'_>, matching: &Match, namespace: Option<&Text>) {
    let has_resources = matching
        .flat
        .as_ref()
        .is_some_and(|flat| findings.value(&child_path(&flat.path, "resources")).is_some());
    let help = "use several entries under `any`, or under `all`";
    if !matching.any.is_empty() && !matching.all.is_empty() {
        findings.at_key(&code::ANY_AND_ALL, &child_path(&matching.path, "all"), "`all` beside `any`", help);
    } else if has_resources && !(matching.any.is_empty() && matching.all.is_empty()) {
        let path = child_path(&matching.path, "resources");
        findings.at_key(&code::ANY_AND_ALL, &path, "`resources` beside `any` or `all`", help);
    }
    for filter in filters_of_match(matching) {
        check_match_entry(findings, filter, namespace);
    }
}

/// Reports user filters in a background policy, where the user is unknown.
pub(super) fn users(findings: &mut PolicyChecks<'_>, matching: &Match) {
    for filter in filters_of_match(matching) {
        let fields = [
            ("subjects", filter.subjects.is_empty()),
            ("roles", filter.roles.is_empty()),
            ("clusterRoles", filter.cluster_roles.is_empty()),
        ];
        for (key, _) in fields.into_iter().filter(|(_, is_empty)| !is_empty) {
            let message = format!("a background scan has no user, and `{key}` cannot be compared");
            let help = "set `background: false`";
            findings.at_key(&code::BACKGROUND_USER, &child_path(&filter.path, key), message, help);
        }
    }
}

fn filters_of_match(matching: &Match) -> impl Iterator<Item = &ResourceFilter> {
    matching.any.iter().chain(&matching.all).chain(&matching.flat)
}

fn check_match_entry(findings: &mut PolicyChecks<'_>, filter: &ResourceFilter, namespace: Option<&Text>) {
    filter.kinds.iter().for_each(|kind| super::kinds::check_kind(findings, kind));
    let resources = child_path(&filter.path, "resources");
    if filter.name.is_some() && !filter.names.is_empty() {
        let help = "put the name into `names`";
        findings.at_key(
            &code::NAME_AND_NAMES,
            &child_path(&resources, "name"),
            "`name` beside `names`",
            help,
        );
    }
    if namespace.is_some() && !filter.namespaces.is_empty() {
        let message = "a Policy matches only its own namespace and cannot name others";
        let help = "remove `namespaces`, or make it a ClusterPolicy";
        findings.at_key(&code::NOT_IN_NAMESPACE, &child_path(&resources, "namespaces"), message, help);
    }
    if let Some(selector) = &filter.selector {
        if selector.labels.is_empty() && selector.expressions.is_empty() {
            let help = "give `matchLabels` or `matchExpressions`, or remove it";
            findings.at_key(
                &code::BAD_SELECTOR,
                &selector.path,
                "the selector selects nothing in particular",
                help,
            );
        }
        check_selector_labels(findings, selector);
    }
    if let Some(selector) = &filter.namespace_selector {
        check_selector_labels(findings, selector);
    }
    for (index, role) in filter.roles.iter().enumerate() {
        if role.split(':').count() != 2 {
            let path = child_path(&child_path(&filter.path, "roles"), index);
            let message = format!("`{role}` is not `namespace:name`");
            findings.at(&code::BAD_ROLE, &path, message, "roles of the cluster go into `clusterRoles`");
        }
    }
}

/// Checks that Kubernetes can use a selector. One with wildcards is left alone.
fn check_selector_labels(findings: &mut PolicyChecks<'_>, selector: &SelectorSource) {
    if selector.labels.iter().any(|(key, value)| glob::has_wildcard(key) || glob::has_wildcard(value)) {
        return;
    }
    let places = child_path(&selector.path, "matchLabels");
    for (key, value) in &selector.labels {
        if let Some(message) = label_key_problem(key).or_else(|| bad_value(value)) {
            findings.at(&code::BAD_SELECTOR, &child_path(&places, key.as_str()), message, "");
        }
    }
    let places = child_path(&selector.path, "matchExpressions");
    for (index, requirement) in selector.expressions.iter().enumerate() {
        let wants_values = requirement.operator.takes_values();
        let message = label_key_problem(&requirement.key)
            .or_else(|| requirement.values.iter().find_map(|value| bad_value(value)))
            .or_else(|| match (wants_values, requirement.values.is_empty()) {
                (true, true) => Some("`In` and `NotIn` need `values`".to_owned()),
                (false, false) => Some("`Exists` and `DoesNotExist` have no `values`".to_owned()),
                _ => None,
            });
        if let Some(message) = message {
            findings.at(&code::BAD_SELECTOR, &child_path(&places, index), message, "");
        }
    }
}

fn label_key_problem(key: &str) -> Option<String> {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let is_prefix = prefix.split('.').all(|part| is_label_word(part, 63) && !part.contains(['_', '.']));
    let is_good = is_label_word(name, 63) && (!key.contains('/') || (is_prefix && prefix.len() <= 253));
    (!is_good).then(|| format!("`{key}` cannot be the name of a label"))
}

fn bad_value(value: &str) -> Option<String> {
    let is_good = value.is_empty() || is_label_word(value, 63);
    (!is_good).then(|| format!("`{value}` cannot be the value of a label"))
}

fn is_label_word(text: &str, limit: usize) -> bool {
    let is_end = |character: Option<char>| character.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= limit
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// An entry of a `match` names kinds, unless another required entry does. Without any it matches every kind, which
/// Kyverno refuses and a background scan cannot cover.
fn check_kinds_present(findings: &mut PolicyChecks<'_>, policy: &PolicySource, matching: &Match) {
    let entries: Vec<&ResourceFilter> = match (matching.any.is_empty(), matching.all.is_empty()) {
        (true, true) => matching.flat.iter().collect(),
        (true, false) => matching.all.iter().collect(),
        (false, _) => matching.any.iter().collect(),
    };
    let help = "name the kinds; `*` means all of them";
    if entries.is_empty() {
        findings.at_key(&code::NO_KINDS, &matching.path, "`match` is empty", help);
    }
    let is_said = matching.any.is_empty() && entries.iter().any(|filter| !filter.kinds.is_empty());
    for filter in entries.into_iter().filter(|filter| filter.kinds.is_empty()) {
        if is_empty_filter(filter) || (policy.settings.is_background && !is_said) {
            findings.at(&code::NO_KINDS, &filter.path, "the entry names no `kinds`", help);
        } else {
            let message = match is_said {
                true => "the entry names no `kinds`: Kyverno refuses it; here another entry names them",
                false => "the entry names no `kinds`: Kyverno refuses it; here it matches every kind",
            };
            findings.at(&code::ENTRY_WITHOUT_KINDS, &filter.path, message, help);
        }
    }
}

/// Returns whether an entry has no filters.
fn is_empty_filter(filter: &ResourceFilter) -> bool {
    let is_about_objects = filter.name.is_some()
        || filter.selector.is_some()
        || filter.namespace_selector.is_some()
        || !filter.names.is_empty()
        || !filter.namespaces.is_empty()
        || !filter.annotations.is_empty()
        || !filter.operations.is_empty();
    let is_about_users =
        !filter.subjects.is_empty() || !filter.roles.is_empty() || !filter.cluster_roles.is_empty();
    !is_about_objects && !is_about_users
}

/// A rule that matches every kind is limited to what every object supports.
fn check_wildcard_kinds(
    findings: &mut PolicyChecks<'_>,
    policy: &PolicySource,
    rule: &RuleSource,
    matching: &Match,
) {
    for filter in filters_of_match(matching) {
        let Some(star) = filter.kinds.iter().find(|kind| kind.value == "*") else { continue };
        let problem = if policy.settings.is_background {
            Some(("a background scan cannot look at every kind", "set `background: false`"))
        } else if filter.kinds.len() > 1 {
            Some(("`*` beside other kinds", "`*` alone matches every kind"))
        } else {
            match &rule.validate.method {
                Method::Foreach(_) | Method::Both(_) => {
                    Some(("a rule for every kind cannot have `foreach`", "name the kinds"))
                }
                Method::Generate(_) | Method::Unsupported { field: "verifyImages", .. } => {
                    Some(("a rule for every kind can only validate or mutate", "name the kinds"))
                }
                Method::Pattern(found) if !is_metadata_pattern(&found.value) => Some(ONLY_METADATA),
                Method::AnyPattern(found)
                    if !found.value.as_array().unwrap_or_default().iter().all(is_metadata_pattern) =>
                {
                    Some(ONLY_METADATA)
                }
                _ => None,
            }
        };
        if let Some((message, help)) = problem {
            findings.at(&code::WILDCARD_KIND, &star.path, message, help);
        }
    }
}

const ONLY_METADATA: (&str, &str) =
    ("a pattern for every kind can only check `metadata`", "name the kinds, or use `deny`");

fn is_metadata_pattern(pattern: &Value) -> bool {
    pattern.as_object().is_none_or(|map| map.keys().all(|key| key == "metadata"))
}

fn check_text_values(findings: &mut PolicyChecks<'_>, path: &[Step]) {
    let Some(value) = findings.value(path).cloned() else { return };
    let mut found = Vec::new();
    variables::each_text(&value, &mut path.to_vec(), &mut |path, text| {
        let opening = text.find("{{");
        if opening.is_some_and(|at| text.get(at..).is_some_and(|rest| rest.contains("}}"))) {
            found.push(path.to_vec());
        }
    });
    for path in found {
        let help = "compare it in `preconditions`, which have variables";
        findings.at(&code::VARIABLE_IN_MATCH, &path, "`match` and `exclude` have no variables", help);
    }
}

/// An `exclude` with the very entry of the `match` leaves nothing of it.
fn conflict(findings: &mut PolicyChecks<'_>, matching: &Match, exclude: &Match) {
    if !matching.all.is_empty() || !exclude.all.is_empty() {
        return;
    }
    if exclude.any.is_empty() && findings.value(&exclude.path) == findings.value(&matching.path) {
        let message = "`exclude` repeats the `match`, so nothing is left";
        findings.at_key(&code::MATCHES_NOTHING, &exclude.path, message, "");
    }
    for entry in &exclude.any {
        let written = findings.value(&entry.path);
        let twin = matching.any.iter().any(|filter| findings.value(&filter.path) == written);
        if twin {
            let message = "`exclude` repeats the `match`, so nothing is left";
            findings.at(&code::MATCHES_NOTHING, &entry.path, message, "");
        }
    }
}
