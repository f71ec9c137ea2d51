//! Each library by examples, and its queries to the host.

mod checks;
mod tokens;

use std::cell::RefCell;

use kubewright_value::{Value, json};

use crate::{CelBindings, CelCost, CelEnvironment, CelErrorKind, CelFailure, CelProgram, Host, Inputs};

/// A host that records its queries, and fails for `bad`.
#[derive(Default)]
struct Echo(RefCell<Vec<String>>);

impl Host for Echo {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, CelFailure> {
        let shown: Vec<String> = arguments.iter().map(Value::to_string).collect();
        self.0.borrow_mut().push(format!("{question} {}", shown.join(" ")));
        match (question, arguments.last().and_then(Value::as_str)) {
            (_, Some("bad")) => Err(CelFailure::value("no such thing")),
            (_, Some("missing")) => Ok(Value::Null),
            ("resource.toGVR", Some(kind)) => Ok(Value::from(format!("{}s", kind.to_lowercase()))),
            _ => Ok(json::parse(r#"{"items":[{"a":1}],"name":"x"}"#).unwrap()),
        }
    }
}

fn evaluated(environment: &CelEnvironment, text: &str, inputs: Inputs) -> Result<String, String> {
    let program =
        CelProgram::compile(text, environment).map_err(|errors| format!("?{}", errors[0].message))?;
    let host = Echo::default();
    let bindings = CelBindings::new().with_host(&host).with_inputs(inputs);
    let found = program.evaluate(&bindings, &mut CelCost::default()).map_err(|error| error.message)?;
    let queries = host.0.take().join("; ");
    let shown = format!("{found:?}");
    Ok(if queries.is_empty() { shown } else { queries })
}

#[track_caller]
fn gives(text: &str, want: &str) {
    assert_eq!(evaluated(&CelEnvironment::policy(), text, Inputs::default()), Ok(want.to_owned()), "{text}");
}

#[track_caller]
fn fails(text: &str, want: &str) {
    let found = evaluated(&CelEnvironment::policy(), text, Inputs::default());
    assert!(found.as_ref().is_err_and(|message| message.contains(want)), "{text}: {found:?}");
}

#[test]
fn image_without_registry_gets_default_registry() {
    gives("image('nginx').registry()", r#""index.docker.io""#);
    gives("image('nginx').repository()", r#""library/nginx""#);
    gives("image('docker.io/nginx').repository()", r#""library/nginx""#);
    gives("image('org/app').repository()", r#""org/app""#);
    gives("parseImageReference('ghcr.io/org/app:1.2').registry()", r#""ghcr.io""#);
    gives("image('localhost/app').registry()", r#""localhost""#);
    gives("image('[::1]:5000/app').registry()", r#""[::1]:5000""#);
}

#[test]
fn image_identifier_is_tag_digest_or_both() {
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    gives("image('nginx').identifier()", r#""latest""#);
    gives("image('nginx:1').identifierWithSeparator()", r#"":1""#);
    gives("image('nginx:1').containsDigest()", "false");
    gives(&format!("image('nginx@{digest}').identifier()"), &format!("{digest:?}"));
    gives(&format!("image('nginx@{digest}').tag()"), r#""""#);
    gives(&format!("image('h:5/nn:1@{digest}').identifier()"), &format!("{:?}", format!("1@{digest}")));
    gives(
        &format!("image('nginx:1@{digest}').identifierWithSeparator()"),
        &format!("{:?}", format!("@{digest}")),
    );
    gives(&format!("image('nginx:1@{digest}').digest()"), &format!("{digest:?}"));
    gives("image('nginx') == image('nginx:latest')", "false");
}

#[test]
fn invalid_image_reference_is_an_error() {
    gives("isImage('nginx:1')", "true");
    gives("isImage('a')", "false");
    gives("isImage('nginx:')", "false");
    gives("isImage('Nginx')", "false");
    gives("isImage('nginx@sha256:12')", "false");
    gives("isImage('a b.io/nginx')", "false");
    fails("image('Nginx')", "could not parse reference: Nginx");
    fails("isImage(1)", "?`isImage` does not take `int`");
}

#[test]
fn parse_service_account_returns_name_and_namespace() {
    gives("parseServiceAccount('system:serviceaccount:ns:sa').Name", r#""sa""#);
    gives("user.parseServiceAccount('system:serviceaccount:ns:sa').Namespace", r#""ns""#);
    gives("parseServiceAccount('admin').Name", r#""""#);
    gives("has(parseServiceAccount('admin').Name)", "false");
    gives("has(parseServiceAccount('system:serviceaccount:ns:sa').Name)", "true");
    gives("parseServiceAccount('admin').?Name.orValue('nobody')", r#""nobody""#);
    gives("type(parseServiceAccount('admin')) == user.ServiceAccount", "true");
    fails("parseServiceAccount('admin').name", "?a value of type `user.ServiceAccount` has no field `name`");
}

#[test]
fn checksums_are_hexadecimal() {
    gives("md5('a')", r#""0cc175b9c0f1b6a831c399e269772661""#);
    gives("hash.sha1('a')", r#""86f7e437faa5a7fce15d1ddcb9eaeaea377667b8""#);
    gives("sha256('') == hash.sha256('') && sha256('').size() == 64", "true");
}

#[test]
fn math_round_keeps_decimals() {
    gives("math.round(1.2345, 2)", "1.23");
    gives("math.round(-2.5, 0)", "-3.0");
    gives("math.round(1250.0, -2)", "1300.0");
    gives("math.round(1.5)", "2.0");
    gives("math.round(1.0, 400)", "NaN");
    fails("math.round(1, 2)", "?`math.round` does not take");
}

#[test]
fn json_and_yaml_numbers_are_doubles() {
    gives("json.unmarshal('{\"a\": [1, null]}')", r#"{"a": [1.0, null]}"#);
    gives("type(json.unmarshal('1')) == double", "true");
    gives("yaml.parse('a: 1')", r#"{"a": 1.0}"#);
    gives("yaml.parse('')", "null");
    fails("json.unmarshal('{')", "invalid JSON: ");
    fails("json.unmarshal(1)", "a text is needed, found `int`");
    fails("yaml.parse('[a')", "invalid YAML: ");
}

#[test]
fn json_marshal_sorts_keys() {
    gives("json.marshal({'b': [1.0, 1.5], 'a': [2.0]})", r#""{\"a\":[2],\"b\":[1,1.5]}""#);
    gives("json.marshal('<a>')", r#""\"\\u003ca\\u003e\"""#);
    gives("json.marshal(b'abc')", r#""\"YWJj\"""#);
    gives("json.marshal(duration('1s'))", r#""1000000000""#);
    gives("json.marshal(timestamp('2020-01-01T00:00:00+02:00'))", r#""\"2020-01-01T00:00:00+02:00\"""#);
    gives("json.marshal(image('nginx'))", r#""\"nginx\"""#);
    gives(
        "json.marshal(parseServiceAccount('system:serviceaccount:a:b'))",
        r#""{\"name\":\"b\",\"namespace\":\"a\"}""#,
    );
    fails("json.marshal({1: 2})", "a key of type `int`");
    fails("json.marshal(0.0 / 0.0)", "json: unsupported value: NaN");
}

#[test]
fn time_truncate_and_to_cron_keep_the_zone() {
    gives(
        "time.truncate(timestamp('2020-05-05T10:11:12Z'), duration('1h')) == timestamp('2020-05-05T10:00:00Z')",
        "true",
    );
    gives(
        "string(time.truncate(timestamp('2020-05-05T10:11:12Z'), duration('0s')))",
        r#""2020-05-05T10:11:12Z""#,
    );
    gives("time.toCron(timestamp('2020-05-05T10:11:12Z'))", r#""11 10 5 5 2""#);
    gives("time.toCron(timestamp('2020-05-05T10:11:12+05:30'))", r#""11 10 5 5 2""#);
    gives(
        "string(timestamp('2020-05-05T10:11:12+05:30') + duration('1h'))",
        r#""2020-05-05T11:11:12+05:30""#,
    );
    gives("timestamp('2020-05-05T10:11:12+05:30') == timestamp('2020-05-05T04:41:12Z')", "true");
    gives("timestamp('2020-05-05T10:11:12+05:30').getHours()", "4");
}

#[test]
fn time_now_and_random_use_the_inputs() {
    fails("time.now()", "needs the current time, which is not set");
    fails("random()", "needs a seed, which is not set");
    let given = |text: &str, seed| {
        let inputs = Inputs { now: Some(1_000_000_000), random_seed: Some(seed), keys: None };
        evaluated(&CelEnvironment::policy(), text, inputs).unwrap()
    };
    assert_eq!(given("string(time.now())", 1), r#""1970-01-01T00:00:01Z""#);
    assert_eq!(given("random().matches('^[0-9a-z]{8}$')", 1), "true");
    assert_eq!(given("random.random('[ab]{3}x').matches('^[ab]{3}x$')", 1), "true");
    assert_eq!(given("random() == random()", 1), "false");
    assert_eq!(given("random()", 1), given("random()", 1));
    assert_ne!(given("random()", 1), given("random()", 2));
}

#[test]
fn list_obj_to_map_joins_two_lists() {
    let lists = "[{'n': 'a'}, {'n': 'b'}], [{'v': 1}, {'w': 2}]";
    gives(&format!("listObjToMap({lists}, 'n', 'v')"), r#"{"a": 1, "b": null}"#);
    gives("transform.listObjToMap([{'n': 'a'}, {'n': 'a'}], [{'v': 1}, {'v': 2}], 'n', 'v')", r#"{"a": 2}"#);
    fails("listObjToMap([{'n': 'a'}], [], 'n', 'v')", "lists of equal length. list1: 1, list2: 0");
    fails("listObjToMap([{'n': 1}], [{'v': 1}], 'n', 'v')", "cannot be handled as a string");
    fails("listObjToMap([1], [{'v': 1}], 'n', 'v')", "the lists must be of objects, found `int`");
}

#[test]
fn gzip_round_trips() {
    gives("gzip.decompress(gzip.compress('héllo'))", r#""héllo""#);
    gives("gzip.decompress(base64.decode('H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA='))", r#""hello""#);
    gives("gzip.compress('a') == gzip.compress('a')", "true");
    fails("gzip.decompress(b'abc')", "");
    fails("gzip.compress(1)", "a text is needed, found `int`");
}

#[test]
fn gzip_decompress_limits_the_output() {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..17 {
        std::io::Write::write_all(&mut writer, &[b'a'; 1 << 20]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let environment = CelEnvironment::policy().variable("bytes");
    let program = CelProgram::compile("gzip.decompress(bytes)", &environment).unwrap();
    let bindings = CelBindings::new().with_val("bytes", crate::Val::Bytes(bytes.into()));
    let error = program.evaluate(&bindings, &mut CelCost::default()).unwrap_err();
    assert_eq!(error.message, "the text is longer than 16777216 bytes");
}

#[test]
fn json_marshal_of_a_value_with_many_copies_stops_at_the_limit() {
    let mut text = "[1]".to_owned();
    for level in 0..30 {
        text = format!("cel.bind(x{level}, {text}, [x{level}, x{level}])");
    }
    let program = CelProgram::compile(&format!("json.marshal({text})"), &CelEnvironment::policy()).unwrap();
    let error = program.evaluate(&CelBindings::new(), &mut CelCost::default()).unwrap_err();
    assert_eq!(error.kind, CelErrorKind::Limit);
}

#[test]
fn yaml_alias_bomb_is_an_error() {
    let mut text = "a0: &a0 [1,1,1,1,1,1,1,1,1]\n".to_owned();
    for level in 1..5 {
        let below = level - 1;
        text.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{below}"); 9].join(",")));
    }
    let text =
        format!("lists.range(1000).map(x, yaml.parse({} + '#' + string(x))).size()", json::quote(&text));
    fails(&text, "the budget of 33554432 bytes is used up");
}

#[test]
fn x509_decode_returns_doubles() {
    let pem =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../golib/src/x509/fixtures/certificate.pem"));
    let text = json::quote(pem);
    gives(&format!("x509.decode({text}).PublicKey.E"), "65537.0");
    gives(&format!("has(x509.decode({text}).Subject)"), "false");
    fails("x509.decode('x')", "failed to decode PEM block");
}

#[test]
fn resource_functions_query_the_host() {
    let get = r#"resource.get "v1" "pods" "ns" "x""#;
    gives("resource.get('v1', 'pods', 'ns', 'x')", get);
    gives("resource.Get('v1', 'pods', 'ns', 'x').name", get);
    gives(
        "resource.get('v1', 'pods', 'ns', 'missing').?a == optional.none()",
        r#"resource.get "v1" "pods" "ns" "missing""#,
    );
    gives("resource.List('v1', 'pods', '').items[0].a", r#"resource.list "v1" "pods" "" null"#);
    gives("resource.list('v1', 'pods', 'ns', {'a': 'b'})", r#"resource.list "v1" "pods" "ns" {"a":"b"}"#);
    gives("resource.Post('v1', 'reviews', {'a': 1})", r#"resource.post "v1" "reviews" "" {"a":1}"#);
    gives("resource.post('v1', 'reviews', 'ns', {'a': 1})", r#"resource.post "v1" "reviews" "ns" {"a":1}"#);
    gives(
        "resource.get(resource.toGVR('apps/v1', 'Deployment'), 'ns', 'x')",
        r#"resource.toGVR "apps/v1" "Deployment"; resource.get "apps/v1" "deployments" "ns" "x""#,
    );
    fails("resource.get('v1', 'pods', 'ns', 'bad')", "failed to get resource: no such thing");
    fails("resource.toGVR('v1', 'bad')", "failed to map kind to resource: no such thing");
    fails("resource.list('v1', 'pods', 'ns', {'a': 1})", "?`list` does not take");
    fails("resource.get('v1', 'pods', 'x')", "?");
}

#[test]
fn namespaced_resource_functions_take_no_namespace() {
    let environment = CelEnvironment::policy_in("mine");
    let check = |text, want: &str| {
        assert_eq!(evaluated(&environment, text, Inputs::default()), Ok(want.to_owned()), "{text}");
    };
    check("resource.get('v1', 'pods', 'x')", r#"resource.get "v1" "pods" "mine" "x""#);
    check("resource.list('v1', 'pods')", r#"resource.list "v1" "pods" "mine" null"#);
    check("resource.list('v1', 'pods', {'a': 'b'})", r#"resource.list "v1" "pods" "mine" {"a":"b"}"#);
    check("resource.post('v1', 'pods', {'a': 1})", r#"resource.post "v1" "pods" "mine" {"a":1}"#);
    assert!(evaluated(&environment, "resource.get('v1', 'pods', 'other', 'x')", Inputs::default()).is_err());
}

#[test]
fn http_global_context_and_image_functions_query_the_host() {
    gives("globalContext.Get('a', 'p')", r#"globalContext.get "a" "p""#);
    gives("globalContext.get('a')", r#"globalContext.get "a" """#);
    gives("image.GetMetadata('nginx')", r#"image.getMetadata "nginx""#);
    gives("http.Get('http://a')", r#"http.get "http://a" {} null"#);
    gives("http.get('http://a', {'h': 'v'})", r#"http.get "http://a" {"h":"v"} null"#);
    gives("http.Client('PEM').Post('http://a', [1])", r#"http.post "http://a" [1] {} "PEM""#);
    fails("globalContext.Get('a', 'bad')", "failed to get global reference: no such thing");
    fails("image.getMetadata('bad')", "failed to get image data: no such thing");
}

#[test]
fn query_without_host_is_an_error() {
    let program =
        CelProgram::compile("resource.get('v1', 'pods', '', 'x')", &CelEnvironment::policy()).unwrap();
    let error = program.evaluate(&CelBindings::new(), &mut CelCost::default()).unwrap_err();
    assert_eq!(error.message, "failed to get resource: there is no cluster to ask");
}

#[test]
fn macro_variables_shadow_library_names() {
    gives("['a'].map(image, image + 'x')", r#"["ax"]"#);
    gives("[{'get': 1}].map(resource, resource.get)", "[1]");
    gives("'a'.orValue('b')", r#""a""#);
}
