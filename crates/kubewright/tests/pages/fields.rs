//! Every field of a rule language is on the page of that language.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

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
    let has_word = |code: &str| code.split(|c: char| !c.is_alphanumeric()).any(|word| word == field);
    let mut is_block = false;
    page.lines().any(|line| {
        if line.starts_with("```") {
            is_block = !is_block;
            return false;
        }
        if is_block { has_word(line) } else { line.split('`').skip(1).step_by(2).any(has_word) }
    })
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

/// The fields in the schema that `kubewright schema KIND` prints: those of the spec, or all of a document without one.
fn schema_fields(kind: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(["schema", kind])
        .output()
        .expect("the binary starts");
    let text = String::from_utf8(output.stdout).expect("a schema");
    let document = yaml::read(&Source::new("schema.json", text.as_str())).documents.remove(0);
    let mut found = BTreeSet::new();
    collect_anywhere(document.value.at(&["properties", "spec"]).unwrap_or(&document.value), &mut found);
    found
}

/// Collects the properties of a schema, whatever combines its parts.
fn collect_anywhere(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        found.extend(properties.iter().map(|(name, _)| name.to_string()));
    }
    // What Kubernetes gives every object is on no page.
    let parts = schema.as_object().into_iter().flat_map(|schema| schema.iter());
    let parts = parts.filter(|(name, _)| *name != "metadata").map(|(_, part)| part);
    for part in parts.chain(schema.as_array().unwrap_or_default()) {
        collect_anywhere(part, found);
    }
}

#[track_caller]
fn check_schema(kind: &str, pages: &[&str]) {
    let text: String =
        pages.iter().map(|page| fs::read_to_string(repository(page)).expect("a page")).collect();
    let fields = schema_fields(kind);
    assert!(fields.len() > 3, "{kind} has {fields:?}");
    let missing: Vec<String> = fields.into_iter().filter(|field| !mentions(&text, field)).collect();
    assert!(missing.is_empty(), "{pages:?} do not have these fields of {kind}: {missing:?}");
}

#[test]
fn the_pages_of_traits_and_patterns_have_every_field() {
    check_schema("Trait", &["docs/dialects/trait.md", "docs/dialects/trait-parameters.md"]);
    check_schema("TraitStack", &["docs/render.md"]);
    check_schema("Pattern", &["docs/dialects/pattern.md"]);
    check_schema("References", &["docs/references.md"]);
}

#[test]
fn the_page_of_policies_in_cel_has_every_field() {
    for kind in ["Validating", "Mutating", "Generating", "Deleting", "ImageValidating"] {
        check_schema(&format!("{kind}Policy"), &["docs/dialects/admission.md"]);
    }
    for kind in ["Validating", "Mutating"] {
        check_schema(&format!("{kind}AdmissionPolicy"), &["docs/dialects/admission.md"]);
        check_schema(&format!("{kind}AdmissionPolicyBinding"), &["docs/dialects/admission.md"]);
    }
}

#[test]
fn the_pages_of_other_documents_have_every_field() {
    check_schema("CleanupPolicy", &["docs/dialects/kyverno-generate.md", "docs/dialects/kyverno-fields.md"]);
    check_schema("Test", &["docs/testing.md"]);
    check_schema("World", &["docs/cli.md"]);
    check_schema("Project", &["docs/project.md"]);
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
