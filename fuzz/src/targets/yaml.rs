//! YAML: the fast path and the full parser agree on values, positions and problems; positions fit the value.

use std::sync::Arc;

use kubewright_value::{ParseProblem, ParsedStream, Source, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "yaml",
    run: fuzz_yaml,
    seeds: SEEDS,
    dictionaries: &[FuzzDictionary::Yaml],
    words: WORDS,
};

pub(super) const SEEDS: &[&str] = &[
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels:\n    app: web # comment\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: web\n        image: \"nginx:1.25\"\n        args: [\"-c\", 'it''s', a b, {x: 1}]\n        ports:\n        - containerPort: 8080\n",
    "---\na: |\n  line\n   more\n\n  last\nb: >-\n  folded\n  text\n\n  para\nc: |+\n  keep\n\n\nd: ''\n",
    "a: &x {b: 1, c: [1, 2]}\nd: *x\ne:\n  <<: *x\n  f: 2\n<<: [{g: 1}, {h: 2}]\n",
    "- 1\n- - 2\n  - 3\n-\n  - 4\n- a: 1\n  b: 2\n-\n",
    "? a\n: 1\n? b\n\"c\": !!str 5\nd: !foo x\n",
    "%YAML 1.1\n%TAG !e! tag:x,2000:\n--- !e!x\na: 1\n...\n--- 5\n---\n# only\n---\nb: 2\n",
    "a: 'x\n  y'\nb: \"p \\\n  q\\x41\\u00e9\"\nc: plain\n  goes on\nd: é\u{2028}x\r\ne: \u{85}\n",
    "a: 1\nb: 2\na: 3\nc: {x: 1, x: 2}\n",
    "hello world\n",
    "\"quoted: text\"\n",
    "nginx:1.25",
    "yes: 1\n0777: .5\n1.5: 0x1F\n~: x\n1_000: +5\n",
];

const WORDS: &[&str] = &[
    ": ",
    ":\n",
    "- ",
    "\n- ",
    "\n  - ",
    "\n",
    "\n  ",
    "\n    ",
    "? ",
    "# c",
    " # c",
    "&x ",
    "*x",
    "!!str ",
    "!!int ",
    "!",
    "<<: ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "'",
    "\"",
    "|",
    "|-\n",
    "|+\n",
    "|2\n",
    ">\n",
    ">-\n",
    "---\n",
    "--- ",
    "...\n",
    "%YAML 1.1\n",
    "\t",
    "\\n",
    "\\x41",
    "null",
    "yes",
    "0777",
    "1.0",
    ".inf",
    "0x1F",
    "12345678901234567890",
    "a",
    "a: ",
    "b: ",
    "key: value\n",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "é",
    "\r\n",
    "''",
    "\"\"",
    "[]",
    "{}",
    "~",
    "<<",
    "-",
    "  ",
];

fn fuzz_yaml(input: &[u8]) {
    let Ok(source) = yaml::decode("fuzz", input.to_vec()) else {
        return;
    };
    for chunk in yaml::split(&source.text) {
        let fast = yaml::read_chunk(&source, &chunk);
        let full = yaml::read_chunk_fully(&source, &chunk);
        same(&fast, &full);
    }
    assert_eq!(
        yaml::parse(&source.text).map(exact_text),
        yaml::parse_fully(&source.text).map(exact_text),
        "parse and parse_fully disagree"
    );
    check_split_stream(&source);
}

/// Checks that a stream and its documents read alike.
fn check_split_stream(source: &Arc<Source>) {
    let reading = yaml::read(source);
    let pieces: usize =
        yaml::split(&source.text).iter().map(|chunk| yaml::read_chunk(source, chunk).documents.len()).sum();
    assert_eq!(reading.documents.len(), pieces);
}

fn same(fast: &ParsedStream, full: &ParsedStream) {
    assert_eq!(fast.documents.len(), full.documents.len(), "different documents");
    for (a, b) in fast.documents.iter().zip(&full.documents) {
        assert_eq!(a.value.to_string(), b.value.to_string(), "different values");
        assert_eq!(a.positions.as_slice(), b.positions.as_slice(), "different positions");
        assert_eq!(a.positions.as_slice().len(), count_positions(&a.value), "positions do not fit the value");
        assert!(a.value.depth() <= kubewright_value::json::MAX_DEPTH, "too deep");
    }
    let shown = |problems: &[ParseProblem]| {
        problems.iter().map(|p| format!("{} {}", p.message, p.location)).collect::<Vec<_>>()
    };
    assert_eq!(shown(&fast.problems), shown(&full.problems), "different problems");
}

/// Returns a value as text, which distinguishes `1` from `1.0` and the order of keys.
#[expect(clippy::needless_pass_by_value, reason = "used as a mapping")]
fn exact_text(value: Value) -> String {
    value.to_string()
}

/// Returns how many positions the value must have.
pub(super) fn count_positions(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_positions).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(|value| 1 + count_positions(value)).sum::<usize>(),
        _ => 1,
    }
}
