//! Writes `match` and `exclude` as resource rules, selectors and conditions that match exactly the same requests.
//!
//! Kinds and operations become resource rules, because these decide which requests reach the policy at all. Filters on
//! names, namespaces, labels and users become conditions, because lists cannot tie them to one entry of several.

use std::collections::HashSet;

use kubewright_golib::glob::has_wildcard;
use kubewright_k8s::Operation;
use kubewright_value::{Step, Text};

use super::constraints::{MatchConstraints, TargetResourceRule, selector_value};
use super::expressions::{TARGET_OBJECT, matches_pattern, string_literal};
use super::resources::{self, KindLookup, ResourceScope, ServedResource};
use super::texts::{all_tests, any_test, is_one_of};
use super::{ConversionResult, refuse_conversion};
use kubewright_dialect_kit::fields::child_path;
use kubewright_dialect_kit::selector::{LabelOperator, LabelRequirement, SelectorSource};
use kubewright_kyverno::matching::kind::kind_parts;
use kubewright_kyverno::source::{Match, ResourceFilter, SubjectFilter, SubjectKind};

/// How many kinds an entry may name. Every one of them may be a rule of its own.
const MAX_KINDS: usize = 2000;

/// A `match` with its `exclude` and the operations of the rule.
pub(super) struct MatchSource<'m> {
    pub(super) matching: &'m Match,
    pub(super) exclude: Option<&'m Match>,
    /// The operations that the rule can evaluate.
    pub(super) operations: &'m [Operation],
    /// Whether the subresources of Pods that rules for Pods cover are listed too.
    pub(super) has_parts_of_pods: bool,
    /// The path of the rule.
    pub(super) path: &'m [Step],
}

/// Returns the match constraints of `written`.
pub(super) fn write_constraints(written: &MatchSource<'_>) -> ConversionResult<MatchConstraints> {
    let (is_any, entries) = any_or_all_entries(written.matching);
    if entries.is_empty() {
        return refuse_conversion("the match is empty", written.path);
    }
    let is_about = |operation: &Operation| {
        entries.iter().any(|entry| entry.operations.is_empty() || entry.operations.contains(operation))
    };
    let has_deletions = written.operations.contains(&Operation::Delete) && is_about(&Operation::Delete);
    let writer = ConstraintsWriter { written, scope: namespace_use(&entries, is_any)?, has_deletions };
    let mut made = MatchConstraints::default();
    match entries.as_slice() {
        [one] => writer.alone(one, &mut made)?,
        several if is_any => writer.any_of(several, &mut made)?,
        several => writer.all_of(several, &mut made)?,
    }
    if made.rules.iter().all(|rule| rule.operations.is_empty()) {
        return refuse_conversion("it matches only operations that the rule does not evaluate", written.path);
    }
    made.rules.retain(|rule| !rule.operations.is_empty());
    if let Some(exclude) = written.exclude {
        writer.exclude(exclude, &mut made)?;
    }
    Ok(made)
}

/// Returns whether one entry is enough, and the entries.
fn any_or_all_entries(matching: &Match) -> (bool, Vec<&ResourceFilter>) {
    match (matching.any.as_slice(), matching.all.as_slice()) {
        ([], []) => (false, matching.flat.iter().collect()),
        ([], all) => (false, all.iter().collect()),
        (any, _) => (true, any.iter().collect()),
    }
}

/// How the matched objects use namespaces.
#[derive(Debug, Clone, Copy, Default)]
struct NamespaceUse {
    /// Some have none.
    has_cluster: bool,
    /// Some are Namespaces.
    has_namespaces: bool,
}

fn namespace_use(entries: &[&ResourceFilter], is_any: bool) -> ConversionResult<NamespaceUse> {
    let mut scope = NamespaceUse::default();
    let mut has_kinds = false;
    for entry in entries {
        has_kinds |= !entry.kinds.is_empty();
        for resource in entry_resources(entry)? {
            scope.has_cluster |= matches!(resource.scope, ResourceScope::Cluster | ResourceScope::Unknown);
            scope.has_namespaces |=
                matches!(resource.scope, ResourceScope::Namespace | ResourceScope::Unknown);
        }
        if entry.kinds.is_empty() && is_any {
            scope = NamespaceUse { has_cluster: true, has_namespaces: true };
        }
    }
    Ok(if has_kinds { scope } else { NamespaceUse { has_cluster: true, has_namespaces: true } })
}

struct ConstraintsWriter<'w> {
    written: &'w MatchSource<'w>,
    scope: NamespaceUse,
    /// Whether deletions are judged, at which there is only the old object.
    has_deletions: bool,
}

impl ConstraintsWriter<'_> {
    /// Writes the only entry of a `match`.
    fn alone(&self, entry: &ResourceFilter, made: &mut MatchConstraints) -> ConversionResult<()> {
        made.rules = self.rules(entry)?;
        if let Some(written) = entry.selector.as_ref().filter(|selector| is_kubernetes_selector(selector)) {
            made.object_selector = Some(selector_value(written));
        }
        if let Some(written) = &entry.namespace_selector {
            if self.scope.has_cluster || self.scope.has_namespaces || !is_kubernetes_selector(written) {
                let path = child_path(&child_path(&entry.path, "resources"), "namespaceSelector");
                return refuse_conversion("`namespaceSelector` beside kinds that have no namespace", &path);
            }
            made.namespace_selector = Some(selector_value(written));
        }
        let rest = ResourceFilter {
            selector: entry.selector.clone().filter(|selector| !is_kubernetes_selector(selector)),
            namespace_selector: None,
            ..entry.clone()
        };
        made.conditions.extend(self.terms(&rest, true)?);
        Ok(())
    }

    /// Writes entries of which one is enough.
    fn any_of(&self, entries: &[&ResourceFilter], made: &mut MatchConstraints) -> ConversionResult<()> {
        for entry in entries {
            made.rules.extend(self.rules(entry)?);
        }
        let terms: Vec<Vec<(Text, String)>> =
            entries.iter().map(|entry| self.terms(entry, true)).collect::<ConversionResult<_>>()?;
        if let Some(first) = terms.first()
            && terms.iter().all(|terms| terms == first)
        {
            made.conditions.extend(first.iter().cloned());
            merge_resource_rules(&mut made.rules);
            return Ok(());
        }
        let mut alternatives = Vec::with_capacity(entries.len());
        for (entry, terms) in entries.iter().zip(terms) {
            let mut tests = self.about(entry)?;
            tests.extend(terms.into_iter().map(|(_, term)| term));
            alternatives.push(all_tests(&tests));
        }
        merge_resource_rules(&mut made.rules);
        made.conditions.push((Text::new_static("match"), any_test(&alternatives)));
        Ok(())
    }

    /// Writes entries that must all fit.
    fn all_of(&self, entries: &[&ResourceFilter], made: &mut MatchConstraints) -> ConversionResult<()> {
        let first = entries.iter().position(|entry| !entry.kinds.is_empty()).unwrap_or(0);
        for (place, entry) in entries.iter().enumerate() {
            if place == first {
                made.rules = self.rules(entry)?;
            } else {
                let tests = self.about(entry)?;
                let name = format!("match-{}", place + 1);
                made.conditions.extend((!tests.is_empty()).then(|| (name.into(), all_tests(&tests))));
            }
            let terms = self.terms(entry, true)?;
            let numbered = |(name, term): (Text, String)| (format!("{name}-{}", place + 1).into(), term);
            made.conditions.extend(terms.into_iter().map(numbered));
        }
        Ok(())
    }

    fn exclude(&self, exclude: &Match, made: &mut MatchConstraints) -> ConversionResult<()> {
        let (is_any, entries) = any_or_all_entries(exclude);
        let mut tests = Vec::new();
        for entry in &entries {
            let mut test = self.about(entry)?;
            let terms = self.terms(entry, false)?;
            if !terms.is_empty() && entry.operations.is_empty() && self.has_no_other_kinds(entry) {
                test.clear();
            }
            test.extend(terms.into_iter().map(|(_, term)| term));
            if !test.is_empty() {
                tests.push(test);
            } else if !is_any {
                // An empty entry matches nothing, so not all entries can match.
                return Ok(());
            }
        }
        let tests = if is_any { tests } else { vec![tests.concat()] };
        for (place, test) in tests.into_iter().filter(|test| !test.is_empty()).enumerate() {
            made.conditions
                .push((format!("exclude-{}", place + 1).into(), format!("!({})", all_tests(&test))));
        }
        Ok(())
    }

    /// Returns whether everything that is matched is of the kinds of an entry.
    fn has_no_other_kinds(&self, entry: &ResourceFilter) -> bool {
        let (_, matched) = any_or_all_entries(self.written.matching);
        let mut kinds = matched.iter().flat_map(|filter| &filter.kinds);
        matched.iter().all(|filter| !filter.kinds.is_empty())
            && kinds.all(|kind| entry.kinds.iter().any(|excluded| excluded.value == kind.value))
    }

    /// Returns the resources and operations of an entry.
    fn rules(&self, entry: &ResourceFilter) -> ConversionResult<Vec<TargetResourceRule>> {
        let operations: Vec<Operation> = self
            .written
            .operations
            .iter()
            .copied()
            .filter(|operation| entry.operations.is_empty() || entry.operations.contains(operation))
            .collect();
        let mut found = entry_resources(entry)?;
        if entry.kinds.is_empty() {
            found = all_resources();
        }
        let mut rules = Vec::with_capacity(found.len());
        for resource in found {
            let mut resources = vec![resource.name.clone()];
            if resource.name == "pods" && self.written.has_parts_of_pods {
                resources.push("pods/ephemeralcontainers".into());
            }
            rules.push(TargetResourceRule {
                groups: vec![resource.group],
                versions: vec![resource.version],
                resources,
                operations: operations.clone(),
                names: Vec::new(),
            });
        }
        merge_resource_rules(&mut rules);
        Ok(rules)
    }

    /// Returns the kinds and operations of an entry as conditions.
    fn about(&self, entry: &ResourceFilter) -> ConversionResult<Vec<String>> {
        let mut tests = Vec::new();
        if !entry.kinds.is_empty() {
            let mut kinds = Vec::new();
            for kind in &entry.kinds {
                let [group, version, name, part] = kind_parts(&kind.value);
                if !part.is_empty() {
                    return refuse_conversion("a subresource in one entry of several", &kind.path);
                }
                let subjects = [
                    ("request.kind.group", group),
                    ("request.kind.version", version),
                    ("request.kind.kind", name),
                ];
                let wanted = subjects.into_iter().filter(|(_, pattern)| *pattern != "*");
                let wanted: Vec<String> =
                    wanted.map(|(subject, pattern)| matches_pattern(subject, pattern)).collect();
                if wanted.is_empty() {
                    kinds = vec![("*", vec!["true".to_owned()])];
                    break;
                }
                kinds.push((name, wanted));
            }
            let are_plain = kinds.iter().all(|(name, tests)| tests.len() == 1 && !has_wildcard(name));
            match kinds.is_empty() {
                true => {}
                false if are_plain => {
                    tests.push(is_one_of("request.kind.kind", kinds.iter().map(|(name, _)| *name)));
                }
                false => {
                    let kinds: Vec<String> = kinds.iter().map(|(_, tests)| all_tests(tests)).collect();
                    tests.push(any_test(&kinds));
                }
            }
        }
        if !entry.operations.is_empty() {
            let names = entry.operations.iter().map(|operation| operation.name());
            tests.push(is_one_of("request.operation", names));
        }
        Ok(tests)
    }

    /// Returns the filters of an entry other than kinds and operations, each with a name.
    fn terms(&self, entry: &ResourceFilter, is_match: bool) -> ConversionResult<Vec<(Text, String)>> {
        let mut terms: Vec<(Text, String)> = Vec::new();
        let mut push = |name: &'static str, term: String| terms.push((Text::new_static(name), term));
        let object = self.object();
        if let Some(name) = &entry.name {
            push("name", is_one_of(Self::name(), [name.value.as_str()]));
        }
        if !entry.names.is_empty() {
            push("names", is_one_of(Self::name(), entry.names.iter().map(|name| name.value.as_str())));
        }
        if !entry.namespaces.is_empty() {
            push("namespaces", self.namespaces(entry));
        }
        if !entry.annotations.is_empty() {
            let map = format!("{object}.metadata.annotations");
            let tests = entry.annotations.iter().map(|(key, value)| map_entry_test(&map, key, value));
            push("annotations", guarded_map_test(&map, tests.collect()));
        }
        if let Some(selector) = &entry.selector {
            push("selector", selector_test(&format!("{object}.metadata.labels"), selector)?);
        }
        if !entry.subjects.is_empty() {
            push("subjects", subjects_test(&entry.subjects, is_match));
        }
        if !(entry.roles.is_empty() && entry.cluster_roles.is_empty()) {
            let key = if entry.roles.is_empty() { "clusterRoles" } else { "roles" };
            return refuse_conversion(
                &format!("`{key}`: a request does not say which roles its user has"),
                &child_path(&entry.path, key),
            );
        }
        if entry.namespace_selector.is_some() {
            let path = child_path(&child_path(&entry.path, "resources"), "namespaceSelector");
            return refuse_conversion("`namespaceSelector` in one entry of several, or in `exclude`", &path);
        }
        Ok(terms)
    }

    /// Returns the evaluated object, which is the old one where there is no new one.
    fn object(&self) -> &'static str {
        match self.has_deletions {
            true => TARGET_OBJECT,
            false => "object",
        }
    }

    /// Returns the name of the object; one that is still to be made is known by its beginning.
    fn name() -> &'static str {
        "(has(request.name) ? request.name : object.metadata.generateName)"
    }

    fn namespaces(&self, entry: &ResourceFilter) -> String {
        let names = || entry.namespaces.iter().map(|name| name.value.as_str());
        let mut test = is_one_of("request.namespace", names());
        if self.scope.has_cluster {
            test = all_tests(&["has(request.namespace)".to_owned(), test]);
        }
        if self.scope.has_namespaces {
            let named = is_one_of(Self::name(), names());
            test = format!("request.kind.kind == \"Namespace\" ? ({named}) : ({test})");
        }
        test
    }
}

/// Returns the resources of an entry.
fn entry_resources(entry: &ResourceFilter) -> ConversionResult<Vec<ServedResource>> {
    let mut all = Vec::new();
    if entry.kinds.len() > MAX_KINDS {
        return refuse_conversion("it matches too many kinds", &entry.path);
    }
    for kind in &entry.kinds {
        match resources::find_resources(&kind.value) {
            KindLookup::Known(resources) if resources::is_any_version(&kind.value) => {
                for resource in resources {
                    let resource = ServedResource { version: Text::new_static("*"), ..resource };
                    if !all.contains(&resource) {
                        all.push(resource);
                    }
                }
            }
            KindLookup::Known(resources) => all.extend(resources),
            KindLookup::Guessed(resource) => all.push(resource),
            KindLookup::Wild => {
                return refuse_conversion("wildcards in a kind that match unknown resources", &kind.path);
            }
        }
    }
    Ok(all)
}

fn all_resources() -> Vec<ServedResource> {
    match resources::find_resources("*") {
        KindLookup::Known(resources) => resources,
        _ => Vec::new(),
    }
}

/// Merges resource rules of one group and version with the same operations.
fn merge_resource_rules(rules: &mut Vec<TargetResourceRule>) {
    let mut merged: Vec<(TargetResourceRule, HashSet<Text>)> = Vec::with_capacity(rules.len());
    for rule in rules.drain(..) {
        let shared = merged.iter_mut().find(|(other, _)| {
            (&other.groups, &other.versions, &other.operations, &other.names)
                == (&rule.groups, &rule.versions, &rule.operations, &rule.names)
        });
        match shared {
            Some((other, known)) => {
                other.resources.extend(rule.resources.into_iter().filter(|name| known.insert(name.clone())));
            }
            None => {
                let known = rule.resources.iter().cloned().collect();
                merged.push((rule, known));
            }
        }
    }
    *rules = merged.into_iter().map(|(rule, _)| rule).collect();
}

/// Returns whether Kubernetes takes a selector as it is.
fn is_kubernetes_selector(selector: &SelectorSource) -> bool {
    selector.labels.iter().all(|(key, value)| !has_wildcard(key) && !has_wildcard(value))
        && selector.expressions.iter().all(LabelRequirement::is_valid)
}

fn selector_test(map: &str, selector: &SelectorSource) -> ConversionResult<String> {
    let mut tests: Vec<String> = Vec::new();
    for (key, value) in &selector.labels {
        tests.push(guarded_map_test(map, vec![map_entry_test(map, key, value)]));
    }
    for requirement in &selector.expressions {
        let (key, place) =
            (string_literal(&requirement.key), format!("{map}[{}]", string_literal(&requirement.key)));
        let has = format!("has({map}) && {key} in {map}");
        let listed = || is_one_of(&place, requirement.values.iter().map(Text::as_str));
        if !requirement.is_valid() {
            return refuse_conversion("a selector that Kubernetes refuses", &selector.path);
        }
        tests.push(match requirement.operator {
            LabelOperator::In => format!("{has} && {}", listed()),
            LabelOperator::NotIn => format!("!({has} && {})", listed()),
            LabelOperator::Exists => has,
            LabelOperator::DoesNotExist => format!("!({has})"),
        });
    }
    Ok(if tests.is_empty() { "true".to_owned() } else { all_tests(&tests) })
}

fn guarded_map_test(map: &str, tests: Vec<String>) -> String {
    let guard = format!("has({map})");
    all_tests(&std::iter::once(guard).chain(tests).collect::<Vec<_>>())
}

/// Returns whether one entry of `map` fits `key` and `value`.
fn map_entry_test(map: &str, key: &str, value: &str) -> String {
    if has_wildcard(key) {
        let tests = all_tests(&[matches_pattern("key", key), matches_pattern(&format!("{map}[key]"), value)]);
        return format!("{map}.exists(key, {tests})");
    }
    let quoted = string_literal(key);
    all_tests(&[format!("{quoted} in {map}"), matches_pattern(&format!("{map}[{quoted}]"), value)])
}

/// Returns a test of the requesting user. While the user is unknown, a `match` matches and an `exclude` does not.
fn subjects_test(subjects: &[SubjectFilter], is_match: bool) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut groups: Vec<&str> = Vec::new();
    for subject in subjects {
        match subject.kind {
            SubjectKind::User => names.push(subject.name.to_string()),
            SubjectKind::Group => groups.push(&subject.name),
            SubjectKind::ServiceAccount => {
                names.push(format!("system:serviceaccount:{}:{}", subject.namespace, subject.name));
            }
        }
    }
    let mut tests = Vec::new();
    if !names.is_empty() {
        tests.push(is_one_of("request.userInfo.username", names.iter().map(String::as_str)));
    }
    if !groups.is_empty() {
        let fits = is_one_of("group", groups);
        tests.push(format!("has(request.userInfo.groups) && request.userInfo.groups.exists(group, {fits})"));
    }
    let known = "has(request.userInfo.username)";
    match is_match {
        true => format!("!{known} || {}", any_test(&tests)),
        false => all_tests(&[known.to_owned(), any_test(&tests)]),
    }
}
