//! JSON: both strengths of the reader agree, what is written reads back equal, positions fit the value.

use kubewright_value::{Source, Value, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;
use super::yaml::count_positions;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "json",
    run: fuzz_json,
    seeds: &[
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"nginx:1.2","ports":[{"containerPort":8080}]}]}}"#,
        r#"[1,-2,0.5,1e3,1E-7,12345678901234567890,true,false,null,"a\n\u00e9\ud83d\ude00"]"#,
        "{\n  \"a\": {\"a\": 1},\n  \"b\": [],\n  \"a\": 2\n}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    ],
    dictionaries: &[FuzzDictionary::Json],
    words: &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\":",
        "\"a\"",
        "null",
        "true",
        "1e308",
        "-0",
        "0.1",
        "\\u0000",
        "\\ud800",
        "\\udc00",
        "1e999",
        "9223372036854775808",
        "[[[[[[[[",
        "\"",
        "\\",
        "é",
        "  ",
    ],
};

fn fuzz_json(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let parsed = json::parse(&text);
    let read = json::read_with_warnings(&Source::new("fuzz", text.as_ref()));
    assert_eq!(parsed.is_ok(), read.is_ok(), "parse and read disagree");
    let (Ok(value), Ok((document, _))) = (parsed, read) else {
        return;
    };
    assert_eq!(value, document.value, "parse and read give different values");
    assert_eq!(
        document.positions.as_slice().len(),
        count_positions(&value),
        "positions do not fit the value"
    );
    // A large double is written with its shortest digits, which read as another number, and `-0` reads as 0;
    // what was read from written text stays as it is.
    let Ok(value) = json::parse(&json::to_string(&value)) else {
        check_unreadable(&value);
        return;
    };
    for written in [json::to_string(&value), json::to_pretty(&value)] {
        assert_eq!(json::parse(&written).as_ref(), Ok(&value), "does not read back equal: {written}");
    }
}

#[expect(clippy::panic, reason = "a panic is how a target reports")]
fn check_unreadable(value: &Value) {
    panic!("does not read back: {value}");
}
