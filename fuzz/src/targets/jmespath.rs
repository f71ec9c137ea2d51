//! Expressions are read and evaluated within their budget, twice with the same result.

use kubewright_lang::jmespath::{Expression, Found, Functions, Language};
use kubewright_value::{Budget, Limits, json};

use super::Target;

pub(crate) const TARGET: Target = Target {
    name: "jmespath",
    run,
    seeds: &[
        "spec.containers[?image != 'x'].{name: name, ports: ports[].containerPort}",
        "metadata.labels.\"a.b/c\" || 'none' | length(@)",
        "sort_by(spec.containers, &name)[-1].ports[::-1] | [0]",
        "spec.containers[*].ports[*].containerPort[] | sum(@)",
        "!(kind == 'Pod' && length(spec.containers) > `1`)",
        "map(&[@, n], spec.containers) | [] | to_string(@)",
        "merge(metadata.labels, {x: `1.5`, y: '\\''}).*",
        "max_by(spec.containers, &to_number(n || `0`)).name",
        "add('1Gi', '512Mi') | divide(@, `3`) | replace_all(@, 'M', '') | parse_yaml(@)",
        "regex_replace_all('(\\d)(.)', spec.containers[0].image, '$2$1') | split(@, ':') | items(@, 'k', 'v')",
        "time_add('2024-02-29T23:30:00Z', '1h') | time_truncate(@, '24h') | time_to_cron(@)",
        "image_normalize('nginx') | pattern_match('*/n?inx:*', @) && semver_compare('1.2.3', '>=1.0.0')",
        "*.*[1:2:-1] | not_null(@, `[null]`)",
    ],
    words: &[
        "@",
        ".",
        "*",
        "[",
        "]",
        "[]",
        "[?",
        "[*]",
        "(",
        ")",
        "{",
        "}",
        "|",
        "||",
        "&&",
        "!",
        "&",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        ",",
        ":",
        "-1",
        "0",
        "`1`",
        "`{}`",
        "`",
        "'a'",
        "'",
        "\"",
        "\\",
        "spec",
        "name",
        "containers",
        "length(",
        "sort_by(",
        "map(",
        "join(",
        "to_string(",
        "reverse(",
        "[@, @]",
        "add(",
        "multiply(",
        "divide(",
        "modulo(",
        "round(",
        "sum(",
        "truncate(",
        "lookup(",
        "parse_json(",
        "time_utc(",
        "'1e-9'",
        "'9Ei'",
        "`1e300`",
        " | ",
        "9223372036854775807",
        "é",
    ],
};

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"labels":{"a.b/c":"x","007":"y"}},"spec":{"containers":[
    {"name":"a","image":"nginx:1.14","ports":[{"containerPort":80},{"containerPort":443}]},{"name":"b","n":9007199254740993}],"x":null,"t":true}}"#;

thread_local! {
    static TABLES: [(Functions, Language); 2] =
        [(Functions::standard(), Language::Standard), (Functions::kubernetes(), Language::Forgiving)];
}

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = json::parse(OBJECT).unwrap_or_default();
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    TABLES.with(|tables| {
        for (functions, language) in tables {
            match Expression::parse_as(text, functions, *language) {
                Ok(expression) => {
                    let first = expression.evaluate(&object, &mut Budget::new(limits));
                    let second = expression.evaluate(&object, &mut Budget::new(limits));
                    assert_eq!(format!("{first:?}"), format!("{second:?}"), "evaluated twice");
                    if let (Ok(found), Ok(Found::Value(same))) =
                        (first, expression.find(&object, &mut Budget::new(limits)))
                    {
                        assert_eq!(found.to_string(), same.to_string(), "evaluated and found");
                    }
                }
                Err(error) => assert!(error.length > 0 && !error.message.is_empty()),
            }
        }
    });
}
