use kubewright_engine::{Operation, Request};
use kubewright_value::json;

use super::*;

fn secrets(object: &str) -> Secrets {
    let object = json::parse(object).unwrap();
    Secrets::of(&Request::for_object(object, Operation::Create, ""))
}

#[track_caller]
fn check(object: &str, text: &str, expected: &str) {
    assert_eq!(secrets(object).masked(text.to_owned()), expected);
}

#[test]
fn a_value_is_hidden_as_it_stands_decoded_and_without_what_stands_around_it() {
    // The value is ` canary `.
    let object = r#"{"apiVersion": "v1", "kind": "Secret", "data": {"a": "IGNhbmFyeSA="}}"#;
    check(object, "it is IGNhbmFyeSA=", "it is (secret)");
    check(object, "it is[ canary ]", "it is[(secret)]");
    check(object, "it is[canary]", "it is[(secret)]");
    check(object, "it is[CANARY]", "it is[(secret)]");
    check(&object.replace("Secret", "ConfigMap"), "it is[canary]", "it is[canary]");
}

#[test]
fn a_text_that_takes_too_long_to_search_is_hidden_as_a_whole() {
    let values: Vec<String> = (0..2_000).map(|number| format!(r#""k{number}": "v{number:05}""#)).collect();
    let object = format!(r#"{{"apiVersion": "v1", "kind": "Secret", "data": {{{}}}}}"#, values.join(", "));
    let secrets = secrets(&object);
    assert_eq!(secrets.masked("long ".repeat(100_000)), "(secret)");
    assert_eq!(secrets.masked("short v00007".to_owned()), "short (secret)");
}
