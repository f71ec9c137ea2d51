//! Expressions are read and evaluated within their budget, twice with the same result.

use kubewright_jmespath::{Inputs, JmesPathExpression, JmesPathFunctions, JmesPathLanguage, JmesPathLookup};
use kubewright_value::{Budget, Limits, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "jmespath",
    run: fuzz_jmespath,
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
        "spec.[initContainers, containers][].securityContext.capabilities.add[] | length(@)",
        "random('^(a|[b-d]{2,4})\\d+[^x]?$') | md5(@) | to_number(@)",
        "time_since('', time_now(), '') == time_diff(time_now_utc(), time_now())",
        "is_external_url('http://u:p@[::ffff:10.0.0.1]:80/a?b#c') || (kind && spec.none).to_string(@)",
        "x509_decode('-----BEGIN CERTIFICATE-----\nMBIwEAYDVR0RBAkwB4IFYS5iLmM=\n-----END CERTIFICATE-----')",
        "x509_decode('-----BEGIN CERTIFICATE REQUEST-----\nMBIwEAYDVR0RBAkwB4IFYS5iLmM=\n-----END CERTIFICATE REQUEST-----')",
        CERTIFICATE,
    ],
    dictionaries: &[FuzzDictionary::JmesPath],
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
        "time_now()",
        "random('",
        "{3,5}",
        "[^a-z]",
        "x509_decode(",
        "is_external_url('http://",
        "md5(",
        "to_number(",
        "MIIC",
        "'1e-9'",
        "'9Ei'",
        "`1e300`",
        " | ",
        "9223372036854775807",
        "é",
    ],
};

/// A whole certificate, so that changes of it get far into the reader.
const CERTIFICATE: &str = concat!(
    "x509_decode('",
    include_str!("../../../crates/golib/src/x509/fixtures/certificate.pem"),
    "').DNSNames[0]"
);

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"labels":{"a.b/c":"x","007":"y"}},"spec":{"containers":[
    {"name":"a","image":"nginx:1.14","ports":[{"containerPort":80},{"containerPort":443}]},{"name":"b","n":9007199254740993}],"x":null,"t":true}}"#;

thread_local! {
    static TABLES: [(JmesPathFunctions, JmesPathLanguage); 2] =
        [(JmesPathFunctions::standard(), JmesPathLanguage::Standard), (functions_with_inputs(), JmesPathLanguage::Forgiving)];
}

fn functions_with_inputs() -> JmesPathFunctions {
    JmesPathFunctions::kubernetes().with_inputs(Inputs {
        now: Some(1_714_557_600_000_000_000),
        random_seed: Some(7),
        keys: None,
    })
}

fn fuzz_jmespath(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = json::parse(OBJECT).unwrap_or_default();
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    TABLES.with(|tables| {
        for (functions, language) in tables {
            match JmesPathExpression::parse_as(text, functions, *language) {
                Ok(expression) => {
                    let first = expression.evaluate(&object, &mut Budget::new(limits));
                    let second = expression.evaluate(&object, &mut Budget::new(limits));
                    assert_eq!(format!("{first:?}"), format!("{second:?}"), "evaluated twice");
                    if let (Ok(found), Ok(JmesPathLookup::Value(same))) =
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
