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
