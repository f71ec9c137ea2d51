//! The added functions, by theme.

use kubewright_golib::regex;
use kubewright_value::{Budget, Map, Value, json};

use super::super::{Inputs, JmesPathExpression, JmesPathFunctions};

/// Evaluates `text` and compares the JSON, or the error, with `want`.
#[track_caller]
fn check(text: &str, want: &str) {
    let found = JmesPathExpression::parse(text, &JmesPathFunctions::kubernetes())
        .map_err(|error| error.message)
        .and_then(|expression| {
            expression
                .evaluate(&Value::object(Map::new()), &mut Budget::default())
                .map_err(|error| error.message)
        })
        .map_or_else(|message| message, |value| json::to_string(&value));
    assert_eq!(found, want, "{text}");
}

#[test]
fn texts_are_compared_by_characters() {
    check("compare('a', 'b')", "-1");
    check("compare('b', 'b')", "0");
    check("compare('ä', 'b')", "1");
    check("equal_fold('Straße', 'sTRAßE')", "true");
    check("equal_fold('\u{212a}', 'k')", "true");
    check("equal_fold('ss', 'ß')", "false");
    check("to_upper('äß1')", "\"Äß1\"");
    check("to_lower('ÄB')", "\"äb\"");
    check("to_boolean('TRUE')", "true");
    check("to_boolean('yes')", "expected `true` or `false`, found `yes`");
}

#[test]
fn texts_are_cut_and_replaced() {
    check("replace('a-b-c', '-', '+', `1`)", "\"a+b-c\"");
    check("replace('a-b-c', '-', '+', `-1`)", "\"a+b+c\"");
    check("replace('a-b-c', '-', '+', `0`)", "\"a-b-c\"");
    check("replace('ab', '', '.', `2`)", "\".a.b\"");
    check("replace_all('ab', '', '.')", "\".a.b.\"");
    check("trim('--a-b-', '-')", "\"a-b\"");
    check("trim_prefix('v1', 'v')", "\"1\"");
    check("trim_prefix('1', 'v')", "\"1\"");
    check("split('a,b,', ',')", r#"["a","b",""]"#);
    check("split('aé', '')", r#"["a","é"]"#);
    check("split('', ',')", r#"[""]"#);
    check("split('', '')", "[]");
    check("truncate('héllo', `2`)", "\"hé\"");
    check("truncate('a', `-1`)", "\"\"");
    check("path_canonicalize('/a/./b//../c/')", "\"/a/c\"");
    check("path_canonicalize('../../x')", "\"../../x\"");
    check("path_canonicalize('/../x')", "\"/x\"");
    check("path_canonicalize('a/..')", "\".\"");
    check("path_canonicalize('')", "\"\"");
}

#[test]
fn regular_expressions_are_those_of_go_and_unanchored() {
    check("regex_match('b+', 'abbc')", "true");
    check("regex_match('^b', 'ab')", "false");
    check("regex_match('^16777216$', `16777217`)", "true");
    check("regex_match('[', 'a')", "bad regular expression `[`: missing closing ]: `[`");
    check(
        "regex_match('a', `true`)",
        "argument 2 of `regex_match` must be a number or a string, not a boolean",
    );
    check("regex_replace_all('(a)(b)', 'xabab', '$2$1')", "\"xbaba\"");
    check("regex_replace_all_literal('a', 'aba', '$1')", "\"$1b$1\"");
    check("regex_replace_all('\\d', `12`, `3`)", "\"33\"");
}

#[test]
fn pattern_match_matches_the_whole_text() {
    check("pattern_match('nginx:*', 'nginx:1')", "true");
    check("pattern_match('?', '')", "false");
    check("pattern_match('*', '')", "true");
    check("pattern_match('a*b*c', 'a--b-bc')", "true");
    check("pattern_match('a*b', 'a-b-')", "false");
    check("pattern_match('1?', `12`)", "true");
    check("pattern_match('', '')", "true");
    let (pattern, text) = ("*a".repeat(2_000), "a".repeat(4_000));
    check(&format!("pattern_match('{pattern}b', '{text}')"), "false");
}

#[test]
fn label_match_needs_all_wanted_labels() {
    check("label_match(`{\"a\":\"1\"}`, `{\"b\":\"2\",\"a\":\"1\"}`)", "true");
    check("label_match(`{\"a\":\"1\"}`, `{\"a\":\"2\"}`)", "false");
    check("label_match(`{}`, `{\"a\":\"2\"}`)", "true");
}

#[test]
fn a_bad_version_counts_as_zero_and_a_bad_range_fails() {
    check("semver_compare('1.2.3', '>=1.0.0 <2.0.0')", "true");
    check("semver_compare('1.2.3', '<1.0.0 || >2.0.0')", "false");
    check("semver_compare('latest', '<0.0.1')", "true");
    check("semver_compare('1.2.3', 'new')", "bad version range `new`: the comparison `new` has no version");
}

#[test]
fn base64_json_and_yaml_are_decoded_and_encoded() {
    check("base64_decode(base64_encode('aé'))", "\"aé\"");
    check("base64_decode('YR==')", "\"a\"");
    check("base64_decode('YQ')", "the text is not base64: Invalid padding");
    check("sha256('a')", "\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\"");
    check("sha1('a')", "\"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8\"");
    check("md5('')", "\"d41d8cd98f00b204e9800998ecf8427e\"");
    check("md5('a')", "\"0cc175b9c0f1b6a831c399e269772661\"");
    let long = "1234567890".repeat(8);
    check(&format!("md5('{long}')"), "\"57edf4a22be3c955ac49da2e2107b67a\"");
    check("parse_json('{\"a\": [1, null]}').a", "[1,null]");
    check("parse_yaml('a: [1, b]')", r#"{"a":[1,"b"]}"#);
}

#[test]
fn lookup_and_items_take_computed_keys() {
    check("lookup(`{\"a\":1}`, 'a')", "1");
    check("lookup(`{\"a\":1}`, 'b')", "null");
    check("lookup(`[1]`, `0`)", "1");
    check("lookup(`[1]`, `-1`)", "null");
    check("lookup(`[1]`, `0.5`)", "an index must be an integer, not `0.5`");
    check("lookup(`[1]`, 'a')", "argument 2 of `lookup` in an array must be a number");
    check("items(`{\"b\":1,\"a\":2}`, 'k', 'v')", r#"[{"k":"a","v":2},{"k":"b","v":1}]"#);
    check("items(`[3]`, 'k', 'v')", r#"[{"k":0,"v":3}]"#);
    check("object_from_lists(['a', 'b'], [`1`])", r#"{"a":1,"b":null}"#);
    check("object_from_lists(`[null]`, `[]`)", "a key must be a string, not null");
}

#[test]
fn quantities_keep_their_unit() {
    check("add('1Gi', '512Mi')", "\"1536Mi\"");
    check("subtract('1', '100m')", "\"900m\"");
    check("multiply('1Gi', `2`)", "\"2Gi\"");
    check("multiply(`0.5`, '3')", "\"1500m\"");
    check("divide('1500m', `2`)", "\"750m\"");
    check("divide('10', `4`)", "\"2\"");
    check("divide('1.5Gi', `1000`)", "\"1610612736m\"");
    check("divide('4565G', `1e6`)", "\"4M\"");
    check("divide('1Gi', '512Mi')", "2");
    check("modulo('10Ki', '3Ki')", "\"1Ki\"");
    check("modulo('1500m', '1')", "a modulo takes integers only");
    check("add('1m', '1m')", "\"2m\"");
}

#[test]
fn durations_and_numbers_are_calculated_with_too() {
    check("add('1h', '30s')", "\"1h0m30s\"");
    check("multiply('1h', `1.5`)", "\"1h30m0s\"");
    check("divide('1h', '30s')", "120");
    check("modulo('1h', '25s')", "\"0s\"");
    check("add(`9007199254740993`, `2`)", "9007199254740995");
    check("add(`0.5`, `0.25`)", "0.75");
    check("divide(`6`, `4`)", "1.5");
    check("modulo(`-7`, `3`)", "-1");
    check("round(`2.345`, `1`)", "2.3");
    check("round(`-2.5`, `0`)", "-3");
    check("sum(['1h', '30s', '30s'])", "\"1h1m0s\"");
    check("sum(`[1, 2.5]`)", "3.5");
}

#[test]
fn arithmetic_errors_name_the_operands() {
    check("add('1Gi', '1h')", "cannot add a quantity and a duration");
    check("divide(`1`, `0`)", "division by zero");
    check("divide('1h', `0`)", "division by zero");
    check("multiply(`1e300`, `1e300`)", "the result is too large");
    check("multiply('1h', `1e300`)", "the result is too large");
    check("add('x', `1`)", "`x` is neither a quantity nor a duration");
    check("add(`null`, `1`)", "expected a number, a quantity or a duration, found null");
    check("sum(`[]`)", "an empty array has no sum");
    check("round(`1`, `-1`)", "the number of places must not be negative");
    check("modulo(`-9223372036854775808`, `-1`)", "0");
}

#[test]
fn time_functions_compare_points_in_time() {
    check("time_add('2024-02-28T23:30:00Z', '1h')", "\"2024-02-29T00:30:00Z\"");
    check("time_add('2024-01-01T00:00:00+02:00', '-1s')", "\"2023-12-31T23:59:59+02:00\"");
    check("time_utc('2024-01-01T00:00:00+02:00')", "\"2023-12-31T22:00:00Z\"");
    check("time_before('2024-01-01T00:00:00+02:00', '2024-01-01T00:00:00Z')", "true");
    check("time_after('2024-01-01T00:00:00Z', '2024-01-01T02:00:00+02:00')", "false");
    check("time_diff('2024-01-01T00:00:00Z', '2024-01-02T00:00:01Z')", "\"24h0m1s\"");
    check("time_diff('9999-01-01T00:00:00Z', '0001-01-01T00:00:00Z')", "\"-2562047h47m16.854775808s\"");
    check("time_to_cron('2024-05-01T10:20:30Z')", "\"20 10 1 5 3\"");
    check("time_truncate('2024-05-01T10:20:30Z', '1h')", "\"2024-05-01T10:00:00Z\"");
    check("time_truncate('2024-05-01T10:20:30Z', '0s')", "\"2024-05-01T10:20:30Z\"");
}

#[test]
fn time_between_excludes_both_ends() {
    let between =
        |time: &str| format!("time_between('{time}', '2024-01-01T00:00:00Z', '2024-01-03T00:00:00Z')");
    check(&between("2024-01-02T00:00:00Z"), "true");
    check(&between("2024-01-01T00:00:00Z"), "false");
    check(&between("2024-01-03T00:00:00Z"), "false");
}

#[test]
fn times_are_read_by_a_layout() {
    check("time_parse('02-01-2006', '05-12-2023')", "\"2023-12-05T00:00:00Z\"");
    check("time_parse('1', '86400')", "\"1970-01-02T00:00:00Z\"");
    check("time_parse('1', 'x')", "`x` is not a number of seconds");
    check("time_since('', '2024-01-01T00:00:00Z', '2024-01-01T00:01:00Z')", "\"1m0s\"");
    check("time_since('2006', '2023', '2024')", "\"8760h0m0s\"");
    check("time_since('2006', '2023', '')", "`time_since` needs the current time, which is not set");
    check(
        "time_utc('soon')",
        "parsing time \"soon\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"soon\" as \"2006\"",
    );
    check(
        "time_add('2024-01-01T00:00:00Z', '1d')",
        "`1d` is not a duration: unknown unit in a duration, expected `ns`, `us`, `ms`, `s`, `m` or `h`",
    );
}

#[test]
fn images_get_a_registry_and_a_tag() {
    let digest = "a".repeat(64);
    check("image_normalize('nginx')", "\"docker.io/nginx:latest\"");
    check("image_normalize('a/b:1')", "\"docker.io/a/b:1\"");
    check("image_normalize('ghcr.io/a/b')", "\"ghcr.io/a/b:latest\"");
    check("image_normalize('localhost/a')", "\"localhost/a:latest\"");
    check("image_normalize('host:5000/a:v1')", "\"host:5000/a:v1\"");
    check(&format!("image_normalize('a:1@sha256:{digest}')"), &format!("\"docker.io/a@sha256:{digest}\""));
    check("image_normalize('a@sha256:aa')", "`a@sha256:aa` is not an image reference");
    check("image_normalize('a:')", "`a:` is not an image reference");
    check("image_normalize('')", "`` is not an image reference");
    check("image_normalize('docker.io/A')", "`docker.io/A` is not an image reference");
}

/// Evaluates `text` with the current time and a seed set.
fn with_inputs(text: &str, random_seed: u64) -> String {
    let now = Some(1_714_557_600_000_000_000);
    let functions = JmesPathFunctions::kubernetes().with_inputs(Inputs {
        now,
        random_seed: Some(random_seed),
        keys: None,
    });
    let expression = JmesPathExpression::parse(text, &functions).expect(text);
    let found = expression.evaluate(&Value::object(Map::new()), &mut Budget::default());
    found.map_or_else(|error| error.message, |value| json::to_string(&value))
}

#[test]
fn time_now_is_the_callers_time() {
    assert_eq!(with_inputs("time_now()", 0), "\"2024-05-01T10:00:00Z\"");
    assert_eq!(with_inputs("time_now_utc()", 0), "\"2024-05-01T10:00:00Z\"");
    assert_eq!(with_inputs("time_since('', '2024-05-01T09:59:00Z', '')", 0), "\"1m0s\"");
    check("time_now()", "`time_now` needs the current time, which is not set");
    check("random('a')", "`random` needs a seed, which is not set");
}

#[test]
fn random_text_matches_its_pattern() {
    let patterns = [
        "[a-z0-9]{6}",
        "^(foo|bar)-\\d{2,4}$",
        "[^a-y ]+x?",
        "(?:a|b)*[[:upper:]]\\.\\w",
        "[]a-]{3}",
        "\\S\\D.{3}",
        "(?P<n>[A-F]){2}",
        "x{0}y",
        "[\\d_]+?",
    ];
    for pattern in patterns {
        let regex = regex::compile_regex(&format!("^(?:{pattern})$")).expect(pattern);
        for seed in 0..50 {
            let made = json::parse(&with_inputs(&format!("random('{pattern}')"), seed)).expect("a text");
            let text = made.as_str().unwrap_or_default();
            let is_match = regex.is_match(text, &mut Budget::default());
            assert_eq!(is_match, Ok(true), "{pattern} made `{text}`");
        }
    }
    assert_eq!(with_inputs("random('')", 1), "no pattern provided");
    assert_eq!(with_inputs("random('[')", 1), "bad regular expression `[`: missing closing ]: `[`");
    assert_eq!(with_inputs("random('\\pL')", 1), "`random` cannot make up texts for `\\p`");
}

#[test]
fn random_repeats_with_the_same_seed_and_differs_between_calls() {
    let text = "[random('[a-z]{20}'), random('[a-z]{20}')]";
    let made = with_inputs(text, 1);
    assert_eq!(made, with_inputs(text, 1));
    assert_ne!(made, with_inputs(text, 2));
    let parts = json::parse(&made).expect("an array");
    assert_ne!(parts.item(0), parts.item(1));
}

#[test]
fn is_external_url_decides_by_the_text() {
    check("is_external_url('https://8.8.8.8/x')", "true");
    check("is_external_url('https://8.8.8.8/#\n')", "true");
    check("is_external_url('http://10.0.0.1:8080')", "false");
    check("is_external_url('http://[::1]/')", "false");
    check("is_external_url('http://[fd00::1]/')", "false");
    check("is_external_url('http://[::ffff:192.168.0.1]/')", "false");
    check("is_external_url('http://localhost:80')", "false");
    check("is_external_url('http://web.shop.svc.cluster.local')", "false");
    check("is_external_url('http://web.shop.svc')", "false");
    check("is_external_url('8.8.8.8')", "`8.8.8.8` names no host");
    check(
        "is_external_url('https://example.com')",
        "cannot decide for `example.com`: host names are not resolved, only addresses are checked",
    );
}

#[test]
fn json_is_written_as_go_writes_it() {
    check("to_string(`{\"b\":1,\"a\":\"<&\"}`)", r#""{\"a\":\"\\u003c\\u0026\",\"b\":1}""#);
    check("to_string('<')", "\"<\"");
    check("to_string(`1e21`)", "\"1e+21\"");
    check("to_number('+.5')", "0.5");
    check("to_number('007')", "7");
    check("to_number('1_000')", "1000");
    check("to_number('_1')", "null");
    check("to_number('1__0')", "null");
    check("to_number('inf')", "null");
    check("to_number('9007199254740993')", "9007199254740993");
}

#[test]
fn sort_by_of_one_item_ignores_its_key() {
    check("sort_by(`[{}]`, &a)", "[{}]");
    check("max_by(`[{}]`, &a)", "{}");
    check("min_by(`[]`, &a)", "null");
    check("sort_by(`[{}, {}]`, &a)", "cannot order by null, only by string or number");
}

#[test]
fn literal_and_computed_patterns_give_the_same_result() {
    for (call, pattern) in [
        ("regex_match(P, 'abc')", "b+"),
        ("regex_match(P, 'abc')", "["),
        ("regex_replace_all(P, 'abc', '<$0>')", "b"),
        ("regex_replace_all_literal(P, 'abc', '$0')", "b"),
        ("pattern_match(P, 'abc')", "a*"),
        ("semver_compare('1.2.3', P)", ">1.0.0"),
        ("semver_compare('1.2.3', P)", "x"),
    ] {
        let evaluate = |pattern: &str| {
            let expression =
                JmesPathExpression::parse(&call.replace('P', pattern), &JmesPathFunctions::kubernetes());
            let found = expression.expect(call).evaluate(&Value::object(Map::new()), &mut Budget::default());
            found.map_err(|error| error.message)
        };
        assert_eq!(
            evaluate(&format!("'{pattern}'")),
            evaluate(&format!("join('', ['{pattern}'])")),
            "{call}"
        );
    }
}

#[test]
fn every_function_has_a_description() {
    let functions = JmesPathFunctions::kubernetes();
    assert_eq!(functions.names().count(), 76);
    for name in functions.names() {
        let help = functions.signature(name).map(|signature| signature.help()).unwrap_or_default();
        assert!((8..100).contains(&help.len()) && !help.ends_with('.'), "{name}: {help}");
    }
    let shown = |name: &str| functions.signature(name).map(ToString::to_string).unwrap_or_default();
    assert_eq!(shown("merge"), "(object...) -> object");
    assert_eq!(shown("lookup"), "(array|object, number|string) -> any");
    assert_eq!(shown("time_now"), "() -> string");
}
