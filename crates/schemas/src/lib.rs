//! JSON schemas and field documentation of everything that kubewright reads.
//!
//! There is one source for each kind: the CustomResourceDefinition that ships, the table of Kubernetes' types, or a schema of
//! `docs/`. `fields.txt` says what fields are for, and is the source for kinds that have no definition. `kubewright schema`,
//! the language server and pages show what is here.

mod convert;
mod fields;
mod kubernetes;
mod walk;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kubewright_dialects::{DialectOptions, all_dialects};
use kubewright_value::{Map, Text, Value, json, yaml};

pub use walk::{FieldSchema, field_schema, is_known_kind};

/// The kinds of Kubernetes that have rules in them.
const KUBERNETES_KINDS: [(&str, &str); 4] = [
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBinding"),
];

/// Schemas that are written by hand, by the name that `kubewright schema` knows them by.
const WRITTEN: [(&str, &str); 4] = [
    ("Test", include_str!("../documents/kubewright-test.schema.json")),
    ("Project", include_str!("../documents/kubewright.schema.json")),
    ("TraitStack", include_str!("../documents/trait-stack.schema.json")),
    ("Trace", include_str!("../documents/trace.schema.json")),
];

/// Every schema by kind, made on first use.
static SCHEMAS: LazyLock<BTreeMap<Text, Value>> = LazyLock::new(|| {
    let mut schemas = BTreeMap::new();
    for dialect in all_dialects(&DialectOptions::default()) {
        let definitions = dialect.cluster_support().map(|support| support.custom_resource_definitions());
        for definition in definitions.unwrap_or_default() {
            if let Ok(definition) = yaml::parse(definition) {
                schemas.extend(convert::of_definition(&definition));
            }
        }
    }
    for (api_version, kind) in KUBERNETES_KINDS {
        schemas.extend(kubernetes::of_kind(api_version, kind).map(|schema| (kind.into(), schema)));
    }
    for section in fields::SECTIONS.iter() {
        for kind in &section.kinds {
            let schema = schemas.remove(*kind).or_else(|| section.outline());
            let Some(mut schema) = schema else { continue };
            section.describe(&mut schema);
            schemas.insert(Text::from(*kind), convert::titled(kind, schema));
        }
    }
    for (kind, text) in WRITTEN {
        if let Ok(schema) = json::parse(text) {
            schemas.insert(kind.into(), schema);
        }
    }
    schemas.into_iter().map(|(kind, schema)| (kind.clone(), convert::titled(&kind, schema))).collect()
});

/// Returns the names of the kinds that have a schema, sorted.
pub fn schema_names() -> impl Iterator<Item = &'static str> {
    SCHEMAS.keys().map(Text::as_str)
}

/// Returns the JSON schema of a kind.
#[must_use]
pub fn schema_of(kind: &str) -> Option<&'static Value> {
    SCHEMAS.get(kind)
}

/// Returns an object of entries.
fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Map::from(entries).into()
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
