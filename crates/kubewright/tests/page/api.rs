//! The routes, each asked as the page asks it.

use kubewright_value::{Map, Value, json};

use super::{Page, body, kubewright};

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  validationFailureAction: Enforce
  rules:
    - name: label
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate:
        message: label it
        pattern:
          metadata:
            labels:
              team: shop
";
const OBJECT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings # kept
";

fn with(mut value: Value, key: &str, more: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.insert(key.into(), more);
    }
    value
}

fn statuses(answer: &Value) -> Vec<String> {
    let objects = answer.get("objects").and_then(Value::as_array).unwrap_or_default();
    let outcomes =
        objects.iter().filter_map(|object| object.get("outcomes").and_then(Value::as_array)).flatten();
    outcomes
        .map(|outcome| {
            format!(
                "{} {}:{}",
                outcome.str_at(&["status"]),
                outcome.str_at(&["file"]),
                outcome.get("line").map(json::to_string).unwrap_or_default()
            )
        })
        .collect()
}

#[test]
fn everything_may_stand_in_one_text() {
    let page = Page::start(&[]);
    let text = format!("{OBJECT}---\n{POLICY}---\n{OBJECT}");
    for role in ["rules", "objects"] {
        let answer = page.post("/try", &body(&[("all.yaml", role, &text)]));
        assert_eq!(statuses(&answer), ["fail all.yaml:4", "fail all.yaml:24"], "{role}");
    }
}

#[test]
fn exceptions_world_old_and_user_are_read() {
    let page = Page::start(&[]);
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: default}\nspec:\n  exceptions: [{policyName: team, ruleNames: [label]}]\n  match: {any: [{resources: {kinds: [ConfigMap]}}]}\n";
    let files = [("r.yaml", "rules", POLICY), ("o.yaml", "objects", OBJECT)];
    assert_eq!(statuses(&page.post("/try", &body(&files))), ["fail o.yaml:4"]);
    let answer = page.post("/try", &body(&[files[0], files[1], ("e.yaml", "exceptions", exception)]));
    assert_eq!(statuses(&answer), ["skip o.yaml:1"]);
    let answer = page.post("/try", &body(&[files[0], files[1], ("e.yaml", "rules", exception)]));
    assert_eq!(statuses(&answer), ["skip o.yaml:1"], "an exception is one wherever it stands");
    let user = POLICY.replace("spec:\n", "spec:\n  background: false\n");
    let user = user.replace("kinds: [ConfigMap]}", "kinds: [ConfigMap]}, subjects: [{kind: User, name: jo}]");
    let jo = "userInfo: {username: jo}\n";
    let answer = page.post("/try", &body(&[("r.yaml", "rules", &user), files[1], ("u.yaml", "user", jo)]));
    assert_eq!(statuses(&answer), ["fail o.yaml:4"]);
    let update = Value::from(Map::from([("operation", Value::from("UPDATE"))]));
    let right = OBJECT.replace("name: settings", "name: settings\n  labels: {team: shop}");
    // A violation that was there before the update is tolerated.
    for (old, is_refused) in [(right.as_str(), true), (OBJECT, false)] {
        let asked = with(body(&[files[0], files[1], ("old.yaml", "old", old)]), "request", update.clone());
        let told = statuses(&page.post("/try", &asked));
        assert_eq!(told.first().is_some_and(|told| told.starts_with("fail")), is_refused, "{old}: {told:?}");
    }
}

#[test]
fn mistakes_are_diagnostics_and_never_http_errors() {
    let page = Page::start(&[]);
    let texts = [
        "",
        "a: [",
        "---\n---\n",
        "\u{1}",
        "kind: ClusterPolicy\napiVersion: kyverno.io/v1\n",
        "- 1\n- 2\n",
        "{{ a }}",
        "&a [*a]",
    ];
    for rules in texts {
        for objects in texts {
            let answer =
                page.post("/try", &body(&[("r.yaml", "rules", rules), ("o.yaml", "objects", objects)]));
            assert_eq!(answer.get("failure"), Some(&Value::Null), "{rules:?} {objects:?}");
        }
    }
    let answer = page.post("/try", &body(&[("r.yaml", "rules", "a: ["), ("o.yaml", "objects", OBJECT)]));
    let first = answer.get("diagnostics").and_then(Value::as_array).and_then(|all| all.first()).expect("one");
    assert_eq!((first.str_at(&["code"]), first.str_at(&["file"])), ("KW-Y001", "r.yaml"));
}

#[test]
fn bad_bodies_are_refused() {
    let page = Page::start(&[]);
    for (text, want) in [
        ("", 400),
        ("[1]", 400),
        ("{\"files\": [1]}", 400),
        ("{\"files\": [{\"name\": \"a\", \"role\": \"x\", \"text\": \"\"}]}", 400),
    ] {
        let (status, answer) = page.ask("POST /api/v1/try", "content-type: application/json\r\n", text);
        assert_eq!(status, want, "{text}: {answer}");
        assert!(answer.starts_with("{\"error\": {\"message\": \""), "{answer}");
    }
    let request = Map::from([("operation", Value::from("GRAB"))]);
    let asked = with(body(&[("r.yaml", "rules", POLICY)]), "request", request.into());
    assert_eq!(page.post_status("/try", &asked).0, 400);
}

#[test]
fn no_text_can_name_a_file_of_the_machine() {
    let page = Page::start(&[]);
    let world = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\nmetadata: {name: c}\nspec:\n  resourcesFrom: [/etc/hostname, Cargo.toml]\n  resources: [/etc/hostname]\n";
    let test = "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nrules: [/etc/hostname, ../../Cargo.toml]\nresources: [/etc]\ncases: []\n";
    let own = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("text");
    for (path, role, text) in [("/try", "world", world), ("/test", "test", test)] {
        let answer = json::to_string(&page.post(
            path,
            &body(&[("a.yaml", role, text), ("r.yaml", "rules", POLICY), ("o.yaml", "objects", OBJECT)]),
        ));
        assert!(!answer.contains(own.lines().next().expect("a line")), "{answer:.500}");
    }
    let tested = page.post("/test", &body(&[("a.yaml", "test", test)]));
    let told = json::to_string(tested.get("diagnostics").expect("diagnostics"));
    assert!(told.contains("there is no such file"), "{told}");
}

#[test]
fn conversions_come_with_a_proof() {
    let page = Page::start(&[]);
    let good = OBJECT.replace("  name: settings", "  labels: {team: shop}\n  name: good");
    let objects = format!("{OBJECT}---\n{good}");
    let asked = with(
        body(&[("r.yaml", "rules", POLICY), ("o.yaml", "objects", &objects)]),
        "to",
        "validatingpolicy".into(),
    );
    let answer = page.post("/convert", &asked);
    assert!(answer.str_at(&["text"]).contains("kind: ValidatingPolicy"), "{answer:?}");
    let count = |key: &str| answer.at(&["proof", key]).map(json::to_string).unwrap_or_default();
    assert_eq!([count("cases"), count("agree"), count("differ")], ["2", "2", "0"], "{answer:?}");
}

#[test]
fn fixes_keep_what_else_is_in_the_text() {
    let page = Page::start(&[]);
    let text = format!("{OBJECT}---\n{POLICY}");
    let answer = page.post("/fix", &body(&[("all.yaml", "rules", &text)]));
    let edit =
        answer.get("edits").and_then(Value::as_array).and_then(|edits| edits.first()).expect("an edit");
    assert!(edit.str_at(&["text"]).ends_with(&format!("---\n{POLICY}")), "{}", edit.str_at(&["text"]));
    assert!(edit.str_at(&["text"]).contains("team: shop") && edit.str_at(&["text"]).contains("# kept"));
    let again = page.post("/try", &body(&[("all.yaml", "rules", edit.str_at(&["text"]))]));
    assert_eq!(statuses(&again), ["pass all.yaml:1"]);
}

#[test]
fn a_test_file_of_now_passes() {
    let page = Page::start(&[]);
    let files = [("r.yaml", "rules", POLICY), ("o.yaml", "objects", OBJECT)];
    let made = page.post("/test-file", &body(&files));
    let made = made.get("files").and_then(Value::as_array).expect("files");
    let folder = super::Folder::new();
    made.iter().for_each(|file| folder.write(file.str_at(&["name"]), file.str_at(&["text"])));
    let ran = kubewright(&folder.0, &["test".to_owned(), ".".to_owned()]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let test = made.iter().find(|file| file.str_at(&["name"]) == "kubewright-test.yaml").expect("a test");
    let asked = body(&[files[0], files[1], ("kubewright-test.yaml", "test", test.str_at(&["text"]))]);
    let answer = page.post("/test", &asked);
    assert_eq!(answer.at(&["summary", "failed"]).map(json::to_string).as_deref(), Some("0"), "{answer:?}");
    let lines = answer.get("coverage").and_then(Value::as_array).unwrap_or_default();
    assert!(lines.iter().any(|line| line.get("reached") == Some(&true.into())), "{lines:?}");
}

#[test]
fn expressions_are_evaluated() {
    let page = Page::start(&[]);
    let eval = |language: &str, expression: &str| {
        let asked = Map::from([
            ("language", Value::from(language)),
            ("expression", expression.into()),
            ("input", "kind: Pod\ncounts: [1, 2]\n".into()),
        ]);
        page.post("/eval", &asked.into())
    };
    assert_eq!(eval("cel", "object.counts.all(x, x > 0)").str_at(&["result"]), "true");
    assert_eq!(eval("jmespath", "length(counts)").str_at(&["result"]), "2");
    assert_eq!(eval("jsonpath", "$.counts").str_at(&["result"]), "[\n  1,\n  2\n]");
    assert_eq!(eval("gotemplate", "{{ .Target.kind | lower }}").str_at(&["result"]), "pod");
    let wrong = eval("cel", "object.counts +");
    assert!(!wrong.str_at(&["error", "message"]).is_empty(), "{wrong:?}");
    assert_eq!(wrong.at(&["error", "line"]).map(json::to_string).as_deref(), Some("1"), "{wrong:?}");
    assert!(eval("cel", "--help").get("error") != Some(&Value::Null), "an expression is no flag");
}

#[test]
fn every_page_schema_and_list_of_functions_is_there() {
    let page = Page::start(&[]);
    assert!(page.get("/explain/KW-Y001").str_at(&["html"]).starts_with("<h1>"));
    assert!(page.get("/explain/orphan-service").str_at(&["markdown"]).contains("Service"));
    assert_eq!(page.ask("GET /api/v1/explain/KW-Q999", "", "").0, 404);
    for kind in ["test", "traitstack", "project", "trace"] {
        assert!(page.get(&format!("/schema/{kind}")).as_object().is_some(), "{kind}");
    }
    for (language, least) in [("cel", 100), ("jmespath", 60), ("gotemplate", 100), ("jsonpath", 5)] {
        let functions = page.get(&format!("/functions/{language}"));
        let count = functions.get("functions").and_then(Value::as_array).unwrap_or_default().len();
        assert!(count >= least, "{language}: {count}");
    }
}

#[test]
fn many_traces_are_cut_with_a_note() {
    let page = Page::start(&[]);
    let objects: Vec<String> =
        (0..600).map(|n| OBJECT.replace("settings", &format!("settings-{n}"))).collect();
    let answer = page
        .post("/try", &body(&[("r.yaml", "rules", POLICY), ("o.yaml", "objects", &objects.join("---\n"))]));
    assert_eq!(answer.get("traces").and_then(Value::as_array).map(<[Value]>::len), Some(200));
    assert_eq!(answer.get("truncated"), Some(&true.into()));
    assert_eq!(statuses(&answer).len(), 600);
}

#[test]
fn of_many_outcomes_those_that_pass_are_counted() {
    let page = Page::start(&[]);
    let passing = OBJECT.replace("metadata:", "metadata:\n  labels: {team: shop}");
    let objects: Vec<String> =
        (0..600).map(|n| passing.replace("settings", &format!("settings-{n}"))).collect();
    let answer = page
        .post("/try", &body(&[("r.yaml", "rules", POLICY), ("o.yaml", "objects", &objects.join("---\n"))]));
    let all = answer.get("objects").and_then(Value::as_array).unwrap_or_default();
    let is_counted = |one: &Value| one.at(&["more", "pass"]).and_then(Value::as_i64) == Some(1);
    assert_eq!(all.iter().filter(|one| is_counted(one)).count(), 600, "{:?}", all.first());
    assert_eq!(statuses(&answer).len(), 0);
}

#[test]
fn lines_that_no_object_reached_are_told() {
    let page = Page::start(&[]);
    let policy = POLICY.replace("      validate:", "      preconditions: {all: [{key: \"{{request.object.metadata.name}}\", operator: Equals, value: other}]}\n      validate:").replace("        pattern:\n          metadata:\n            labels:\n              team: shop\n", "        deny: {conditions: {any: [\n          {key: a, operator: Equals, value: b}]}}\n");
    let answer = page.post("/try", &body(&[("r.yaml", "rules", &policy), ("o.yaml", "objects", OBJECT)]));
    let lines = answer.get("coverage").and_then(Value::as_array).unwrap_or_default();
    let reached = |is: bool| lines.iter().filter(|line| line.get("reached") == Some(&is.into())).count();
    assert!(reached(true) > 0 && reached(false) > 0, "{lines:?}");
}
