//! The language as a whole.

use kubewright_value::{Text, Value, json};

use super::*;

fn environment() -> CelEnvironment {
    let all = library::EXTENSIONS.iter();
    all.fold(CelEnvironment::standard(), |environment, library| environment.with(library)).variable("object")
}

fn object() -> Value {
    json::parse(
        r#"{"metadata":{"labels":{"app":"web"},"name":"web"},"spec":{"n":3,"list":[1,2,3],"name":"web","nothing":null,
            "containers":[{"name":"a","image":"nginx:1"},{"name":"b","image":"b","resources":{"limits":{}}}],
            "template":{"spec":{"n":7,"list":[9]}}}}"#,
    )
    .expect("JSON")
}

/// Returns how the result is printed, or the kind of the error and its message.
fn evaluate(program: &CelProgram, limit: u64) -> (String, u64) {
    let object = object();
    let bindings = CelBindings::new().with("object", &object);
    let mut cost = CelCost::new(limit);
    let found = program.evaluate(&bindings, &mut cost);
    (
        found.map_or_else(
            |error| format!("{:?}: {}", error.kind, error.message),
            |value| format!("{value:?}"),
        ),
        cost.used(),
    )
}

#[track_caller]
fn gives(text: &str, want: &str) {
    let name = text.get(..80).unwrap_or(text);
    let program = CelProgram::compile(text, &environment()).expect(name);
    assert_eq!(evaluate(&program, CelCost::DEFAULT_LIMIT).0, want, "{name}");
}

#[track_caller]
fn costs(text: &str, want: u64) {
    let program = CelProgram::compile(text, &environment()).expect(text);
    let (found, cost) = evaluate(&program, CelCost::DEFAULT_LIMIT);
    assert_eq!(cost, want, "{text} gives {found}");
}

/// Compiles `text` and compares the first error, as `line:column+length kind: message`.
#[track_caller]
fn refuses(text: &str, want: &str) {
    let errors = CelProgram::compile(text, &environment()).expect_err(text);
    let error = errors.first().expect("an error");
    let CelCompileError { message, position, length, kind, .. } = error;
    assert_eq!(format!("{}:{}+{length} {kind:?}: {message}", position.line, position.column), want, "{text}");
}

#[test]
fn objects_are_borrowed_not_copied() {
    gives("object.spec.n + 1", "4");
    gives("object.spec['name'] == 'web'", "true");
    gives("object.spec.list[object.spec.n - 1]", "3");
    gives("object.spec.missing", "Missing: no such key: missing");
    gives("object.spec.list[3]", "Missing: index out of bounds: 3");
    gives("object.spec.n.x", "Missing: no such key: x");
    gives("has(object.spec.name) && !has(object.spec.other)", "true");
    gives("has(object.spec.nothing) && !has(object.spec.nothing.more)", "true");
}

#[test]
fn decisive_operand_of_and_or_hides_errors() {
    gives("object.x == 1 || true", "true");
    gives("true || object.x == 1", "true");
    gives("object.x == 1 && false", "false");
    gives("object.x == 1 && true", "Missing: no such key: x");
    gives("object.spec.list.all(x, x / (x - 1) > 5)", "false");
    gives("object.spec.list.exists(x, x / (x - 1) == 2)", "true");
    gives("object.spec.list.exists_one(x, x / (x - 1) == 2)", "Value: division by zero");
}

#[test]
fn numbers_compare_across_their_types_and_never_wrap() {
    gives("dyn(1) == 1.0 && dyn(1u) == 1 && 1 < 1.5 && 2u > 1", "true");
    gives("{1: 'a'}[dyn(1.0)]", "\"a\"");
    gives("9223372036854775807 + object.spec.n", "Value: integer overflow");
    gives("-9223372036854775808 - 1", "Value: integer overflow");
    gives("1u - 2u", "Value: unsigned integer overflow");
    gives("1.0 / 0.0", "inf");
    gives("object.spec.n % 0", "Value: modulus by zero");
}

#[test]
fn macros_iterate_over_lists_and_maps() {
    gives("object.spec.containers.map(c, c.name)", r#"["a", "b"]"#);
    gives("object.spec.containers.filter(c, has(c.resources)).map(c, c.name)", r#"["b"]"#);
    gives("object.spec.list.map(x, x > 1, x * 10)", "[20, 30]");
    gives("object.metadata.labels.all(k, v, k == 'app' && v == 'web')", "true");
    gives("object.spec.list.transformMap(i, v, v > 1, i + v)", "{1: 3, 2: 5}");
    gives("object.metadata.labels.transformMapEntry(k, v, {v: k})", r#"{"web": "app"}"#);
    gives("[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]");
    gives("[1, 2].map(x, [3].map(x, x * 2)[0] + x)", "[7, 8]");
    gives("cel.bind(x, object.spec.n, cel.bind(y, x + 1, x * y))", "12");
}

#[test]
fn an_empty_list_or_map_may_have_a_comma() {
    gives("[,].size() + {,}.size()", "0");
    gives("[1,] + [,]", "[1]");
    refuses("[,,]", "1:2+1 Syntax: expected an expression, found `,`");
    refuses("[,1]", "1:2+1 Syntax: expected an expression, found `,`");
    refuses("size(,)", "1:6+1 Syntax: expected an expression, found `,`");
}

#[test]
fn optional_path_stops_at_first_missing_field() {
    gives("object.?spec.?n", "optional.of(3)");
    gives("object.?spec.nothing.more", "Missing: no such key: more");
    let kubernetes = CelEnvironment::kubernetes().variable("object");
    let program = CelProgram::compile("object.?spec.nothing.more", &kubernetes).expect("an expression");
    assert_eq!(evaluate(&program, CelCost::DEFAULT_LIMIT).0, "optional.none()");
    gives("object.?zz.more.orValue(5)", "5");
    gives("object.spec.list[?7].or(optional.of(1)).value()", "1");
    gives("object.?spec.n.optMap(n, n + 1)", "optional.of(4)");
    gives("[?object.?zz, ?object.?spec.n]", "[3]");
    gives("{?'a': object.?zz, 'b': 1}", r#"{"b": 1}"#);
}

#[test]
fn compile_reports_names_types_and_arity() {
    refuses("object.spec.n +", "1:16+1 Syntax: expected an expression, found the end");
    refuses("object.spec.list.all(x,\n  y > 1)", "2:3+1 UnknownName: unknown name `y`");
    refuses("objct.spec", "1:1+5 UnknownName: unknown name `objct`; did you mean `object`?");
    refuses(
        "object.spec.name.startWith('a')",
        "1:18+9 UnknownFunction: unknown method `startWith`; did you mean `startsWith`?",
    );
    refuses(
        "size(1)",
        "1:1+4 Type: `size` does not take `int`; it is `size(string) -> int` or `size(bytes) -> int` or `size(list) -> int` or `size(map) -> int`",
    );
    refuses("'a'.charAt()", "1:5+6 Arity: wrong number of arguments for `string.charAt(int) -> string`");
    refuses("1 + 'a'", "1:3+1 Type: no operator `+` for `int` and `string`");
    refuses("1 == 'a'", "1:3+2 Type: no operator `==` for `int` and `string`");
    refuses("[1, 2].all(x, x)", "1:15+1 Type: `the macro` needs `bool`, found `int`");
    refuses("[1].map(x, x.a)", "1:14+1 Type: a value of type `int` has no field `a`");
    refuses("object.a.matches('[')", "1:10+7 Value: invalid regex `[`: missing closing ]: `[`");
    refuses(
        "duration('1x')",
        "1:1+8 Value: cannot convert `1x` to a duration: unknown unit in a duration, expected `ns`, `us`, `ms`, `s`, `m` or `h`",
    );
    refuses(
        "true ? 1 : 'a'",
        "1:6+1 Type: both results of `?` must be of one type, found `int` and `string`",
    );
    refuses("has(object)", "1:5+6 Syntax: `has` needs a field, such as `has(a.b)`");
    refuses("if", "1:1+2 Syntax: `if` is a reserved word");
    refuses("Foo{a: 1}", "1:1+3 UnknownName: unknown type `Foo`");
}

#[test]
fn compile_reports_every_mistake() {
    let errors = CelProgram::compile("a + b.c + f(object) + 'x'.g()", &environment()).expect_err("mistakes");
    assert_eq!(errors.len(), 4);
}

#[test]
fn an_error_says_where_in_the_expression_it_is() {
    let program =
        CelProgram::compile("true &&\n  object.spec.list[9] > 1", &environment()).expect("an expression");
    let object = object();
    let error = program
        .evaluate(&CelBindings::new().with("object", &object), &mut CelCost::default())
        .expect_err("missing");
    assert_eq!((error.position.line, error.position.column), (2, 19));
}

#[test]
fn costs_are_those_of_the_api_server() {
    costs("object.spec.n", 3);
    costs("object.spec.n == 3", 4);
    costs("object.spec.name.startsWith('we')", 4);
    costs("has(object.spec.name)", 2);
    costs("[1, 2, 3]", 0);
    costs("[object.spec.n]", 13);
    costs("object.spec.list.all(x, x > 0)", 19);
    costs("object.spec.list.all(x, x > 1)", 11);
    costs("object.spec.list.exists(x, x > 0)", 13);
    costs("object.spec.list.map(x, x * 2)", 46);
    costs("object.spec.list.filter(x, x > 1)", 36);
    costs("object.spec.n in [1, 2, 3]", 3);
    costs("object.spec.name.matches('^[a-z]+$')", 5);
}

#[test]
fn exceeded_cost_is_an_error_even_behind_or() {
    let program =
        CelProgram::compile("object.spec.list.exists(x, x == 9) || true", &environment()).expect("fine");
    assert_eq!(evaluate(&program, 5).0, "Limit: the expression costs more than 5");
    let doubled = (0..40).fold("x".to_owned(), |inner, _| format!("cel.bind(x, x + x, {inner})"));
    let bomb = format!("cel.bind(x, [1, 2], {doubled}).size()");
    let program = CelProgram::compile(&bomb, &environment()).expect("nested");
    assert_eq!(
        evaluate(&program, CelCost::DEFAULT_LIMIT).0,
        "Limit: the budget of 33554432 bytes is used up"
    );
    let shared = (0..40).fold("x".to_owned(), |inner, _| format!("cel.bind(x, [x, x], {inner})"));
    let program =
        CelProgram::compile(&format!("cel.bind(x, [1], {shared})"), &environment()).expect("nested");
    let found = program.evaluate(&CelBindings::new(), &mut CelCost::default()).expect("small");
    assert_eq!(found.to_value(), Err("the value is too large".to_owned()));
}

#[test]
fn long_expressions_work_and_deep_ones_are_refused() {
    let sum = vec!["1"; 20_000].join(" + ");
    gives(&sum, "20000");
    let sum = vec!["object.spec.n"; 5_000].join(" + ");
    gives(&sum, "15000");
    let all = vec!["true"; 10_000].join(" && ");
    gives(&all, "true");
    refuses(&"(".repeat(50_000), "1:101+1 Syntax: an expression nests at most 100 levels deep");
    for deep in ["!(", "[", "f(", "-(", "a[", "{1:", "a ? b : ", "x.all(a, "] {
        let errors = CelProgram::compile(&deep.repeat(5_000), &environment()).expect_err(deep);
        assert_eq!(errors[0].kind, CelCompileErrorKind::Syntax, "{deep}");
    }
    let chain = format!("object{}", ".a".repeat(30_000));
    assert!(CelProgram::compile(&chain, &environment()).is_err());
    assert!(CelProgram::compile(&"1 + ".repeat(250_000), &environment()).is_err());
}

#[test]
fn the_deepest_expression_fits_a_small_stack() {
    let nested = |before: &str, inner: &str, after: &str, count: usize| {
        format!("{}{inner}{}", before.repeat(count), after.repeat(count))
    };
    let texts = [
        nested("[", "1", "]", 97),
        nested("[", "object", "]", 97),
        nested("int(", "object.spec.n", ")", 95),
        nested("!(", "object.spec.n == 1", ")", 95),
        nested("(1 + ", "object.spec.n", ")", 95),
        nested("true && (false || ", "object.spec.n == 1", ")", 48),
        nested("object.spec.n == 3 ? ", "1", " : 2", 1),
        nested("true ? 1 : ", "object.spec.n", "", 95),
        nested("{'a': ", "object", "}", 97),
        nested("[1].map(x, ", "x", ")", 24),
        nested("cel.bind(x, 1, ", "x", ")", 95),
        nested("optional.of(1).optMap(x, ", "x", ")", 95),
        format!("object.spec.list{}", ".map(x, x)".repeat(95)),
        format!("object{}", "[object.spec.name]".repeat(90)),
    ];
    for text in texts {
        let run = move || {
            let program =
                CelProgram::compile(&text, &environment()).map_err(|errors| errors[0].message.clone())?;
            Ok::<_, String>(evaluate(&program, CelCost::DEFAULT_LIMIT).0)
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
        thread.join().expect("no overflow").expect("an expression");
    }
}

#[test]
fn programs_are_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<CelProgram>();
    is_shared::<CelEnvironment>();
}

#[test]
fn compile_errors_are_limited() {
    let text = vec!["nam.f(g(x))"; 8_000].join("+");
    let errors = CelProgram::compile(&text, &environment()).expect_err("mistakes");
    assert_eq!(errors.len(), 20);
}

#[test]
fn large_constant_is_not_folded_at_compile_time() {
    let start = std::time::Instant::now();
    for _ in 0..500 {
        let program = CelProgram::compile("lists.range(900000).size()", &environment()).expect("a program");
        assert_eq!(program.variable_names().count(), 0);
    }
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    gives("lists.range(900000).size()", "900000");
}

#[test]
fn names_are_the_variables_that_are_read() {
    let environment = environment().variable("params").variable("variables.image");
    let program =
        CelProgram::compile("object.a == params.b && variables.image.c.all(x, x == object.d)", &environment);
    assert_eq!(
        program.expect("fine").variable_names().collect::<Vec<_>>(),
        ["object", "params", "variables.image"]
    );
}

/// Rewrites `object.spec` to `object.spec.template.spec`, and evaluates.
#[track_caller]
fn rewritten(text: &str, want: &str) {
    let change = |keys: &[&str]| match keys {
        ["object", "spec", ..] => Some((2, ["object", "spec", "template", "spec"].map(Text::new).into())),
        _ => None,
    };
    let program = CelProgram::compile(text, &environment()).expect(text);
    let program = program.rewritten(&change).unwrap_or(program);
    assert_eq!(evaluate(&program, CelCost::DEFAULT_LIMIT).0, want, "{text}");
}

#[test]
fn paths_are_rewritten_where_they_start_with_a_variable() {
    rewritten("object.spec.n", "7");
    rewritten("object['spec'].n", "7");
    rewritten("object.?spec.n", "optional.of(7)");
    rewritten("has(object.spec.name)", "false");
    rewritten("object.spec.list.map(object, object + 1)", "[10]");
    rewritten("[{'spec': {'n': 1}}].map(object, object.spec.n)", "[1]");
    rewritten("cel.bind(object, object.spec, object.n)", "7");
    rewritten("object.metadata.name + string(object.spec.n)", "\"web7\"");
    rewritten("object.metadata.name", "\"web\"");
}

#[test]
fn results_become_json() {
    let to_json = |text: &str| {
        let program = CelProgram::compile(text, &environment()).expect(text);
        let object = object();
        let bindings = CelBindings::new().with("object", &object);
        program
            .evaluate(&bindings, &mut CelCost::default())
            .expect(text)
            .to_value()
            .map(|value| value.to_string())
    };
    assert_eq!(
        to_json("{'a': [1, 2u, 1.5, true, null], 'b': b'abc'}"),
        Ok(r#"{"a":[1,2,1.5,true,null],"b":"YWJj"}"#.into())
    );
    assert_eq!(
        to_json("[duration('90s'), timestamp('2024-01-01T00:00:00Z')]"),
        Ok(r#"["90s","2024-01-01T00:00:00Z"]"#.into())
    );
    assert_eq!(
        to_json("{1: optional.none(), true: object.spec.list}"),
        Ok(r#"{"1":null,"true":[1,2,3]}"#.into())
    );
    assert!(to_json("int").is_err() && to_json("1.0 / 0.0").is_err());
}

#[test]
fn lists_are_formatted_as_each_version_does() {
    let text = "'%s %.2f'.format([['a', 1.5, {'b': null}], 12345.678])";
    gives(text, "\"[a, 1.5, {b: null}] 12345.68\"");
    let program = CelProgram::compile(text, &CelEnvironment::kubernetes()).expect("an expression");
    assert_eq!(
        evaluate(&program, CelCost::DEFAULT_LIMIT).0,
        r#""[\"a\", 1.500000, {\"b\":null}] 12,345.68""#
    );
}

#[test]
fn timestamp_functions_take_time_zones() {
    gives("timestamp('2024-07-01T12:00:00Z').getHours('Europe/Berlin')", "14");
    gives("timestamp('2024-01-01T12:00:00Z').getHours('Europe/Berlin')", "13");
    gives("timestamp('2024-03-10T07:00:00Z').getHours('America/New_York')", "3");
    gives("timestamp('2024-03-10T06:59:59Z').getHours('America/New_York')", "1");
    gives("timestamp('2024-01-01T12:00:00Z').getHours('Australia/Sydney')", "23");
    gives("timestamp('2024-01-01T12:00:00Z').getHours('-02:30')", "9");
    gives(
        "timestamp('2024-01-01T12:00:00Z').getHours('Mars/Base')",
        "Value: unknown time zone `Mars/Base`; use an offset such as `+02:00`",
    );
}

#[test]
fn mixed_arithmetic_needs_the_environment_option() {
    refuses("1 + 1.5", "1:3+1 Type: no operator `+` for `int` and `double`");
    gives("object.spec.n + 1.5", "Type: no such overload: `+` does not take `int` and `double`");
    let mixed = environment().with_mixed_arithmetic();
    for (text, want) in [
        ("1 + 1.5", "2.5"),
        ("object.spec.n * 1.5 - 1", "3.5"),
        ("1.0 / object.spec.n * 3u", "1.0"),
        ("object.spec.n + 1", "4"),
        ("int(object.spec.n) == 3.0", "true"),
        ("3.5 != 3", "true"),
    ] {
        let program = CelProgram::compile(text, &mixed).expect(text);
        assert_eq!(evaluate(&program, CelCost::DEFAULT_LIMIT).0, want, "{text}");
    }
    assert!(CelProgram::compile("5 % 1.5", &mixed).is_err());
    refuses("3 == 3.0", "1:3+2 Type: no operator `==` for `int` and `double`");
}

#[test]
fn shorthand_call_reads_its_field() {
    let field =
        Shorthand { call: "pod.names", path: "object.metadata.labels", takes: ShorthandArguments::Nothing };
    let entry =
        Shorthand { call: "pod.name", path: "object.metadata.labels", takes: ShorthandArguments::Key };
    let environment = environment().shorthand(field).shorthand(entry);
    let found = |text: &str| {
        let program = CelProgram::compile(text, &environment).map_err(|errors| errors[0].message.clone())?;
        Ok::<String, String>(evaluate(&program, CelCost::DEFAULT_LIMIT).0)
    };
    assert_eq!(found("pod.names().size()"), Ok("1".to_owned()));
    assert_eq!(found("pod.name('app').orValue('')"), Ok(r#""web""#.to_owned()));
    assert_eq!(found("pod.name('x').hasValue()"), Ok("false".to_owned()));
    assert_eq!(found("[1].exists(object, pod.names().size() == object)"), Ok("true".to_owned()));
    assert_eq!(found("pod.names(1)"), Err("`pod.names` takes no argument, not 1".to_owned()));
    assert_eq!(found("object.names()"), Err("unknown method `names`".to_owned()));
}

/// Returns the work that `text` takes where `big` is a text of so many bytes.
fn work_with(text: &str, bytes: usize) -> u64 {
    let program = CelProgram::compile(text, &CelEnvironment::policy().variable("big")).unwrap();
    let big = Value::from("a".repeat(bytes));
    let mut cost = CelCost::default();
    let before = cost.work_left();
    let _ = program.evaluate(&CelBindings::new().with("big", &big), &mut cost);
    before - cost.work_left()
}

#[test]
fn functions_are_charged_for_all_their_operands() {
    for text in [
        "''.replace(big, 'x')",
        "'a'.replace('b', big)",
        "''.indexOf(big)",
        "''.lastIndexOf(big)",
        "''.split(big)",
        "''.contains(big)",
        "['a', 'b'].join(big)",
        "'x'.matches(big)",
    ] {
        assert!(work_with(text, 1 << 20) >= 1 << 15, "{text}: {}", work_with(text, 1 << 20));
        assert!(work_with(text, 16) < 1 << 15, "{text}: {}", work_with(text, 16));
    }
}

#[test]
fn limit_message_does_not_depend_on_what_is_left() {
    let program =
        CelProgram::compile("lists.range(100000).exists(n, n < 0)", &CelEnvironment::policy()).unwrap();
    let told = |mut cost: CelCost| program.evaluate(&CelBindings::new(), &mut cost).unwrap_err().message;
    let want = told(CelCost::default().with_available(600));
    assert!(want.contains("costs more than 1000000"), "{want}");
    assert_eq!(told(CelCost::default().with_work(600)), want);
}
