//! What rules look up: ConfigMaps, calls of the API server, what the cluster shares; and what they may not.

use kubewright_controlplane::TestCluster;

use crate::serving::{allowed, apply, ask, cluster, config_map, policy, refused_with, rule};

/// A rule that refuses ConfigMaps in `namespace` and says what `context`, which gives `found` a value, has found.
fn telling(namespace: &str, context: &str) -> String {
    let rest = format!(
        "context: [{{name: found, {context}}}], validate: {{message: 'found {{{{found}}}}', deny: {{conditions: {{all: [{{key: '{{{{found}}}}', operator: NotEquals, value: other}}]}}}}}}"
    );
    format!(
        "background: false, validationFailureAction: Enforce, rules: [{}]",
        rule("r", "ConfigMap", namespace, &rest)
    )
}

/// Makes a namespace and a policy of one name, and waits until a ConfigMap is refused with `want`.
#[track_caller]
fn finds(cluster: &TestCluster, name: &str, context: &str, want: &str) {
    cluster.create_namespace(name);
    apply(cluster, "", &policy(name, &telling(name, context)));
    refused_with(cluster, name, &config_map("x", "a: b"), want);
}

#[test]
fn config_maps_are_found_by_fixed_and_by_computed_names() {
    let Some(cluster) = cluster() else { return };
    apply(cluster, "default", &config_map("known", "key: one"));
    finds(
        cluster,
        "map-fixed",
        "configMap: {name: known, namespace: default}",
        r#"found {"data":{"key":"one"}"#,
    );
    let computed = "configMap: {name: '{{request.object.data.map}}', namespace: default}";
    cluster.create_namespace("map-computed");
    apply(cluster, "", &policy("map-computed", &telling("map-computed", computed)));
    refused_with(cluster, "map-computed", &config_map("x", "map: known"), r#"found {"data":{"key":"one"}"#);
    let missing = "failed to get configmap default/unknown : configmaps \"unknown\" not found";
    refused_with(cluster, "map-computed", &config_map("x", "map: unknown"), missing);
    let hostile = config_map("x", "map: ../../secrets");
    refused_with(cluster, "map-computed", &hostile, "which is not a name");
    apply(cluster, "default", &config_map("known", "key: two"));
    refused_with(cluster, "map-fixed", &config_map("x", "a: b"), r#"found {"data":{"key":"two"}"#);
}

#[test]
fn a_rule_sees_what_was_stored_just_before() {
    let Some(cluster) = cluster() else { return };
    let names = "apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}/resourcequotas', jmesPath: 'items[].metadata.name'}";
    finds(cluster, "call-fresh", names, "found []");
    for (name, want) in [("a", r#"found ["a"]"#), ("b", r#"found ["a","b"]"#)] {
        cluster.kubectl(&["create", "quota", name, "-n", "call-fresh"], "").expect_success();
        let told = ask(cluster, "call-fresh", &config_map("x", "a: b")).failure();
        assert!(told.contains(want), "{told}");
    }
}

#[test]
fn the_api_server_is_called() {
    let Some(cluster) = cluster() else { return };
    let count = "apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}/configmaps', jmesPath: 'items[].metadata.name'}";
    finds(cluster, "call-list", count, r#"found ["kube-root-ca.crt"]"#);
    let review = "apiCall: {urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, method: POST, data: [{key: kind, value: SubjectAccessReview}, {key: apiVersion, value: authorization.k8s.io/v1}, {key: spec, value: {user: '{{request.userInfo.username}}', groups: '{{request.userInfo.groups}}', resourceAttributes: {verb: delete, resource: nodes}}}], jmesPath: status.allowed}";
    finds(cluster, "call-review", review, "found true");
    finds(
        cluster,
        "call-missing",
        "apiCall: {urlPath: /api/v1/namespaces/default/configmaps/nothing}",
        "failed to GET resource with raw url: /api/v1/namespaces/default/configmaps/nothing: the server could not find the requested resource",
    );
    finds(
        cluster,
        "call-default",
        "apiCall: {urlPath: /api/v1/namespaces/default/configmaps/nothing, default: usual}",
        "found usual",
    );
    finds(
        cluster,
        "call-storing",
        "apiCall: {urlPath: /api/v1/namespaces/default/configmaps, method: POST, data: [{key: kind, value: ConfigMap}]}",
        "a call may not store anything",
    );
    finds(
        cluster,
        "call-hostile",
        "apiCall: {urlPath: '/api/v1/namespaces/default/../kube-system/configmaps'}",
        "has the part `..`, which is not a name",
    );
}

#[test]
fn what_the_cluster_shares_is_found_by_its_name() {
    let Some(cluster) = cluster() else { return };
    let entry = |name: &str, spec: &str| {
        format!(
            "{{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
        )
    };
    cluster.create_namespace("shared-data");
    apply(cluster, "shared-data", &config_map("first", "a: b"));
    let objects = "kubernetesResource: {version: v1, resource: configmaps, namespace: shared-data}, projections: [{name: names, jmesPath: \"[?metadata.name != 'kube-root-ca.crt'].metadata.name\"}]";
    apply(cluster, "", &entry("maps", objects));
    let calls = "apiCall: {urlPath: /api/v1/namespaces/shared-data, refreshInterval: 1s}, projections: [{name: phase, jmesPath: status.phase}]";
    apply(cluster, "", &entry("home", calls));
    finds(cluster, "shared-part", "globalReference: {name: maps.names}", r#"found ["first"]"#);
    finds(cluster, "shared-whole", "globalReference: {name: maps, jmesPath: 'length(@)'}", "found 2");
    finds(cluster, "shared-call", "globalReference: {name: home.phase}", "found Active");
    finds(cluster, "shared-nothing", "globalReference: {name: nothing}", "failed to fetch entry key=nothing");
    // It is watched.
    apply(cluster, "shared-data", &config_map("second", "a: b"));
    refused_with(cluster, "shared-part", &config_map("x", "a: b"), r#"found ["first","second"]"#);
}

#[test]
fn a_namespaced_policy_reads_nothing_outside_of_its_namespace() {
    let Some(cluster) = cluster() else { return };
    for namespace in ["inside", "outside"] {
        cluster.create_namespace(namespace);
        apply(cluster, namespace, &config_map("own", "key: value"));
    }
    let policy = "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: reader}, spec: {validationFailureAction: Enforce, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap], names: ['asks*']}}]}, context: [{name: found, apiCall: {urlPath: '{{request.object.data.path}}'}}], validate: {message: 'found {{found.kind}}', deny: {conditions: {all: [{key: '{{found.kind}}', operator: NotEquals, value: other}]}}}}, {name: m, match: {any: [{resources: {kinds: [ConfigMap], names: ['map*']}}]}, context: [{name: found, configMap: {name: own, namespace: '{{request.object.data.path}}'}}], validate: {message: 'found {{found.data}}', deny: {conditions: {all: [{key: '{{found.data}}', operator: NotEquals, value: other}]}}}}, {name: s, match: {any: [{resources: {kinds: [ConfigMap], names: ['service*']}}]}, context: [{name: found, apiCall: {method: GET, service: {url: 'https://example.com/'}}}], validate: {message: 'found {{found}}', deny: {conditions: {all: [{key: '{{found}}', operator: NotEquals, value: other}]}}}}]}}";
    apply(cluster, "inside", policy);
    let asks = |path: &str| config_map("asks", &format!("path: '{path}'"));
    refused_with(cluster, "inside", &asks("/api/v1/namespaces/inside/configmaps"), "found ConfigMapList");
    refused_with(cluster, "inside", &asks("/api/v1/namespaces/inside/configmaps/own"), "found ConfigMap");
    for path in [
        "/api/v1/namespaces/outside/configmaps/own",
        "/api/v1/namespaces/inside/../outside/configmaps/own",
        "/api/v1/namespaces/inside/%2e%2e/outside/configmaps/own",
        "/api/v1/namespaces/inside%2f..%2foutside/configmaps/own",
        "/api/v1/namespaces/inside/configmaps/..",
        "/api/v1/configmaps",
        "/api/v1/namespaces/inside",
        "/api/v1/namespaces/inside/status",
        "/api/v1/namespaces/outside",
        "/api/v1/nodes",
        "/version",
        "//api/v1/namespaces/outside/configmaps/own",
        "/api/v1/namespaces/outside/configmaps/own?x=/namespaces/inside/",
        "/api/v1/namespaces/outside/configmaps/own#/namespaces/inside/",
        "/api/v1/watch/namespaces/inside/configmaps",
    ] {
        let told = crate::serving::refused(cluster, "inside", &asks(path));
        assert!(told.contains("r: '") && !told.contains("found "), "{path}: {told}");
    }
    refused_with(cluster, "inside", &config_map("map", "path: inside"), "found {\"key\":\"value\"}");
    let other = config_map("map", "path: outside");
    refused_with(cluster, "inside", &other, "is different from the policy namespace");
    let shared = "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: sharing}, spec: {rules: [{name: g, match: {any: [{resources: {kinds: [ConfigMap]}}]}, context: [{name: found, globalReference: {name: maps}}], validate: {deny: {}}}]}}";
    let told = cluster.kubectl(&["create", "-n", "inside", "-f", "-"], shared).failure();
    assert!(told.contains("a Policy in a namespace has no `globalReference`"), "{told}");
    refused_with(
        cluster,
        "inside",
        &config_map("service", ""),
        "calls a service, and a policy of namespace inside reads that namespace alone",
    );
    allowed(cluster, "outside", &asks("/api/v1/namespaces/outside/configmaps/own"));
}

#[test]
fn services_are_not_called_unless_the_operator_names_them() {
    let Some(cluster) = cluster() else { return };
    finds(
        cluster,
        "service",
        "apiCall: {method: GET, service: {url: 'https://example.com/x'}}",
        "the service `example.com` may not be called",
    );
    finds(
        cluster,
        "service-default",
        "apiCall: {method: GET, service: {url: 'https://example.com/x'}, default: usual}",
        "found usual",
    );
}

#[test]
fn a_registry_is_not_asked_unless_the_operator_names_it() {
    let Some(cluster) = cluster() else { return };
    finds(
        cluster,
        "registry",
        "imageRegistry: {reference: nginx}",
        "the registry `index.docker.io` may not be asked",
    );
}
