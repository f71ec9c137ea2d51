//! From the policies of a folder to the kinds that succeed them.

use std::fs;
use std::path::Path;

use super::{check, kubewright};

#[test]
fn every_rule_is_compared_on_every_object() {
    check("migrate", "migrate migrate/policies -r migrate/objects.yaml");
    check("migrate-json", "migrate migrate/policies -r migrate/objects.yaml -o json");
    check("migrate-summary", "migrate migrate/policies -r migrate/objects.yaml --summary");
}

#[test]
fn what_nothing_compares_is_named_and_left_out_on_demand() {
    check("migrate-unproven", "migrate migrate/policies/team.yaml");
    check("migrate-require-proof", "migrate migrate/policies/team.yaml --require-proof");
}

#[test]
fn wrong_usage_is_bad_input() {
    check("migrate-nothing", "migrate migrate/objects.yaml");
    check("migrate-apply-files", "migrate migrate/policies --apply");
    check("migrate-help", "migrate --help");
}

#[test]
fn changes_and_new_objects_have_successors_of_their_own() {
    check("convert-auto", "convert migrate/policies/team.yaml migrate/policies/quota.yaml --to auto");
    check("convert-to-one-kind", "convert migrate/policies --to mutatingpolicy");
}

#[test]
fn a_folder_has_what_is_new_what_remains_and_a_report() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("migrated");
    let _ = fs::remove_dir_all(&folder);
    let command = |policies: &str| {
        let arguments =
            format!("migrate {policies} -r migrate/objects.yaml --output-dir {}", folder.display());
        kubewright(&arguments, "")
    };
    assert_eq!(command("migrate/policies").status.code(), Some(1));
    let text = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
    let names = |part: &str| {
        let entries = fs::read_dir(folder.join(part)).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("policies"), ["quota.yaml", "team.yaml"]);
    assert_eq!(names("remaining"), ["no-data.yaml", "team.yaml"]);
    let remaining = text("remaining/team.yaml");
    assert!(remaining.contains("known-team") && !remaining.contains("has-team"), "{remaining}");
    let report = text("REPORT.md");
    let row = "| team | add-team | migrated | MutatingPolicy/team-add-team |  | 0 | 1 | 0 |";
    assert!(report.contains(row) && report.contains("## Differences"), "{report}");
    // What is written is read back, and says the same as what it replaces.
    let policies = folder.join("policies");
    let applied = kubewright(&format!("apply {} -r migrate/objects.yaml -o json", policies.display()), "");
    let said = String::from_utf8_lossy(&applied.stdout);
    assert!(said.contains("team-add-team") && said.contains("gpol/quota"), "{said}");
    // The files of another migration are not taken for those of this one.
    let again = command("migrate/policies/quota.yaml");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(2) && said.contains("is not of this migration"), "{said}");
}
