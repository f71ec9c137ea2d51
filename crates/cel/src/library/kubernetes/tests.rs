//! Results and costs of expressions, as measured with the API server.

use kubewright_value::{Value, json};

use crate::{CelBindings, CelCost, CelEnvironment, CelFailure, CelProgram, CelType, Host};

use super::*;

struct TestAuthorizer;

/// Allows `get`, cannot decide `err`, knows nothing about `unknown`.
impl Host for TestAuthorizer {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, CelFailure> {
        assert_eq!(question, AUTHORIZER_CHECK);
        let check = arguments.first().expect("one argument");
        let answer = match check.get("verb").and_then(Value::as_str) {
            Some("get") => format!(r#"{{"allowed":true,"reason":{}}}"#, json::quote(&json::to_string(check))),
            Some("err") => r#"{"allowed":false,"error":"broken"}"#.to_owned(),
            Some("unknown") => return Err(CelFailure::value("no decision")),
            _ => r#"{"allowed":false,"reason":"no"}"#.to_owned(),
        };
        Ok(json::parse(&answer).expect("JSON"))
    }
}

/// Compiles and evaluates `text`; the result is followed by what it cost.
fn found(text: &str) -> String {
    let object = json::parse(r#"{"ints":[1,2,3],"mixed":[1,"a"],"name":"abc","bad":"["}"#).expect("JSON");
    let environment = CelEnvironment::kubernetes_with_patches()
        .variable("object")
        .variable_of("authorizer", CelType::of(AUTHORIZER_TYPE));
    let program = match CelProgram::compile(text, &environment) {
        Ok(program) => program,
        Err(errors) => return format!("refused: {}", errors.first().expect("an error")),
    };
    let bindings = CelBindings::new()
        .with("object", &object)
        .with_val("authorizer", authorizer())
        .with_host(&TestAuthorizer);
    let mut cost = CelCost::default();
    match program.evaluate(&bindings, &mut cost) {
        Ok(value) => format!("{value:?} for {}", cost.used()),
        Err(error) => error.message,
    }
}

#[track_caller]
fn gives(text: &str, want: &str) {
    assert_eq!(found(text), want, "{text}");
}

#[test]
fn url_functions_return_parts() {
    gives("isURL('https://example.com')", "true for 1");
    gives("isURL('../relative')", "false for 1");
    gives("isURL('')", "false for 1");
    gives("isURL('https://a:b:c/')", "false for 1");
    gives("url('https://user:x@Example.com:80/p').getHost()", r#""Example.com:80" for 5"#);
    gives("url('https://[::1]:80/').getHostname()", r#""::1" for 3"#);
    gives("url('https://[::1]:80/').getPort()", r#""80" for 3"#);
    gives("url('postgres://a:1,b:2/db').getHostname()", r#""a:1,b" for 4"#);
    gives("url('HTTPS://a/').getScheme()", r#""https" for 2"#);
    gives("url('https://a/with spaces/').getEscapedPath()", r#""/with%20spaces/" for 4"#);
    gives("url('https://a/%7Bx%7d').getEscapedPath()", r#""/%7Bx%7d" for 3"#);
    gives("url('http://h/?a=1&a=2&b=%20x+y&c;d').getQuery()", r#"{"a": ["1", "2"], "b": [" x y"]} for 4"#);
    gives("url('http://a/b') == url('http://a/b')", "true for 3");
    gives(
        "url('path')",
        r#"URL parse error during conversion from string: parse "path": invalid URI for request"#,
    );
}

#[test]
fn regex_find_returns_matches() {
    gives("'abc 123'.find('[0-9]+')", r#""123" for 2"#);
    gives("'abc'.find('[0-9]+')", r#""" for 2"#);
    gives("'1 2 3'.findAll('[0-9]')", r#"["1", "2", "3"] for 2"#);
    gives("'1 2 3'.findAll('[0-9]', 2)", r#"["1", "2"] for 2"#);
    gives("'1 2 3'.findAll('[0-9]', -1)", r#"["1", "2", "3"] for 2"#);
    assert!(found("object.name.find(object.bad)").starts_with("invalid regex"));
    assert!(found("'a'.find('[')").starts_with("refused: invalid regex"));
}

#[test]
fn list_functions_order_sum_and_find() {
    gives("[1, 2, 3].isSorted()", "true for 3");
    gives("['b', 'a'].isSorted()", "false for 0");
    gives("object.ints.sum()", "6 for 5");
    gives("[1.5, 2.5].sum()", "4.0 for 2");
    gives("[].sum()", "0 for 0");
    gives("[duration('1s'), duration('2s')].sum()", "duration(3s) for 2");
    gives("dyn(['a']).sum()", "no such overload");
    gives("['a'].sum()", "refused: `sum` does not take `list(string)`; it is `list.sum() -> dyn`");
    gives("[1].max() + 'a'", "refused: no operator `+` for `int` and `string`");
    gives("[3, 1, 2].min()", "1 for 3");
    gives("[3, 1, 2].max()", "3 for 3");
    gives("[].max()", "max called on empty list");
    gives("object.mixed.max()", "no such overload: `int` and `string` have no order");
    gives("['a', 'b', 'a'].indexOf('a')", "0 for 0");
    gives("['a', 'b', 'a'].lastIndexOf('a')", "2 for 0");
    gives("object.ints.indexOf(9)", "-1 for 5");
    gives("'abcdefghijk'.indexOf('c')", "2 for 1");
    gives("'abcdefghijk'.lastIndexOf('c', 10)", "2 for 1");
    gives("'abcdefghijk'.lastIndexOf('c', 11)", "-1 for 1");
}

#[test]
fn quantity_functions_follow_kubernetes_representation() {
    gives("quantity('1Ki').asInteger()", "1024 for 2");
    gives("quantity('1000m').isInteger()", "false for 2");
    gives("quantity('1.5Gi').isInteger()", "false for 2");
    gives("quantity('0.5').asInteger()", "cannot convert value to integer");
    gives("quantity('1.5Gi').asApproximateFloat()", "1610612736.0 for 2");
    gives("quantity('1').add(quantity('500m')).asApproximateFloat()", "1.5 for 4");
    gives("quantity('1').sub(2).asInteger()", "-1 for 3");
    gives("sign(quantity('-1'))", "-1 for 2");
    gives("quantity('1').sign()", "refused: unknown method `sign`");
    gives("quantity('50Mi').isGreaterThan(quantity('49Mi'))", "true for 3");
    gives("quantity('1').isLessThan(quantity('1'))", "false for 3");
    gives("quantity('1k').compareTo(quantity('1Ki'))", "-1 for 3");
    gives("quantity('1000m') == quantity('1')", "true for 3");
    gives("quantity('2') == quantity('1').add(1)", "true for 4");
    gives("isQuantity('1ki')", "false for 1");
    assert!(found("quantity('x')").starts_with("`x` is not a quantity"));
}

#[test]
fn ip_and_cidr_functions_cost_as_in_the_api_server() {
    gives("ip('::1') == ip('::1')", "true for 3");
    gives("ip.isCanonical('2001:DB8::1')", "false for 3");
    gives("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true for 3");
    gives("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", "true for 6");
    gives("type(ip('::1')) == net.IP", "true for 3");
    gives("isIP('::ffff:102:304')", "false for 2");
    gives("cidr('10.0.0.0/8').isMask()", "refused: unknown method `isMask`");
}

#[test]
fn format_validate_returns_kubernetes_messages() {
    gives("format.dns1123Label().validate('my-name')", "optional.none() for 9");
    gives("format.dns1123Label().validate('a.b').value()", r#"["must not contain dots"] for 10"#);
    gives("format.dns1123LabelPrefix().validate('my-')", "optional.none() for 9");
    gives("format.dns1123LabelPrefix().validate('ä-').hasValue()", "true for 10");
    gives("format.qualifiedName().validate('/x').value()", r#"["prefix part must be non-empty"] for 17"#);
    gives("format.uuid().validate('2f0c41a48c1f4c709d4b0b3d0e2f1a2b').hasValue()", "false for 74");
    gives("format.byte().validate('').value()", r#"["invalid base64"] for 23"#);
    gives("format.date().validate('2020-02-30').value()", r#"["invalid date"] for 38"#);
    gives("format.datetime().validate('2020-01-01t10:00:00.5z').hasValue()", "false for 56");
    gives("format.named('uri').value() == format.uri()", "true for 4");
    gives("format.named('nope').hasValue()", "false for 2");
    gives("format.uri().validate('x').value()", r#"["parse \"x\": invalid URI for request"] for 278"#);
}

#[test]
fn semver_functions_compare_versions() {
    gives("semver('1.2.3').compareTo(semver('1.2.3-rc.1'))", "1 for 3");
    gives("semver('1.2.3+a') == semver('1.2.3+b')", "true for 3");
    gives("semver('v1.2', true).minor()", "2 for 2");
    gives("isSemver('v1.2')", "false for 1");
    gives("isSemver('01.2', true)", "true for 1");
    gives("isSemver(' 1.2.3', true)", "false for 1");
    gives("semver('1.2.3').isLessThan(semver('1.10.0'))", "true for 3");
    assert!(found("semver('1')").starts_with("`1` is not a version"));
}

#[test]
fn authorizer_check_queries_the_host() {
    gives("authorizer.path('/healthz').check('get').allowed()", "true for 350003");
    gives("authorizer.group('').resource('pods').check('put').reason()", r#""no" for 350004"#);
    gives(
        "authorizer.serviceAccount('a', 'b').group('apps').resource('x').subresource('s').namespace('n').name('m').check('get').reason()",
        r#""{\"user\":\"system:serviceaccount:a:b\",\"group\":\"apps\",\"resource\":\"x\",\"subresource\":\"s\",\"namespace\":\"n\",\"name\":\"m\",\"verb\":\"get\"}" for 350008"#,
    );
    gives("authorizer.path('/x').check('err').error()", r#""broken" for 350003"#);
    gives("authorizer.path('/x').check('err').errored()", "true for 350003");
    gives("authorizer.path('/x').check('unknown').allowed()", "no decision");
    gives("authorizer.path(' ').check('get')", "path must not be empty");
    gives("authorizer.serviceAccount('A', 'b')", "Invalid service account namespace");
    gives(
        "authorizer.group('').resource('p').labelSelector('a=b').check('get').allowed()",
        "true for 350115",
    );
    gives(
        "[1, 2, 3].all(x, authorizer.path('/x').check('get').allowed())",
        "the expression costs more than 1000000",
    );
}

#[test]
fn literals_are_free_and_type_checked() {
    gives("[1, 2]", "[1, 2] for 0");
    gives("{'a': [1]}", r#"{"a": [1]} for 0"#);
    gives("duration('1h')", "duration(1h0m0s) for 0");
    gives(
        "duration('bad')",
        "refused: cannot convert `bad` to a duration: a duration is one or more numbers with units, such as `1h30m` or `1.5s`",
    );
    gives("[1, 'a']", "refused: all elements must be of one type, found `int` and `string`");
    gives("'%s-%d'.format(['a', 1])", r#""a-1" for 1"#);
    gives("'a'.reverse()", "refused: `reverse` does not take `string`; it is `list.reverse() -> list`");
}

#[test]
fn json_patch_structures_are_maps() {
    gives("jsonpatch.escapeKey('a/b~c')", r#""a~1b~0c" for 1"#);
    assert!(found("JSONPatch{op: 'add', path: '/a'}.path").starts_with(r#""/a" for"#));
}

#[test]
fn value_with_many_shared_copies_exceeds_the_cost_limit() {
    let doubled = ".map(x, [x, x])".repeat(30);
    gives(&format!("[object.ints]{doubled}.indexOf(1)"), "the expression costs more than 1000000");
}

#[test]
fn structures_have_the_names_that_are_written() {
    gives("Object{spec: Object.spec{a: 1}}.spec.a", "1 for 83");
    gives("JSONPatch{op: 'add', path: '/a', value: 1}", r#"{"op": "add", "path": "/a", "value": 1} for 40"#);
    gives("Object{?a: optional.none(), ?b: optional.of(1)}", r#"{"b": 1} for 42"#);
    gives("JSONPatch{op: 1}", "refused: `op` needs `string`, found `int`");
    gives("JSONPatch{ops: 'add'}", "refused: `JSONPatch` has no field `ops`");
    gives("Objects{a: 1}", "refused: unknown type `Objects`");
    gives(
        "[JSONPatch{op: 'add'}, Object{}]",
        "refused: all elements must be of one type, found `JSONPatch` and `Object`",
    );
}

fn type_of(text: &str) -> String {
    let environment = CelEnvironment::kubernetes_with_patches().variable("object");
    CelProgram::compile(text, &environment).expect("an expression").result_type().to_string()
}

#[test]
fn types_of_structures_are_known_before_evaluation() {
    for (text, expected) in [
        ("Object{}", "Object"),
        ("object.a ? Object{} : Object{a: 1}", "Object"),
        ("[JSONPatch{op: 'a'}] + [JSONPatch{op: 'b'}]", "list(JSONPatch)"),
        ("[1, 2].map(e, e > 1 ? JSONPatch{op: 'a'} : null).filter(p, p != null)", "list(JSONPatch)"),
        ("object", "dyn"),
        ("Object.spec{}", "Object.spec"),
    ] {
        assert_eq!(type_of(text), expected, "{text}");
    }
}

fn evaluated<T>(text: &str, read: impl FnOnce(&crate::Val<'_>) -> T) -> T {
    let environment = CelEnvironment::kubernetes_with_patches();
    let program = CelProgram::compile(text, &environment).expect("an expression");
    let bindings = CelBindings::new();
    read(&program.evaluate(&bindings, &mut CelCost::default()).expect("a value"))
}

#[test]
fn structures_are_found_that_are_not_in_their_place() {
    let wrong = |text: &str| evaluated(text, |value| value.misplaced_structure().map(|(name, _)| name));
    assert_eq!(wrong("Object{spec: Object.spec{list: [Object.spec.list{a: 1}]}}"), None);
    assert_eq!(wrong("Object.spec.list{a: Object.spec.list.a{}}"), None);
    assert_eq!(wrong("Object{spec: {'a': Object.b{}}}"), None);
    assert_eq!(wrong("Object{spec: Object.wrong{}}"), Some("Object.wrong".into()));
    assert_eq!(wrong("Object{spec: Object.spec{list: [Object.spec{}]}}"), Some("Object.spec".into()));
}

#[test]
fn numbers_of_patches_are_kept_by_every_reader() {
    let safe = |text: &str| evaluated(text, |value| json::to_string(&value.to_safe_value().expect("JSON")));
    assert_eq!(safe("[9007199254740991, 9007199254740993]"), r#"[9007199254740991,"9007199254740993"]"#);
    assert_eq!(safe("{'a': 2.0, 'b': 1.5}"), r#"{"a":2,"b":1.5}"#);
    assert_eq!(
        safe("[dyn(5u), dyn(duration('1h')), dyn(b'abc'), dyn(null)]").as_str(),
        r#"[5,"3600s","YWJj",null]"#
    );
}
