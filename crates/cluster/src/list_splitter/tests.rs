use kubewright_value::{Value, json};

use super::{ListPart, ListSplitter};
use crate::Error;

/// Splits `text`, pushed in pieces of `size` bytes; `{}` at the end says that the list has ended.
fn split(text: &[u8], size: usize, max: usize) -> Result<String, Error> {
    let mut splitter = ListSplitter::new(max);
    let mut parts = Vec::new();
    for piece in text.chunks(size) {
        splitter.push(piece);
        while let Some(part) = splitter.next_part()? {
            parts.push(match part {
                ListPart::Field(key, value) => format!("{key}={}", json::to_string(&value)),
                ListPart::Item(value) => json::to_string(&value),
            });
        }
    }
    let end = if splitter.is_complete() { "." } else { "…" };
    Ok(format!("{}{end}", parts.join(" ")))
}

#[track_caller]
fn check(text: &str, want: &str) {
    for size in [1, 2, 3, 7, 1000] {
        assert_eq!(split(text.as_bytes(), size, 1000).as_deref(), Ok(want), "{text} by {size}");
    }
}

#[track_caller]
fn refused(text: &[u8], want: &str) {
    for size in [1, 2, 3, 1000] {
        let error = split(text, size, 20).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn fields_and_items_come_in_their_order() {
    check(r#"{"kind":"PodList","items":[{"a":1},{"b":[2]}]}"#, r#"kind="PodList" {"a":1} {"b":[2]}."#);
    check(r#"{"items":[{}],"metadata":{"continue":"x"}}"#, r#"{} metadata={"continue":"x"}."#);
    check(r#" { "items" : [ 1 , "x" , null , true ] , "n" : -1.5 } "#, r#"1 "x" null true n=-1.5."#);
    check("{}", ".");
    check(r#"{"items":[]}"#, ".");
    check(r#"{"items":null}"#, "items=null.");
}

#[test]
fn brackets_in_strings_end_nothing() {
    check(r#"{"items":[{"a":"]}\"},{"},"\\"]}"#, r#"{"a":"]}\"},{"} "\\"."#);
    check(r#"{"items":[{"items":[1]}]}"#, r#"{"items":[1]}."#);
}

#[test]
fn characters_may_be_cut_anywhere() {
    check(r#"{"items":["ü€😀"]}"#, r#""ü€😀"."#);
}

#[test]
fn a_list_that_breaks_off_is_not_complete() {
    check(r#"{"items":[1,2"#, "1…");
    check(r#"{"items":[1]"#, "1…");
    check("", "…");
}

#[test]
fn what_is_no_list_is_refused() {
    refused(b"[1]", "`[`");
    refused(br#"{"items":{}}"#, "`{`");
    refused(br#"{"items":[1 2]}"#, "`2`");
    refused(br#"{"a" 1}"#, "`1`");
    refused(br#"{"a":1,}"#, "`}`");
    refused(br#"{"items":[1,]}"#, "");
    refused(br#"{"a":tru}"#, "");
    refused(b"{\"items\":[\"\xff\"]}", "utf-8");
    refused(br#"{"items":[]}}"#, "`}`");
}

#[test]
fn a_part_that_is_too_large_is_refused_before_it_is_whole() {
    refused(br#"{"items":["0123456789012345678901234567890123456789"#, "larger than 20 bytes");
    refused(br#"{"0123456789012345678901234567890123456789"#, "larger than 20 bytes");
    assert!(split(br#"{"items":["01234567890123456"]}"#, 1, 20).is_ok());
}

#[test]
fn what_was_read_is_not_held() {
    let mut splitter = ListSplitter::new(1000);
    splitter.push(br#"{"items":["#);
    for _ in 0..10_000 {
        splitter.push(br#"{"a":"0123456789"},"#);
        assert!(matches!(splitter.next_part(), Ok(Some(ListPart::Item(Value::Object(_))))));
        assert!(splitter.bytes.capacity() < 1000);
    }
}
