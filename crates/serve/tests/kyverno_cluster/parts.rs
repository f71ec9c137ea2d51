//! Parts of objects: what a rule about Pods covers besides, what must be named, and every way a container gets in.

use kubewright_controlplane::{CommandOutput, TestCluster};
use kubewright_value::{Value, json};

use crate::serving::{apply, ask, cluster, policy, refused, rule};

/// A check of the images of all containers.
const IMAGES: &str = "validate: {message: bad image, pattern: {spec: {containers: [{image: 'good/*'}], =(initContainers): [{image: 'good/*'}], =(ephemeralContainers): [{image: 'good/*'}]}}}";

/// Makes a namespace and a policy of one name that enforces `rules`.
#[track_caller]
fn enforce(cluster: &TestCluster, name: &str, rules: &[String]) {
    cluster.create_namespace(name);
    let spec = format!("background: false, validationFailureAction: Enforce, rules: [{}]", rules.join(", "));
    apply(cluster, "", &policy(name, &spec));
}

fn pod(name: &str, containers: &str) -> String {
    format!("{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{{containers}}}}}")
}

const GOOD: &str = "containers: [{name: c, image: good/a, resources: {requests: {cpu: 1m}}}]";
const BAD: &str = "containers: [{name: c, image: bad/a, resources: {requests: {cpu: 1m}}}]";

#[track_caller]
fn blocked(answer: CommandOutput, want: &str) {
    let told = answer.failure();
    assert!(told.contains("was blocked due to the following policies") && told.contains(want), "{told}");
}

#[test]
fn a_container_cannot_come_in_later() {
    let Some(cluster) = cluster() else { return };
    enforce(cluster, "parts-debug", &[rule("r", "Pod", "parts-debug", IMAGES)]);
    refused(cluster, "parts-debug", &pod("p", BAD));
    apply(cluster, "parts-debug", &pod("p", GOOD));
    let add = |image: &str| {
        let stored = cluster.kubectl(&["get", "pod", "p", "-n", "parts-debug", "-o", "json"], "").success();
        let mut stored = json::parse(&stored).expect("JSON");
        let container = json::parse(&format!(r#"[{{"name":"debug","image":"{image}"}}]"#)).expect("JSON");
        let spec = stored.as_object_mut().and_then(|map| map.get_mut("spec")).and_then(Value::as_object_mut);
        spec.expect("a spec").insert("ephemeralContainers".into(), container);
        let path = "/api/v1/namespaces/parts-debug/pods/p/ephemeralcontainers";
        cluster.kubectl(&["replace", "--raw", path, "-f", "-"], &stored.to_string())
    };
    blocked(add("bad/shell"), "/spec/ephemeralContainers/0/image/");
    add("good/shell").expect_success();
}

#[test]
fn a_pod_that_grows_is_judged() {
    let Some(cluster) = cluster() else { return };
    let check = "validate: {message: too large, pattern: {spec: {containers: [{resources: {requests: {cpu: '<=1'}}}]}}}";
    enforce(cluster, "parts-resize", &[rule("r", "Pod", "parts-resize", check)]);
    apply(cluster, "parts-resize", &pod("p", GOOD));
    refused(cluster, "parts-resize", &pod("q", &GOOD.replace("1m", "8")));
    let patch = r#"{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"8"}}}]}}"#;
    let resize = ["patch", "pod", "p", "--subresource=resize", "-n", "parts-resize", "-p", patch];
    blocked(cluster.kubectl(&resize, ""), "too large");
}

#[test]
fn other_parts_must_be_named() {
    let Some(cluster) = cluster() else { return };
    let deny = |name: &str| {
        format!("validate: {{message: 'no {name}', allowExistingViolations: false, deny: {{}}}}")
    };
    let whole = rule(
        "whole",
        "Deployment",
        "parts-named",
        "validate: {message: wrong, pattern: {metadata: {labels: {ok: fine}}}}",
    );
    enforce(
        cluster,
        "parts-named",
        &[
            rule("status", "apps/v1/Deployment.status", "parts-named", &deny("status")),
            rule("scale", "Deployment/scale", "parts-named", &deny("scale")),
            whole,
        ],
    );
    let exec = rule("exec", "Pod/exec", "parts-named", &deny("exec"));
    let spec = format!("background: false, validationFailureAction: Enforce, rules: [{exec}]");
    apply(cluster, "", &policy("parts-exec", &spec));
    apply(cluster, "parts-named", &pod("p", GOOD));
    let deployment = |labels: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d, labels: {{{labels}}}}}, spec: {{replicas: 0, selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{{GOOD}}}}}}}}}"
        )
    };
    refused(cluster, "parts-named", &deployment(""));
    apply(cluster, "parts-named", &deployment("ok: fine"));
    cluster.wait_until("exec is refused", || {
        let exec = cluster.kubectl(&["exec", "p", "-n", "parts-named", "--", "ls"], "");
        exec.stderr.contains("resource PodExecOptions// was blocked") && exec.stderr.contains("exec: no exec")
    });
    let status = r#"{"status":{"replicas":7}}"#;
    let patch = [
        "patch",
        "deployment",
        "d",
        "--subresource=status",
        "-n",
        "parts-named",
        "--type=merge",
        "-p",
        status,
    ];
    blocked(cluster.kubectl(&patch, ""), "status: no status");
    blocked(
        cluster.kubectl(&["scale", "deployment", "d", "--replicas=3", "-n", "parts-named"], ""),
        "scale: no scale",
    );
}

/// R-SEC-9: every kind that makes Pods, every list of containers, every way in.
#[test]
fn no_kind_brings_in_a_container_that_pods_may_not_have() {
    let Some(cluster) = cluster() else { return };
    enforce(cluster, "parts-matrix", &[rule("r", "Pod", "parts-matrix", IMAGES)]);
    refused(cluster, "parts-matrix", &pod("p", BAD));
    let with_selector = "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: SPEC}";
    let job = "{template: {spec: {restartPolicy: Never, REST}}}";
    let kinds = [
        ("v1", "Pod", "SPEC".to_owned()),
        (
            "v1",
            "ReplicationController",
            "{template: {metadata: {labels: {a: b}}, spec: SPEC}, selector: {a: b}, replicas: 0}".to_owned(),
        ),
        ("apps/v1", "Deployment", format!("{{replicas: 0, {with_selector}}}")),
        ("apps/v1", "ReplicaSet", format!("{{replicas: 0, {with_selector}}}")),
        ("apps/v1", "StatefulSet", format!("{{replicas: 0, serviceName: s, {with_selector}}}")),
        ("apps/v1", "DaemonSet", format!("{{{with_selector}}}")),
        ("batch/v1", "Job", format!("{{suspend: true, {}", job.trim_start_matches('{'))),
        (
            "batch/v1",
            "CronJob",
            format!("{{schedule: '0 0 1 1 *', suspend: true, jobTemplate: {{spec: {job}}}}}"),
        ),
    ];
    let mut asked = 0;
    for (version, kind, spec) in &kinds {
        let object = |name: &str, containers: &str| {
            let spec = spec.replace("SPEC", &format!("{{{containers}}}")).replace("REST", containers);
            format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}}}, spec: {spec}}}")
        };
        let lists = [BAD.to_owned(), format!("{GOOD}, initContainers: [{{name: i, image: bad/a}}]")];
        let fine = format!("{GOOD}, initContainers: [{{name: i, image: good/a}}]");
        ask(cluster, "parts-matrix", &object("fine", &fine)).expect_success();
        for bad in &lists {
            blocked(ask(cluster, "parts-matrix", &object("new", bad)), "bad image");
            asked += 1;
            // What a Job makes cannot be changed at all.
            if *kind != "Job" {
                apply(cluster, "parts-matrix", &object("there", &fine));
                let bad = if bad.contains("initContainers") {
                    bad.clone()
                } else {
                    format!("{bad}, initContainers: [{{name: i, image: good/a}}]")
                };
                let change = ["apply", "--dry-run=server", "-n", "parts-matrix", "-f", "-"];
                blocked(cluster.kubectl(&change, &object("there", &bad)), "bad image");
                asked += 1;
            }
        }
    }
    assert_eq!(asked, 30);
}
