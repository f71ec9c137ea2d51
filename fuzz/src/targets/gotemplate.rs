//! Templates are read and rendered within their budget, the same way every time.

use kubewright_gotemplate::{FunctionSet, GoTemplate, Inputs, TemplateContext};
use kubewright_value::{Budget, Limits, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "gotemplate",
    run: fuzz_gotemplate,
    seeds: &[
        "{{ .Target.metadata.name }}-{{ .Namespace | upper }}",
        "{{ range $i, $e := .Target.l }}{{ if gt $i 1 }}{{ break }}{{ end }}{{ $e }},{{ else }}none{{ end }}",
        "{{ with .SelectedItem }}{{ index . \"a\" }}{{ end }}{{ define \"x\" }}{{ . }}{{ end }}{{ template \"x\" 5 }}",
        "{{ printf \"%5.2f|%-8s|%q|%v\" 1.5 \"a\" \"b\" .Target }}",
        "{{ dict \"a\" (list 1 2 3) | toJson | b64enc | trunc 5 | repeat 3 | indent 2 }}",
        "{{ regexReplaceAll \"(.)b\" \"ab\" \"${1}\" }}{{ date \"2006-01-02\" (toDate \"2006\" \"2020\") }}",
        "{{- /* c */ -}} {{ until 5 | join \"-\" | splitList \"-\" | first | default \"d\" | ternary 1 2 true }}",
    ],
    dictionaries: &[FuzzDictionary::GoTemplate],
    words: &[
        "{{",
        "}}",
        "{{-",
        "-}}",
        "end",
        "if",
        "else",
        "range",
        "with",
        "define",
        "block",
        "template",
        "break",
        "continue",
        "$x",
        ":=",
        "|",
        "(",
        ")",
        ".",
        ".Target",
        ".l",
        "\"a\"",
        "`r`",
        "'c'",
        "1",
        "-1",
        "1e9",
        "0x1F",
        "1000000",
        "repeat",
        "until",
        "untilStep",
        "seq",
        "list",
        "dict",
        "index",
        "slice",
        "printf",
        "%v",
        "%s",
        "%d",
        "%q",
        "%99999d",
        "len",
        "merge",
        "set",
        "dig",
        "semverCompare",
        "regexFind",
        "wrap",
        "nindent",
        "toJson",
        "fromJson",
        "chunk",
        "add",
        "div",
        "mod",
        "0",
        "nil",
        "true",
        "urlParse",
        "substr",
        "abbrevboth",
        "cat",
        "coalesce",
    ],
};

fn fuzz_gotemplate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(template) = GoTemplate::parse("t", text, &FunctionSet::rules()) else { return };
    let target = json::parse(r#"{"metadata":{"name":"web"},"l":["a","b","c"],"n":3,"m":{"x":null}}"#)
        .unwrap_or_default();
    let context = TemplateContext::new()
        .json("Target", target)
        .json("Namespace", "ns")
        .native("SelectKeyParts", vec![1_i64, 2]);
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    let render = || {
        template
            .render(&context, &Inputs::default(), &mut Budget::new(limits))
            .map_err(|error| error.to_string())
    };
    let rendered = render();
    assert_eq!(rendered, render(), "rendered twice");
    if let Some(constant) = template.literal() {
        assert_eq!(rendered.as_deref(), Ok(constant), "a template without actions is its text");
    }
}
