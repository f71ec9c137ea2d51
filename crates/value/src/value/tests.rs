use super::*;
use crate::json::parse;

fn json(text: &str) -> Value {
    parse(text).expect(text)
}

#[test]
fn a_value_is_three_words() {
    assert!(size_of::<Value>() <= 24, "{}", size_of::<Value>());
}

#[test]
fn editing_a_clone_leaves_the_original_and_shares_what_did_not_change() {
    let original = json(r#"{"a":{"b":1},"c":{"d":2}}"#);
    let mut copy = original.clone();
    copy.as_object_mut()
        .unwrap()
        .get_mut("a")
        .unwrap()
        .as_object_mut()
        .unwrap()
        .insert("b".into(), 5i64.into());
    assert_eq!(original.to_string(), r#"{"a":{"b":1},"c":{"d":2}}"#);
    assert_eq!(copy.to_string(), r#"{"a":{"b":5},"c":{"d":2}}"#);
    assert!(copy.get("c").unwrap().is_same(original.get("c").unwrap()));
}

#[test]
fn objects_are_equal_whatever_their_key_order() {
    assert_eq!(json(r#"{"a":1,"b":2}"#), json(r#"{"b":2,"a":1}"#));
    assert_eq!(json(r#"{"a":1,"b":2}"#).cmp(&json(r#"{"b":2,"a":1}"#)), Ordering::Equal);
}

#[test]
fn the_order_is_total_over_all_types() {
    let ascending = [
        "null",
        "false",
        "true",
        "-1",
        "0.5",
        "1",
        r#""a""#,
        r#""b""#,
        "[]",
        "[1]",
        "[1,2]",
        "{}",
        r#"{"a":1}"#,
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(json(a).cmp(&json(b)), i.cmp(&j), "{a} against {b}");
        }
    }
}

#[test]
fn integers_keep_every_digit() {
    for text in ["9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615"] {
        assert_eq!(json(text).to_string(), text);
    }
}

#[test]
fn str_at_reads_a_string_or_nothing() {
    let pod = json(r#"{"metadata":{"name":"a","generation":1}}"#);
    assert_eq!(pod.str_at(&["metadata", "name"]), "a");
    assert_eq!(pod.str_at(&["metadata", "generation"]), "");
    assert_eq!(pod.str_at(&["metadata", "name", "first"]), "");
    assert_eq!(pod.str_at(&["status", "phase"]), "");
    let map = pod.as_object().unwrap();
    assert_eq!((map.str_at(&["metadata", "name"]), map.str_at(&[])), ("a", ""));
}
