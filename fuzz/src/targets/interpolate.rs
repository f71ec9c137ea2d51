//! Expressions in texts are found where CEL itself sees their ends, and rendered within their cost.

use kubewright_cel::{CelBindings, CelCost, CelProgram};
use kubewright_interpolate::{RenderedValue, TextTemplate, ValueTemplate, find_expressions};
use kubewright_traits::functions;
use kubewright_value::{Value, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "interpolate",
    run: fuzz_interpolate,
    seeds: &[
        "${parameters.i}",
        " ${parameters.m} \n",
        "a-${parameters.s}-${parameters.i + 1}-${parameters.n}",
        r#"{"${parameters.s}": "${oc_omit()}", "x-${parameters.i}": ["${parameters.l}", {"b": "x${parameters.m}"}]}"#,
        "${parameters.l.map(x, x == 1 ? oc_omit() : {'a': x, ?'b': parameters.?zz})}",
        r"${r'\'}${'''it's }'''}${x // }
}",
        "${oc_merge({'a': 1}, parameters.m, {'a': oc_omit()})}${oc_generate_name('a.b', parameters.s)}",
        "${parameters.l.transformMap(i, v, v)}${[[1], [2]].flatten()}${math.ceil(parameters.f * 2)}",
        "${b'}'}${\"\\\"}\"}${`a`}$${${'${'}",
        r#"["${timestamp('2024-01-01T00:00:00Z')}", "${duration('1h')}", "${type(1)}", "${1u}"]"#,
    ],
    dictionaries: &[FuzzDictionary::Cel],
    words: &[
        "${",
        "}",
        "{",
        "'",
        "\"",
        "'''",
        "\"\"\"",
        "\\",
        "r'",
        "b'",
        "br\"",
        "//",
        "\n",
        "`",
        "$",
        "0x",
        "oc_omit()",
        "oc_merge(",
        "oc_generate_name(",
        "oc_dns_label(",
        "parameters",
        ".l",
        ".m",
        ".map(x, ",
        "optional.of(",
        "orValue(",
        "[",
        "]",
        ")",
        ",",
        ":",
        "?",
        "1.5",
        "null",
        "é",
    ],
};

fn fuzz_interpolate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_expressions(text);
    let environment = functions::trait_environment().variable("parameters").variable("x");
    if CelProgram::compile(text, &environment).is_ok() {
        let whole = format!("${{{text}\n}}");
        let found = find_expressions(&whole).unwrap_or_default();
        let is_whole = matches!(&found[..], [one] if one.whole == (0..whole.len()));
        assert!(is_whole, "an expression ends where it ends for CEL");
    }
    check_rendering(&Value::from(text), &environment);
    if let Ok(value) = json::parse(text) {
        check_rendering(&value, &environment);
    }
    let (template, problems) = TextTemplate::compile(text, &environment);
    assert!(problems.is_empty() || template.plain().is_none());
}

fn check_expressions(text: &str) {
    let Ok(found) = find_expressions(text) else { return };
    let mut end = 0;
    for one in found {
        assert!(one.whole.start >= end, "expressions are in order");
        end = one.whole.end;
        let whole = text.get(one.whole).unwrap_or_default();
        let inner = text.get(one.inner).unwrap_or_default();
        assert_eq!(whole, format!("${{{inner}}}"));
    }
}

fn check_rendering(value: &Value, environment: &kubewright_cel::CelEnvironment) {
    let parameters = json::parse(
        r#"{"i":3,"f":1.5,"n":null,"s":"str","l":[1,"a",{"b":null}],"m":{"k":"v","z":1},"big":18446744073709551615}"#,
    )
    .unwrap_or_default();
    let list = json::parse("[3, 1, 2]").unwrap_or_default();
    let (template, problems) = ValueTemplate::compile(value, environment);
    let render = || {
        let bindings = CelBindings::new().with("parameters", &parameters).with("x", &list);
        template.render(&bindings, &mut CelCost::new(100_000))
    };
    let first = render();
    assert_eq!(first, render(), "rendered twice");
    if let Some(constant) = template.constant() {
        assert_eq!(first, Ok(RenderedValue::Value(constant.clone())), "what has no expression is itself");
        assert_eq!(constant, value);
    }
    if let Err(error) = &first {
        assert!(value.follow(&error.path).is_some(), "an error is about a part of the template");
    }
    for problem in problems {
        assert!(value.follow(&problem.path).is_some() && problem.length > 0);
    }
}
