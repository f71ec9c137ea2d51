//! Expressions and what they find.

use kubewright_value::{Limits, json};

use super::*;

const POD: &str = r#"{"kind":"Pod","metadata":{"name":"web","labels":{"z":"1","a":"2"}},"spec":{"containers":[
    {"name":"b","image":"nginx","ports":[{"p":80},{"p":443}]},{"name":"a","image":"redis","ports":[{"p":6379}]},{"name":"c"}]},
    "n":[3,1,2],"big":9007199254740993,"mixed":[1,"x",null,[2,[3]]],"none":null,"empty":""}"#;

fn parse(text: &str) -> JmesPathExpression {
    JmesPathExpression::parse(text, &JmesPathFunctions::standard())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Evaluates `text` on [`POD`] and compares with the JSON `want`.
#[track_caller]
fn check(text: &str, want: &str) {
    let found = parse(text).evaluate(&json::parse(POD).unwrap(), &mut Budget::default());
    assert_eq!(found.map(|value| value.to_string()).unwrap_or_else(|error| error.message), want, "{text}");
}

/// Parses `text` and compares the error with `want`, which starts with `line:column+length`.
#[track_caller]
fn refuse(text: &str, want: &str) {
    let error = JmesPathExpression::parse(text, &JmesPathFunctions::standard()).expect_err(text);
    assert_eq!(format!("{}+{} {}", error.position, error.length, error.message), want);
}

/// Evaluates `text` on [`POD`] and compares the error with `want`, which starts with `line:column`.
#[track_caller]
fn fail(text: &str, want: &str) {
    let error = parse(text).evaluate(&json::parse(POD).unwrap(), &mut Budget::default()).expect_err(text);
    assert_eq!(format!("{} {:?} {}", error.position, error.kind, error.message), want);
}

/// Evaluates `text` on `root` with few steps left and expects that they do not suffice.
#[track_caller]
fn exhaust(text: &str, root: &Value) {
    let limits = Limits { steps: 100_000, bytes: 1 << 20, depth: 256 };
    let found = parse(text).evaluate(root, &mut Budget::new(limits));
    let kind = found.map_err(|error| error.kind).map(|_| "no error");
    assert_eq!(kind, Err(JmesPathErrorKind::Limit), "{text:.100}");
}

#[test]
fn path_of_missing_key_is_null() {
    check("metadata.name", r#""web""#);
    check("spec.containers[0].name", r#""b""#);
    check("spec.containers[-1].name", r#""c""#);
    check("spec.containers[-4]", "null");
    check("spec.containers[3]", "null");
    check("spec.containers.name", "null");
    check("metadata[0]", "null");
    check("no.such.key", "null");
    check("\"metadata\".\"labels\"", r#"{"z":"1","a":"2"}"#);
    check("@.kind", r#""Pod""#);
    check("n[-9223372036854775808]", "null");
}

#[test]
fn objects_keep_the_order_of_their_keys() {
    check("keys(metadata.labels)", r#"["z","a"]"#);
    check("values(metadata.labels)", r#"["1","2"]"#);
    check("metadata.labels.*", r#"["1","2"]"#);
    check("{z: kind, a: metadata.name}", r#"{"z":"Pod","a":"web"}"#);
    check("merge({a: kind, b: kind}, {a: n[0]})", r#"{"a":3,"b":"Pod"}"#);
}

#[test]
fn projection_drops_nulls() {
    check("spec.containers[*].image", r#"["nginx","redis"]"#);
    check("spec.containers[*].ports[*].p", "[[80,443],[6379]]");
    check("spec.containers[].ports[].p", "[80,443,6379]");
    check("spec.containers[?image].name", r#"["b","a"]"#);
    check("spec.containers[?name != 'b'].image | [0]", r#""redis""#);
    check("spec.containers[*].ports | [0][1].p", "443");
    check("mixed[]", r#"[1,"x",2,[3]]"#);
    check("mixed[][]", r#"[1,"x",2,3]"#);
    check("kind[*]", "null");
    check("kind.*", "null");
    check("n.*", "null");
    check("metadata[]", "null");
}

#[test]
fn grouping_is_that_of_the_reference_implementations() {
    check("!metadata.name", "null");
    check("!(metadata.name)", "false");
    check("metadata.*.a.b", "null");
    check("spec.containers[*].[name, image][0]", r#"["b","nginx"]"#);
    check("spec.containers[?image].ports[?p]", "[]");
    check("spec.containers[*].ports[?p > `100`]", r#"[[{"p":443}],[{"p":6379}]]"#);
    check("(spec.containers[*].name)[0]", r#""b""#);
    check("spec.containers[*].name[0]", "[]");
    check("none || empty || kind && n[0]", "3");
    check("n[0] == `3` == `true`", "true");
}

#[test]
fn slices_go_both_ways_within_bounds() {
    check("n[1:]", "[1,2]");
    check("n[::-1]", "[2,1,3]");
    check("n[-2:-1]", "[1]");
    check("n[5:]", "[]");
    check("n[:-9]", "[]");
    check("n[9:-9:-2]", "[2,3]");
    check("n[::9223372036854775807]", "[3]");
    check("n[::-9223372036854775808]", "[2]");
    check("n[-9223372036854775808:9223372036854775807]", "[3,1,2]");
    check("kind[1:]", "null");
    fail("n[::0]", "1:1 Value the step of a slice must not be 0");
}

#[test]
fn integers_stay_exact() {
    check("big", "9007199254740993");
    check("sum([big, big])", "18014398509481986");
    check("abs(`-9223372036854775808`)", "9223372036854775808");
    check("to_number('9007199254740993')", "9007199254740993");
    check("floor(big)", "9007199254740993");
    check("ceil(`1.5`)", "2");
    check("avg(n)", "2");
    check("big == `9007199254740992`", "false");
    check("sum([`9223372036854775807`, `1`])", "9223372036854775808");
}

#[test]
fn only_numbers_have_an_order_in_a_comparison() {
    check("n[0] > n[1]", "true");
    check("kind > metadata.name", "null");
    check("n[0] >= none", "null");
    check("`{\"a\":1,\"b\":2}` == `{\"b\":2.0,\"a\":1.0}`", "true");
    check("`[1]` != `[2]`", "true");
}

#[test]
fn functions_do_what_the_specification_says() {
    check("sort(n)", "[1,2,3]");
    check("sort_by(spec.containers, &name)[*].name", r#"["a","b","c"]"#);
    check("max_by(spec.containers, &name).name", r#""c""#);
    check("min_by(spec.containers, &length(name)).name", r#""b""#);
    check("map(&ports[0].p, spec.containers)", "[80,6379,null]");
    check("contains(n, `1.0`)", "true");
    check("contains(kind, `1`)", "false");
    check("length('héé')", "3");
    check("reverse('aé')", r#""éa""#);
    check("join('-', ['a', kind])", r#""a-Pod""#);
    check("to_string(metadata.labels)", r#""{\"z\":\"1\",\"a\":\"2\"}""#);
    check("to_number(' 1')", "null");
    check("to_number('1 ')", "null");
    check("to_number('0x1')", "null");
    check("not_null(none, no, kind)", r#""Pod""#);
    check("max(`[]`)", "null");
    check("type(&kind)", "argument 1 of `type` must be a value, not an expression");
    assert_eq!(JmesPathFunctions::standard().names().count(), 26);
}

#[test]
fn literals_and_strings_keep_their_backslashes() {
    check(r"'a\'b'", r#""a'b""#);
    check(r"'a\\'", r#""a\\\\""#);
    check(r"'\n'", r#""\\n""#);
    check("`\"a\\`b\"`", "\"a`b\"");
    check("` [1, {\"a\": null}] `", r#"[1,{"a":null}]"#);
    check(r#""no\u0041""#, "null");
}

#[test]
fn parse_errors_have_positions() {
    refuse("foo.", "1:5+1 found the end, expected a name, `*`, `[` or `{` after `.`");
    refuse("a.\n  é", "2:3+1 unexpected `é`");
    refuse("a = b", "1:3+1 unexpected `=`, equality is written `==`");
    refuse("'abc", "1:1+4 string is not closed");
    refuse("a[b]", "1:3+1 found `b`, expected an index, a slice or `*` in `[]`, a key is written `.key`");
    refuse("\"length\"(@)", "1:1+8 a function name must not be quoted");
    refuse("&a", "1:1+1 `&` is only allowed before an argument of a function");
    refuse("a || length()", "1:6+6 `length` takes 1 argument, not 0");
    refuse("not_null()", "1:1+8 `not_null` takes at least 1 argument, not 0");
    refuse("join('a')", "1:1+4 `join` takes 2 arguments, not 1");
    refuse("nope(@)", "1:1+4 unknown function `nope`");
    refuse("lenght(@)", "1:1+6 unknown function `lenght`, is `length` meant?");
    refuse("startsWith(@, 'a')", "1:1+10 unknown function `startsWith`, is `starts_with` meant?");
    refuse("a[99999999999999999999]", "1:3+20 the number `99999999999999999999` is too large");
    refuse("a b", "1:3+1 found `b`, expected an operator or the end of the expression");
    refuse("", "1:1+1 found the end, expected an expression");
}

#[test]
fn call_errors_point_at_the_argument() {
    fail("abs(kind)", "1:5 Type argument 1 of `abs` must be a number, not a string");
    fail(
        "kind | join(',', `[1]`)",
        "1:18 Type argument 2 of `join` must be an array of strings, not an array",
    );
    fail(
        "sort(mixed)",
        "1:6 Type argument 1 of `sort` must be an array of numbers or an array of strings, not an array",
    );
    fail(
        "sort_by(spec.containers, name)",
        "1:26 Type argument 2 of `sort_by` must be an expression such as `&name`, not null",
    );
    fail("sort_by(spec.containers, &image)", "1:26 Type cannot order by null, only by string or number");
    fail("sort_by(mixed[:2], &@)", "1:20 Type cannot order by number and string together");
    fail("map(&abs(@), ['a'])", "1:10 Type argument 1 of `abs` must be a number, not a string");
}

#[test]
fn a_dialect_adds_and_replaces_functions() {
    let functions = JmesPathFunctions::standard()
        .with(
            "twice",
            JmesPathSignature::of([ArgumentTypes::REFERENCE, ArgumentTypes::ANY]),
            |arguments, budget| {
                let [each, value] = arguments else { return Ok(Value::Null) };
                let once = each.apply(value.value(), budget)?;
                each.apply(&once, budget)
            },
        )
        .with(
            "pad",
            JmesPathSignature::of([ArgumentTypes::STRING, ArgumentTypes::NUMBER]).optional(1),
            |arguments, _| match arguments.get(1) {
                Some(width) if width.number().as_i64().is_none_or(|width| width < 0) => {
                    Err(JmesPathFailure::wrong_value("the width is negative").about(1))
                }
                Some(width) => Ok(Value::from(format!("{}:{}", arguments[0].text(), width.number()))),
                None => Ok(Value::from("short")),
            },
        )
        .with("length", JmesPathSignature::of([ArgumentTypes::ANY]), |_, _| Ok(Value::from("replaced")));
    let find = |text: &str| {
        let expression = JmesPathExpression::parse(text, &functions).map_err(|error| error.message)?;
        expression.evaluate(&Value::Null, &mut Budget::default()).map_err(|error| error.message)
    };
    assert_eq!(find("twice(&join('', [@, 'b']), 'a')"), Ok(Value::from("abb")));
    assert_eq!(find("pad('a')"), Ok(Value::from("short")));
    assert_eq!(find("pad('a', `2`)"), Ok(Value::from("a:2")));
    assert_eq!(find("pad('a', `-2`)"), Err("the width is negative".to_owned()));
    assert_eq!(find("pad()"), Err("`pad` takes 1 to 2 arguments, not 0".to_owned()));
    assert_eq!(find("length(@)"), Ok(Value::from("replaced")));
}

#[test]
fn evaluate_ref_borrows_from_the_object() {
    let pod = json::parse(POD).unwrap();
    for (text, is_borrowed) in
        [("metadata.labels", true), ("none || n[0]", true), ("n[*]", false), ("'a'", true)]
    {
        let expression = parse(text);
        let found = expression.evaluate_ref(&pod, &mut Budget::default()).unwrap();
        assert_eq!(matches!(found, Cow::Borrowed(_)), is_borrowed, "{text}");
    }
}

/// Finds `text` in [`POD`] and compares with the JSON `want`, or with `missing` and the key.
#[track_caller]
fn find(text: &str, want: &str) {
    let (expression, pod) = (parse(text), json::parse(POD).unwrap());
    let found = match expression.find(&pod, &mut Budget::default()).unwrap() {
        JmesPathLookup::Value(value) => value.to_string(),
        JmesPathLookup::Missing(key) => format!("missing {key}"),
    };
    assert_eq!(found, want, "{text}");
}

#[test]
fn find_distinguishes_missing_key_from_null() {
    find("metadata.name", r#""web""#);
    find("none", "null");
    find("none.x", "null");
    find("metadata.no.such", "missing no");
    find("spec.containers[2].image", "missing image");
    find("spec.containers[9].image", "null");
    find("(metadata).no", "missing no");
    find("{a: kind}.b", "missing b");
    find("no.length(@)", "missing no");
    find("kind && no", "missing no");
    find("no && kind", "null");
    find("no || none", "null");
    find("kind | no", "null");
    find("no == none", "true");
    find("spec.containers[*].image", r#"["nginx","redis"]"#);
    find("no[*]", "null");
    find("[no]", "[null]");
}

#[test]
fn forgiving_language_turns_errors_into_null() {
    let forgive = |text: &str| {
        let expression =
            JmesPathExpression::parse_as(text, &JmesPathFunctions::standard(), JmesPathLanguage::Forgiving)
                .unwrap();
        let found = expression.evaluate(&json::parse(POD).unwrap(), &mut Budget::default());
        found.map_or_else(|error| error.message, |value| value.to_string())
    };
    let cases = [
        ("metadata.name", r#""web""#),
        ("[no.length(@)]", "[null]"),
        ("[metadata.no.length(@)]", "[null]"),
        ("[none.length(@)]", "argument 1 of `length` must be a string or an array or an object, not null"),
        ("[(kind && no).length(@)]", "[null]"),
        ("[(no || kind).length(@)]", "[3]"),
        ("metadata.[no, labels, name][].a", r#"["2"]"#),
        ("no.[kind, n][]", "null"),
        ("none.[kind, n][]", "null"),
        ("[kind, n][]", r#"["Pod",3,1,2]"#),
        ("to_array(@).[kind][]", "[]"),
        ("n[].to_array(@)[]", "[3,1,2]"),
        ("(n[?@ > `1`])[?@ > `2`][]", "[3]"),
        ("abs(kind)[?a]", "null"),
        ("abs(kind)[]", "null"),
        ("abs(kind).*", "null"),
        ("abs(kind)[*]", "argument 1 of `abs` must be a number, not a string"),
        ("spec.containers[?abs(name)]", "argument 1 of `abs` must be a number, not a string"),
    ];
    for (text, want) in cases {
        assert_eq!(forgive(text), want, "{text}");
    }
}

#[test]
fn exhausted_budget_is_an_error_in_the_forgiving_language() {
    let text = "map(&@, @)[?@ == `1`]";
    let expression =
        JmesPathExpression::parse_as(text, &JmesPathFunctions::standard(), JmesPathLanguage::Forgiving)
            .unwrap();
    let long = Value::array(vec![Value::Null; 1_000]);
    let limits = Limits { steps: 500, ..Limits::default() };
    let error = expression.evaluate(&long, &mut Budget::new(limits)).expect_err(text);
    assert_eq!(error.kind, JmesPathErrorKind::Limit);
}

#[test]
fn a_function_may_take_no_arguments_and_keep_a_value_of_its_own() {
    let now = Value::from("2024-05-01T10:00:00Z");
    let functions =
        JmesPathFunctions::none().with("time_now", JmesPathSignature::of([]), move |_, _| Ok(now.clone()));
    let expression = JmesPathExpression::parse("time_now()", &functions).unwrap();
    let found = expression.evaluate(&Value::Null, &mut Budget::default()).unwrap();
    assert_eq!(found, Value::from("2024-05-01T10:00:00Z"));
    assert!(JmesPathExpression::parse("time_now(@)", &functions).is_err());
}

#[test]
fn long_expressions_are_flat() {
    let root = json::parse(r#"{"a":1}"#).unwrap();
    for (unit, glue) in [("a", "."), ("@", " | "), ("a", " || "), ("a", " && "), ("a", ".")] {
        let text = vec![unit; 20_000].join(glue);
        assert!(parse(&text).evaluate(&root, &mut Budget::default()).is_ok(), "{unit}{glue}");
    }
    assert!(parse(&format!("a{}", "[0]".repeat(20_000))).evaluate(&root, &mut Budget::default()).is_ok());
}

#[test]
fn deep_expressions_are_refused() {
    let nested = |open: &str, close: &str| format!("{}a{}", open.repeat(5_000), close.repeat(5_000));
    let texts = [
        nested("(", ")"),
        nested("[", "]"),
        nested("{a: ", "}"),
        nested("!", ""),
        nested("to_array(", ")"),
        nested("a[?", "]"),
        nested("a[*].", ""),
        format!("a{}", "[]".repeat(5_000)),
        format!("a{}", "[*]".repeat(5_000)),
        vec!["a"; 5_000].join(" == "),
        vec!["[@]"; 5_000].join(" | "),
        format!("@{}", ".{a: @}".repeat(5_000)),
    ];
    for text in texts {
        let error = JmesPathExpression::parse(&text, &JmesPathFunctions::standard()).expect_err(&text);
        assert_eq!(error.message, "nested deeper than 128 levels", "{text:.20}");
    }
}

/// With few levels, the elements of a source are all found before the first is used.
#[test]
fn elements_are_the_same_whether_or_not_their_source_is_listed_first() {
    let pod = json::parse(POD).unwrap();
    let texts = [
        "spec.[containers[], none[], kind[], @][].ports[].p",
        "spec.[containers, none][].[ports, name][]",
        "[n, mixed, empty, none][][][]",
        "mixed[][][?@ != `3`]",
        "spec.containers[].ports[?p > `80`][].[p, @][]",
        "spec.containers[].ports[].keys(@)[]",
        "[spec.containers[], n[]][][0:2]",
        "none.[a[], b][]",
        "[a, b].[kind[], n[]][]",
    ];
    for text in texts {
        let expression = parse(text);
        let run = |depth: u32| {
            let mut budget = Budget::new(Limits { depth, ..Limits::default() });
            let found = expression.evaluate(&pod, &mut budget);
            found.map(|value| (value.to_string(), budget.steps_used(), budget.bytes_used()))
        };
        let least = (0..256).find_map(|depth| run(depth).ok()).expect(text);
        assert_eq!(run(256).expect(text), least, "{text}");
    }
}

#[test]
fn deep_sources_of_deep_elements_fit_a_small_stack() {
    let run = || {
        let nested = Value::array(vec![Value::array(vec![Value::from(1_i64)])]);
        let sources = format!("@{}.[@{}]", "[]".repeat(120), "[]".repeat(100));
        let lists = format!("@{}.{}@{}", "[]".repeat(100), "[".repeat(26), "]".repeat(26));
        for text in [sources, lists] {
            assert!(parse(&text).evaluate(&nested, &mut Budget::default()).is_ok(), "{text}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn budget_limits_growing_results() {
    let long = Value::array((0..10_000_i64).map(Value::from).collect());
    exhaust("[?length(map(&@, [@, @])) > `0`] | [*].[@, @, @, @, @, @, @, @, @, @]", &long);
    exhaust(&vec!["[@, @]"; 100].join(" | "), &Value::Bool(true));
    exhaust(&format!("{} | to_string(@)", ["[@, @, @, @]"; 4].join(" | ")), &long);
    exhaust(&format!("map(&contains(`{long}`, @), @)"), &long);
    let text = Value::from("x".repeat(10_000));
    exhaust(&format!("join(@, [{}])", vec!["@"; 200].join(", ")), &text);
}
