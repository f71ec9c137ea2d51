//! Tests of lookups by policies, and of their errors where an answer is unknown.

use kubewright_cel::Inputs;
use kubewright_engine::{ApiCall, DecisionSettings, Dialect as _, Engine, OpenWorld, Query, ServiceCall};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, Text, Value, json, yaml};

use crate::PolicyDialect;

const POD: &str =
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{}}"#;
const NOT_KNOWN: &str = "is not known here";

/// Returns the world that knows `answers`, each a call or the name of something else, and JSON or nothing.
fn world(answers: &[(&str, &str)]) -> OpenWorld {
    let mut world = OpenWorld::default();
    for (asked, answer) in answers {
        let (sort, rest) = asked.split_once(' ').expect("two words");
        let data = |method: &str| Text::new(if method == "GET" { "" } else { "{\"a\":1}" });
        let query = match sort {
            "image" => Query::Image(kubewright_engine::ImageLookup::of(rest)),
            "shared" => Query::Shared(rest.into()),
            method if rest.starts_with("https:") => {
                Query::Http(ApiCall::service(method, rest, data(method), ServiceCall::default()))
            }
            method => Query::Api(ApiCall::resource(method, rest, data(method))),
        };
        let answer = (!answer.is_empty()).then(|| json::parse(answer).expect("JSON"));
        world.learn(query, answer);
    }
    world
}

/// Compares the message of a policy with `expression` with `want`, of which only the start counts.
#[track_caller]
fn says(kind: &str, expression: &str, answers: &[(&str, &str)], want: &str) {
    let text = format!(
        "apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: p, namespace: shop}}\nspec:\n  \
         matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], \
         resources: [pods]}}]}}\n  validations:\n    - expression: >-\n        {expression}\n      message: no\n"
    );
    let mut reading = yaml::read(&Source::new("policy.yaml", text.as_str()));
    let inputs = Inputs { now: Some(0), ..Inputs::default() };
    let compiled =
        PolicyDialect::of(&crate::vpol::LANGUAGE, &[], inputs).compile(&reading.documents.remove(0), &[]);
    let request = AdmissionRequest::for_object(json::parse(POD).expect("JSON"), Operation::Create, "shop");
    let decision =
        Engine::new(compiled.rules).decide(&request, &world(answers), &DecisionSettings::default());
    let outcome = decision.outcomes.iter().find(|outcome| outcome.is_judged).expect("an outcome");
    let said = format!("{}: {}", outcome.status, outcome.message);
    assert!(said.starts_with(want), "{expression}\n  said: {said}\n  want: {want}");
    assert_eq!(said.contains(NOT_KNOWN), !decision.queries.is_empty(), "what is not known is asked for");
}

#[track_caller]
fn holds(expression: &str, answers: &[(&str, &str)]) {
    says("ValidatingPolicy", expression, answers, "pass");
}

#[test]
fn resources_are_asked_of_the_api_server() {
    let found = ("GET /api/v1/namespaces/a/configmaps/b", r#"{"data":{"k":"v"}}"#);
    holds("resource.Get('v1', 'configmaps', 'a', 'b').data.k == 'v'", &[found]);
    holds("dyn(resource.Get('v1', 'configmaps', 'a', 'b')) == null", &[(found.0, "")]);
    let list = ("GET /apis/apps/v1/deployments?labelSelector=a=b", r#"{"items":[{},{}]}"#);
    holds("resource.List('apps/v1', 'deployments', '', {'a': 'b'}).items.size() == 2", &[list]);
    let made = ("POST /api/v1/namespaces/a/configmaps", r#"{"made":true}"#);
    holds("resource.Post('v1', 'configmaps', 'a', {'a': 1}).made == true", &[made]);
    let gvr = "resource.Get(resource.ToGVR('v1', 'ConfigMap'), 'a', 'b').data.k == 'v'";
    holds(gvr, &[found]);
}

#[test]
fn a_policy_in_a_namespace_sees_that_namespace_only() {
    let own = ("GET /api/v1/namespaces/shop/configmaps/b", r#"{"data":{"k":"v"}}"#);
    let kind = "NamespacedValidatingPolicy";
    says(kind, "resource.Get('v1', 'configmaps', 'b').data.k == 'v'", &[own], "pass");
    says(kind, "resource.Get('v1', 'configmaps', '../../a/b').data.k == 'v'", &[own], "error: expression");
    let refused = "error: the policy is not valid";
    says(kind, "resource.Get('v1', 'configmaps', 'other', 'b').data.k == 'v'", &[own], refused);
    let shared = ("shared e", r#"{"count":2}"#);
    let problem = "failed to get global reference: global context entry `e` may not be looked up";
    says(
        kind,
        "globalContext.Get('e', '').count == 2",
        &[shared],
        &format!("error: expression 'globalContext.Get('e', '').count == 2' resulted in error: {problem}"),
    );
    let service = ("GET https://a.b/c", r#"{"statusCode":200,"body":{"ok":true}}"#);
    says(
        kind,
        "http.Get('https://a.b/c').ok == true",
        &[service],
        "error: expression 'http.Get('https://a.b/c').ok == true' resulted in error: ",
    );
    let image = ("image r/i:1", r#"{"registry":"r"}"#);
    says(kind, "image.GetMetadata('r/i:1').registry == 'r'", &[image], "pass");
    says(
        kind,
        "resource.List('v1', 'nodes').items.size() == 0",
        &[("GET /api/v1/namespaces/shop/nodes", r#"{"items":[]}"#)],
        "error: expression",
    );
}

#[test]
fn responses_of_services_have_a_status_and_their_fields_in_both_places() {
    let good = ("GET https://a.b/c", r#"{"statusCode":200,"body":{"ok":true}}"#);
    holds("http.Get('https://a.b/c').ok && http.Get('https://a.b/c').body.ok == true", &[good]);
    let bad = ("POST https://a.b/c", r#"{"statusCode":403,"body":["no"]}"#);
    holds("http.Post('https://a.b/c', {'a': 1}).statusCode == 403", &[bad]);
    holds("http.Post('https://a.b/c', {'a': 1}).body[0] == 'no'", &[bad]);
}

#[test]
fn shared_entries_have_projections() {
    let entry = ("shared e", r#"{"count":2}"#);
    holds("globalContext.Get('e', '').count == 2 && globalContext.Get('e', 'count') == 2", &[entry]);
    holds("globalContext.Get('e', '') == null", &[(entry.0, "")]);
    // A cluster answers for a part by its name, whatever the entry is.
    holds("globalContext.Get('e', 'count') == 3", &[("shared e.count", "3")]);
    holds("globalContext.Get('e', 'count') == null", &[("shared e.count", ""), (entry.0, "")]);
    let missing = "error: expression 'globalContext.Get('e', 'x') == 2' resulted in error: failed to get global reference: projection \"x\" not found in global context entry \"e\"";
    says("ValidatingPolicy", "globalContext.Get('e', 'x') == 2", &[entry], missing);
}

#[test]
fn images_are_described_in_the_words_of_cel() {
    let said = r#"{"registry":"r","identifier":"1","tag":"1","configData":{"config":{"User":"7"}},"manifestList":{"a":1}}"#;
    holds("image.GetMetadata('r/i:1').config.config.User == '7'", &[("image r/i:1", said)]);
    holds("image.GetMetadata('r/i:1').imageIndex.a == 1", &[("image r/i:1", said)]);
}

#[test]
fn what_the_world_does_not_know_is_named_and_asked_for() {
    for (expression, asked) in [
        ("resource.Get('v1', 'pods', 'a', 'b').x == 1", "`GET /api/v1/namespaces/a/pods/b`"),
        ("resource.List('v1', 'pods', 'a').items.size() == 0", "`GET /api/v1/namespaces/a/pods`"),
        ("http.Get('https://a.b/c').x == 1", "`GET https://a.b/c`"),
        ("globalContext.Get('e', '') == 1", "global context entry `e`"),
        ("image.GetMetadata('i').x == 1", "image `i`"),
    ] {
        says("ValidatingPolicy", expression, &[], &format!("error: {asked} {NOT_KNOWN}"));
    }
}

#[test]
fn what_was_not_needed_is_not_to_blame() {
    holds("resource.Get('v1', 'pods', 'a', 'b').x == 1 || object.metadata.name == 'web'", &[]);
    holds("time.now() < timestamp('1971-01-01T00:00:00Z')", &[]);
}

#[test]
fn requests_are_answered_by_the_first_expression_that_has_an_answer() {
    let policy = |mode: &str, expressions: &[&str]| {
        let list: String =
            expressions.iter().map(|one| format!("    - expression: >-\n        {one}\n")).collect();
        let text = format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  \
             evaluation: {{mode: {mode}}}\n  validations:\n{list}"
        );
        let mut reading = yaml::read(&Source::new("policy.yaml", text.as_str()));
        Engine::new(
            PolicyDialect::of(&crate::vpol::LANGUAGE, &[], Inputs::default())
                .compile(&reading.documents.remove(0), &[])
                .rules,
        )
    };
    let says = |engine: &Engine, request: &str| {
        let object: Value = json::parse(request).expect("JSON");
        let request = AdmissionRequest::for_object(object, Operation::Create, "");
        let decision = engine.decide(&request, &OpenWorld::default(), &DecisionSettings::default());
        let outcomes = decision.outcomes.iter().filter(|outcome| outcome.is_judged);
        outcomes.map(|outcome| format!("{}: {}", outcome.status, outcome.message)).collect::<String>()
    };
    let http = policy(
        "HTTP",
        &[
            "object.attributes.method == 'POST' ? http.Denied('closed').Response() : null",
            "object.attributes.path == '/' ? http.Allowed().Response() : null",
        ],
    );
    let request =
        |method: &str, path: &str| format!(r#"{{"attributes":{{"method":"{method}","path":"{path}"}}}}"#);
    assert_eq!(says(&http, &request("POST", "/")), "fail: request denied, reason: closed");
    assert_eq!(says(&http, &request("GET", "/")), "pass: request allowed");
    assert_eq!(says(&http, &request("GET", "/x")), "skip: request does not match");
    assert_eq!(says(&http, r#"{"attributes":{"request":{}}}"#), "", "Envoy asks about it");
    assert_eq!(says(&http, POD), "", "an object is no request");
    let envoy = policy("Envoy", &["envoy.Denied(401).Response()"]);
    assert_eq!(says(&envoy, r#"{"attributes":{"request":{}}}"#), "fail: request denied with status code 401");
    assert_eq!(says(&envoy, &request("GET", "/")), "", "no proxy of Envoy asks about it");
}
