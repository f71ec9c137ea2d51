//! Any text is an expression or has errors with a place in it; an expression can be rewritten.

use std::sync::LazyLock;

use kubewright_cel::{CelEnvironment, CelProgram, library};
use kubewright_value::Text;

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "cel_parse",
    run: fuzz_cel_parse,
    seeds: SEEDS,
    dictionaries: &[FuzzDictionary::Cel],
    words: WORDS,
};

pub(super) const SEEDS: &[&str] = &[
    "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))",
    "object.metadata.?labels[?'app'].orValue('none') in ['a', \"b\"] ? 1u : -0x7f",
    "object.spec.containers.map(c, c.image.split(':')[0]).filter(i, i.matches('^ngi.*')).size() > 0",
    "cel.bind(x, {'a': 1.5e3, ?'b': optional.none()}, x.a + x.?b.orValue(.5)) // end",
    "[1, 2, 3].transformMap(i, v, v % 2 == 0, i * v) == {1: 2}",
    "'%s %d %.2f %x'.format([object, 1, 2.5, b'\\xff\\101']) + r'\\n' + '''a\nb'''",
    "timestamp('2024-02-29T23:30:00Z').getHours('Europe/Berlin') - duration('1h30m').getMinutes()",
    "sets.contains([1, 2], [2u]) || math.greatest(1, 2.0, 3u) >= 3 && !ip('::1').isLoopback()",
    "regex.replace('foo bar', '(fo)o (ba)r', '\\\\2 \\\\1').reverse().lastIndexOf('o', 2)",
    "[3, 1, 2].sortBy(x, -x).distinct().slice(0, 2).flatten().reverse()",
    "lists.range(10).exists_one(i, i / (i - 5) == 1) || type(object) == map && dyn(1) == 1.0",
    "object.spec.containers.exists(i, c, i > 0 && c.`name` == string(bytes('b')))",
];

pub(super) const WORDS: &[&str] = &[
    ".",
    "?",
    ".?",
    "[?",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    " in ",
    "true",
    "false",
    "null",
    "'",
    "\"",
    "'''",
    "b'",
    "r'",
    "\\",
    "`",
    "0",
    "1",
    "-1",
    "1u",
    "1.5",
    "1e308",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615u",
    "object",
    "spec",
    "containers",
    "c",
    "x",
    ".all(x, ",
    ".exists(x, ",
    ".map(x, ",
    ".filter(x, ",
    ".transformMap(i, v, ",
    ".transformMapEntry(i, v, ",
    ".transformList(i, v, ",
    ".sortBy(x, ",
    "cel.bind(x, ",
    "has(",
    "size(",
    "string(",
    "int(",
    "dyn(",
    "type(",
    "timestamp(",
    "duration(",
    "optional.of(",
    ".optMap(x, ",
    ".orValue(",
    ".format([",
    ".matches('",
    ".replace('', ",
    ".split(''",
    "lists.range(",
    ".flatten(",
    "math.least(",
    "math.bitShiftLeft(",
    "[x, x]",
    "x + x",
    "//",
    "\n",
    "é",
];

pub(crate) static ENVIRONMENT: LazyLock<CelEnvironment> = LazyLock::new(|| {
    library::EXTENSIONS
        .iter()
        .fold(CelEnvironment::standard(), |environment, library| environment.with(library))
        .variable("object")
        .variable("x")
});

fn fuzz_cel_parse(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match CelProgram::compile(text, &ENVIRONMENT) {
        Ok(program) => {
            assert!(program.variable_names().all(|name| name == "object" || name == "x"));
            let change = |keys: &[&str]| match keys {
                ["object", "spec", ..] => {
                    Some((2, ["object", "spec", "template", "spec"].map(Text::new).into()))
                }
                _ => None,
            };
            if let Some(rewritten) = program.rewritten(&change) {
                assert_eq!(rewritten.source(), text);
            }
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(error.length > 0 && !error.message.is_empty());
                let lines = text.lines().count().max(1);
                assert!(error.position.line as usize <= lines + 1, "{:?}", error.position);
            }
        }
    }
}
