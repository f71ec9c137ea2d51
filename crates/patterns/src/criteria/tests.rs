use kubewright_golib::regex;

use super::*;

#[track_caller]
fn check(transform: &Transform, text: &str, want: Option<&str>) {
    assert_eq!(transform.of(text, &mut Budget::default()).expect("enough steps").as_deref(), want);
}

#[test]
fn a_group_is_what_stands_before_the_version() {
    check(&Transform::ApiGroup, "apps/v1", Some("apps"));
    check(&Transform::ApiGroup, "v1", Some(""));
}

#[test]
fn parts_are_counted_from_either_end() {
    let split = |index| Transform::Split { separator: "@".into(), index };
    check(&split(0), "a@b@c", Some("a"));
    check(&split(-1), "a@b@c", Some("c"));
    check(&split(3), "a@b@c", None);
    check(&split(0), "abc", Some("abc"));
}

#[test]
fn an_expression_gives_its_first_group_or_all_that_it_matches() {
    let regex = |text| Transform::Regex(regex::compile_regex(text).expect("a regex"));
    check(&regex("name=([^&]+)"), "x?name=web&y=1", Some("web"));
    check(&regex("w.b"), "a web", Some("web"));
    check(&regex("zzz"), "a web", None);
    check(&Transform::Lowercase, "WeB", Some("web"));
}

#[test]
fn values_that_are_equal_are_found_under_the_same_text() {
    let texts = |value: Value| index_texts(&[value]).into_iter().next().unwrap_or_default();
    assert_eq!(texts(Value::from(80_i64)), texts(Value::from("80")));
    assert_eq!(texts(Value::from("80.0")), texts(Value::from(80_i64)));
    assert_ne!(texts(Value::from("a")), texts(Value::from("b")));
}
