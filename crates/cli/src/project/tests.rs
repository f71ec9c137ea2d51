//! The project file and its schema name the same fields.

use kubewright_value::{Value, json};

use super::*;

#[test]
fn schema_of_project_files_names_every_field() {
    let schema = json::parse(include_str!("../../schemas/kubewright.schema.json")).unwrap();
    let properties = schema.at(&["properties"]).and_then(Value::as_object).unwrap();
    let mut named: Vec<&str> = properties.keys().map(|key| key.as_str()).collect();
    let mut known = FIELDS.to_vec();
    named.sort_unstable();
    known.sort_unstable();
    assert_eq!(named, known);
}

#[test]
fn outputs_of_a_project_in_a_folder_above_are_written_there() {
    let from_here = |output: &str| output_from_here(Path::new(".."), output).unwrap();
    assert_eq!(from_here("sarif=k.sarif"), "sarif=../k.sarif");
    assert_eq!(from_here("table"), "table");
}

#[test]
fn tests_are_looked_for_beside_files_and_globs_with_rules() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/project/tests.rs");
    let project = |rules: &[&str], tests: &[&str]| {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        ProjectFile { rules: texts(rules), tests: texts(tests), ..ProjectFile::default() }.test_paths()
    };
    let folder = file.strip_suffix("/tests.rs").unwrap();
    assert_eq!(
        project(&[file, "policies/*.yaml", "policies/**/a.yaml", "*.yaml"], &[]),
        [folder, "policies", "."]
    );
    assert_eq!(project(&["policies/"], &[]), ["policies/"]);
    assert_eq!(project(&[file], &["cases/"]), ["cases/"]);
}
