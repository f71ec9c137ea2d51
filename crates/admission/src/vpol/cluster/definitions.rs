//! The CustomResourceDefinitions of `policies.kyverno.io`. All kinds have the same versions and the same schema: it declares
//! what other programs read, preserves all other fields, and has no defaults, so that what is applied is what is stored.

use std::sync::LazyLock;

const DEFINITION: &str = include_str!("definition.yaml");
const VERSION: &str = include_str!("version.yaml");

/// Kind, plural and short name; each has a namespaced twin.
const POLICY_KINDS: [(&str, &str, &str); 5] = [
    ("ValidatingPolicy", "validatingpolicies", "vpol"),
    ("MutatingPolicy", "mutatingpolicies", "mpol"),
    ("GeneratingPolicy", "generatingpolicies", "gpol"),
    ("DeletingPolicy", "deletingpolicies", "dpol"),
    ("ImageValidatingPolicy", "imagevalidatingpolicies", "ivpol"),
];

/// The kinds that other dialects read.
const MUTATING: &str = "MutatingPolicy";
const GENERATING: &str = "GeneratingPolicy";
const DELETING: &str = "DeletingPolicy";
const IMAGE_VALIDATING: &str = "ImageValidatingPolicy";

/// The fields without which the API server refuses a policy of a kind.
const REQUIRED_FIELDS: [(&str, &str); 2] = [(GENERATING, "generate"), (DELETING, "schedule")];

/// The versions, and which of them is stored.
const VERSIONS: [(&str, bool); 3] = [("v1", false), ("v1beta1", true), ("v1alpha1", false)];

/// The definitions of exceptions and of policies that no other dialect reads.
static DEFINITIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all = definitions_of(|kind| ![MUTATING, GENERATING, DELETING, IMAGE_VALIDATING].contains(&kind));
    all.push(definition_of("PolicyException", "policyexceptions", "celpolex", "Namespaced"));
    all
});

/// The definitions of policies that change objects.
static MUTATING_DEFINITIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| definitions_of(|kind| kind == MUTATING));

/// The definitions of policies that make objects.
static GENERATING_DEFINITIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| definitions_of(|kind| kind == GENERATING));

/// The definitions of policies that delete objects.
static DELETING_DEFINITIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| definitions_of(|kind| kind == DELETING));

/// The definitions of policies about images.
static IMAGE_DEFINITIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| definitions_of(|kind| kind == IMAGE_VALIDATING));

/// Returns the definitions of exceptions and of policies that no other dialect reads.
pub(super) fn policy_definitions() -> Vec<&'static str> {
    DEFINITIONS.iter().map(String::as_str).collect()
}

/// Returns the definitions of policies that change objects.
pub(crate) fn mutating_policy_definitions() -> Vec<&'static str> {
    MUTATING_DEFINITIONS.iter().map(String::as_str).collect()
}

/// Returns the definitions of policies that make objects.
pub(crate) fn generating_policy_definitions() -> Vec<&'static str> {
    GENERATING_DEFINITIONS.iter().map(String::as_str).collect()
}

/// Returns the definitions of policies that delete objects.
pub(crate) fn deleting_policy_definitions() -> Vec<&'static str> {
    DELETING_DEFINITIONS.iter().map(String::as_str).collect()
}

/// Returns the definitions of policies about images.
pub(crate) fn image_policy_definitions() -> Vec<&'static str> {
    IMAGE_DEFINITIONS.iter().map(String::as_str).collect()
}

fn definitions_of(is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    for (kind, plural, short) in POLICY_KINDS.into_iter().filter(|(kind, ..)| is_wanted(kind)) {
        all.push(definition_of(kind, plural, short, "Cluster"));
        let (kind, plural) = (format!("Namespaced{kind}"), format!("namespaced{plural}"));
        all.push(definition_of(&kind, &plural, &format!("n{short}"), "Namespaced"));
    }
    all
}

fn definition_of(kind: &str, plural: &str, short: &str, scope: &str) -> String {
    let names = [
        ("PLURAL", plural),
        ("SINGULAR", &kind.to_lowercase()),
        ("KIND", kind),
        ("[SHORT]", &format!("[{short}]")),
        ("SCOPE", scope),
    ];
    let mut text = names.iter().fold(DEFINITION.to_owned(), |text, (from, to)| text.replace(from, to));
    let required = REQUIRED_FIELDS.iter().find(|(of, _)| kind.ends_with(of)).map(|(_, field)| *field);
    let version_text = match required {
        Some(field) => VERSION.replace("REQUIRED", field),
        None => VERSION
            .lines()
            .filter(|line| !line.contains("REQUIRED"))
            .fold(String::new(), |text, line| text + line + "\n"),
    };
    for (version, is_stored) in VERSIONS {
        let stored = if is_stored { "true" } else { "false" };
        text.push_str(&version_text.replace("VERSION", version).replace("STORAGE", stored));
    }
    text
}
