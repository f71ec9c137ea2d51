//! ModRules at work on a real control plane, beside what the examples show.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "modrule/serving.rs"]
mod serving;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_controlplane::TestCluster;
use kubewright_value::{Value, json};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serving::{BROKEN, NAMESPACE, SERVER, cluster, create_rule, stored};

/// Returns a rule called `name`.
fn rule(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
    )
}

fn config_map(name: &str, data: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{{data}}}}}")
}

fn text<'v>(value: &'v Value, keys: &[&str]) -> &'v str {
    value.str_at(keys)
}

/// Makes `namespace` with `rules` in it.
#[track_caller]
fn home(cluster: &TestCluster, namespace: &str, rules: &[String]) {
    cluster.create_namespace(namespace);
    rules.iter().for_each(|rule| create_rule(cluster, namespace, rule));
}

#[track_caller]
fn create(cluster: &TestCluster, namespace: &str, object: &str) -> Value {
    let arguments = ["create", "-n", namespace, "-o", "json", "-f", "-"];
    json::parse(&cluster.kubectl(&arguments, object).success()).expect("json")
}

#[track_caller]
fn check_refused(cluster: &TestCluster, namespace: &str, object: &str, want: &str) {
    let told = cluster.kubectl(&["create", "-n", namespace, "-f", "-"], object).failure();
    assert!(told.contains(want), "{told}");
}

#[test]
fn a_rule_with_mistakes_is_refused_and_told_all_of_them() {
    let Some(cluster) = cluster() else { return };
    let bad = rule(
        "bad",
        "type: Patch, executionTier: 40000, match: [{select: '$.kind', matchRegex: '('}], patch: [{op: add, path: a, value: '{{'}]",
    );
    let told = cluster.kubectl(&["create", "-n", "default", "-f", "-"], &bad).failure();
    for want in [
        "The ModRule \"bad\" is invalid",
        "spec.executionTier: ",
        "spec.match[0].matchRegex: ",
        "spec.patch[0].path: ",
        "spec.patch[0].value: ",
    ] {
        assert!(told.contains(want), "{want} is not in {told}");
    }
    let doubtful = rule("doubtful", "type: Reject, match: [{select: '$.a[? @.b]', matchValue: '\"Pod\"'}]");
    let created = cluster.kubectl(&["create", "-n", "default", "--dry-run=server", "-f", "-"], &doubtful);
    assert!(created.stderr.contains("Warning: spec.match[0].select: "), "{created}");
    assert!(!created.stderr.contains("matchValue"), "a hint is no warning: {created}");
    created.expect_success();
}

#[test]
fn a_stored_rule_with_a_mistake_says_so_and_can_be_labelled_and_deleted_but_not_changed_for_the_worse() {
    let Some(cluster) = cluster() else { return };
    cluster.wait_until("its status is written", || {
        let rule = stored(cluster, "default", "modrule/broken");
        let condition =
            rule.at(&["status", "conditions"]).and_then(|all| all.item(0)).cloned().unwrap_or_default();
        text(&condition, &["status"]) == "False"
            && text(&condition, &["reason"]) == "Invalid"
            && text(&condition, &["message"]).starts_with("spec.match[0].select: ")
    });
    cluster.kubectl(&["label", "modrule", "broken", "-n", "default", "seen=yes"], "").expect_success();
    let worse = BROKEN.replace("$.", "$..");
    let told = cluster.kubectl(&["replace", "-f", "-"], &worse).failure();
    assert!(told.contains("KW-M005"), "{told}");
    cluster.kubectl(&["delete", "modrule", "broken", "-n", "default"], "").expect_success();
}

#[test]
fn a_rule_is_about_its_own_namespace() {
    let Some(cluster) = cluster() else { return };
    let reject = rule(
        "none",
        "type: Reject, match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}]",
    );
    home(cluster, "own", &[reject]);
    cluster.create_namespace("other");
    check_refused(cluster, "own", &config_map("a", "a: b"), "own/none");
    create(cluster, "other", &config_map("a", "a: b"));
}

#[test]
fn a_rule_of_the_cluster_is_about_objects_without_a_namespace() {
    let Some(cluster) = cluster() else { return };
    let colour = rule(
        "colour",
        "type: Patch, match: [{select: '$.kind', matchValue: ClusterRole}, {select: '$.metadata.name', matchRegex: '^coloured'}],
         patch: [{op: add, path: /metadata/labels/colour, value: blue}]",
    );
    // Another test may have made it.
    let _ = cluster.kubectl(&["create", "namespace", "kubemod-system"], "");
    create_rule(cluster, "kubemod-system", &colour);
    let role = |name: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: {name}}}, rules: []}}"
        )
    };
    assert_eq!(
        text(&create(cluster, "default", &role("coloured")), &["metadata", "labels", "colour"]),
        "blue"
    );
    assert_eq!(create(cluster, "default", &role("plain")).at(&["metadata", "labels"]), None);
}

#[test]
fn tiers_run_in_order_and_rejections_see_what_patches_made() {
    let Some(cluster) = cluster() else { return };
    let about = "{select: '$.kind', matchValue: ConfigMap}";
    home(
        cluster,
        "tiers",
        &[
            rule(
                "a-late",
                &format!(
                    "type: Patch, executionTier: 2, match: [{about}, {{select: '$.data.image', matchRegex: '^private/'}}], patch: [{{op: add, path: /data/secret, value: pull}}]"
                ),
            ),
            rule(
                "b-early",
                &format!(
                    "type: Patch, executionTier: 1, match: [{about}, {{select: '$.data.image', matchRegex: '^hub/'}}], patch: [{{op: replace, path: /data/image, value: '{{{{ .Target.data.image | replace \"hub/\" \"private/\" }}}}'}}]"
                ),
            ),
            rule(
                "c-reject",
                &format!(
                    "type: Reject, executionTier: -5, match: [{about}, {{select: '$.data.image', matchRegex: '^private/bad'}}], rejectMessage: 'no {{{{ .Target.data.image }}}} with {{{{ .Target.data.secret }}}}'"
                ),
            ),
        ],
    );
    let made = create(cluster, "tiers", &config_map("a", "image: hub/web"));
    assert_eq!((text(&made, &["data", "image"]), text(&made, &["data", "secret"])), ("private/web", "pull"));
    check_refused(
        cluster,
        "tiers",
        &config_map("b", "image: hub/bad"),
        "tiers/c-reject: \"no private/bad with pull\"",
    );
}

#[test]
fn a_rule_about_deletion_keeps_an_object() {
    let Some(cluster) = cluster() else { return };
    let keep = rule(
        "keep",
        "type: Reject, admissionOperations: [DELETE], match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.keep', matchValue: me}]",
    );
    home(cluster, "deletion", &[keep]);
    create(cluster, "deletion", &config_map("kept", "keep: me"));
    create(cluster, "deletion", &config_map("free", "keep: other"));
    let told = cluster.kubectl(&["delete", "configmap", "kept", "-n", "deletion"], "").failure();
    assert!(told.contains("deletion/keep"), "{told}");
    cluster.kubectl(&["delete", "configmap", "free", "-n", "deletion"], "").expect_success();
}

#[test]
fn a_namespace_with_the_ignore_label_is_left_alone() {
    let Some(cluster) = cluster() else { return };
    let reject = rule(
        "none",
        "type: Reject, match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}]",
    );
    home(cluster, "ignored", &[reject]);
    check_refused(cluster, "ignored", &config_map("a", "a: b"), "ignored/none");
    cluster
        .kubectl(&["label", "namespace", "ignored", "admission.kubemod.io/ignore=true"], "")
        .expect_success();
    cluster.wait_until("the object is let through", || {
        cluster.kubectl(&["create", "-n", "ignored", "-f", "-"], &config_map("a", "a: b")).is_success()
    });
}

#[test]
fn applying_twice_changes_nothing_the_second_time() {
    let Some(cluster) = cluster() else { return };
    let side = rule(
        "side",
        "type: Patch, match: [{select: '$.kind', matchValue: Deployment}, {select: '$.spec.template.spec.containers[*].name', matchValue: side, negate: true}],
         patch: [{op: add, path: /metadata/labels/colour, value: blue}, {op: add, path: /spec/template/spec/containers/-1, value: '{name: side, image: side}'}]",
    );
    let image = rule(
        "image",
        "type: Patch, executionTier: 1, match: [{select: '$.kind', matchValue: Deployment}],
         patch: [{op: replace, select: '$.spec.template.spec.containers[? @.image =~ \"^hub/\"].image', path: '/spec/template/spec/containers/#0/image', value: '{{ .SelectedItem | replace \"hub/\" \"private/\" }}'}]",
    );
    home(cluster, "applied", &[side, image]);
    let object = |name: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: applied, labels: {{app: a}}}},
              spec: {{replicas: 0, selector: {{matchLabels: {{run: it}}}},
                template: {{metadata: {{labels: {{run: it}}}}, spec: {{containers: [{{name: web, image: hub/web}}]}}}}}}}}"
        )
    };
    for (name, flags) in [("client", &[] as &[&str]), ("server", &["--server-side"])] {
        let apply = |object: &str| {
            let mut arguments = vec!["apply", "-f", "-"];
            arguments.extend(flags);
            cluster.kubectl(&arguments, object).success()
        };
        apply(&object(name));
        let mut first = stored(cluster, "applied", &format!("deployment/{name}"));
        let containers = first.at(&["spec", "template", "spec", "containers"]).and_then(Value::as_array);
        let images: Vec<_> = containers.expect("containers").iter().map(|it| text(it, &["image"])).collect();
        assert_eq!(images, ["private/web", "side"], "{name}");
        let of = |object: &Value, key: &str| object.at(&["metadata", key]).cloned();
        // The controller of Deployments writes too, until it has nothing more to say.
        let (mut said, mut second) = (String::new(), first.clone());
        for _ in 0..10 {
            said = apply(&object(name));
            second = stored(cluster, "applied", &format!("deployment/{name}"));
            if of(&first, "resourceVersion") == of(&second, "resourceVersion") {
                break;
            }
            first = second.clone();
        }
        assert_eq!(of(&first, "generation"), of(&second, "generation"), "{name}: {said}");
        assert_eq!(of(&first, "resourceVersion"), of(&second, "resourceVersion"), "{name}: {said}");
        assert_eq!(first.get("spec"), second.get("spec"), "{name}: {said}");
        assert_eq!(of(&first, "labels"), of(&second, "labels"), "{name}: {said}");
        assert_eq!(of(&first, "annotations"), of(&second, "annotations"), "{name}: {said}");
        println!("{name}: {said}");
        // What is changed by hand arrives, and the rules' changes stay.
        let more = object(name).replace("labels: {app: a}", "labels: {app: b}");
        apply(&more);
        let third = stored(cluster, "applied", &format!("deployment/{name}"));
        assert_eq!(text(&third, &["metadata", "labels", "app"]), "b", "{name}");
        assert_eq!(text(&third, &["metadata", "labels", "colour"]), "blue", "{name}");
        assert_eq!(first.get("spec"), third.get("spec"), "{name}");
    }
}

/// Returns the Events about the rule called `name`.
fn events(cluster: &TestCluster, namespace: &str, name: &str) -> Vec<Value> {
    let selector = format!("--field-selector=involvedObject.kind=ModRule,involvedObject.name={name}");
    let listed = cluster.kubectl(&["get", "events", "-n", namespace, &selector, "-o", "json"], "").success();
    let listed = json::parse(&listed).expect("json");
    listed.get("items").and_then(Value::as_array).unwrap_or_default().to_vec()
}

#[test]
fn what_a_rule_refuses_is_an_event_that_counts_and_a_dry_run_is_none() {
    let Some(cluster) = cluster() else { return };
    let reject = rule(
        "no-a",
        "type: Reject, rejectMessage: 'no a', match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}]",
    );
    home(cluster, "events", &[reject]);
    let dry = ["create", "-n", "events", "--dry-run=server", "-f", "-"];
    let _ = cluster.kubectl(&dry, &config_map("dry", "a: b")).failure();
    for _ in 0..3 {
        check_refused(cluster, "events", &config_map("a", "a: b"), "no a");
    }
    cluster.wait_until("the event counts three", || {
        let events = events(cluster, "events", "no-a");
        events.iter().any(|event| event.get("count").and_then(Value::as_i64) == Some(3))
    });
    let events = events(cluster, "events", "no-a");
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0];
    assert_eq!(text(event, &["reason"]), "PolicyViolation");
    assert_eq!(text(event, &["message"]), "ConfigMap events/a refused: no a");
    assert_eq!(text(event, &["related", "name"]), "a");
    let described = cluster.kubectl(&["describe", "modrule", "no-a", "-n", "events"], "").success();
    assert!(described.contains("ConfigMap events/a refused: no a"), "{described}");
}

#[test]
fn what_a_rule_cannot_answer_is_in_its_status_and_the_others_go_on() {
    let Some(cluster) = cluster() else { return };
    let fails = rule(
        "fails",
        "type: Patch, match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}], patch: [{op: replace, path: /data/missing, value: b}]",
    );
    let works = rule(
        "works",
        "type: Patch, match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}], patch: [{op: add, path: /data/b, value: c}]",
    );
    home(cluster, "failing", &[fails, works]);
    let made = create(cluster, "failing", &config_map("a", "a: b"));
    assert_eq!(text(&made, &["data", "b"]), "c");
    cluster.wait_until("the rule says that it failed", || {
        let rule = stored(cluster, "failing", "modrule/fails");
        text(&rule, &["status", "lastFailure", "object"]) == "ConfigMap failing/a"
            && !text(&rule, &["status", "lastFailure", "message"]).is_empty()
            && !text(&rule, &["status", "lastFailure", "time"]).is_empty()
    });
    cluster.wait_until("there is an event", || {
        events(cluster, "failing", "fails").iter().any(|event| text(event, &["reason"]) == "PolicyError")
    });
    assert_eq!(stored(cluster, "failing", "modrule/works").at(&["status", "lastFailure"]), None);
}

#[test]
fn a_status_that_is_written_leads_to_no_further_write() {
    let Some(cluster) = cluster() else { return };
    home(
        cluster,
        "quiet",
        &[rule("quiet", "type: Reject, match: [{select: '$.kind', matchValue: Nothing}]")],
    );
    let version =
        || text(&stored(cluster, "quiet", "modrule/quiet"), &["metadata", "resourceVersion"]).to_owned();
    let first = version();
    // Others come and go, and every time all statuses are looked at.
    for number in 0..3 {
        create_rule(
            cluster,
            "quiet",
            &rule(
                &format!("other-{number}"),
                "type: Reject, match: [{select: '$.kind', matchValue: Nothing}]",
            ),
        );
    }
    assert_eq!(version(), first);
}

#[test]
fn nothing_of_a_secret_gets_into_events_and_statuses() {
    let Some(cluster) = cluster() else { return };
    home(
        cluster,
        "secrets",
        &[
            rule(
                "told",
                "type: Reject, rejectMessage: 'no {{ .Target.data.password }}', match: [{select: '$.kind', matchValue: Secret}, {select: '$.metadata.name', matchValue: refused}]",
            ),
            rule(
                "failed",
                "type: Patch, match: [{select: '$.kind', matchValue: Secret}, {select: '$.metadata.name', matchValue: stored}], patch: [{op: add, path: /data/a, value: '{{ atoi (fail .Target.data.password) }}'}]",
            ),
        ],
    );
    // The base64 of `canary`.
    let secret = |name: &str| {
        format!("{{apiVersion: v1, kind: Secret, metadata: {{name: {name}}}, data: {{password: Y2FuYXJ5}}}}")
    };
    let _ = cluster.kubectl(&["create", "-n", "secrets", "-f", "-"], &secret("refused")).failure();
    create(cluster, "secrets", &secret("stored"));
    cluster.wait_until("both are told", || {
        !events(cluster, "secrets", "told").is_empty() && !events(cluster, "secrets", "failed").is_empty()
    });
    cluster.wait_until("the failure is in the status", || {
        stored(cluster, "secrets", "modrule/failed").at(&["status", "lastFailure"]).is_some()
    });
    let rules = cluster.kubectl(&["get", "modrules", "-n", "secrets", "-o", "json"], "").success();
    let told = cluster.kubectl(&["get", "events", "-n", "secrets", "-o", "json"], "").success();
    for text in [rules, told] {
        assert!(!text.contains("Y2FuYXJ5") && !text.contains("canary"), "{text}");
    }
}

#[test]
fn a_dry_run_is_answered_over_https() {
    let Some(cluster) = cluster() else { return };
    let read = ["get", "secret", "kubewright-tls", "-n", NAMESPACE, "-o", "jsonpath={.data.ca\\.crt}"];
    let authority = STANDARD.decode(cluster.kubectl(&read, "").success()).expect("base64");
    let put = |path: &str, body: &str| put(&authority, path, body);
    let request = r#"{"resourceManifest": {"kind": "Pod", "metadata": {"name": "a"}},
        "modRules": [{"metadata": {"name": "r"}, "spec": {"type": "Patch", "match": [{"select": "$.kind"}],
            "patch": [{"op": "add", "path": "/metadata/labels/a", "value": "b"}]}}]}"#;
    let (status, body) = put("/v1/dryrun", request);
    assert_eq!(status, 200, "{body}");
    let answer = json::parse(&body).expect("json");
    assert_eq!(
        answer.get("patch").map(ToString::to_string).as_deref(),
        Some(r#"[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]"#)
    );
    let (status, body) = put("/v1/dryrun", "{}");
    assert_eq!((status, body.as_str()), (400, r#"{"error":"the request has no rules and no object"}"#));
}

/// Sends `body` and returns the status and the body of the answer.
fn put(authority: &[u8], path: &str, body: &str) -> (u16, String) {
    let address = SERVER.get().expect("a server");
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate.expect("PEM")).expect("a certificate");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "127.0.0.1".try_into().expect("a name");
    let mut connection = rustls::ClientConnection::new(Arc::new(config), name).expect("a connection");
    let mut socket = TcpStream::connect(address).expect("a socket");
    let mut stream = rustls::Stream::new(&mut connection, &mut socket);
    let request = format!(
        "PUT {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    // The end of the connection need not be announced.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, body.to_owned())
}

#[test]
fn a_binding_that_is_only_tried_tells_the_pod_nothing() {
    let Some(cluster) = cluster() else { return };
    cluster.create_namespace("bindings");
    create(
        cluster,
        "bindings",
        "{apiVersion: v1, kind: Pod, metadata: {name: web, annotations: {ref.kubemod.io/inject-node-ref: 'true'}},
          spec: {schedulerName: absent, containers: [{name: web, image: web}]}}",
    );
    let bind = |query: &str| {
        let path = format!("/api/v1/namespaces/bindings/pods/web/binding{query}");
        let binding = r#"{"apiVersion":"v1","kind":"Binding","metadata":{"name":"web"},"target":{"kind":"Node","name":"node-1"}}"#;
        cluster.kubectl(&["create", "--raw", &path, "-f", "-"], binding).expect_success();
        stored(cluster, "bindings", "pod/web")
    };
    let tried = bind("?dryRun=All");
    assert_eq!(tried.at(&["metadata", "annotations", "ref.kubemod.io/nodename"]), None);
    assert_eq!(tried.at(&["spec", "nodeName"]), None);
    let bound = bind("");
    assert_eq!(text(&bound, &["metadata", "annotations", "ref.kubemod.io/nodename"]), "node-1");
    assert_eq!(text(&bound, &["spec", "nodeName"]), "node-1");
}

#[test]
fn what_a_rule_added_goes_with_the_rule_at_the_next_apply() {
    let Some(cluster) = cluster() else { return };
    let colour = rule(
        "colour",
        "type: Patch, match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}], patch: [{op: add, path: /data/colour, value: blue}]",
    );
    home(cluster, "gone", &[colour]);
    let apply = || {
        cluster.kubectl(&["apply", "-n", "gone", "-f", "-"], &config_map("a", "a: b")).expect_success();
        stored(cluster, "gone", "configmap/a")
    };
    assert_eq!(text(&apply(), &["data", "colour"]), "blue");
    cluster.kubectl(&["delete", "modrule", "colour", "-n", "gone"], "").expect_success();
    cluster.wait_until("what the rule added is gone", || apply().at(&["data", "colour"]).is_none());
}

#[test]
fn an_object_that_comes_with_its_namespace_sees_the_labels_of_it() {
    let Some(cluster) = cluster() else { return };
    let team = rule(
        "team",
        "type: Patch, targetNamespaceRegex: '^fresh-', match: [{select: '$.kind', matchValue: ConfigMap}, {select: '$.data.a'}],
         patch: [{op: add, path: /data/team, value: '{{ .Target.syntheticRefs.namespace.metadata.labels.team }}'}]",
    );
    let _ = cluster.kubectl(&["create", "namespace", "kubemod-system"], "");
    create_rule(cluster, "kubemod-system", &team);
    for number in 0..5 {
        let namespace = format!("fresh-{number}");
        let both = format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}, labels: {{team: red}}}}}}\n---\n\
             {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: {namespace}}}, data: {{a: b}}}}"
        );
        cluster.kubectl(&["create", "-f", "-"], &both).expect_success();
        assert_eq!(
            text(&stored(cluster, &namespace, "configmap/a"), &["data", "team"]),
            "red",
            "{namespace}"
        );
    }
}
