//! Expressions and selects are read and evaluated within their budget; what a select finds is at the path it returns.

use kubewright_jsonpath::{JsonPathExpression, JsonPathLanguage, JsonPathSelector};
use kubewright_value::{Budget, Limits, Value, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "jsonpath",
    run: fuzz_jsonpath,
    seeds: &[
        "$.kind == \"Pod\" && length($.spec.containers) > 1",
        "$.spec.containers[? @.image =~ \"nginx:1\\\\.\" ].ports[? @.containerPort == 80]",
        "$..name",
        "$.spec.containers[0,1].ports[1:-1:2]",
        "isEmpty($.x) || !isDefined($.y) ? 1 + 2 ** 3 : -4 % 5",
        "{#0: $.spec.containers[*].name, \"a\": [1, 2]}",
        "$.metadata.labels[\"a.b/c\"] in [\"x\", `y`]",
        "$.spec.containers[length(@)-1](@.name)",
        "date(\"2020-01-01\") < date(\"2021-01-01T00:00:00Z\")",
    ],
    dictionaries: &[FuzzDictionary::JsonPath],
    words: &[
        "$",
        "@",
        ".",
        "..",
        "*",
        "[",
        "]",
        "[?",
        "(",
        ")",
        "{",
        "}",
        "#0",
        "#",
        ":",
        ",",
        "==",
        "!=",
        "=~",
        "!~",
        "<=",
        "&&",
        "||",
        "!",
        "??",
        "**",
        "<<",
        "in",
        "length(",
        "isEmpty(",
        "date(",
        "\"a\"",
        "'b'",
        "`c`",
        "1e3",
        ".5",
        "9223372036854775807",
        "true",
        "null",
        "containers",
        "name",
        "-1",
        "~",
        "?",
        "//",
        "/*",
    ],
};

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"labels":{"a.b/c":"x","007":"y"}},"spec":{"containers":[
    {"name":"a","image":"nginx:1.14","ports":[{"containerPort":80},{"containerPort":443}]},{"name":"b","n":9007199254740993}],"x":null,"t":true}}"#;

fn fuzz_jsonpath(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = json::parse(OBJECT).unwrap_or_default();
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    for language in [JsonPathLanguage::Full, JsonPathLanguage::Placeholders, JsonPathLanguage::Paths] {
        if let Ok(expression) = JsonPathExpression::parse_as(text, language) {
            let first = expression.evaluate(&object, &mut kubewright_value::Budget::new(limits));
            let second = expression.evaluate(&object, &mut Budget::new(limits));
            assert_eq!(format!("{first:?}"), format!("{second:?}"), "evaluated twice");
            let _ = (expression.lints(), expression.pinned(), expression.reads_root_key("kind"));
        }
    }
    let Ok(select) = JsonPathSelector::parse(text) else { return };
    let (least, most) = select.captures();
    if let (Ok(found), Ok(places)) =
        (select.evaluate(&object, &mut Budget::new(limits)), select.places(&object, &mut Budget::new(limits)))
    {
        assert_eq!(found.len(), places.len());
        for item in &found {
            let count = item.keys.len();
            assert!(
                count >= least && most.is_none_or(|most| count <= most),
                "{count} captures, not {least} to {most:?}"
            );
        }
        let is_plain = !text.contains('(') && text.trim_start().starts_with('$');
        for (path, value) in places.iter().filter(|_| is_plain) {
            assert_eq!(object.follow(path).map(Value::to_string), Some(value.to_string()));
        }
    }
}
