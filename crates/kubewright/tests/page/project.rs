//! `kubewright ui DIR` and `kubewright ui FILE`.

use kubewright_value::{Map, Value, json};

use super::{Folder, Page};

const RULE: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: team}\nspec:\n  rules:\n    - name: label\n      match: {any: [{resources: {kinds: [ConfigMap]}}]}\n      validate: {message: m, pattern: {metadata: {labels: {team: shop}}}}\n";
const OBJECTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n";
const TEST: &str = "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nrules: [rule.yaml]\nresources: [../objects/a.yaml]\ncases:\n  - {rule: team/label, resource: ConfigMap/a, outcome: fail}\n";

fn project() -> Folder {
    let folder = Folder::new();
    folder.write("kubewright.yaml", "rules: [rules]\nresources: [objects]\n");
    folder.write("rules/rule.yaml", RULE);
    folder.write("rules/kubewright-test.yaml", TEST);
    folder.write("objects/a.yaml", OBJECTS);
    folder.write("objects/s.yaml", SECRET);
    folder
}

fn file<'v>(answer: &'v Value, name: &str) -> &'v Value {
    let files = answer.get("files").and_then(Value::as_array).expect("files");
    files.iter().find(|file| file.str_at(&["name"]) == name).unwrap_or_else(|| panic!("no {name}"))
}

fn save(name: &str, text: &str, was: &str) -> Value {
    let file = Map::from([("name", Value::from(name)), ("text", text.into()), ("was", was.into())]);
    Map::from([("files", Value::array(vec![file.into()]))]).into()
}

#[test]
fn a_project_is_shown_without_the_values_of_secrets() {
    let folder = project();
    let page = Page::start(&[&folder.0.to_string_lossy()]);
    let about = page.get("/about");
    assert_eq!(about.at(&["features", "project"]), Some(&true.into()));
    assert_eq!(about.at(&["features", "save"]), Some(&false.into()));
    let answer = page.get("/project");
    assert_eq!(file(&answer, "rules/rule.yaml").str_at(&["role"]), "rules");
    assert_eq!(file(&answer, "rules/kubewright-test.yaml").str_at(&["role"]), "test");
    assert_eq!(file(&answer, "objects/a.yaml").str_at(&["text"]), OBJECTS);
    assert_eq!(file(&answer, "objects/s.yaml").get("masked"), Some(&true.into()));
    assert!(!json::to_string(&answer).contains("hunter2"));
    let (status, _) = page.post_status("/project/save", &save("objects/a.yaml", "x", ""));
    assert_eq!(status, 403);
}

#[test]
fn files_are_saved_only_if_they_did_not_change() {
    let folder = project();
    let page = Page::start(&[&folder.0.to_string_lossy(), "--save"]);
    let answer = page.get("/project");
    let was = file(&answer, "objects/a.yaml").str_at(&["was"]).to_owned();
    let now = OBJECTS.replace("name: a", "name: b");
    assert!(page.post("/project/save", &save("objects/a.yaml", &now, &was)).get("saved").is_some());
    assert_eq!(std::fs::read_to_string(folder.0.join("objects/a.yaml")).expect("text"), now);
    assert_eq!(page.post_status("/project/save", &save("objects/a.yaml", "x", &was)).0, 409);
    assert_eq!(page.post_status("/project/save", &save("../outside.yaml", "x", "")).0, 400);
    assert_eq!(page.post_status("/project/save", &save("kubewright.yaml", "x", "")).0, 400);
    let secret = file(&answer, "objects/s.yaml").str_at(&["was"]).to_owned();
    assert_eq!(page.post_status("/project/save", &save("objects/s.yaml", "x", &secret)).0, 403);
    assert_eq!(std::fs::read_to_string(folder.0.join("objects/a.yaml")).expect("text"), now);
}

#[test]
fn the_tests_of_a_project_run() {
    let folder = project();
    let page = Page::start(&[&folder.0.to_string_lossy()]);
    let answer = page.post("/test", &Map::from([("coverage", Value::from(true))]).into());
    assert_eq!(answer.at(&["summary", "passed"]).map(json::to_string).as_deref(), Some("1"), "{answer:?}");
    let texts = answer.get("texts").and_then(Value::as_array).unwrap_or_default();
    assert!(texts.iter().any(|text| text.str_at(&["text"]) == RULE), "{texts:?}");
    let lines = answer.get("coverage").and_then(Value::as_array).unwrap_or_default();
    assert!(lines.iter().any(|line| line.get("reached") == Some(&true.into())), "{lines:?}");
}

#[test]
fn a_shared_file_and_a_plain_file_are_opened() {
    let folder = Folder::new();
    folder
        .write("shared.json", "{\"files\": [{\"name\": \"a.yaml\", \"role\": \"rules\", \"text\": \"x\"}]}");
    folder.write("rule.yaml", RULE);
    let open = |name: &str| {
        let path = folder.0.join(name);
        let page = Page::start(&[&path.to_string_lossy()]);
        assert_eq!(page.get("/about").at(&["features", "shared"]), Some(&true.into()));
        page.get("/shared")
    };
    assert_eq!(file(&open("shared.json"), "a.yaml").str_at(&["text"]), "x");
    assert_eq!(file(&open("rule.yaml"), "rule.yaml").str_at(&["text"]), RULE);
    assert_eq!(Page::start(&[]).ask("GET /api/v1/shared", "", "").0, 404);
}
