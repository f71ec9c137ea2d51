//! What is wrong with a policy only where it is stored.

use kubewright_engine::{BackgroundProgram, Diagnostic, KindScopes, MissingAccess, ResourceAccess};
use kubewright_value::{Document, Step, Value};

use crate::diagnostics as code;
use crate::matching::kind;
use crate::source::{self, DownstreamContent, DownstreamSource, Match, Method};

/// Kinds of which there are only subresources.
const SUBRESOURCE_KINDS: [&str; 9] = [
    "Scale",
    "Eviction",
    "TokenRequest",
    "PodExecOptions",
    "PodAttachOptions",
    "PodPortForwardOptions",
    "PodProxyOptions",
    "NodeProxyOptions",
    "ServiceProxyOptions",
];

/// The types of rules that only admission runs.
const ADMISSION_TYPES: [&str; 3] = ["mutate", "generate", "verifyImages"];

/// Returns the rules that need admission of a policy that switches it off.
pub(super) fn rules_without_admission(document: &Document) -> Vec<Diagnostic> {
    let spec = |key: &str| document.value.at(&["spec", key]);
    if spec("admission").and_then(Value::as_bool) != Some(false) {
        return Vec::new();
    }
    let rules = spec("rules").and_then(Value::as_array).unwrap_or_default().iter().enumerate();
    let wrong = rules.flat_map(|(place, rule)| {
        ADMISSION_TYPES.iter().filter(|key| rule.get(key).is_some()).map(move |key| (place, *key))
    });
    wrong
        .map(|(place, key)| {
            let path = [Step::from("spec"), Step::from("rules"), Step::Index(place), Step::from(key)];
            let message = format!("`{key}` runs only at admission, which the policy switches off");
            let help = "remove `admission: false`";
            Diagnostic::new(&code::NEVER_RUNS, message, document.locate_key(&path)).help(help)
        })
        .collect()
}

/// Returns what is wrong with a policy whose rule needs rights that the controller lacks, in Kyverno's words too.
pub(super) fn missing_access(document: &Document, missing: &MissingAccess<'_>) -> Diagnostic {
    let name = &missing.program.rule().rule;
    let rules = document.value.at(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let place = rules.iter().position(|rule| rule.str_at(&["name"]) == name.as_str()).unwrap_or_default();
    let of_rule = |key: &str| vec!["spec".into(), "rules".into(), Step::Index(place), key.into()];
    let required = |path: &str| {
        let resources: Vec<String> =
            missing.missing.iter().map(|one| required_words(missing.account, one)).collect();
        format!("path: spec.rules[{place}].{path}.: {}", resources.join("; "))
    };
    let (path, words) = match missing.program {
        BackgroundProgram::Generate(_) => (of_rule("generate"), required("generate.")),
        BackgroundProgram::Mutate(_) => (of_rule("mutate"), required("mutate.targets")),
        BackgroundProgram::Delete(_) => (vec!["spec".into(), "match".into()], cleanup_words(missing)),
    };
    let message = format!("`{}` lacks the RBAC rule {}", missing.account, missing.policy_rules());
    let help = "grant it with a ClusterRole that has the label `rbac.kubewright.dev/aggregate-to-background: \"true\"`";
    Diagnostic::new(&code::MISSING_ACCESS, message, document.locate_key(&path)).help(help).upstream(words)
}

fn required_words(account: &str, access: &ResourceAccess) -> String {
    let place = match access.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" in namespace {namespace}"),
    };
    let verbs = access.verbs.join(",");
    format!("{account} requires permissions {verbs} for resource {}{place}", access.qualified_kind())
}

fn cleanup_words(missing: &MissingAccess<'_>) -> String {
    let verbs = missing.missing.iter().flat_map(|one| one.verbs.iter().map(move |verb| (one, verb)));
    let words = verbs
        .map(|(one, verb)| format!("cleanup controller has no permission to {verb} kind {}", one.kind))
        .collect::<Vec<_>>();
    words.join("; ")
}

/// Returns what is wrong with a PolicyException: a scan has no user to compare with.
pub(super) fn exception_problems(document: &Document) -> Vec<Diagnostic> {
    let (exception, mut problems) = source::read_exception(document);
    let Some(exception) = exception.filter(|exception| exception.is_background) else { return problems };
    let matching = &exception.matching;
    for filter in matching.flat.iter().chain(&matching.any).chain(&matching.all) {
        let names_user =
            !filter.subjects.is_empty() || !filter.roles.is_empty() || !filter.cluster_roles.is_empty();
        if names_user {
            let message = "a background scan has no user to compare with";
            let location = document.locate_key(&filter.path);
            let problem = Diagnostic::new(&code::BACKGROUND_USER, message, location);
            problems.push(
                problem.help("set `background: false`").upstream("invalid variable used at path: match"),
            );
        }
    }
    problems
}

/// Returns the kinds of a policy with background scans that are subresources: nothing of them is stored, so a scan cannot
/// see them.
pub(super) fn background_subresources(document: &Document) -> Vec<Diagnostic> {
    let (Some(policy), _) = source::read_policy_document(document) else { return Vec::new() };
    if !policy.settings.is_background {
        return Vec::new();
    }
    // Rules that generate are no part of scans.
    let scanned = policy.rules.iter().filter(|rule| !matches!(rule.validate.method, Method::Generate(_)));
    let matches = scanned.flat_map(|rule| std::iter::once(&rule.matching).chain(&rule.exclude));
    let filters = matches.flat_map(|one: &Match| one.flat.iter().chain(&one.any).chain(&one.all));
    let kinds = filters.flat_map(|filter| &filter.kinds);
    let is_part = |written: &str| {
        let [_, _, kind, subresource] = kind::kind_parts(written);
        !subresource.is_empty() || SUBRESOURCE_KINDS.contains(&kind)
    };
    kinds
        .filter(|written| is_part(&written.value))
        .map(|written| {
            let message = format!("a background scan sees no subresources, and `{}` is one", written.value);
            let location = document.locate(&written.path);
            Diagnostic::new(&code::NOT_HERE, message, location).help("set `background: false`")
        })
        .collect()
}

/// Returns the objects of generate rules that cannot be where the rules put them.
pub(super) fn misplaced_downstreams(document: &Document, is_namespaced: &KindScopes<'_>) -> Vec<Diagnostic> {
    let (Some(policy), _) = source::read_policy_document(document) else { return Vec::new() };
    let mut problems = Vec::new();
    for rule in &policy.rules {
        let Method::Generate(generate) = &rule.validate.method else { continue };
        for one in &generate.downstreams {
            problems.extend(misplaced_downstream(document, one, is_namespaced));
            problems.extend(misplaced_source(document, one, is_namespaced));
            problems.extend(policy.namespace.as_ref().and_then(|_| variable_namespace(document, one)));
        }
    }
    problems
}

/// Returns that a Policy takes the namespace of what it makes from a variable: it has only its own.
fn variable_namespace(document: &Document, one: &DownstreamSource) -> Option<Diagnostic> {
    let namespace = one.namespace.as_ref().filter(|namespace| namespace.value.contains("{{"))?;
    let message = format!("`{}` may be another namespace than that of the policy", namespace.value);
    let help = "a Policy generates in its own namespace: name it, or use a ClusterPolicy";
    let location = document.locate(&namespace.path);
    Some(Diagnostic::new(&code::GENERATE_ELSEWHERE, message, location).help(help))
}

fn misplaced_downstream(
    document: &Document,
    one: &DownstreamSource,
    is_namespaced: &KindScopes<'_>,
) -> Option<Diagnostic> {
    let (kind, version) = (one.kind.as_ref()?, one.api_version.as_ref()?);
    let group = version.value.split_once('/').map_or("", |(group, _)| group);
    let name = kind.value.split('/').next().unwrap_or_default().trim();
    let namespace = one.namespace.as_ref().filter(|namespace| !namespace.value.is_empty());
    let (message, path, help) = match (is_namespaced(group, name)?, namespace) {
        (true, None) => {
            (format!("a {name} is in a namespace, and none is given"), &kind.path, "give `namespace`")
        }
        (false, Some(namespace)) => {
            (format!("a {name} has no namespace"), &namespace.path, "leave out `namespace`")
        }
        _ => return None,
    };
    Some(Diagnostic::new(&code::MISPLACED_DOWNSTREAM, message, document.locate(path)).help(help))
}

/// Returns that the sources of a `cloneList` are sought in a namespace that they cannot have, or in none.
fn misplaced_source(
    document: &Document,
    one: &DownstreamSource,
    is_namespaced: &KindScopes<'_>,
) -> Option<Diagnostic> {
    let DownstreamContent::CloneList { kinds, namespace, .. } = &one.content else { return None };
    let namespace = namespace.as_ref().filter(|namespace| !namespace.value.is_empty());
    kinds.iter().find_map(|kind| {
        let (version, name) = kind.value.rsplit_once('/')?;
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let (message, path, help) = match (is_namespaced(group, name)?, namespace) {
            (true, None) => (
                format!("a {name} is in a namespace, and `cloneList` gives none"),
                &kind.path,
                "give `cloneList.namespace`",
            ),
            (false, Some(namespace)) => {
                (format!("a {name} has no namespace"), &namespace.path, "leave out `cloneList.namespace`")
            }
            _ => return None,
        };
        Some(Diagnostic::new(&code::MISPLACED_DOWNSTREAM, message, document.locate(path)).help(help))
    })
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Document, yaml};

    use super::background_subresources;

    #[track_caller]
    fn check(kind: &str, background: &str, count: usize) {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: {background}\n  \
             rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: ['{kind}']}}}}]}}\n    \
             validate: {{message: no, pattern: {{metadata: {{name: x}}}}}}\n"
        );
        let document = Document::written(yaml::parse(&text).expect("YAML"), "policy.yaml");
        assert_eq!(background_subresources(&document).len(), count, "{kind} {background}");
    }

    #[test]
    fn a_scan_sees_no_subresources() {
        check("Pod/exec", "true", 1);
        check("*/status", "true", 1);
        check("Pod/exec", "false", 0);
        check("Scale", "true", 1);
        check("Pod", "true", 0);
        check("apps/v1/Deployment", "true", 0);
    }
}
