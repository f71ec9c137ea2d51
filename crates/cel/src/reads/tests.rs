use crate::{CelEnvironment, CelProgram, library};

/// Compares the paths that are read, each once, in order.
#[track_caller]
fn reads(text: &str, want: &[&str]) {
    let environment =
        library::EXTENSIONS.iter().fold(CelEnvironment::standard(), |made, library| made.with(library));
    let program = CelProgram::compile(text, &environment.variable("object").variable("params")).expect(text);
    let mut found: Vec<String> = Vec::new();
    for read in program.reads() {
        let path = format!("{}.{}", read.variable, read.path.join("."));
        assert_eq!(read.path.len(), read.offsets.len(), "{text}");
        if !found.contains(&path) {
            found.push(path);
        }
    }
    assert_eq!(found, want, "{text}");
}

#[test]
fn reads_finds_paths_in_all_nodes() {
    reads("object.spec.replicas > params.max", &["object.spec.replicas", "params.max"]);
    reads("has(object.spec.x) ? object.a : [object.b]", &["object.spec.x", "object.b", "object.a"]);
    reads("object.metadata.labels['a'] == 'x'", &["object.metadata.labels.a"]);
    reads("object.list[0].x + object.list[object.n].y", &["object.n", "object.list.*.x", "object.list.*.y"]);
    reads("object.?spec.?x.orValue(1) == 1", &["object.spec.x"]);
    reads("size(object.a) == 1 && object.b.size() == 2", &["object.a", "object.b"]);
    reads("object == params", &[]);
}

#[test]
fn reads_follows_macro_variables_to_items() {
    reads("object.cs.all(c, c.image != '')", &["object.cs.*.image", "object.cs"]);
    reads("object.cs.all(i, c, c.image != '' && i > 0)", &["object.cs.*.image", "object.cs"]);
    reads("object.cs.filter(c, c.a).map(c, c.b)", &["object.cs.*.a", "object.cs.*.b", "object.cs"]);
    reads("object.cs.map(c, c.a > 0, c.b)", &["object.cs.*.a", "object.cs.*.b", "object.cs"]);
    reads(
        "(object.cs + object.?is.orValue([])).all(c, c.ports.all(p, p.n > 0))",
        &[
            "object.cs.*.ports.*.n",
            "object.is.*.ports.*.n",
            "object.cs.*.ports",
            "object.is.*.ports",
            "object.cs",
            "object.is",
        ],
    );
    reads("cel.bind(s, object.spec, s.a + s.b)", &["object.spec", "object.spec.a", "object.spec.b"]);
    reads("object.?a.optMap(x, x.b).hasValue()", &["object.a", "object.a.b"]);
    reads("object.cs.first().value().a", &["object.cs.*.a"]);
    reads("object.cs.transformList(i, c, c.a)", &["object.cs.*.a", "object.cs"]);
    reads("[{'a': true}].all(object, object.a)", &[]);
}

#[test]
fn reads_limits_the_sources_of_one_value() {
    let mut text = "x.a".to_owned();
    for _ in 0..20 {
        text = format!("cel.bind(x, x + x, {text})");
    }
    let environment = CelEnvironment::standard().with(&library::BINDINGS).variable("object");
    let program =
        CelProgram::compile(&format!("cel.bind(x, object.b, {text})"), &environment).expect("compiles");
    assert!(program.reads().len() < 400);
}

/// Compares the fields that are compared with texts, each as `path text`.
#[track_caller]
fn compared(text: &str, want: &[&str]) {
    let environment =
        library::EXTENSIONS.iter().fold(CelEnvironment::standard(), |made, library| made.with(library));
    let program = CelProgram::compile(text, &environment.variable("object")).expect(text);
    let found = program.field_comparisons().into_iter();
    let found = found.map(|one| format!("{}.{} {}", one.field.variable, one.field.path.join("."), one.text));
    assert_eq!(found.collect::<Vec<_>>(), want, "{text}");
}

#[test]
fn compared_finds_paths_compared_with_strings() {
    compared("object.a == 'x' && !('y' != object.b.c)", &["object.a x", "object.b.c y"]);
    compared("object['a'] in ['x', 'y', object.b]", &["object.a x", "object.a y"]);
    compared("object.list.exists(o, o.kind == 'x')", &["object.list.*.kind x"]);
    compared("object.?a.orValue('x') == 'x' || object.a == 1 || object.a + 'x' == 'y'", &[]);
    compared("object.a.lowerAscii() == 'x' || (object.a == 'x') == true", &["object.a x"]);
}
