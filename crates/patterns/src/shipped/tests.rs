//! The list and the folders agree, and nothing about a pattern that ships is doubtful.

use std::path::Path;

use kubewright_value::{Source, yaml};

use super::super::compile_pattern_document;
use super::*;

#[test]
fn every_folder_is_in_the_list_and_the_other_way_round() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../patterns");
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut folders: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    folders.sort();
    let names: Vec<&str> = shipped_patterns().iter().map(|shipped| shipped.name).collect();
    assert_eq!(names, folders);
}

#[test]
fn every_pattern_compiles_without_a_diagnostic_and_is_called_as_its_folder() {
    for shipped in shipped_patterns() {
        let reading = yaml::read(&Source::new(shipped.name, shipped.source()));
        assert!(reading.problems.is_empty(), "{}: {:?}", shipped.name, reading.problems);
        let [document] = reading.documents.as_slice() else {
            panic!("{}: {} documents", shipped.name, reading.documents.len())
        };
        let (pattern, diagnostics) = compile_pattern_document(document);
        let told: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{}: {told:#?}", shipped.name);
        assert_eq!(pattern.expect("a pattern").name, shipped.name);
    }
}

#[test]
fn every_page_has_a_title_and_a_text() {
    for shipped in shipped_patterns() {
        let is_page = shipped.page().starts_with("# ") && shipped.page().lines().count() > 5;
        assert!(is_page, "{}", shipped.name);
    }
}

#[test]
fn a_pattern_is_found_by_its_name() {
    assert_eq!(shipped_pattern("orphan-service").map(|shipped| shipped.name), Some("orphan-service"));
    assert_eq!(shipped_pattern("none"), None);
}

#[test]
fn every_pattern_has_cases_and_a_row_in_the_index() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../patterns");
    let index = std::fs::read_to_string(folder.join("README.md")).expect("the index");
    let rows: Vec<&str> = index.lines().filter(|line| line.starts_with("| [")).collect();
    assert_eq!(rows.len(), shipped_patterns().len());
    assert!(index.contains(&format!("these {} patterns", shipped_patterns().len())));
    for shipped in shipped_patterns() {
        let document = yaml::parse(shipped.source()).expect("YAML");
        let field = |name| document.str_at(&["metadata", name]);
        let row = format!("| [{0}]({0}/README.md) | {1} | ", shipped.name, field("severity"));
        let found = rows.iter().find_map(|line| line.strip_prefix(&row));
        let finds = found.unwrap_or_else(|| panic!("no row `{row}`")).trim_end_matches(" |");
        let description = field("description").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(description.starts_with(finds), "{}: {finds}", shipped.name);
        assert!(folder.join(shipped.name).join("kubewright-test.yaml").is_file(), "{}", shipped.name);
    }
}

mod scale;
