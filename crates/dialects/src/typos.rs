//! Misspelt kinds in rules, and kinds and versions that no rule language has.

use std::sync::LazyLock;

use kubewright_engine::Diagnostic;
use kubewright_k8s::{BUILT_IN_KINDS, resource_name};
use kubewright_value::suggest::{did_you_mean, nearest_misspelling};
use kubewright_value::{Document, Location, Step, Value};

kubewright_engine::codes! {
    /// The codes of misspelt kinds and versions.
    pub(crate) static TYPO_CODES;

    UNKNOWN_VERSION "KW-L007" Error "a version that the rule language does not have";
    MISSPELT_KIND "KW-L008" Warning "a kind that is not known, and almost one that is";
}

/// The kinds of the rule languages: group, kind, and the versions there are, the one to use first.
const RULE_KINDS: &[(&str, &str, &[&str])] = &[
    ("api.kubemod.io", "ModRule", &["v1beta1"]),
    ("kyverno.io", "ClusterPolicy", &["v1", "v2beta1"]),
    ("kyverno.io", "Policy", &["v1", "v2beta1"]),
    ("kyverno.io", "CleanupPolicy", &["v2", "v2beta1", "v2alpha1"]),
    ("kyverno.io", "ClusterCleanupPolicy", &["v2", "v2beta1", "v2alpha1"]),
    ("policies.kyverno.io", "ValidatingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "MutatingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "GeneratingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "DeletingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "ImageValidatingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "NamespacedValidatingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "NamespacedMutatingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "NamespacedGeneratingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "NamespacedDeletingPolicy", POLICY_VERSIONS),
    ("policies.kyverno.io", "NamespacedImageValidatingPolicy", POLICY_VERSIONS),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", ADMISSION_VERSIONS),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", ADMISSION_VERSIONS),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", ADMISSION_VERSIONS),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", ADMISSION_VERSIONS),
    ("openchoreo.dev", "Trait", &["v1alpha1"]),
    ("openchoreo.dev", "ClusterTrait", &["v1alpha1"]),
];

const POLICY_VERSIONS: &[&str] = &["v1", "v1beta1", "v1alpha1"];

const ADMISSION_VERSIONS: &[&str] = &["v1", "v1beta1", "v1alpha1"];

/// The resources of the built-in kinds.
static RESOURCES: LazyLock<Vec<String>> = LazyLock::new(|| {
    BUILT_IN_KINDS.iter().flat_map(|(.., kinds)| kinds.iter().copied()).map(resource_name).collect()
});

/// The kinds that are looked at in one document.
const MAX_LOOKED_AT_KINDS: usize = 200;

/// How deep kinds are looked for.
const MAX_DEPTH: usize = 24;

/// Returns what is wrong with the version of `document`, which a rule language claims.
pub(crate) fn check_version(document: &Document) -> Option<Diagnostic> {
    let (group, version) = document.value.str_at(&["apiVersion"]).split_once('/')?;
    let kind = document.value.str_at(&["kind"]);
    let (_, _, versions) = RULE_KINDS.iter().find(|(own, name, _)| *own == group && *name == kind)?;
    let first = versions.first().filter(|_| !versions.contains(&version))?;
    let message = format!("{kind} has no version `{version}`");
    let location = document.locate(&["apiVersion".into()]);
    Some(Diagnostic::new(&UNKNOWN_VERSION, message, location).help(format!("use `{group}/{first}`")))
}

/// Returns how `document`, which no rule language claims, is probably meant.
pub(crate) fn meant_kind(document: &Document) -> Option<String> {
    let api_version = document.value.str_at(&["apiVersion"]);
    let (kind, group) = (document.value.str_at(&["kind"]), api_version.split('/').next().unwrap_or_default());
    if let Some((right, _, versions)) = RULE_KINDS.iter().find(|(_, name, _)| *name == kind) {
        let version = versions.first().copied().unwrap_or_default();
        return Some(did_you_mean(format!("apiVersion: {right}/{version}")));
    }
    let of_group: Vec<&str> =
        RULE_KINDS.iter().filter(|(own, ..)| *own == group).map(|(_, name, _)| *name).collect();
    let near = nearest_misspelling(kind, of_group.iter().copied())
        .or_else(|| nearest_misspelling(kind, RULE_KINDS.iter().map(|(_, name, _)| *name)))?;
    Some(did_you_mean(format!("kind: {near}")))
}

/// Returns a warning for every kind or resource that `document`, a rule, names and that is almost a known one.
pub(crate) fn check_kinds(document: &Document) -> Vec<Diagnostic> {
    let mut named = Vec::new();
    collect_named(&document.value, &mut Vec::new(), &mut named);
    named.into_iter().filter_map(|(named, path)| named.check(|| document.locate(&path))).collect()
}

/// A kind or resource that a rule names.
struct NamedKind<'d> {
    text: &'d str,
    is_resource: bool,
}

impl NamedKind<'_> {
    fn check(&self, location: impl FnOnce() -> Location) -> Option<Diagnostic> {
        if self.text.contains(['*', '?', '{', '!', '(']) {
            return None;
        }
        let known = || BUILT_IN_KINDS.iter().flat_map(|(.., kinds)| kinds.iter().copied());
        let (what, near) = if self.is_resource {
            let resource = self.text.split('/').next().unwrap_or_default();
            if known().any(|kind| kind.eq_ignore_ascii_case(resource)) {
                return None;
            }
            (resource, nearest_misspelling(resource, RESOURCES.iter().map(String::as_str))?.to_owned())
        } else {
            let kind = kind_in(self.text);
            let own = RULE_KINDS.iter().map(|(_, name, _)| *name);
            (kind, nearest_misspelling(kind, known().chain(own))?.to_owned())
        };
        let word = if self.is_resource { "resource" } else { "kind" };
        let message = format!("no {word} `{what}` is known");
        Some(Diagnostic::new(&MISSPELT_KIND, message, location()).help(did_you_mean(near)))
    }
}

/// Returns the kind in `Kind`, `version/Kind`, `group/version/Kind` and `group/version/Kind/subresource`.
fn kind_in(text: &str) -> &str {
    let mut parts = text.split(['/', '.']);
    let is_kind = |part: &&str| part.chars().next().is_some_and(char::is_uppercase);
    parts.find(is_kind).unwrap_or_else(|| text.rsplit('/').next().unwrap_or(text))
}

/// Collects the texts that name kinds, with their paths.
fn collect_named<'d>(value: &'d Value, path: &mut Vec<Step>, found: &mut Vec<(NamedKind<'d>, Vec<Step>)>) {
    if path.len() > MAX_DEPTH || found.len() >= MAX_LOOKED_AT_KINDS {
        return;
    }
    match value {
        Value::Object(map) => {
            let is_about_kind = map.get("select").and_then(Value::as_str) == Some("$.kind");
            for (key, below) in map.iter() {
                path.push(Step::Key(key.clone()));
                let is_resource = match key.as_str() {
                    "kinds" => Some(false),
                    "matchValue" | "matchValues" if is_about_kind => Some(false),
                    "resources" if map.get("apiGroups").is_some() => Some(true),
                    _ => None,
                };
                match is_resource {
                    Some(is_resource) => collect_texts(below, is_resource, path, found),
                    None => collect_named(below, path, found),
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, below) in items.iter().enumerate() {
                path.push(Step::Index(index));
                collect_named(below, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn collect_texts<'d>(
    value: &'d Value,
    is_resource: bool,
    path: &[Step],
    found: &mut Vec<(NamedKind<'d>, Vec<Step>)>,
) {
    if let Some(text) = value.as_str() {
        found.push((NamedKind { text, is_resource }, path.to_vec()));
    }
    for (index, text) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(text) = text.as_str() {
            let path = path.iter().cloned().chain([Step::Index(index)]).collect();
            found.push((NamedKind { text, is_resource }, path));
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Source, yaml};

    use super::*;

    fn document(text: &str) -> Document {
        yaml::read(&Source::new("rule.yaml", text)).documents.into_iter().next().unwrap()
    }

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let document = document(text);
        let found = check_version(&document).into_iter().chain(check_kinds(&document));
        let found: Vec<String> = found
            .map(|one| format!("{} {}: {}; {}", one.code.id, one.location.position, one.message, one.help))
            .collect();
        assert_eq!(found, want);
    }

    #[test]
    fn misspelt_kinds_have_the_nearest_right_one() {
        check(
            "kind: ClusterPolicy\napiVersion: kyverno.io/v1\nspec: {rules: [{match: {any: [{resources: {kinds: [Deploymnet, apps/v1/StatfulSet, Pod/exec, MyThing]}}]}}]}",
            &[
                "KW-L008 3:52: no kind `Deploymnet` is known; did you mean `Deployment`?",
                "KW-L008 3:64: no kind `StatfulSet` is known; did you mean `StatefulSet`?",
            ],
        );
        check(
            "kind: ModRule\nspec: {match: [{select: $.kind, matchValue: Deploymnet}, {select: $.x, matchValue: Deploymnet}]}",
            &["KW-L008 2:45: no kind `Deploymnet` is known; did you mean `Deployment`?"],
        );
        check(
            "kind: X\nspec: {resourceRules: [{apiGroups: [apps], resources: [deploymnets, deployments/scale, widgets]}]}",
            &["KW-L008 2:56: no resource `deploymnets` is known; did you mean `deployments`?"],
        );
    }

    #[test]
    fn versions_that_do_not_exist_are_errors() {
        check(
            "kind: ModRule\napiVersion: api.kubemod.io/v1beta2",
            &["KW-L007 2:13: ModRule has no version `v1beta2`; use `api.kubemod.io/v1beta1`"],
        );
        check("kind: ModRule\napiVersion: api.kubemod.io/v1beta1", &[]);
    }

    #[test]
    fn a_document_that_nothing_claims_is_perhaps_misspelt() {
        let meant = |text: &str| meant_kind(&document(text)).unwrap_or_default();
        assert_eq!(
            meant("kind: ModRul\napiVersion: api.kubemod.io/v1beta1"),
            "did you mean `kind: ModRule`?"
        );
        assert_eq!(
            meant("kind: ClusterPolicy\napiVersion: kyvrno.io/v1"),
            "did you mean `apiVersion: kyverno.io/v1`?"
        );
        assert_eq!(meant("kind: Pod\napiVersion: v1"), "");
    }
}
