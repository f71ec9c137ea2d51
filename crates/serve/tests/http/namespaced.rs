//! A Policy of a namespace learns nothing of any other, whichever way it asks.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use kubewright_engine::Query;
use kubewright_serve::{Looking, Lookup};
use kubewright_value::json;

use crate::server::{Running, review, snapshot};

const CANARY: &str = "TOPSECRETVALUE";

const OBJECT: &str =
    r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"},"spec":{}}"#;

/// Knows everything, and remembers what it was asked.
#[derive(Default, Clone)]
struct Oracle(Arc<Mutex<Vec<String>>>);

impl Lookup for Oracle {
    fn look_up<'a>(&'a self, query: &'a Query, _: Instant) -> Looking<'a> {
        self.0.lock().expect("a list").push(query.to_string());
        let object = format!(
            r#"{{"metadata":{{"name":"x","namespace":"b","labels":{{"l":"1"}}}},"data":{{"k":"{CANARY}"}},
            "items":[{{"metadata":{{"name":"x","namespace":"b"}},"data":{{"k":"{CANARY}"}}}},
            {{"metadata":{{"name":"x"}},"data":{{"k":"{CANARY}"}}}}],
            "body":{{"data":{{"k":"{CANARY}"}}}},"statusCode":200,"status":{{"allowed":true,"reason":"{CANARY}"}}}}"#
        );
        Box::pin(async move { Ok(Some(json::parse(&object).expect("JSON"))) })
    }
}

/// Returns what a Policy in the namespace `a` with `rule` answers, and what it asked for.
fn asked(rule: &str) -> (bool, String, Vec<String>) {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: Policy, metadata: {{name: nosy, namespace: a}}, spec: \
         {{validationFailureAction: Enforce, background: false, rules: [{{name: r, \
         match: {{any: [{{resources: {{kinds: [Service]}}}}]}}, {rule}}}]}}}}"
    );
    let oracle = Oracle::default();
    let lookup = oracle.clone();
    let server = Running::start(snapshot(&policy), |state| {
        state.lookup = Box::new(lookup);
        state.world = Box::new(kubewright_engine::OpenWorld::default());
    });
    let answer = server.post("/validate", review("CREATE", OBJECT));
    let queries = oracle.0.lock().expect("a list").clone();
    (answer.is_allowed(), answer.message(), queries)
}

fn cel(more: &str, expression: &str) -> String {
    format!(
        "validate: {{cel: {{{more}expressions: [{{expression: \"{expression}\", messageExpression: \"'got ' + string(params.data.k)\"}}]}}}}"
    )
}

fn context(entry: &str) -> String {
    format!(
        "context: [{{name: c, {entry}}}], validate: {{message: 'got {{{{ c }}}}', \
         deny: {{conditions: {{any: [{{key: '{{{{ c }}}}', operator: NotEquals, value: x}}]}}}}}}"
    )
}

#[test]
fn nothing_outside_of_the_namespace_is_asked_for_or_said() {
    let config_map = "paramKind: {apiVersion: v1, kind: ConfigMap}, ";
    let secret = "paramKind: {apiVersion: v1, kind: Secret}, ";
    let node = "paramKind: {apiVersion: v1, kind: Node}, ";
    let widget = "paramKind: {apiVersion: example.com/v1, kind: Widget}, ";
    let mut ways = Vec::new();
    for action in ["Deny", "Allow"] {
        for (kind, reference) in [
            (config_map, "name: x, namespace: b"),
            (config_map, "selector: {}, namespace: b"),
            (config_map, "selector: {matchLabels: {l: '1'}}, namespace: b"),
            (secret, "name: x, namespace: b"),
            (widget, "name: x, namespace: b"),
            (node, "name: x"),
            (node, "selector: {}"),
            (node, "name: x, namespace: a"),
            ("paramKind: {apiVersion: v1, kind: Namespace}, ", "name: b"),
            ("paramKind: {apiVersion: v1, kind: Namespace}, ", "selector: {}"),
            ("paramKind: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}, ", "name: x"),
        ] {
            let params = format!("{kind}paramRef: {{{reference}, parameterNotFoundAction: {action}}}, ");
            ways.push(cel(&params, "false"));
        }
    }
    for check in [
        "authorizer.group('').resource('secrets').namespace('b').check('get').reason()",
        "authorizer.group('').resource('secrets').check('get').reason()",
        "authorizer.path('/metrics').check('get').reason()",
        "authorizer.serviceAccount('b', 'x').group('').resource('pods').check('get').reason()",
    ] {
        ways.push(format!(
            "validate: {{cel: {{expressions: [{{expression: \"{check} == ''\", message: 'got {CANARY}'}}]}}}}"
        ));
    }
    for entry in [
        "configMap: {name: x, namespace: b}",
        "configMap: {name: x, namespace: '{{ request.object.kind }}'}",
        "apiCall: {urlPath: /api/v1/namespaces/b/configmaps/x}",
        "apiCall: {urlPath: /api/v1/namespaces/b/configmaps/x, default: fallback}",
        "apiCall: {urlPath: /api/v1/secrets}",
        "apiCall: {urlPath: '/api/v1/namespaces/a/../b/secrets'}",
        "apiCall: {urlPath: '/api/v1/namespaces/a%2f..%2fb/secrets'}",
        "apiCall: {urlPath: /api/v1/namespaces/b}",
        "apiCall: {urlPath: /api/v1/namespaces/a/nodes}",
        "apiCall: {urlPath: /api/v1/nodes}",
        "apiCall: {urlPath: /version}",
        "apiCall: {service: {url: 'http://x.b.svc/'}}",
        "apiCall: {method: POST, urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, \
         data: [{key: spec, value: {user: u, resourceAttributes: {namespace: b, verb: get, resource: pods}}}]}",
        "globalReference: {name: entry}",
        "globalReference: {name: entry.part}",
    ] {
        ways.push(context(entry));
    }
    ways.push(
        "validate: {manifests: {attestors: [{entries: [{keys: {secret: {name: x, namespace: b}}}]}]}}"
            .to_owned(),
    );
    for way in ways {
        let (is_allowed, message, queries) = asked(&way);
        assert!(!is_allowed, "{way}: allowed");
        let is_read = !message.contains("the rule is not valid") || way.contains("globalReference");
        assert!(is_read, "{way}: {message}");
        assert!(!message.contains(CANARY), "{way}: {message}");
        assert_eq!(queries, Vec::<String>::new(), "{way}: {message}");
    }
}

#[test]
fn its_own_namespace_is_open_to_it() {
    let params = "paramKind: {apiVersion: v1, kind: ConfigMap}, \
                  paramRef: {name: x, parameterNotFoundAction: Deny}, ";
    for (way, query) in [
        (cel(params, "params.data.k == 'no'"), "ConfigMap `a/x`"),
        (
            context("apiCall: {urlPath: /api/v1/namespaces/a/configmaps/x}"),
            "`GET /api/v1/namespaces/a/configmaps/x`",
        ),
        (context("imageRegistry: {reference: 'nginx:1'}"), "image `nginx:1`"),
    ] {
        let (is_allowed, message, queries) = asked(&way);
        assert!(!is_allowed && message.contains(CANARY), "{way}: {message}");
        assert_eq!(queries, [query], "{way}");
    }
}
