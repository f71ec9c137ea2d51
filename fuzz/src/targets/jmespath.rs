//! Expressions are read and evaluated within their budget, twice with the same result.

use kubewright_lang::jmespath::{Expression, Functions};
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
        " | ",
        "9223372036854775807",
        "é",
    ],
};

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"labels":{"a.b/c":"x","007":"y"}},"spec":{"containers":[
    {"name":"a","image":"nginx:1.14","ports":[{"containerPort":80},{"containerPort":443}]},{"name":"b","n":9007199254740993}],"x":null,"t":true}}"#;

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = json::parse(OBJECT).unwrap_or_default();
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    match Expression::parse(text, &Functions::standard()) {
        Ok(expression) => {
            let first = expression.evaluate(&object, &mut Budget::new(limits));
            let second = expression.evaluate(&object, &mut Budget::new(limits));
            assert_eq!(format!("{first:?}"), format!("{second:?}"), "evaluated twice");
        }
        Err(error) => assert!(error.length > 0 && !error.message.is_empty()),
    }
}
