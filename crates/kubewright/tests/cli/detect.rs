//! Patterns in a set of objects.

use std::fs;
use std::path::PathBuf;

use kubewright_value::{Value, json};

use super::{check, check_with, folder, kubewright, kubewright_in};

/// Four patterns over a small shop: something of every severity, and a finding that is to be overlooked.
const SHOP: &str = "detect detect/patterns -r detect/objects.yaml detect/other.yaml";

#[track_caller]
fn shop(name: &str, more: &str) {
    check(name, &format!("{SHOP} {more}"));
}

/// Returns what is printed on standard output, and the exit code.
#[track_caller]
fn printed(arguments: &str, input: &str) -> (String, i32) {
    let output = kubewright(arguments, input);
    let text = String::from_utf8(output.stdout).expect("the output is text");
    (text, output.status.code().expect("an exit code"))
}

/// Returns an empty folder for files of the test `name`.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("kubewright-detect-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

const FORMATS: [&str; 10] = [
    "json",
    "yaml",
    "sarif",
    "junit",
    "github",
    "markdown",
    "policyreport",
    "openreports",
    "k8spattern",
    "smell",
];

#[test]
fn the_worst_comes_first_each_with_its_place_and_reason() {
    shop("detect", "");
    shop("detect-color", "--color always");
    shop("detect-quiet", "-q");
    check("detect-nothing", "detect detect/patterns/lost-service.yaml -r detect/databases.yaml -q");
    check("detect-help", "detect --help");
}

#[test]
fn every_format_shows_the_same_findings() {
    for format in FORMATS {
        shop(&format!("detect-{format}"), &format!("-o {format}"));
    }
}

#[test]
fn every_format_has_an_empty_form() {
    for format in FORMATS {
        check(
            &format!("detect-empty-{format}"),
            &format!("detect detect/patterns/split-sidecar.yaml -r detect/databases.yaml -o {format}"),
        );
    }
}

#[test]
fn patterns_are_chosen_by_name_category_and_severity() {
    shop("detect-pattern", "--pattern 'lost-*' --pattern split-sidecar");
    shop("detect-exclude", "--exclude-pattern 'lost-*'");
    shop("detect-category", "--category security");
    shop("detect-severity", "--severity high");
    shop("detect-list", "--list --severity warning");
    check("detect-list-json", "detect detect/patterns/lost-service.yaml --list -o json");
}

#[test]
fn only_leaders_of_a_namespace_can_be_had() {
    shop("detect-namespace", "--namespace other");
}

#[test]
fn a_misspelt_word_gets_the_right_one() {
    shop("detect-misspelt-pattern", "--pattern lost-servise");
    shop("detect-misspelt-category", "--category Securty");
    shop("detect-misspelt-severity", "--severity warnin");
    shop("detect-misspelt-format", "-o jsno");
}

#[test]
fn annotation_suppresses_findings_of_an_object() {
    shop("detect-suppressed", "--show-suppressed --pattern lost-service");
    shop("detect-suppressed-markdown", "--show-suppressed --pattern lost-service -o markdown");
    let all = r#"{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {kubewright.dev/ignore-patterns: "*"}}, spec: {selector: {a: b}}}"#;
    let (text, code) = printed("detect detect/patterns/lost-service.yaml -r -", all);
    assert!(text.contains("nothing found, 1 suppressed"), "{text}");
    assert_eq!(code, 0);
}

#[test]
fn the_exit_code_follows_from_the_severity() {
    for (more, want) in [
        ("", 1),
        ("--fail-on critical", 1),
        ("--fail-on never", 0),
        ("--pattern split-sidecar", 0),
        ("--pattern split-sidecar --fail-on info", 1),
        ("--pattern lost-service --fail-on high", 0),
        ("--pattern lost-service", 1),
    ] {
        assert_eq!(printed(&format!("{SHOP} {more}"), "").1, want, "{more}");
    }
}

#[test]
fn one_bad_pattern_does_not_spoil_the_others() {
    check("detect-broken", "detect detect/broken -r detect/objects.yaml --namespace nowhere");
    check("detect-strict", "detect detect/doubtful.yaml -r detect/objects.yaml --strict");
    check("detect-no-patterns", "detect detect/objects.yaml -r detect/objects.yaml");
    check("detect-no-objects", "detect detect/patterns/lost-service.yaml -r detect/values.yaml");
    check("detect-missing", "detect detect/pattrns -r detect/objects.yaml");
    check("detect-twice", "detect - -r -");
}

#[test]
fn findings_are_cut_off_visibly() {
    shop("detect-truncated", "--max-per-pattern 1 --pattern lost-service");
    let (text, _) = printed(&format!("{SHOP} --max-per-pattern 1 --pattern lost-service -o json"), "");
    let document = json::parse(&text).expect("JSON");
    assert_eq!(document.at(&["summary", "truncated"]), Some(&true.into()));
}

#[test]
fn kinds_of_your_own_are_followed() {
    check(
        "detect-references",
        "detect detect/backups.yaml --references detect/references.yaml -r detect/databases.yaml",
    );
    check(
        "detect-references-beside",
        "detect detect/backups.yaml detect/references.yaml -r detect/databases.yaml -q",
    );
    check("lint-patterns", "lint detect/backups.yaml detect/references.yaml detect/patterns");
}

#[test]
fn a_dump_of_a_cluster_comes_through_standard_input() {
    let dump = fs::read_to_string(folder("fixtures/detect/other.yaml")).expect("a fixture");
    check_with("detect-standard-input", "detect detect/patterns/lost-service.yaml -r -", &dump);
}

#[test]
fn two_runs_are_the_same_whatever_the_order_of_the_files() {
    let (one, _) = printed(
        "detect detect/patterns -r detect/objects.yaml detect/other.yaml detect/hostile.yaml -o json",
        "",
    );
    let (other, _) = printed(
        "detect detect/patterns -r detect/hostile.yaml detect/other.yaml detect/objects.yaml -o json",
        "",
    );
    assert!(one == other, "{one}\n{other}");
    let (names, _) = printed(
        "detect detect/patterns/split-sidecar.yaml detect/patterns/no-quota.yaml detect/patterns/missing-secret.yaml detect/patterns/lost-service.yaml -r detect/objects.yaml detect/other.yaml detect/hostile.yaml -o json",
        "",
    );
    assert!(one == names, "{one}\n{names}");
}

#[test]
fn objects_in_any_order_give_the_same_findings() {
    let folder = scratch("order");
    let text = fs::read_to_string(self::folder("fixtures/detect/objects.yaml")).expect("a fixture");
    let mut parts: Vec<&str> = text.split("---\n").collect();
    let mut all = Vec::new();
    for turn in 0..parts.len() {
        parts.rotate_left(1);
        fs::write(folder.join("shop.yaml"), parts.join("---\n")).expect("a file");
        let patterns = self::folder("fixtures/detect/patterns");
        let output =
            kubewright_in(&folder, &format!("detect {} -r shop.yaml -o k8spattern", patterns.display()), "");
        all.push(String::from_utf8_lossy(&output.stdout).into_owned());
        assert_eq!(all.first(), all.last(), "turn {turn}");
    }
    fs::remove_dir_all(folder).expect("the folder is removed");
}

#[test]
fn nothing_in_an_object_can_steer_who_reads_of_it() {
    check("detect-hostile", "detect detect/patterns/lost-service.yaml -r detect/hostile.yaml");
    for format in ["table", "sarif", "junit", "github", "markdown"] {
        let arguments =
            format!("detect detect/patterns/lost-service.yaml -r detect/hostile.yaml -o {format}");
        let (text, code) = printed(&arguments, "");
        assert_eq!(code, 1, "{format}");
        for harmful in ['\u{1b}', '\u{202e}', '\u{7}'] {
            assert!(!text.contains(harmful), "{format} has {harmful:?}: {text}");
        }
        let is_markup = ["junit", "markdown"].contains(&format);
        assert!(!is_markup || !text.contains("<script"), "{format}: {text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::error")), "{format}: {text}");
    }
}

#[test]
fn every_document_can_be_read_again() {
    for format in ["json", "sarif"] {
        for objects in ["detect/objects.yaml", "detect/hostile.yaml"] {
            let (text, _) = printed(&format!("detect detect/patterns -r {objects} -o {format}"), "");
            assert!(json::parse(&text).is_ok(), "{format} of {objects}");
        }
    }
}

#[test]
fn a_huge_object_is_read_like_any_other() {
    let folder = scratch("huge");
    let data = "x".repeat(4 << 20);
    let objects = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata: {{a: {data}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: lost}}\nspec: {{selector: {{a: b}}}}\n"
    );
    fs::write(folder.join("huge.yaml"), objects).expect("a file");
    let pattern = self::folder("fixtures/detect/patterns/lost-service.yaml");
    let output = kubewright_in(&folder, &format!("detect {} -r huge.yaml -o json", pattern.display()), "");
    let document = json::parse(&String::from_utf8_lossy(&output.stdout)).expect("JSON");
    assert_eq!(document.at(&["summary", "findings"]).and_then(Value::as_i64), Some(1));
    fs::remove_dir_all(folder).expect("the folder is removed");
}

#[test]
fn an_output_does_not_take_the_place_of_an_object_or_of_another_output() {
    shop("detect-two-outputs", "-o json -o yaml");
    shop("detect-overwrites", "-o json=detect/objects.yaml");
}

#[test]
fn what_ships_runs_where_nothing_else_is_named() {
    let service = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {a: b}}}";
    let (text, code) = printed("detect -r - --pattern orphan-service", service);
    assert!(text.contains("orphan-service") && code == 1, "{text}");
    let (page, _) = printed("explain orphan-service", "");
    assert!(page.starts_with("# orphan-service"), "{page}");
}

#[test]
fn a_threshold_that_nothing_can_reach_can_be_passed_over() {
    let pattern = "{version: kubepattern.it/v1, kind: Pattern, metadata: {name: p, displayName: P, patternType: CUSTOM, severity: WARNING, category: Security}, spec: {message: m, topology: SINGLE, minRelationshipPoints: 1, resources: [{resource: Service, id: s, leader: true}], actors: [s]}}";
    let found = |more: &str| {
        let (text, _) = printed(&format!("detect - -r detect/other.yaml -o json {more}"), pattern);
        let document = json::parse(&text).expect("JSON");
        document.at(&["summary", "findings"]).and_then(Value::as_i64)
    };
    assert_eq!(found(""), Some(0));
    assert_eq!(found("--compat registry"), Some(1));
}

#[test]
fn several_outputs_are_written_in_one_run() {
    let folder = scratch("outputs");
    let (patterns, objects) =
        (self::folder("fixtures/detect/patterns"), self::folder("fixtures/detect/objects.yaml"));
    let arguments = format!(
        "detect {} -r {} -o table -o json=a.json -o sarif=b.sarif",
        patterns.display(),
        objects.display()
    );
    let output = kubewright_in(&folder, &arguments, "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 critical"));
    for file in ["a.json", "b.sarif"] {
        let text = fs::read_to_string(folder.join(file)).expect("the file is written");
        assert!(json::parse(&text).is_ok(), "{file}");
    }
    fs::remove_dir_all(folder).expect("the folder is removed");
}

#[test]
fn a_large_dump_is_read_item_by_item() {
    let folder = scratch("dump");
    let item = "- apiVersion: v1\n  kind: Service\n  metadata:\n    annotations:\n      note: |\n        - first\n        - second\n    name: NAME\n    namespace: shop\n  spec:\n    selector: {app: nobody}\n";
    let items: String = (0..9000).map(|at| item.replace("NAME", &format!("s-{at:05}"))).collect();
    let dump = format!("apiVersion: v1\nitems:\n{items}kind: List\nmetadata:\n  resourceVersion: \"\"\n");
    assert!(dump.len() > 1 << 20);
    fs::write(folder.join("dump.yaml"), dump).expect("a file");
    let pattern = self::folder("fixtures/detect/patterns/lost-service.yaml");
    let output = kubewright_in(&folder, &format!("detect {} -r dump.yaml -o json", pattern.display()), "");
    let document = json::parse(&String::from_utf8_lossy(&output.stdout)).expect("JSON");
    assert_eq!(document.at(&["summary", "objects"]).and_then(Value::as_i64), Some(9000));
    let last = document.at(&["findings"]).and_then(|findings| findings.item(8999)).expect("the last finding");
    let place = last.at(&["resources"]).and_then(|resources| resources.item(0)).expect("its object");
    assert_eq!(place.get("name"), Some(&"s-08999".into()));
    assert_eq!(place.get("line").and_then(Value::as_i64), Some(3 + 8999 * 11));
    fs::remove_dir_all(folder).expect("the folder is removed");
}

/// Returns Services that lead nowhere.
fn orphans(count: usize, annotations: &str) -> String {
    let one = |number| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: s{number}, namespace: shop, annotations: {{{annotations}}}}}, spec: {{selector: {{app: a}}}}}}\n"
        )
    };
    (0..count).map(one).collect::<Vec<_>>().join("---\n")
}

#[test]
fn of_many_findings_of_one_pattern_a_few_are_shown_unless_all_are_asked_for() {
    let lines = |arguments: &str, count: usize| {
        let (text, code) = printed(arguments, &orphans(count, ""));
        assert_eq!(code, 1);
        assert!(text.contains(&format!("{count} warnings")), "{text}");
        text.lines().filter(|line| line.starts_with("WARNING  orphan-service")).count()
    };
    let (text, _) = printed("detect orphan-service naked-pod -r -", &orphans(12, ""));
    assert!(text.contains("WARNING  orphan-service  … and 7 more (--all shows them)\n"), "{text}");
    assert_eq!(lines("detect orphan-service naked-pod -r -", 12), 6);
    assert_eq!(lines("detect orphan-service naked-pod -r -", 10), 10);
    assert_eq!(lines("detect orphan-service naked-pod -r - --all", 12), 12);
    assert_eq!(lines("detect orphan-service -r -", 12), 12);
}

#[test]
fn a_pattern_that_ships_is_taken_by_its_name() {
    let (text, code) = printed("trace orphan-service -r -", &orphans(1, ""));
    assert_eq!(code, 1);
    assert!(text.starts_with("pattern/orphan-service  on Service shop/s0     1 finding\n"), "{text}");
    let (text, _) = printed("detect orphan-service -r -", &orphans(1, ""));
    assert!(text.contains("1 pattern over 1 object: 1 warning"), "{text}");
}

#[test]
fn picture_of_all_findings_omits_suppressed_ones() {
    let (text, _) = printed(
        "graph -r - --patterns orphan-service --findings",
        &orphans(1, "kubewright.dev/ignore-patterns: orphan-*"),
    );
    assert!(text.contains("0 findings of 1 pattern, 1 suppressed."), "{text}");
}
