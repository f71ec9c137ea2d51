//! The CustomResourceDefinitions of `policies.kyverno.io`. All kinds have the same versions and the same schema: it declares
//! what other programs read, preserves all other fields, and has no defaults, so that what is applied is what is stored.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::policies::{POLICY_LANGUAGES, PolicyLanguage};

const DEFINITION: &str = include_str!("definition.yaml");
const VERSION: &str = include_str!("version.yaml");

/// The fields without which the API server refuses a policy of a kind.
const REQUIRED_FIELDS: [(&str, &str); 2] = [("GeneratingPolicy", "generate"), ("DeletingPolicy", "schedule")];

/// The versions, and which of them is stored.
const VERSIONS: [(&str, bool); 3] = [("v1", false), ("v1beta1", true), ("v1alpha1", false)];

/// The definitions of each dialect, by its name.
static DEFINITIONS: LazyLock<HashMap<&str, Vec<String>>> =
    LazyLock::new(|| POLICY_LANGUAGES.map(|language| (language.name, definitions_of(language))).into());

/// Returns the definitions of the kinds of `language`; one dialect also has that of exceptions.
pub(crate) fn policy_definitions(language: &PolicyLanguage) -> Vec<&'static str> {
    DEFINITIONS.get(language.name).into_iter().flatten().map(String::as_str).collect()
}

fn definitions_of(language: &PolicyLanguage) -> Vec<String> {
    let [cluster_wide, namespaced, exceptions] = &language.watched;
    let short = language.name;
    let mut all = vec![
        definition_of(cluster_wide.kind, cluster_wide.resource, short, "Cluster"),
        definition_of(namespaced.kind, namespaced.resource, &format!("n{short}"), "Namespaced"),
    ];
    if language.checks_exceptions {
        all.push(definition_of(exceptions.kind, exceptions.resource, "celpolex", "Namespaced"));
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
