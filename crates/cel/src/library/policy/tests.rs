//! Each library by examples, and what the world is asked.

mod checks;
mod tokens;

use std::cell::RefCell;

use kubewright_value::{Value, json};

use crate::{Bindings, Cost, Environment, EvalErrorKind, Failure, Host, Inputs, Program};

/// Answers with the question and its arguments, and refuses what is about `bad`.
#[derive(Default)]
struct Echo(RefCell<Vec<String>>);

impl Host for Echo {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let asked: Vec<String> = arguments.iter().map(Value::to_string).collect();
        self.0.borrow_mut().push(format!("{question} {}", asked.join(" ")));
        match (question, arguments.last().and_then(Value::as_str)) {
            (_, Some("bad")) => Err(Failure::value("no such thing")),
            (_, Some("missing")) => Ok(Value::Null),
            ("resource.toGVR", Some(kind)) => Ok(Value::from(format!("{}s", kind.to_lowercase()))),
            _ => Ok(json::parse(r#"{"items":[{"a":1}],"name":"x"}"#).unwrap()),
        }
    }
}

fn evaluated(environment: &Environment, text: &str, inputs: Inputs) -> Result<String, String> {
    let program = Program::compile(text, environment).map_err(|errors| format!("?{}", errors[0].message))?;
    let host = Echo::default();
    let bindings = Bindings::new().with_host(&host).with_inputs(inputs);
    let found = program.evaluate(&bindings, &mut Cost::default()).map_err(|error| error.message)?;
    let asked = host.0.take().join("; ");
    let shown = format!("{found:?}");
    Ok(if asked.is_empty() { shown } else { asked })
}

#[track_caller]
fn gives(text: &str, want: &str) {
    assert_eq!(evaluated(&Environment::policy(), text, Inputs::default()), Ok(want.to_owned()), "{text}");
}

#[track_caller]
fn fails(text: &str, want: &str) {
    let found = evaluated(&Environment::policy(), text, Inputs::default());
    assert!(found.as_ref().is_err_and(|message| message.contains(want)), "{text}: {found:?}");
}

#[test]
fn an_image_without_a_registry_is_in_the_default_one() {
    gives("image('nginx').registry()", r#""index.docker.io""#);
    gives("image('nginx').repository()", r#""library/nginx""#);
    gives("image('docker.io/nginx').repository()", r#""library/nginx""#);
    gives("image('org/app').repository()", r#""org/app""#);
    gives("parseImageReference('ghcr.io/org/app:1.2').registry()", r#""ghcr.io""#);
    gives("image('localhost/app').registry()", r#""localhost""#);
    gives("image('[::1]:5000/app').registry()", r#""[::1]:5000""#);
}

#[test]
fn an_image_is_identified_by_its_tag_or_digest_or_both() {
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
fn what_is_no_image_is_known_beforehand_or_an_error() {
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
fn a_service_account_has_two_names() {
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
fn checksums_are_written_in_hexadecimal() {
    gives("md5('a')", r#""0cc175b9c0f1b6a831c399e269772661""#);
    gives("hash.sha1('a')", r#""86f7e437faa5a7fce15d1ddcb9eaeaea377667b8""#);
    gives("sha256('') == hash.sha256('') && sha256('').size() == 64", "true");
}

#[test]
fn rounding_keeps_decimals() {
    gives("math.round(1.2345, 2)", "1.23");
    gives("math.round(-2.5, 0)", "-3.0");
    gives("math.round(1250.0, -2)", "1300.0");
    gives("math.round(1.5)", "2.0");
    gives("math.round(1.0, 400)", "NaN");
    fails("math.round(1, 2)", "?`math.round` does not take");
}

#[test]
fn documents_are_read_with_doubles() {
    gives("json.unmarshal('{\"a\": [1, null]}')", r#"{"a": [1.0, null]}"#);
    gives("type(json.unmarshal('1')) == double", "true");
    gives("yaml.parse('a: 1')", r#"{"a": 1.0}"#);
    gives("yaml.parse('')", "null");
    fails("json.unmarshal('{')", "no JSON: ");
    fails("json.unmarshal(1)", "a text is needed, found `int`");
    fails("yaml.parse('[a')", "no YAML: ");
}

#[test]
fn values_are_written_as_json_with_sorted_keys() {
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
fn times_are_cut_and_written_in_their_own_zone() {
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
fn the_present_moment_and_chance_are_given_by_the_caller() {
    fails("time.now()", "the caller has to give the present moment");
    fails("random()", "the caller has to give a seed");
    let given = |text: &str, seed| {
        let inputs = Inputs { now: Some(1_000_000_000), random_seed: Some(seed), keys: None };
        evaluated(&Environment::policy(), text, inputs).unwrap()
    };
    assert_eq!(given("string(time.now())", 1), r#""1970-01-01T00:00:01Z""#);
    assert_eq!(given("random().matches('^[0-9a-z]{8}$')", 1), "true");
    assert_eq!(given("random.random('[ab]{3}x').matches('^[ab]{3}x$')", 1), "true");
    assert_eq!(given("random() == random()", 1), "false");
    assert_eq!(given("random()", 1), given("random()", 1));
    assert_ne!(given("random()", 1), given("random()", 2));
}

#[test]
fn two_lists_become_a_map() {
    let lists = "[{'n': 'a'}, {'n': 'b'}], [{'v': 1}, {'w': 2}]";
    gives(&format!("listObjToMap({lists}, 'n', 'v')"), r#"{"a": 1, "b": null}"#);
    gives("transform.listObjToMap([{'n': 'a'}, {'n': 'a'}], [{'v': 1}, {'v': 2}], 'n', 'v')", r#"{"a": 2}"#);
    fails("listObjToMap([{'n': 'a'}], [], 'n', 'v')", "lists of equal length. list1: 1, list2: 0");
    fails("listObjToMap([{'n': 1}], [{'v': 1}], 'n', 'v')", "cannot be handled as a string");
    fails("listObjToMap([1], [{'v': 1}], 'n', 'v')", "the lists must be of objects, found `int`");
}

#[test]
fn texts_are_compressed_and_unfolded() {
    gives("gzip.decompress(gzip.compress('héllo'))", r#""héllo""#);
    gives("gzip.decompress(base64.decode('H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA='))", r#""hello""#);
    gives("gzip.compress('a') == gzip.compress('a')", "true");
    fails("gzip.decompress(b'abc')", "");
    fails("gzip.compress(1)", "a text is needed, found `int`");
}

#[test]
fn a_text_that_unfolds_without_end_is_refused() {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..17 {
        std::io::Write::write_all(&mut writer, &[b'a'; 1 << 20]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let environment = Environment::policy().variable("bytes");
    let program = Program::compile("gzip.decompress(bytes)", &environment).unwrap();
    let bindings = Bindings::new().with_val("bytes", crate::Val::Bytes(bytes.into()));
    let error = program.evaluate(&bindings, &mut Cost::default()).unwrap_err();
    assert_eq!(error.message, "the text is longer than 16777216 bytes");
}

#[test]
fn writing_a_value_that_holds_itself_many_times_ends() {
    let mut text = "[1]".to_owned();
    for level in 0..30 {
        text = format!("cel.bind(x{level}, {text}, [x{level}, x{level}])");
    }
    let program = Program::compile(&format!("json.marshal({text})"), &Environment::policy()).unwrap();
    let error = program.evaluate(&Bindings::new(), &mut Cost::default()).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Limit);
}

#[test]
fn a_short_text_that_stands_for_very_much_is_refused() {
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
fn a_certificate_is_decoded_with_doubles() {
    let pem =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../golib/src/x509/fixtures/certificate.pem"));
    let text = json::quote(pem);
    gives(&format!("x509.decode({text}).PublicKey.E"), "65537.0");
    gives(&format!("has(x509.decode({text}).Subject)"), "false");
    fails("x509.decode('x')", "failed to decode PEM block");
}

#[test]
fn the_cluster_is_asked_for_resources() {
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
fn a_policy_of_one_namespace_names_none() {
    let environment = Environment::policy_in("mine");
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
fn the_world_is_asked_for_other_things() {
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
fn without_a_world_nobody_answers() {
    let program = Program::compile("resource.get('v1', 'pods', '', 'x')", &Environment::policy()).unwrap();
    let error = program.evaluate(&Bindings::new(), &mut Cost::default()).unwrap_err();
    assert_eq!(error.message, "failed to get resource: there is no cluster to ask");
}

#[test]
fn names_of_libraries_can_be_variables_of_macros() {
    gives("['a'].map(image, image + 'x')", r#"["ax"]"#);
    gives("[{'get': 1}].map(resource, resource.get)", "[1]");
    gives("'a'.orValue('b')", r#""a""#);
}
