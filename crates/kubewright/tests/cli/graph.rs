//! Pictures of objects.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_value::{Value, json};

use super::{check, folder, kubewright, kubewright_in};

const SMALL: &str = "graph -r graph/small.yaml";
const PATTERN: &str = "graph -r graph/small.yaml --patterns graph/patterns.yaml --pattern";
const FORMATS: [&str; 6] = ["svg", "html", "dot", "mermaid", "tree", "json"];

#[track_caller]
fn small(name: &str, more: &str) {
    check(name, &format!("{SMALL} {more}"));
}

/// Returns what is printed on standard output, where the exit code is 0.
#[track_caller]
fn drawn(arguments: &str, input: &str) -> String {
    let output = kubewright(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns `from TYPE to style` for every line of a picture as JSON.
#[track_caller]
fn lines(arguments: &str) -> Vec<String> {
    let picture = json::parse(&drawn(&format!("{arguments} -o json"), "")).expect("JSON");
    let text = |edge: &Value, key: &str| edge.str_at(&[key]).to_owned();
    let edges = picture.get("edges").and_then(Value::as_array).expect("edges");
    edges
        .iter()
        .map(|edge| {
            let points = edge
                .get("points")
                .and_then(Value::as_number)
                .map_or_else(String::new, |points| format!(" +{points}"));
            format!(
                "{} {} {} {}{points}",
                text(edge, "from"),
                text(edge, "type"),
                text(edge, "to"),
                text(edge, "style")
            )
        })
        .collect()
}

#[test]
fn a_small_picture_in_every_form_that_people_read() {
    check("graph-help", "graph --help");
    small("graph-mermaid", "-o mermaid");
    small("graph-dot", "-o dot");
    small("graph-json", "-o json");
    small("graph-focus", "-o mermaid --focus svc/web --depth 1");
    small("graph-edge", "-o mermaid --edge routes-to");
    small("graph-all-edges", "-o mermaid --all-edges --each");
    small("graph-findings", "-o mermaid --patterns graph/patterns.yaml --findings");
}

#[test]
fn a_misspelt_word_gets_the_right_one() {
    small("graph-misspelt-focus", "--focus Service/shop/weeb");
    small("graph-misspelt-kind", "--focus Servise/web");
    small("graph-elsewhere", "--focus Service/other/web");
    small("graph-no-object", "--focus web");
    small("graph-misspelt-edge", "--edge EXPOSE");
    small("graph-misspelt-namespace", "--namespace shops");
    small("graph-misspelt-format", "-o sgv");
    small("graph-misspelt-pattern", "--patterns graph/patterns.yaml --pattern lost-servic");
    check("graph-ambiguous", "graph -r graph/small.yaml graph/other.yaml --focus svc/web");
    check("graph-nothing", "graph -r -");
}

#[test]
fn a_finding_shows_what_holds_with_its_points_and_what_is_missing() {
    assert_eq!(
        lines(&format!("{PATTERN} entry")),
        [
            "Service/shop/web EXPOSES Pod/shop/web-0 solid",
            "Ingress.networking.k8s.io/shop/shop ROUTES_TO Service/shop/web solid +0.6",
            "absent//scaler SCALES (0.4 missed) Service/shop/web missing",
            "Service/shop/web EXPOSES Pod/shop/web-1 solid",
        ]
    );
    check("graph-finding", &format!("{PATTERN} entry -o mermaid"));
}

#[test]
fn what_is_expected_and_absent_leads_to_what_comes_nearest() {
    assert_eq!(
        lines(&format!("{PATTERN} lost-service")),
        ["Service/shop/old EXPOSES (app differs) Pod/shop/web-0 missing"]
    );
    check("graph-lost", &format!("{PATTERN} lost-service -o mermaid"));
}

#[test]
fn an_object_that_does_not_match_is_drawn_with_what_discards_it() {
    assert_eq!(
        lines(&format!("{PATTERN} lost-service --focus Service/web")),
        ["Service/shop/web EXPOSES, forbids it Pod/shop/web-0 solid"]
    );
    assert_eq!(lines(&format!("{PATTERN} nothing --near")), ["Pod/shop/web-0 MOUNTS absent//map missing"]);
    check("graph-no-finding", &format!("{PATTERN} nothing"));
    check("graph-no-leader", &format!("{PATTERN} nothing --focus Service/web"));
    check("graph-no-such-finding", &format!("{PATTERN} entry --finding 3"));
}

#[test]
fn the_order_of_the_input_does_not_show() {
    let text = fs::read_to_string(folder("fixtures/graph/small.yaml")).expect("a fixture");
    let mut documents: Vec<&str> = text.split("---\n").collect();
    documents.reverse();
    let turned = documents.join("\n---\n");
    for format in FORMATS {
        let arguments = format!("graph -r - -o {format} --findings --patterns graph/patterns.yaml");
        assert!(drawn(&arguments, &text) == drawn(&arguments, &turned), "{format}");
    }
}

#[test]
fn values_of_secrets_are_in_no_picture() {
    for format in FORMATS {
        let text = drawn(&format!("{SMALL} --all-edges -o {format}"), "");
        for secret in ["correct-horse", "YmF0dGVyeS1zdGFwbGU", "battery-staple"] {
            assert!(!text.contains(secret), "{format}");
        }
        assert!(text.contains("login"), "{format}");
    }
}

#[test]
fn names_from_elsewhere_stay_text() {
    let name = r#"</script><script>x()</script>\"'\u001b[2J\u202e"#;
    let object = format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "namespace": "{name}"}}, "spec": {{"containers": [{{"name": "c", "envFrom": [{{"configMapRef": {{"name": "{name}"}}}}]}}]}}}}"#
    );
    for format in ["svg", "html", "dot", "mermaid"] {
        let text = drawn(&format!("graph -r - -o {format}"), &object);
        let scripts = if format == "html" { 1 } else { 0 };
        if format != "dot" {
            assert_eq!(text.matches("<script>").count(), scripts, "{format}: {text}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{format}");
    }
}

#[test]
fn the_caps_can_be_seen() {
    let mut objects = String::new();
    for at in 0..400 {
        objects.push_str(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{at}, namespace: n{}}}}}\n---\n",
            at % 7
        ));
    }
    let text = drawn("graph -r - --max-boxes 100", &objects);
    assert!(text.contains("400 objects are drawn as 63 boxes"), "{text}");
}

#[test]
fn several_formats_go_to_their_files() {
    let folder = std::env::temp_dir().join(format!("kubewright-graph-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name);
    let arguments = format!(
        "{SMALL} -o svg={} -o html={} -o dot={}",
        file("a.svg").display(),
        file("a.html").display(),
        file("a.dot").display()
    );
    assert_eq!(drawn(&arguments, ""), "");
    let text = |name: &str| fs::read_to_string(file(name)).expect("a picture");
    assert!(text("a.svg").starts_with("<svg ") && text("a.svg").ends_with("</svg>\n"));
    assert!(text("a.html").contains("Content-Security-Policy"));
    assert!(text("a.dot").starts_with("digraph "));
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn the_pictures_of_the_pages_are_as_new_as_the_program() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let makefile = fs::read_to_string(root.join("Makefile")).expect("the Makefile");
    let rules: Vec<&str> = makefile.lines().filter(|line| line.contains("-o svg=docs/pictures/")).collect();
    assert_eq!(rules.len(), 2);
    for rule in rules {
        let (_, rule) = rule.split_once("$(KUBEWRIGHT) ").expect("a call");
        let (arguments, file) = rule.split_once(" -o svg=").expect("a file");
        let output = kubewright_in(&root, arguments, "");
        let picture = fs::read(root.join(file)).unwrap_or_default();
        assert!(output.stdout == picture, "`make pictures` draws {file} anew");
    }
}

#[test]
fn near_miss_of_a_scoring_relationship_is_drawn_between_its_real_ends() {
    check(
        "graph-near-score",
        "graph --pattern graph/near/fragile.yaml -r graph/near/exposed.yaml --near -o json",
    );
    check("graph-near-common", "graph --pattern split-sidecar -r graph/near/shipper.yaml --near -o json");
}
