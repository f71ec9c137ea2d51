use kubewright_value::{Limits, Number, json};

use super::*;

const OBJECT: &str = r#"{
  "kind": "Pod", "count": 3, "ratio": 2.5, "text": "12", "nothing": null, "yes": true, "no": false,
  "huge": 9007199254740993, "million": 1000000,
  "list": [10, 20, 30, 40, 50],
  "people": [{"name": "ann", "age": 31}, {"name": "bob", "age": "17"}, {"name": "cid"}, 4, null],
  "deep": {"a": {"x": 1}, "b": [{"x": 2}, {"y": 3}], "x": 4},
  "7": "seven", "a-b": {"c/d": "here"}, "empty": [], "none": {}
}"#;

fn object() -> Value {
    json::parse(OBJECT).unwrap()
}

/// Evaluates and writes the result down: JSON, `undefined`, or `error: …`.
fn answer(expression: &str) -> String {
    let parsed = match JsonPathExpression::parse(expression) {
        Ok(parsed) => parsed,
        Err(error) => return format!("parse error at {}: {error}", error.position),
    };
    let one = |value: &Value| match value {
        Value::Number(Number::Float(float)) if !float.is_finite() => render_text(value).into_owned(),
        value => value.to_string(),
    };
    match parsed.evaluate(&object(), &mut Budget::default()) {
        Err(error) => format!("error at {}: {error}", error.position),
        Ok(JsonPathResult::Undefined) => "undefined".to_owned(),
        Ok(JsonPathResult::One(value)) => one(&value),
        Ok(JsonPathResult::Many(items)) => {
            let items: Vec<_> =
                items.iter().map(|item| item.as_ref().map_or("undefined".to_owned(), one)).collect();
            format!("[{}]", items.join(","))
        }
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (expression, want) in cases {
        assert_eq!(answer(expression), *want, "`{expression}`");
    }
}

#[test]
fn a_plain_path_finds_one_value() {
    check(&[
        ("$.kind", r#""Pod""#),
        ("$.people[0].age", "31"),
        (r#"$.people["0"]["age"]"#, "31"),
        ("$ . people [ 0 ] /* first */ .name // the end", r#""ann""#),
        ("$[7]", r#""seven""#),
        ("$['a-b']['c/d']", r#""here""#),
        ("$.list[1.9]", "20"),
        ("$.list[length(@) - 1]", "50"),
        ("$.nothing", "null"),
        ("$.missing", "undefined"),
        ("$.nothing.key", "undefined"),
        ("$.missing.key.key", "undefined"),
    ]);
}

#[test]
fn a_plain_path_fails_on_what_has_no_keys() {
    check(&[
        ("$.list[5]", "error at 1:7: index 5 is out of bounds, the array has 5 items"),
        ("$.list[-1]", "error at 1:7: index -1 is out of bounds, the array has 5 items"),
        ("$.list.name", "error at 1:7: an array is indexed by number, found string"),
        ("$.kind.name", "error at 1:7: string has no keys, expected an object or array"),
        ("isDefined($.count.x)", "error at 1:18: number has no keys, expected an object or array"),
    ]);
}

#[test]
fn wildcards_find_lists_and_drop_what_fails() {
    check(&[
        ("$.people[*].name", r#"["ann","bob","cid"]"#),
        ("$.people.*.age", r#"[31,"17"]"#),
        ("$.kind[*]", "[]"),
        ("$.count.x[*]", "[]"),
        ("$.missing[*]", "[]"),
        ("$.list[0,2,9]", "[10,30]"),
        ("$.deep..x", "[4,1,2]"),
        ("$.deep.*.x", "[1]"),
        (r#"$.deep..["x","y"]"#, "[4,1,2,3]"),
        ("$.deep.b..*", r#"[{"x":2},{"y":3},2,3]"#),
        ("$.people[*].age(@ > 20)", "[true,false,false,false]"),
    ]);
}

#[test]
fn ranges_count_from_either_end() {
    check(&[
        ("$.list[1:3]", "[20,30]"),
        ("$.list[:-1]", "[10,20,30,40]"),
        ("$.list[1:-1]", "[20,30,40]"),
        ("$.list[-2:]", "[40,50]"),
        ("$.list[::2]", "[10,30,50]"),
        ("$.list[::-2]", "[50,30,10]"),
        ("$.list[3:1]", "[]"),
        ("$.list[-99:99]", "[10,20,30,40,50]"),
        ("$.list[::0]", "[10,20,30,40,50]"),
        ("$.deep[0:1]", "[]"),
        ("$.list[$.missing:]", "[]"),
    ]);
}

#[test]
fn filters_keep_what_is_true() {
    check(&[
        (r#"$.people[? @.name == "bob"].age"#, r#"["17"]"#),
        ("$.people[?(@.age > 16)].name", r#"["ann","bob"]"#),
        ("$.people[? isUndefined(@.age)]", r#"[{"name":"cid"},null]"#),
        ("$.people[? @.age]", r#"[{"name":"ann","age":31},{"name":"bob","age":"17"}]"#),
        ("$.list[? @ == $.count * 10]", "[30]"),
        ("$.people[? @.name]", "[]"),
        ("$.list[? $.list[? @ > 20]]", "[]"),
        ("$.list[? length($.list[? @ > 20]) == 3]", "[10,20,30,40,50]"),
    ]);
}

#[test]
fn every_comparison_with_undefined_is_false() {
    check(&[
        ("$.missing == 1", "false"),
        ("$.missing != 1", "false"),
        (r#"$.missing != "x""#, "false"),
        ("$.missing != $.missing", "false"),
        (r#"$.missing < "x""#, "false"),
        ("!($.missing == 1)", "true"),
        ("$.missing in [1]", "false"),
        (r#"$.missing =~ "^$""#, "true"),
        ("$.missing + 1", "NaN"),
        (r#"$.missing + "a""#, r#""a""#),
        (r#"$.missing ?? "other""#, "undefined"),
        (r#"$.nothing ?? "other""#, r#""other""#),
        ("[$.missing, 1]", "[undefined,1]"),
        ("$.missing && true", "error at 1:11: expected boolean, found undefined"),
    ]);
}

#[test]
fn equality_converts_only_one_string() {
    check(&[
        (r#"$.text == 12"#, "true"),
        (r#"12 == "1.2e1""#, "true"),
        (r#""1.10" == "1.1""#, "false"),
        (r#""NaN" == "NaN""#, "true"),
        ("0/0 == 0/0", "false"),
        ("true == 1", "false"),
        (r#"true == "true""#, "false"),
        ("$.list[0:2] == [10, 20]", "true"),
        ("$.none == {}", "true"),
        ("12 in [\"12\"]", "false"),
        ("$.list[1] in $.list", "true"),
        ("1 in 1", "error at 1:3: the right side of `in` must be an array or an object, found number"),
    ]);
}

#[test]
fn strict_equality_converts_nothing() {
    check(&[
        ("$.count === 3", "true"),
        ("$.count === 3.0", "true"),
        (r#"$.count === "3""#, "false"),
        (r#"$.count !== "3""#, "true"),
        (r#"$.kind === "Pod""#, "true"),
        (r#"$.kind!=="Pod""#, "false"),
        ("$.yes === true", "true"),
        ("$.list === [10, 20, 30, 40, 50]", "true"),
        ("$.nothing === null", "true"),
        ("$.missing === 12", "false"),
        ("$.missing !== 12", "false"),
        (r#"$.people[? @.name === "ann"].age"#, "[31]"),
        (r#"$.people[? @.age !== 31].name"#, r#"["bob"]"#),
    ]);
}

#[test]
fn operators_of_javascript_bind_as_they_do_there() {
    check(&[
        ("true == 1 < 2", "true"),
        ("1 < 2 === true", "true"),
        ("false != 2 > 1", "true"),
        ("!($.count > 2 && $.count < 4) || $.no", "false"),
        (r#"$.count > 2 ? $.kind === "Pod" : false"#, "true"),
        (r#""x" in $.deep"#, "true"),
        (r#""nowhere" in $.deep"#, "false"),
        (r#"!("kind" in $.none)"#, "true"),
        (r#"$.kind in ["Pod", "Job"]"#, "true"),
    ]);
}

#[test]
fn order_is_by_number_or_by_text() {
    check(&[
        ("2 < 10", "true"),
        (r#""2" < "10""#, "false"),
        (r#"2 < "10""#, "true"),
        (r#""abc" > 3"#, "true"),
        ("1 < 2 < 3", "false"),
        ("null < 3", "error at 1:6: operator `<` cannot be used on null and number"),
    ]);
}

#[test]
fn integers_stay_exact_while_they_fit() {
    check(&[
        ("$.huge", "9007199254740993"),
        ("$.huge + 1", "9007199254740994"),
        ("$.huge == 9007199254740992", "false"),
        ("18446744073709551615 - 1", "18446744073709551614"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775807 + 9223372036854775807", "18446744073709551614"),
        ("18446744073709551615 * 2", "36893488147419103000"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3"),
        ("-7 % 4", "-3"),
        ("2 ** 3 ** 2", "64"),
        ("1 / 0", "+Inf"),
        ("5 | 2", "7"),
        ("~5", "-6"),
        ("1 << 64", "0"),
    ]);
}

#[test]
fn addition_falls_back_to_text() {
    check(&[
        (r#""1" + 2"#, "3"),
        (r#""1" + "2""#, r#""12""#),
        (r#""n" + $.million"#, r#""n1000000""#),
        (r#"$.list + 1"#, r#""[10 20 30 40 50]1""#),
        (r#"null + "a""#, "error at 1:6: operator `+` cannot be used on null and string"),
    ]);
}

#[test]
fn logic_wants_booleans_and_looks_right_only_if_needed() {
    check(&[
        ("false && $.kind", "false"),
        ("true || $.kind", "true"),
        ("true && $.kind", "error at 1:9: expected boolean, found string"),
        ("! isDefined($.kind) || true", "true"),
        ("!!true", "true"),
        ("$.yes ? 1 : 2", "1"),
        ("$.nothing ? 1 : 2", "2"),
        ("$.missing ? 1 : 2", "1"),
        ("false ? 1", "null"),
    ]);
}

#[test]
fn functions_measure_and_test() {
    check(&[
        (r#"length("hé")"#, "3"),
        ("length($.people[*].name)", "3"),
        ("length($.missing)", "0"),
        ("length(1)", "error at 1:8: function `length` takes no number"),
        ("isEmpty(1)", "false"),
        ("isNotEmpty(true)", "true"),
        ("isEmpty($.people[*].nope)", "true"),
        ("isUndefined($.people[*].nope)", "false"),
        ("isDefined()", "error at 1:1: function `isDefined` takes exactly one argument"),
        (r#"date("2020-02-29")"#, r#""2020-02-29 00:00:00 +0000 UTC""#),
        (r#"date("2020-01-01T10:11:12.50+02:00")"#, r#""2020-01-01 10:11:12.5 +0200 +0200""#),
        (r#"date("Mon Jan  2 15:04:05 UTC 2006")"#, r#""2006-01-02 15:04:05 +0000 UTC""#),
        (r#"date("2021-02-29")"#, "error at 1:6: `2021-02-29` is not a date"),
        (r#"date("2020-01-01") < date("2020-01-02")"#, "true"),
    ]);
}

#[test]
fn bare_names_are_keys_of_the_root() {
    check(&[
        ("kind", r#""Pod""#),
        ("people[0].name", r#""ann""#),
        ("missing", "null"),
        ("missing.key", "error at 1:8: nothing has the key `key`"),
    ]);
}

#[test]
fn what_cannot_work_is_a_parse_error() {
    let want = "unknown function `size`, expected one of `length`, `isDefined`, `isUndefined`, `isEmpty`, `isNotEmpty`, `date`";
    check(&[
        ("1 + size($)", &format!("parse error at 1:5: {want}")),
        ("length $.a", "parse error at 1:1: function `length` needs parentheses"),
        (r#"$.a =~ "(""#, "parse error at 1:9: bad regular expression: missing closing ): `(`"),
        (r#""a\.b""#, r"parse error at 1:3: unknown escape `\.` in a string, write `\\.` or use backquotes"),
        ("0x10", "parse error at 1:1: `0x10` is not a decimal number"),
        ("", "parse error at 1:1: expected a value, found the end of the expression"),
        ("$.a $.b", "parse error at 1:5: expected an operator or the end of the expression, found `$`"),
        ("$.a\n  ]", "parse error at 2:3: expected an operator or the end of the expression, found `]`"),
        ("$.a[1,2:3]", "parse error at 1:8: expected `,`, `:` or `]`, found `:`"),
        ("$.a[1:2:3:4]", "parse error at 1:11: a range has at most three parts, `[from:to:step]`"),
        ("$.", "parse error at 1:3: expected a key, `*` or `.`, found the end of the expression"),
        ("'abc", "parse error at 1:1: string is not closed"),
    ]);
}

#[test]
fn smaller_languages_refuse_the_rest() {
    let parses = |text, language| JsonPathExpression::parse_as(text, language).is_ok();
    assert!(parses("$.a[?@.b == 1]", JsonPathLanguage::Paths));
    assert!(!parses("$.a + 1", JsonPathLanguage::Paths));
    assert!(!parses("length($)", JsonPathLanguage::Paths));
    assert!(!parses("{\"a\": 1}", JsonPathLanguage::Paths));
    assert!(parses("{#0: $.*}", JsonPathLanguage::Placeholders));
    assert!(!parses("{#0: 1}", JsonPathLanguage::Full));
    assert!(!parses("#0", JsonPathLanguage::Full));
}

#[test]
fn placeholders_name_the_captured_keys() {
    check(&[
        ("{#0: $.list[1:3]}", r#"{"1":20,"2":30}"#),
        ("{#1: $.deep.*.*}", r#"{"x":1,"0":{"x":2},"1":{"y":3}}"#),
        ("{#: $.deep..x}", r#"{"$":4,"$[\"a\"]":1,"$[\"b\"][\"0\"]":2}"#),
        (r#"{"k" + #0: $.list[0,1], "z": 1}"#, r#"{"k0":10,"k1":20,"z":1}"#),
        ("{#1: $.list[*]}", "error at 1:2: placeholder `#1` has nothing captured"),
    ]);
}

/// Writes each selected value as `keys path value`.
#[track_caller]
fn selects(path: &str, want: &[&str]) {
    let root = object();
    let select = JsonPathSelector::parse(path).unwrap();
    let found = select.evaluate(&root, &mut Budget::default()).unwrap();
    let places = select.places(&root, &mut Budget::default()).unwrap();
    let shown: Vec<_> = found
        .iter()
        .zip(&places)
        .map(|(selected, (place, value))| {
            assert_eq!(root.follow(place), Some(value));
            assert_eq!(value, &selected.value);
            let keys: Vec<_> = selected.keys.iter().map(CapturedKey::to_string).collect();
            format!("{} {}", keys.join(","), selected.value)
        })
        .collect();
    assert_eq!(shown, want, "`{path}`");
}

#[test]
fn selecting_keeps_keys_and_paths() {
    selects("$.kind", &[r#" "Pod""#]);
    selects("$.people[*].age", &["0 31", r#"1 "17""#]);
    selects("$.deep..x", &[" 4", "a 1", "b,0 2"]);
    selects("$.people[? @.age > 20].name", &[r#"0 "ann""#]);
    selects("$.list[-1:]", &["4 50"]);
    selects(r#"$["a-b","none"][*]"#, &[r#"a-b,c/d "here""#]);
    selects("$.missing", &[]);
    selects("$.list[9]", &[]);
    selects("$.nothing", &[" null"]);
}

#[test]
fn a_select_is_nothing_but_a_path() {
    assert!(JsonPathSelector::parse("$.a, \"x\": $.b").is_err());
    assert!(JsonPathSelector::parse("length($.a)").is_err());
    assert!(JsonPathSelector::parse("$.a == 1").is_err());
    assert!(JsonPathSelector::parse("").is_err());
    let captures = |text: &str| JsonPathSelector::parse(text).unwrap().captures();
    assert_eq!(captures("$.a[*].b[?@.c == 1]"), (2, Some(2)));
    assert_eq!(captures("$.a..b[1:]"), (1, None));
}

#[test]
fn an_expression_tells_what_it_needs() {
    let parse = |text: &str| JsonPathExpression::parse(text).unwrap();
    let steps = [Step::from("a"), Step::from("b c"), Step::from(0)];
    assert_eq!(parse("$.a['b c'][0]").plain_path(), Some(&steps[..]));
    assert_eq!(parse("$.a[*]").plain_path(), None);
    assert_eq!(parse("$.a['0']").plain_path(), None);
    let pins = parse(r#"$.kind == "Pod" && ("v1" == $.apiVersion && $.n == 5) && $.a == "7""#).pinned();
    assert_eq!(
        pins,
        [(vec![Step::from("kind")], "Pod".into()), (vec![Step::from("apiVersion")], "v1".into())]
    );
    assert!(parse(r#"$.kind == "Pod" || true"#).pinned().is_empty());
    assert!(parse("$.a[? $.b == 1]").reads_root_key("b"));
    assert!(!parse("$.a[? @.b == 1]").reads_root_key("b"));
    assert!(parse("length($)").reads_root_key("b"));
    assert!(parse("$..x").reads_root_key("b"));
    assert!(parse("b.c").reads_root_key("b"));
    let presence = (JsonPathLint::PresenceFilter, Position { line: 1, column: 4 });
    assert_eq!(parse("$.a[?@.x].b[? @.y == 1]").lints(), [presence]);
    assert!(parse("$.a == 1 && true").is_boolean());
    assert!(!parse("$.a").is_boolean());
}

#[test]
fn what_is_hardly_meant_is_pointed_out() {
    let lints = |text: &str| -> Vec<_> {
        let found = JsonPathExpression::parse(text).unwrap().lints();
        found.into_iter().map(|(lint, position)| (lint, position.column)).collect()
    };
    assert_eq!(lints("$.a[?@.x]"), [(JsonPathLint::PresenceFilter, 4)]);
    assert_eq!(lints("length($.a[? @.p[? @.q == 3]])"), [(JsonPathLint::ListFilter, 11)]);
    assert_eq!(lints("$.my-key == 1"), [(JsonPathLint::HyphenatedKey, 5)]);
    assert_eq!(lints("isDefined($.a[*].b)"), [(JsonPathLint::AlwaysDefined, 1)]);
    assert_eq!(lints(r#"true && "x" == $.a[*].b"#), [(JsonPathLint::ListCompared, 13)]);
    assert_eq!(lints(r#"$.a[*].b =~ "x""#), [(JsonPathLint::ListSearched, 10)]);
    assert_eq!(lints(r#"$.a[? @.b == 1].c == [1] && $.k - 1 > 2 && isDefined($.a.b)"#), []);
}

#[test]
fn values_print_as_go_prints_them() {
    let value = json::parse(r#"{"b":[1,"x",null],"a":{"n":1000000,"f":1234567.5,"t":true}}"#).unwrap();
    assert_eq!(render_text(&value), "map[a:map[f:1.2345675e+06 n:1000000 t:true] b:[1 x <nil>]]");
    assert_eq!(render_go_text(&value), "map[a:map[f:1.2345675e+06 n:1e+06 t:true] b:[1 x <nil>]]");
    assert_eq!(render_go_text(&Value::from(0.00001)), "1e-05");
    assert_eq!(render_text(&Value::from(100.0)), "100");
}

#[test]
fn hostile_expressions_end_in_an_error() {
    for opening in ["(", "[", "$[", "$(", "!(", "-(", "length(", "{\"a\":", "1?1:", "$[?", "0**("] {
        assert!(JsonPathExpression::parse(&opening.repeat(100_000)).is_err(), "`{opening}`");
    }
    let deep = format!("{}1{}", "(".repeat(60), ")".repeat(60));
    assert_eq!(answer(&deep), "1");
    assert_eq!(answer(&format!("{}true", "!".repeat(100_000))), "true");
    assert_eq!(answer(&format!("0{}", " + 1".repeat(100_000))), "100000");
    assert_eq!(answer(&format!("true{}", " && true".repeat(100_000))), "true");
    assert_eq!(answer(&format!("$.missing{}", ".x".repeat(100_000))), "undefined");
    assert_eq!(answer(&format!("${}", "..*".repeat(100_000))), "[]");
    assert!(answer(&format!("${}", "..(@)".repeat(100_000))).starts_with("error"));
    assert!(answer("$..*[?$..*[?$..*[?$..*[?$..*[?$..* == 1]]]]]").contains("is used up"));
}

#[test]
fn deep_objects_are_walked_or_refused() {
    let nested = |depth| (0..depth).fold(Value::from(1_i64), |inner, _| Value::array(vec![inner]));
    let all = |text: &str, depth| {
        JsonPathExpression::parse(text)
            .unwrap()
            .evaluate(&nested(depth), &mut Budget::default())
            .map_err(|error| error.kind)
    };
    assert!(matches!(all("$..*", 100), Ok(JsonPathResult::Many(items)) if items.len() == 100));
    assert_eq!(all("$..*", 300), Err(JsonPathErrorKind::Limit));
    let filters = format!("{}@ == 1{}", "$..[?length(".repeat(20), ") > 0]".repeat(20));
    assert_eq!(all(&filters, 250), Err(JsonPathErrorKind::Limit));
}

#[test]
fn text_of_large_lists_is_limited() {
    let item = Value::from("x".repeat(1000));
    let root = Value::array(vec![Value::array(vec![item; 1000]); 4]);
    let evaluate =
        |text: &str| JsonPathExpression::parse(text).unwrap().evaluate(&root, &mut Budget::default());
    assert_eq!(evaluate(r#"$ =~ "y""#), Ok(JsonPathResult::One(Value::Bool(false))));
    assert_eq!(evaluate(r#"[$, $, $] =~ "y""#).unwrap_err().kind, JsonPathErrorKind::Limit);
    assert_eq!(evaluate(r#"$[*][? $ =~ "y"]"#).unwrap_err().kind, JsonPathErrorKind::Limit);
}

#[test]
fn expressions_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<JsonPathExpression>();
    shared::<JsonPathSelector>();
}

#[test]
fn a_used_up_budget_is_never_a_no() {
    let expression = JsonPathExpression::parse("$.list[? $.list[*] == 1]").unwrap();
    let mut budget = Budget::new(Limits { steps: 5, ..Limits::default() });
    let error = expression.evaluate(&object(), &mut budget).unwrap_err();
    assert_eq!(error.kind, JsonPathErrorKind::Limit);
}

#[test]
fn failed_branches_give_their_depth_back() {
    let expression = JsonPathExpression::parse("length([? 1]) == 1 || true").err();
    assert!(expression.is_some());
    let items: Vec<Value> = (0..10_000_i64).map(Value::from).collect();
    let root = Value::array(items);
    let expression = JsonPathExpression::parse("$[? (1 + (2 + @.x)) > 1 || @ == 9999]").unwrap();
    assert_eq!(expression.evaluate(&root, &mut Budget::default()), Ok(JsonPathResult::Many(Vec::new())));
}
