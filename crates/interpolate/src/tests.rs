use kubewright_value::{Step, Value, json};

use super::*;
use kubewright_cel::{
    CelBindings, CelCost, CelEnvironment, CelErrorKind, CelFunctions, CelKind, CelLibrary, CelOverload,
    CelProgram, MacroSet, library,
};

/// A function that gives the mark.
const OMIT: CelLibrary = CelLibrary {
    name: "omit",
    functions: |functions: &mut CelFunctions| {
        functions.add(CelOverload::function("omit", &[], CelKind::Any, |_, _| Ok(omitted())));
    },
    macros: MacroSet::NONE,
    types: &[],
};

fn environment() -> CelEnvironment {
    [&library::OPTIONALS, &library::STRINGS, &OMIT]
        .into_iter()
        .fold(CelEnvironment::standard().with_mixed_arithmetic(), |environment, library| {
            environment.with(library)
        })
        .variable("p")
}

fn given() -> Value {
    json::parse(
        r#"{"i": 3, "big": 12345678, "f": 1.5, "n": null, "s": "str", "b": true, "l": [1, "a"],
            "m": {"z": 1, "a": "<&>"}, "trick": "${p.s}"}"#,
    )
    .unwrap()
}

fn render_within(template: &str, cost: &mut CelCost) -> Result<RenderedValue, RenderError> {
    let value = json::parse(template).unwrap();
    let given = given();
    let (template, problems) = ValueTemplate::compile(&value, &environment());
    assert_eq!(problems, [], "{value}");
    let bindings = CelBindings::new().with("p", &given);
    template.render(&bindings, cost)
}

fn render(template: &str) -> Result<RenderedValue, RenderError> {
    render_within(template, &mut CelCost::default())
}

/// Renders JSON and compares with JSON.
#[track_caller]
fn check(template: &str, want: &str) {
    assert_eq!(render(template).unwrap(), RenderedValue::Value(json::parse(want).unwrap()), "{template}");
}

/// Renders JSON, which fails at `path` and `position`.
#[track_caller]
fn fails(template: &str, path: &str, position: &str, message: &str) {
    let error = render(template).unwrap_err();
    assert_eq!((shown(&error.path), error.position.to_string()), (path.to_owned(), position.to_owned()));
    assert!(error.message.contains(message), "{}", error.message);
}

/// Compiles JSON, which has one problem at `path` and `position`.
#[track_caller]
fn refuses(template: &str, path: &str, position: &str, message: &str) {
    let (_, problems) = ValueTemplate::compile(&json::parse(template).unwrap(), &environment());
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!((shown(&problem.path), problem.position.to_string()), (path.to_owned(), position.to_owned()));
    assert!(problem.message.contains(message), "{}", problem.message);
}

fn shown(path: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!("/{key}"),
        Step::Index(index) => format!("/{index}"),
    };
    path.iter().map(step).collect()
}

/// Finds the expressions of `text`.
#[track_caller]
fn finds(text: &str, want: &[&str]) {
    let found = find_expressions(text).unwrap();
    let inner: Vec<&str> = found.into_iter().map(|one| &text[one.inner]).collect();
    assert_eq!(inner, want, "{text}");
}

#[test]
fn nested_braces_are_counted() {
    finds("a ${ {'x': {'y': 1}} } b ${c}", &[" {'x': {'y': 1}} ", "c"]);
}

#[test]
fn braces_in_strings_of_any_kind_do_not_count() {
    finds(r#"${'}'}${"}\"}"}"#, &["'}'", r#""}\"}""#]);
    finds(r"${r'\'}${x}", &[r"r'\'", "x"]);
    finds(r#"${'''it's }'''}${b"}"}"#, &["'''it's }'''", r#"b"}""#]);
    finds("${x // }\n}", &["x // }\n"]);
    finds("${`a/}`}", &["`a/"]);
}

#[test]
fn letters_before_a_quote_are_a_prefix_only_on_their_own() {
    // `abr` is a name, so that the string behind it is not raw.
    finds(r"${abr'\'}'}", &[r"abr'\'}'"]);
    finds(r"${0xbr'\'}", &[r"0xbr'\'"]);
}

#[test]
fn single_dollar_is_text_and_has_no_escape() {
    finds("$x {y} $ {z}", &[]);
    check(r#""\\${p.s} $${p.s}""#, r#""\\str $str""#);
    check(r#""${'${x}'}""#, r#""${x}""#);
}

#[test]
fn unclosed_expression_is_a_problem_with_its_position() {
    refuses(r#"{"a": ["ok", "x ${p.s"]}"#, "/a/1", "1:3", "no closing `}`");
    refuses(r#""${p.s}\n ${oops""#, "", "2:2", "no closing `}`");
    refuses(r#""${'a}""#, "", "1:3", "a string in `${…}` has no end");
    refuses(r#""${f(${p.s})}""#, "", "1:5", "only allowed in a string");
}

#[test]
fn compile_error_has_its_position_in_the_text() {
    refuses(r#"{"k": "é ${p.s}\n${1 +\n  nope}"}"#, "/k", "3:3", "unknown name `nope`");
    refuses(r#"{"${nope}": 1}"#, "/${nope}", "1:3", "unknown name `nope`");
    refuses(r#""${ }""#, "", "1:3", "no expression");
    refuses(r#""${a # b}""#, "", "1:5", "unexpected character `#`");
}

#[test]
fn rendering_a_broken_template_fails() {
    let (template, problems) = TextTemplate::compile("a ${nope}", &environment());
    let error = template.render(&CelBindings::new(), &mut CelCost::default()).unwrap_err();
    assert_eq!(
        (problems[0].position, problems[0].message.as_str()),
        (error.position, error.message.as_str())
    );
}

#[test]
fn a_whole_expression_keeps_its_type() {
    check(
        r#"["${p.i}", "${p.f}", "${p.b}", "${p.n}", "${p.l}", "${p.m}"]"#,
        r#"[3, 1.5, true, null, [1, "a"], {"z": 1, "a": "<&>"}]"#,
    );
    check(r#""  ${p.i}\n""#, "3");
    check(r#""${p.i + 1}""#, "4");
}

#[test]
fn non_json_values_render_as_text_or_number() {
    check(r#"["${b'hi'}", "${1u}", "${type(1)}", "${2.0}"]"#, r#"["aGk=", 1, "int", 2]"#);
    check(
        r#"["${timestamp('2024-01-01T00:00:00Z')}", "${duration('1s')}"]"#,
        r#"["2024-01-01T00:00:00Z", 1000000000]"#,
    );
    check(r#"["${{1: 'a', true: 'b'}}", "${p.?x}", "${p.?i}"]"#, r#"[{"1": "a", "true": "b"}, null, 3]"#);
    fails(r#"["${double('NaN')}"]"#, "/0", "1:3", "NaN");
}

#[test]
fn whole_doubles_become_integers() {
    let RenderedValue::Value(Value::Number(number)) = render(r#""${p.f * 2}""#).unwrap() else { panic!() };
    assert!(number.is_integer() && number.as_i64() == Some(3));
}

#[test]
fn mixed_text_inserts_results() {
    check(r#""i=${p.i} f=${p.f} b=${p.b} n=${p.n} s=${p.s}""#, r#""i=3 f=1.5 b=true n=null s=str""#);
    check(r#""${p.big * 1.0}|${p.big}""#, r#""12345678|12345678""#);
    check(r#""x${p.m}${p.l}""#, r#""x{\"a\":\"\\u003c\\u0026\\u003e\",\"z\":1}[1,\"a\"]""#);
    check(r#""at ${timestamp('2024-01-01T00:00:00Z')}""#, r#""at 2024-01-01T00:00:00Z""#);
}

#[test]
fn results_are_spliced_by_position_and_not_rendered_again() {
    check(r#""${p.trick} ${p.s}""#, r#""${p.s} str""#);
}

#[test]
fn keys_are_rendered_and_have_to_be_strings() {
    check(r#"{"${p.s}": 1, "x-${p.i}": 2}"#, r#"{"str": 1, "x-3": 2}"#);
    fails(r#"{"a": {"${p.i}": 1}}"#, "/a/${p.i}", "1:3", "expected a string, found int");
    fails(r#"{"${omit()}": 1}"#, "/${omit()}", "1:3", "expected a string, found nothing");
}

#[test]
fn two_keys_that_become_equal_are_an_error_unless_one_is_left_out() {
    fails(r#"{"str": 1, "${p.s}": 2}"#, "/${p.s}", "1:1", "another key of this map is `str`");
    check(r#"{"str": "${omit()}", "${p.s}": 2}"#, r#"{"str": 2}"#);
}

#[test]
fn omitted_entries_and_items_are_left_out() {
    check(r#"{"a": "${omit()}", "b": ["${omit()}", 1]}"#, r#"{"b": [1]}"#);
    check(r#""${{'x': {'y': omit(), 'z': [omit(), 1]}}}""#, r#"{"x": {"z": [1]}}"#);
    check(r#""${p.l.map(i, i == 1 ? omit() : i)}""#, r#"["a"]"#);
    check(r#"{"a": {"b": "${omit()}"}}"#, r#"{"a": {}}"#);
    assert_eq!(render(r#""${omit()}""#).unwrap(), RenderedValue::Omitted);
}

#[test]
fn omitted_value_in_mixed_text_is_an_error() {
    fails(r#"{"a": "x${omit()}"}"#, "/a", "1:4", "cannot be part of a text");
}

#[test]
fn render_error_has_path_position_and_expression() {
    let error = render(r#"{"a": ["x", "one ${p.i} two ${p.i + p.s}"]}"#).unwrap_err();
    assert_eq!((shown(&error.path), error.position.to_string()), ("/a/1".to_owned(), "1:22".to_owned()));
    assert_eq!((error.expression.as_str(), error.kind), ("p.i + p.s", CelErrorKind::Type));
    let missing = render(r#""${p.zz.yy}""#).unwrap_err();
    assert_eq!(missing.kind, CelErrorKind::Missing);
}

#[test]
fn constant_template_is_shared() {
    let value = json::parse(r#"{"a": {"b": ["x", "$y"]}}"#).unwrap();
    let (template, _) = ValueTemplate::compile(&value, &environment());
    assert!(template.constant().is_some_and(|constant| constant.is_same(&value)));
    let value = json::parse(r#"{"a": {"b": ["x"]}, "c": "${p.i}"}"#).unwrap();
    let (template, _) = ValueTemplate::compile(&value, &environment());
    let given = given();
    let Ok(RenderedValue::Value(made)) =
        template.render(&CelBindings::new().with("p", &given), &mut CelCost::default())
    else {
        panic!()
    };
    assert!(made.get("a").unwrap().is_same(value.get("a").unwrap()));
    assert!(template.constant().is_none());
}

#[test]
fn all_expressions_can_be_visited() {
    let value = json::parse(r#"{"a": ["x", "${p.i}-${q}"], "${p.s}": 1}"#).unwrap();
    let (template, _) = ValueTemplate::compile(&value, &environment().variable("q"));
    assert_eq!(template.names().collect::<Vec<_>>(), ["p", "q"]);
    let mut found = Vec::new();
    template.visit(|path, is_key, program, at| {
        found.push(format!("{} {is_key} {} {at}", shown(path), program.source()));
    });
    assert_eq!(found, ["/a/1 false p.i 1:3", "/a/1 false q 1:10", "/${p.s} true p.s 1:3"]);
}

#[test]
fn render_pieces_separates_literals_from_results() {
    let given = given();
    let (template, _) = TextTemplate::compile("/data/${p.s}/${p.i}", &environment());
    let bindings = CelBindings::new().with("p", &given);
    let pieces = template.render_pieces(&bindings, &mut CelCost::default()).unwrap();
    let want = [
        RenderedPiece::Literal("/data/"),
        RenderedPiece::Evaluated("str".into()),
        RenderedPiece::Literal("/"),
        RenderedPiece::Evaluated("3".into()),
    ];
    assert_eq!(pieces, want);
    let (whole, _) = TextTemplate::compile(" ${p.i} ", &environment());
    assert!(whole.is_whole() && !template.is_whole());
    let error =
        whole.render_pieces(&CelBindings::new().with("p", &given), &mut CelCost::default()).unwrap_err();
    assert!(error.message.contains("expected a string, found int"));
}

#[test]
fn value_with_many_copies_is_charged_for_all_of_them() {
    const LIMIT: u64 = 100_000_000;
    let given = given();
    let list = format!("[{}]", ["p"; 60].join(","));
    let expression = format!("[{list}].map(a, a.map(b, a.map(c, a.map(d, a))))");
    let program = CelProgram::compile(&expression, &environment()).unwrap();
    let bindings = CelBindings::new().with("p", &given);
    assert!(program.evaluate(&bindings, &mut CelCost::new(LIMIT)).is_ok());
    for template in [format!("${{{expression}}}"), format!("x${{{expression}}}")] {
        let error = render_within(&json::quote(&template), &mut CelCost::new(LIMIT)).unwrap_err();
        assert_eq!(error.kind, CelErrorKind::Limit);
    }
}

#[test]
fn too_deep_value_is_an_error() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let value = json::parse(&deep).unwrap();
    let template = json::parse(&format!(r#"{}"${{p}}"{}"#, "[".repeat(100), "]".repeat(100))).unwrap();
    let (template, _) = ValueTemplate::compile(&template, &environment());
    let error = template.render(&CelBindings::new().with("p", &value), &mut CelCost::default()).unwrap_err();
    assert_eq!(error.kind, CelErrorKind::Limit);
}

#[test]
fn many_expressions_take_linear_time() {
    let text = "${p.i}\n".repeat(20_000);
    let (template, problems) = TextTemplate::compile(&text, &environment());
    assert_eq!((problems.len(), template.programs().count()), (0, 20_000));
    let (_, last) = template.programs().last().unwrap();
    assert_eq!(last.to_string(), "20000:3");
}

#[test]
fn segments_join_to_the_original_text() {
    let parts = split_segments("/a/${b['}']}${c}/d").unwrap();
    let want = [
        TextSegment::Literal("/a/"),
        TextSegment::Expression("${b['}']}"),
        TextSegment::Expression("${c}"),
        TextSegment::Literal("/d"),
    ];
    assert_eq!(parts, want);
    assert_eq!(split_segments(""), Ok(vec![]));
}
