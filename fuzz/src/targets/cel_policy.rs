//! An expression with the libraries of policies ends within its cost, twice with the same result, whatever the
//! world answers.

use std::sync::LazyLock;

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelFailure, CelProgram, Host, Inputs};
use kubewright_value::{Value, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "cel_policy",
    run: fuzz_cel_policy,
    seeds: SEEDS,
    dictionaries: &[FuzzDictionary::Yaml, FuzzDictionary::Cel],
    words: WORDS,
};

const SEEDS: &[&str] = &[
    "object.spec.containers.all(c, image(c.image).registry() in ['ghcr.io', 'docker.io'])",
    "image('a.b:80/c/d:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef').identifier()",
    "json.unmarshal('{\"a\": [1, -2.5e3, null, \"\\\\u00e9\"]}').a.map(x, json.marshal({'x': x}))",
    "yaml.parse('a: &x [1, {b: *x}]\\n--- \\nc: d').a[0] + 1.0",
    "gzip.decompress(gzip.compress('aaaaaaaaaaaaaaaa')) + md5('a') + sha1('b') + hash.sha256('c')",
    "gzip.decompress(base64.decode('H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA='))",
    "time.toCron(time.truncate(time.now() - duration('1h'), duration('24h'))) + random('[a-z]{3,}(x|y)*')",
    "parseServiceAccount('system:serviceaccount:a:b').Name + user.parseServiceAccount('').?Name.orValue('x')",
    "listObjToMap(object.spec.containers, object.spec.containers, 'name', 'image')['a'].size()",
    "resource.list(resource.toGVR('apps/v1', 'Pod'), 'ns', {'a': 'b'}).items.exists(i, i.a == 1)",
    "http.client('x').post('u', object, {'a': 'b'}).items[0].a + globalContext.get('a', 'b').items.size()",
    "math.round(1.005, 2) + math.round(-1e300, -300) == json.unmarshal(json.marshal(0.5))",
    "x509.decode('-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----').?NotAfter",
];

const WORDS: &[&str] = &[
    "image(",
    ".tag()",
    ".digest()",
    "json.marshal(",
    "json.unmarshal(",
    "yaml.parse(",
    "gzip.compress(",
    "gzip.decompress(",
    "random(",
    "time.now()",
    "time.truncate(",
    "resource.get('v1', 'pods', '', ",
    "http.get(",
    "listObjToMap(",
    "sha256(",
    "[x, x]",
    "cel.bind(x, ",
    "object",
    ".map(x, ",
    "'",
    "\"",
    "(",
    ")",
    "{",
    "}",
    "*",
    "+",
    ",",
    "1",
    "-1",
    "\\",
    "@sha256:",
    ":",
    "/",
];

const OBJECT: &str =
    r#"{"spec":{"containers":[{"name":"a","image":"nginx:1"},{"name":"b","image":"ghcr.io/a/b"}]}}"#;

static ENVIRONMENT: LazyLock<CelEnvironment> = LazyLock::new(|| CelEnvironment::policy().variable("object"));

struct SingleObjectWorld(Value);

impl Host for SingleObjectWorld {
    fn ask(&self, question: &str, _: &[Value]) -> Result<Value, CelFailure> {
        Ok(if question == "resource.toGVR" { Value::from("pods") } else { self.0.clone() })
    }
}

fn fuzz_cel_policy(data: &[u8]) {
    const LIMIT: u64 = 100_000;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = json::parse(OBJECT).unwrap_or_default();
    let world = SingleObjectWorld(json::parse(r#"{"items":[{"a":1}],"n":null}"#).unwrap_or_default());
    for environment in [ENVIRONMENT.clone(), ENVIRONMENT.clone().unchecked()] {
        let Ok(program) = CelProgram::compile(text, &environment) else { continue };
        let evaluate = || {
            let inputs = Inputs { now: Some(1_700_000_000_000_000_000), random_seed: Some(1), keys: None };
            let bindings = CelBindings::new().with("object", &object).with_host(&world).with_inputs(inputs);
            let mut cost = CelCost::new(LIMIT);
            let found = program.evaluate(&bindings, &mut cost);
            let shown = match &found {
                Ok(value) => format!("{} {:?}", value.type_name(), value.to_value()),
                Err(error) => error.message.clone(),
            };
            assert!(cost.used() <= LIMIT || found.is_err());
            (shown, cost.used())
        };
        assert_eq!(evaluate(), evaluate(), "evaluated twice");
    }
}
