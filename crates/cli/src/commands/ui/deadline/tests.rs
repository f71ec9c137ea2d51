//! Requests whose answers would take minutes end soon after their deadline.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use kubewright_ui::{PageAnswer, PageApi as _, PageMethod, PageRequest, PageRoute};
use kubewright_value::{Map, Value, json};

use super::super::PageAnswers;
use super::super::about::PageState;

/// Each answer would take many times as long.
const TIME: Duration = Duration::from_millis(500);

/// What is under way at the deadline, in a build without optimization on a busy machine.
const MAX_OVERRUN: Duration = Duration::from_secs(15);

/// Returns documents that `write` makes of numbers.
fn documents(count: usize, write: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}\n---", write(number));
        text
    })
}

fn policies(count: usize) -> String {
    documents(count, |number| include_str!("policy.yaml").replace("NUMBER", &number.to_string()))
}

/// Pods that every Service selects, and as many Services.
fn web(count: usize) -> String {
    documents(count, |number| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p{number}, namespace: shop, labels: {{app: a}}}}, \
             spec: {{containers: [{{name: a, image: b}}]}}}}\n---\n\
             {{apiVersion: v1, kind: Service, metadata: {{name: s{number}, namespace: shop}}, spec: {{selector: {{app: a}}}}}}"
        )
    })
}

/// Traits that each count for as long as one may.
fn traits(count: usize) -> String {
    let list = format!("[{}]", (0..30).map(|number| number.to_string()).collect::<Vec<_>>().join(", "));
    let expression = format!("{list}.map(a, {list}.map(b, {list}.map(c, a + b + c)))");
    let text = include_str!("trait.yaml").replace("EXPRESSION", &expression);
    documents(count, |number| text.replace("NUMBER", &number.to_string()))
}

const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: []}}}}";

fn test_file(cases: usize) -> String {
    let mut text = "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nrules: [rules.yaml]\nresources: [objects.yaml]\ncases:\n".to_owned();
    for number in 0..cases {
        let _ = writeln!(text, "- {{resource: Pod/shop/p{number}, allowed: false}}");
    }
    text
}

#[track_caller]
fn check_ends_in_time(path: &'static str, files: &[(&str, &str, &str)]) {
    let file = |(name, role, text): &(&str, &str, &str)| {
        Value::from(Map::from([
            ("name", Value::from(*name)),
            ("role", (*role).into()),
            ("text", (*text).into()),
        ]))
    };
    let body = Value::from(Map::from([("files", Value::array(files.iter().map(file).collect()))]));
    let answers = PageAnswers::new(PageState::default());
    let began = Instant::now();
    let request = PageRequest {
        route: PageRoute { method: PageMethod::Post, path },
        parameters: Vec::new(),
        query: Vec::new(),
        body: json::to_string(&body).into(),
        deadline: began + TIME,
    };
    let answer = answers.answer(&request);
    let took = began.elapsed();
    println!("{path}: {took:?}");
    let PageAnswer::Content(content) = answer else { panic!("{path}: events") };
    assert_eq!(content.status, 504, "{path} took {took:?}: {:.300}", String::from_utf8_lossy(&content.body));
    assert!(took < TIME + MAX_OVERRUN, "{path} took {took:?}");
}

#[test]
fn rules_end_in_time() {
    let (rules, objects) = (policies(300), web(3_000));
    let files = [("rules.yaml", "rules", rules.as_str()), ("objects.yaml", "objects", objects.as_str())];
    for path in ["/try", "/fix", "/test-file", "/convert"] {
        check_ends_in_time(path, &files);
    }
    let test = test_file(3_000);
    let files = [files[0], files[1], ("kubewright-test.yaml", "test", test.as_str())];
    check_ends_in_time("/test", &files);
}

#[test]
fn traits_end_in_time() {
    check_ends_in_time(
        "/try",
        &[("traits.yaml", "rules", &traits(400)), ("web.yaml", "objects", DEPLOYMENT)],
    );
}

#[test]
fn patterns_and_pictures_end_in_time() {
    let objects = web(2_500);
    for path in ["/graph", "/detect"] {
        check_ends_in_time(path, &[("objects.yaml", "objects", &objects)]);
    }
}
