//! Every example through the page and through the command line.

use kubewright_value::{Value, json};

use super::{Folder, Page, kubewright};

/// Returns the flag of a command for a role; none for rules, which are positional.
fn flag(role: &str) -> &'static str {
    match role {
        "objects" => "--resources",
        "exceptions" => "--exceptions",
        "world" => "--world",
        "old" => "--old",
        "parameters" => "--values",
        "user" => "--userinfo",
        _ => "",
    }
}

/// Returns what the command says about the files of an example.
fn command_line(words: &[&str], example: &Value) -> Value {
    let folder = Folder::new();
    let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut rules = Vec::new();
    for file in example.get("files").and_then(Value::as_array).expect("files") {
        let (name, role) = (file.str_at(&["name"]), file.str_at(&["role"]));
        folder.write(name, file.str_at(&["text"]));
        match flag(role) {
            "" => rules.push(name.to_owned()),
            flag => arguments.push(format!("{flag}={name}")),
        }
    }
    let operation = example.str_at(&["request", "operation"]);
    if !operation.is_empty() {
        arguments.push(format!("--operation={operation}"));
    }
    arguments.extend(rules);
    let output = kubewright(&folder.0, &arguments);
    let text = String::from_utf8(output.stdout).expect("text");
    json::parse(&text)
        .unwrap_or_else(|_| panic!("{arguments:?}: {text} {}", String::from_utf8_lossy(&output.stderr)))
}

/// Returns a list without the keys that only the page has.
fn without(list: &Value, keys: &[&str]) -> Value {
    let mut list: Vec<Value> = list.as_array().unwrap_or_default().to_vec();
    for item in &mut list {
        if let Some(map) = item.as_object_mut() {
            keys.iter().for_each(|key| drop(map.remove(key)));
        }
    }
    Value::array(list)
}

/// Returns the objects of an answer, whose outcomes lack `why`.
fn without_why(objects: &Value) -> Value {
    let mut objects: Vec<Value> = objects.as_array().unwrap_or_default().to_vec();
    for object in objects.iter_mut().filter_map(Value::as_object_mut) {
        let outcomes = without(object.get("outcomes").expect("outcomes"), &["why"]);
        object.insert("outcomes".into(), outcomes);
    }
    Value::array(objects)
}

fn ids(page: &Page, languages: &[&str]) -> Vec<String> {
    let all = page.get("/examples");
    let all = all.get("examples").and_then(Value::as_array).expect("examples");
    let own = all.iter().filter(|example| languages.contains(&example.str_at(&["language"])));
    own.map(|example| example.str_at(&["id"]).to_owned()).collect()
}

#[test]
fn rules_say_on_the_page_what_they_say_on_the_command_line() {
    let page = Page::start(&[]);
    let ids = ids(&page, &["modrule", "kyverno", "admission"]);
    assert!(ids.len() >= 140, "{}", ids.len());
    for id in ids {
        let example = page.get(&format!("/examples/{id}"));
        let tried = page.post("/try", &example);
        let applied = command_line(&["apply", "-o", "json"], &example);
        let objects = without(tried.get("objects").expect("objects"), &["diff", "after"]);
        // The command that shows a reason names the flags of the run, which the page has not.
        assert_eq!(without_why(&objects), without_why(applied.get("objects").expect("objects")), "{id}");
        assert_eq!(tried.get("summary"), applied.get("summary"), "{id}");
        assert_eq!(tried.get("failure"), Some(&Value::Null), "{id}");
        let traced = command_line(&["trace", "--all", "-o", "json"], &example);
        let traces = without(tried.get("traces").expect("traces"), &["refuses", "nearly", "reason"]);
        assert_eq!(&traces, traced.get("traces").expect("traces"), "{id}");
    }
}

#[test]
fn patterns_find_on_the_page_what_they_find_on_the_command_line() {
    let page = Page::start(&[]);
    let ids = ids(&page, &["pattern"]);
    assert!(ids.len() >= 100, "{}", ids.len());
    for id in ids {
        let example = page.get(&format!("/examples/{id}"));
        let tried = page.post("/try", &example);
        let detected = command_line(&["detect", "-o", "json"], &example);
        assert_eq!(tried.get("findings"), detected.get("findings"), "{id}");
        let pictures = tried.get("pictures").and_then(Value::as_array).unwrap_or_default();
        assert!(pictures.iter().all(|picture| picture.str_at(&["svg"]).contains("<svg")), "{id}");
        assert!(!pictures.is_empty(), "{id}");
    }
}

#[test]
fn traits_render_on_the_page_what_they_render_on_the_command_line() {
    let page = Page::start(&[]);
    for id in ids(&page, &["trait"]) {
        let example = page.get(&format!("/examples/{id}"));
        let tried = page.post("/try", &example);
        let manifests = tried.str_at(&["rendered", "manifests"]);
        assert!(manifests.contains("apiVersion:"), "{id}: {:?}", tried.get("diagnostics"));
        let errors = tried.get("diagnostics").and_then(Value::as_array).unwrap_or_default();
        assert!(errors.iter().all(|one| one.str_at(&["severity"]) != "error"), "{id}: {errors:?}");
    }
}

#[test]
fn lint_says_on_the_page_what_it_says_on_the_command_line() {
    let page = Page::start(&[]);
    for id in ids(&page, &["modrule", "kyverno", "admission"]) {
        let example = page.get(&format!("/examples/{id}"));
        let linted = page.post("/lint", &example);
        let folder = Folder::new();
        let mut words: Vec<String> = ["lint", "-o", "json"].map(str::to_owned).to_vec();
        for file in example.get("files").and_then(Value::as_array).expect("files") {
            folder.write(file.str_at(&["name"]), file.str_at(&["text"]));
            match file.str_at(&["role"]) {
                "rules" => words.push(file.str_at(&["name"]).to_owned()),
                "exceptions" => words.push(format!("--exceptions={}", file.str_at(&["name"]))),
                _ => {}
            }
        }
        let told = kubewright(&folder.0, &words);
        let told = json::parse(&String::from_utf8(told.stdout).expect("text")).expect("JSON");
        let diagnostics = without(linted.get("diagnostics").expect("diagnostics"), &["endLine", "endColumn"]);
        assert_eq!(&diagnostics, told.get("diagnostics").expect("diagnostics"), "{id}");
    }
}
