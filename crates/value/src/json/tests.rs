use super::*;
use crate::{FieldSet, Map, ParseProblemKind, Source, Value};

#[track_caller]
fn same(text: &str) {
    assert_eq!(parse(text).map(|v| to_string(&v)), Ok(text.to_owned()));
}

#[track_caller]
fn refused(text: &str, want: &str) {
    assert_eq!(parse(text).map_err(|e| e.to_string()), Err(want.to_owned()));
}

#[test]
fn compact_json_survives_a_round_trip() {
    for text in [
        "null",
        "[]",
        "{}",
        r#"{"b":1,"a":[true,false,null,"x"]}"#,
        "-5",
        "1.5",
        r#""\"\\\n\u0001é😀""#,
        "0",
        "[[[]]]",
    ] {
        same(text);
    }
}

#[test]
fn escapes_are_read() {
    assert_eq!(
        parse(r#""\u00e9\ud83d\ude00\/\b\f""#).map(|v| v.as_str().map(str::to_owned)),
        Ok(Some("é😀/\u{8}\u{c}".into()))
    );
    assert_eq!(parse(r#""\ud83dx""#).map(|v| v.as_str().map(str::to_owned)), Ok(Some("\u{fffd}x".into())));
}

#[test]
fn what_json_forbids_is_refused_with_its_place() {
    refused("", "found the end, expected a value at 1:1");
    refused("{\n \"a\": 1,}", "found `}`, expected a key in double quotes at 2:9");
    refused("[1,]", "found `]`, expected a value at 1:4");
    refused("01", "found `1`, expected no digit after a leading zero at 1:2");
    refused("1.", "found the end, expected a digit at 1:3");
    refused("\"a\nb\"", "control character 0x0a in a string at 1:3");
    refused("\"abc", "the text ends inside a string at 1:5");
    refused("tru", "found `t`, expected a value at 1:1");
    refused("1 2", "found `2`, expected the end at 1:3");
    refused("1e999", "number `1e999` is out of range at 1:6");
    refused(r#""\q""#, r#"found `q`, expected one of `" \ / b f n r t u` after `\` at 1:3"#);
}

#[test]
fn depth_is_bounded() {
    assert!(parse(&("[".repeat(256) + &"]".repeat(256))).is_ok());
    refused(&"[".repeat(100_000), "nested deeper than 256 levels at 1:257");
}

#[test]
fn the_last_of_two_keys_wins_and_both_lines_are_named() {
    let source = Source::new("t", "{\"a\": {\"x\": 1},\n \"b\": 2,\n \"a\": 3}");
    let (document, warnings) = read_with_warnings(&source).expect("readable");
    assert_eq!(document.value.to_string(), r#"{"a":3,"b":2}"#);
    assert_eq!(warnings[0].message, "duplicate key `a`: line 3 replaces line 1");
    assert_eq!(document.locate(&["a".into()]).position.to_string(), "3:7");
    assert_eq!(document.locate(&["b".into()]).position.to_string(), "2:7");
}

#[test]
fn pretty_output_is_indented_by_two() {
    let value = parse(r#"{"a":[1,{}],"b":[]}"#).expect("json");
    assert_eq!(to_pretty(&value), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

#[test]
fn more_values_than_may_be_are_refused() {
    assert!(parse_within("[1,{\"a\":2}]", 4).is_ok());
    let error = parse_within("[1,{\"a\":2}]", 3).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ParseProblemKind::Size, "too many values"));
}

#[test]
fn what_is_escaped_is_found_at_every_place() {
    for byte in ['\u{0}', '\u{1f}', '"', '\\', ' ', '!', '#', ']', '\u{7f}', 'é', '\u{80}', '\u{10ffff}'] {
        for before in 0..20 {
            for after in [0, 1, 7, 9] {
                let text = format!("{}{byte}{}{byte}", "x".repeat(before), "é".repeat(after));
                let written = to_string(&Value::from(text.as_str()));
                let escaped = match byte {
                    '"' | '\\' => format!("\\{byte}"),
                    control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
                    other => other.to_string(),
                };
                let wanted = format!("\"{}{escaped}{}{escaped}\"", "x".repeat(before), "é".repeat(after));
                assert_eq!(written, wanted);
            }
        }
    }
}

/// Returns `text` as far as it is in `fields`, or what is wrong with it.
fn chosen(text: &str, fields: &FieldSet) -> Result<String, String> {
    let mut read = Map::new();
    let members = parse_members(text, 1_000, |member, key| {
        read.insert(key.into(), member.value(fields)?);
        Ok(())
    });
    members.map(|()| to_string(&read.into())).map_err(|error| error.to_string())
}

#[test]
fn only_named_fields_are_kept_and_lists_count_as_their_items() {
    let mut fields = FieldSet::default();
    fields.add(&["b", "c"]);
    fields.add(&["d"]);
    let text = r#"{"o": {"a": 1, "b": [{"c": [1, {"x": 2}], "y": {"z": "\u00e9"}}, 3, [{"c": 4, "e": 5}]], "d": {"f": 6}}, "p": "q"}"#;
    let kept = r#"{"o":{"b":[{"c":[1,{"x":2}]},3,[{"c":4}]],"d":{"f":6}},"p":"q"}"#;
    assert_eq!(chosen(text, &fields), Ok(kept.to_owned()));
    assert_eq!(
        chosen(r#"{"o": {"b": {"c": 1, "c": 2, "g": 3, "g": 4}}}"#, &fields),
        Ok(r#"{"o":{"b":{"c":2}}}"#.to_owned())
    );
    assert_eq!(chosen(r#"{"o": {"a": 1}}"#, &FieldSet::default()), Ok(r#"{"o":{}}"#.to_owned()));
    assert_eq!(chosen("[1, 2]", &fields), Ok("{}".to_owned()));
}

#[test]
fn what_is_left_out_must_be_json_too() {
    let fields = FieldSet::default();
    let wrong = [
        r#"{"o": {"a": [1,]}}"#,
        r#"{"o": {"a": "\x"}}"#,
        r#"{"o": {"a": 01}}"#,
        r#"{"o": {"a": nul}}"#,
        r#"{"o": {"a": {"b" 1}}}"#,
        r#"{"o": {"a": {"b": 1}"#,
        r#"{"o": {"a": "b"#,
        r#"{"o": {}} 1"#,
        r#"{"o": {},}"#,
    ];
    for text in wrong {
        assert_eq!(chosen(text, &fields), Err(parse(text).unwrap_err().to_string()), "{text}");
    }
    let deep = format!(r#"{{"o": {{"a": {}1{}}}}}"#, "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert_eq!(chosen(&deep, &fields), Err(parse(&deep).unwrap_err().to_string()));
    let many = format!(r#"{{"o": {{"a": [{}1]}}}}"#, "1,".repeat(1_000));
    assert_eq!(chosen(&many, &fields), Err(parse_within(&many, 1_000).unwrap_err().to_string()));
}
