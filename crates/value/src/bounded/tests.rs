use super::*;
use crate::Limits;

fn value(text: &str) -> Value {
    json::parse(text).expect("JSON")
}

/// Returns a value of `levels` lists, each of which holds the next one twice: small in memory, 2^levels as text.
fn doubled(levels: u32) -> Value {
    (0..levels).fold(Value::from("x"), |inner, _| Value::array(vec![inner.clone(), inner]))
}

fn budget(bytes: u64) -> Budget {
    Budget::new(Limits { bytes, ..Limits::default() })
}

#[test]
fn text_within_the_budget_is_the_same_as_without() {
    let value = value(r#"{"a": [1, 2.5, null, true, "q\"\n\u0001"], "b": {}, "c": []}"#);
    assert_eq!(to_json(&value, &mut budget(1000)), Ok(json::to_string(&value)));
    assert_eq!(to_json(&value, &mut budget(10)), Err(Exhausted::Bytes(10)));
}

#[test]
fn a_text_is_charged_to_the_byte() {
    let mut left = budget(5);
    assert_eq!(to_json(&value("[1,2]"), &mut left), Ok("[1,2]".to_owned()));
    assert_eq!(left.bytes_used(), 5);
}

#[test]
fn shared_parts_are_charged_each_time_they_are_walked() {
    let huge = doubled(60);
    assert_eq!(to_json(&huge, &mut budget(1 << 20)), Err(Exhausted::Bytes(1 << 20)));
    assert_eq!(charge_text(&huge, &mut budget(1 << 20)), Err(Exhausted::Bytes(1 << 20)));
    assert_eq!(charge_tree(&huge, 24, 1, &mut budget(1 << 20)), Err(Exhausted::Bytes(1 << 20)));
    let steps = Limits { steps: 1000, ..Limits::default() };
    assert_eq!(bounded_equal(&huge, &doubled(60), &mut Budget::new(steps)), Err(Exhausted::Steps(1000)));
    assert_eq!(bounded_equal(&huge, &huge.clone(), &mut Budget::new(steps)), Ok(true));
}

#[test]
fn what_is_too_deep_is_an_error_and_no_overflow() {
    let deep = (0..300).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    assert_eq!(to_json(&deep, &mut budget(1 << 20)), Err(Exhausted::Depth(256)));
    assert_eq!(charge_text(&deep, &mut budget(1 << 20)), Err(Exhausted::Depth(256)));
}

#[test]
fn a_shortened_value_ends_after_so_many_characters() {
    assert_eq!(shortened_json(&value(r#"["äöü", 1]"#), 10), r#"["äöü",1]"#);
    assert_eq!(shortened_json(&value(r#"["äöü", 1]"#), 4), "[\"äö…");
    assert_eq!(shortened_json(&doubled(60), 3), "[[[…");
    let long = Value::object(Map::from([("k", Value::from("a".repeat(100)))]));
    assert_eq!(shortened_json(&long, 8), "{\"k\":\"aa…");
}

#[test]
fn a_shortened_text_says_how_much_is_left_out() {
    assert_eq!(shortened_text("abc", 3), None);
    assert_eq!(shortened_text("aäb", 2), Some("a… (3 more bytes)".to_owned()));
}

#[test]
fn equality_is_that_of_values() {
    let is_equal = |a: &str, b: &str| bounded_equal(&value(a), &value(b), &mut Budget::default());
    assert_eq!(is_equal(r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1}"#), Ok(true));
    assert_eq!(is_equal(r#"{"a":1}"#, r#"{"b":1}"#), Ok(false));
    assert_eq!(is_equal("[1]", "[1,1]"), Ok(false));
}

#[test]
fn values_that_are_read_are_charged_by_what_they_take() {
    let read = |text: &str, bytes| parse_bounded_json(text, &mut budget(bytes)).map(|read| read.is_ok());
    assert_eq!(read(r#"{"a":[1,2]}"#, 1000), Ok(true));
    assert_eq!(read("{", 1000), Ok(false));
    assert_eq!(read(&format!("[{}0]", "0,".repeat(1000)), 10_000), Err(Exhausted::Bytes(10_000)));
    assert_eq!(read(&format!("[{}{{}}]", "{},".repeat(1000)), 100_000), Err(Exhausted::Bytes(100_000)));
    assert_eq!(read(&format!("[\"{}\\\"\"]", ",".repeat(1000)), 2000), Ok(true));
    let yaml = parse_bounded_yaml(&"- a\n".repeat(1000), &mut budget(10_000)).map(|read| read.is_ok());
    assert_eq!(yaml, Err(Exhausted::Bytes(10_000)));
}

#[test]
fn words_are_read_as_any_yaml_and_charged_by_their_length() {
    let words = [
        "web-0-SHOP",
        "true",
        "null",
        "Null",
        "9000",
        "007",
        "0x1F",
        "0b1",
        "1e3",
        "1.50",
        "/metadata",
        "a/b",
        "y",
        "2026-01-01",
        "0o17",
        "1_000",
        "-",
        "--",
        "...",
        ".inf",
        "-5",
        "",
        " ",
        "a b",
        "a: b",
        "12:30:45",
        "a#b",
        "18446744073709551615",
        "99999999999999999999999999",
    ];
    for word in words {
        let mut paying = budget(1 << 20);
        let read = parse_bounded_yaml(word, &mut paying).unwrap();
        assert_eq!(read, crate::yaml::parse_fully(word), "{word:?}");
        assert!(paying.bytes_used() >= word.len() as u64, "{word:?}");
    }
    let long = "a".repeat(1000);
    assert_eq!(parse_bounded_yaml(&long, &mut budget(999)), Err(Exhausted::Bytes(999)));
}
