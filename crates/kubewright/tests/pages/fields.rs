//! Every field of a rule language is on the page of that language.

use std::collections::BTreeSet;
use std::fs;

use kubewright_value::{Source, Value, yaml};

use super::repository;

/// The fields of the specs in a definition file, of the version that is stored.
fn fields(file: &str, kind: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(repository(file)).expect(file);
    let documents = yaml::read(&Source::new(file, text.as_str())).documents;
    let definition =
        documents.iter().find(|document| document.value.str_at(&["spec", "names", "kind"]) == kind);
    let definition = &definition.expect("the definition").value;
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).expect("versions");
    let mut found = BTreeSet::new();
    for version in versions {
        let spec = version.at(&["schema", "openAPIV3Schema", "properties", "spec"]).expect("a schema");
        collect(spec, &mut found);
    }
    found
}

fn collect(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties.iter() {
            found.insert(name.to_string());
            collect(property, found);
        }
    }
    for part in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(part) {
            collect(part, found);
        }
    }
}

/// Returns whether a page has a field between backticks or in a block.
fn mentions(page: &str, field: &str) -> bool {
    page.split('`')
        .skip(1)
        .step_by(2)
        .any(|code| code.split(|c: char| !c.is_alphanumeric()).any(|word| word == field))
}

#[track_caller]
fn check(definitions: &str, kind: &str, page: &str) {
    let text = fs::read_to_string(repository(page)).expect(page);
    let missing: Vec<String> =
        fields(definitions, kind).into_iter().filter(|field| !mentions(&text, field)).collect();
    assert!(missing.is_empty(), "{page} does not have these fields of {kind}: {missing:?}");
}

#[test]
fn the_page_of_modrules_has_every_field() {
    check("charts/kubewright/files/crds/modrule.yaml", "ModRule", "docs/dialects/modrule.md");
}

#[test]
fn the_page_of_kyverno_policies_has_every_field() {
    check("charts/kubewright/files/crds/kyverno.yaml", "ClusterPolicy", "docs/dialects/kyverno-fields.md");
}

/// The names in the lists of fields that the reader of a language knows: `const …_FIELDS … = […]`.
fn known_fields(folder: &str) -> BTreeSet<String> {
    let files = fs::read_dir(repository(folder)).expect(folder).flatten().map(|entry| entry.path());
    let mut found = BTreeSet::new();
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = fs::read_to_string(&path).expect("a file");
        for list in text.split("_FIELDS: ").skip(1) {
            let list = list.split("];").next().unwrap_or_default();
            found.extend(list.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

#[test]
fn the_page_of_kyverno_policies_has_every_field_that_is_read() {
    let page = "docs/dialects/kyverno-fields.md";
    let text = fs::read_to_string(repository(page)).expect(page);
    let fields = known_fields("crates/kyverno/src/source");
    assert!(fields.len() > 60, "{fields:?}");
    let missing: Vec<String> = fields.into_iter().filter(|field| !mentions(&text, field)).collect();
    assert!(missing.is_empty(), "{page} does not have {missing:?}");
}
