//! Rights of the controller, asked when a policy is stored, on a real control plane: a policy that the controller may not carry
//! out is refused with the RBAC rule to grant, and stored once that is granted.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::process::{Child, Command, Stdio};

use kubewright_controlplane::{CommandOutput, TestCluster};
use kubewright_value::{Value, json};

const NAMESPACE: &str = "kubewright-system";
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");
const ACCOUNT: &str = "system:serviceaccount:kubewright-system:kubewright-scan";

/// The webhook with the rights of `install`. It is killed when this is dropped.
struct RunningWebhook(Child);

impl Drop for RunningWebhook {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn installed() -> Option<(TestCluster, RunningWebhook)> {
    let cluster = TestCluster::start()?;
    let output = Command::new(BINARY).arg("install").output().expect("the binary starts");
    let manifests = String::from_utf8(output.stdout).expect("text");
    cluster.wait_until("the manifests are taken", || {
        cluster.kubectl(&["apply", "--server-side", "-f", "-"], &manifests).is_success()
    });
    let address = cluster.reserve_address().to_string();
    let child = Command::new(BINARY)
        .args(["serve", "--namespace", NAMESPACE, "--drain=0s", "--health-address=127.0.0.1:0"])
        .args(["--address", &address, "--url", &format!("https://{address}")])
        .arg(format!("--background-account={NAMESPACE}/kubewright-scan"))
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig_of(NAMESPACE, "kubewright"))
        .stdin(Stdio::null())
        .stderr(File::create(cluster.folder().join("serve.log")).expect("a log"))
        .spawn();
    let webhook = RunningWebhook(child.expect("it starts"));
    let bad = generates("{apiVersion: v1, kind: ConfigMap, namespace: default}");
    cluster.wait_until("policies are checked", || store(&cluster, &bad, true).stderr.contains("KW-K126"));
    Some((cluster, webhook))
}

/// Stores an object, or asks whether it would be stored.
fn store(cluster: &TestCluster, object: &str, is_dry_run: bool) -> CommandOutput {
    let dry_run = if is_dry_run { "--dry-run=server" } else { "--dry-run=none" };
    cluster.kubectl(&["apply", dry_run, "-f", "-"], object)
}

/// Returns a ClusterPolicy that makes something because of Namespaces.
fn generates(generate: &str) -> String {
    let generate = generate.trim_end_matches('}');
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: generates}}, spec: {{rules: [{{name: make, match: \
         {{any: [{{resources: {{kinds: [Namespace]}}}}]}}, generate: {generate}, name: made, synchronize: true, data: {{}}}}}}]}}}}"
    )
}

/// Grants the controller `verbs` on a resource.
fn grant(cluster: &TestCluster, name: &str, rule: &str) {
    let role = format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: {name}, labels: \
         {{rbac.kubewright.dev/aggregate-to-background: 'true'}}}}, rules: [{rule}]}}"
    );
    store(cluster, &role, false).expect_success();
}

#[track_caller]
fn check_refused(cluster: &TestCluster, policy: &str, words: &[&str]) {
    let answer = store(cluster, policy, true);
    assert!(!answer.is_success(), "{policy}");
    for word in words {
        assert!(answer.stderr.contains(word), "no `{word}` in {answer}");
    }
}

#[test]
fn a_policy_is_stored_once_the_controller_may_carry_it_out() {
    let Some((cluster, _webhook)) = installed() else { return };
    let cluster = &cluster;
    generated_objects(cluster);
    existing_objects(cluster);
    deleted_objects(cluster);
    unanswered_questions_refuse_nothing(cluster);
}

fn generated_objects(cluster: &TestCluster) {
    let policy = generates("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, namespace: default}");
    let rule = "{apiGroups: [\"networking.k8s.io\"], resources: [networkpolicies], verbs: [create, update, delete]} in \
                namespace default";
    let words = format!(
        "path: spec.rules[0].generate..: {ACCOUNT} requires permissions create,update,delete for resource \
         networking.k8s.io/v1/NetworkPolicy in namespace default"
    );
    check_refused(cluster, &policy, &[rule, &words, "KW-K126", "spec.rules[0].generate"]);
    // What no policy says is not asked about.
    let variable = policy.replace("kind: NetworkPolicy", "kind: '{{ request.object.metadata.name }}'");
    store(cluster, &variable, true).expect_success();

    let granted =
        "{apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [create, update, delete]}";
    grant(cluster, "makes-network-policies", granted);
    cluster.wait_until("the granted policy is stored", || store(cluster, &policy, false).is_success());

    // A policy that is there can still be labelled when the right is taken away.
    cluster.kubectl(&["delete", "clusterrole", "makes-network-policies"], "").expect_success();
    let changed = policy.replace("data: {}", "data: {spec: {podSelector: {}}}");
    cluster.wait_until("the right is gone", || !store(cluster, &changed, true).is_success());
    cluster.kubectl(&["label", "clusterpolicy", "generates", "team=shop"], "").expect_success();
    cluster.kubectl(&["delete", "clusterpolicy", "generates"], "").expect_success();
}

fn existing_objects(cluster: &TestCluster) {
    let policy = "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: scales, namespace: default}, spec: {rules: [{name: \
                  scale, match: {any: [{resources: {kinds: [ConfigMap]}}]}, mutate: {targets: [{apiVersion: apps/v1, kind: \
                  Deployment/scale, name: web, namespace: default}], patchStrategicMerge: {spec: {replicas: 2}}}}]}}";
    let rule =
        "{apiGroups: [\"apps\"], resources: [deployments/scale], verbs: [get, update]} in namespace default";
    check_refused(
        cluster,
        policy,
        &[rule, "path: spec.rules[0].mutate.targets.: ", "apps/v1/Deployment/scale"],
    );
    // Only the namespace of the policy counts.
    let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: scales, namespace: default}, rules: \
                [{apiGroups: [apps], resources: [deployments/scale], verbs: [get, update]}]}\n---\n{apiVersion: \
                rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: scales, namespace: default}, roleRef: \
                {apiGroup: rbac.authorization.k8s.io, kind: Role, name: scales}, subjects: [{kind: ServiceAccount, name: \
                kubewright-scan, namespace: kubewright-system}]}";
    store(cluster, role, false).expect_success();
    cluster.wait_until("the right in the namespace suffices", || store(cluster, policy, true).is_success());

    let policy = "{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: labels}, spec: {evaluation: \
                  {mutateExisting: {enabled: true}}, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], \
                  operations: [CREATE], resources: [services]}]}, mutations: [{patchType: ApplyConfiguration, \
                  applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}'}}]}}";
    let rule = "{apiGroups: [\"\"], resources: [services], verbs: [update]}";
    check_refused(cluster, policy, &[rule, "KW-A055"]);
}

fn deleted_objects(cluster: &TestCluster) {
    let policy = "{apiVersion: kyverno.io/v2, kind: ClusterCleanupPolicy, metadata: {name: deletes}, spec: {schedule: '0 0 1 1 \
                  *', match: {any: [{resources: {kinds: [ConfigMap]}}]}}}";
    let words =
        ["verbs: [delete]", "cleanup controller has no permission to delete kind ConfigMap", "KW-K126"];
    check_refused(cluster, policy, &words);
    // Kyverno stores a DeletingPolicy without asking.
    let policy = "{apiVersion: policies.kyverno.io/v1, kind: DeletingPolicy, metadata: {name: deletes}, spec: {schedule: '0 0 1 \
                  1 *', matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]}, \
                  conditions: [{name: never, expression: 'false'}]}}";
    let told = store(cluster, policy, true);
    assert!(told.is_success(), "{told}");
    assert!(told.stderr.contains("Warning: ") && told.stderr.contains("resources: [configmaps]"), "{told}");
}

/// The server may not ask any more, which is as if there was no answer.
fn unanswered_questions_refuse_nothing(cluster: &TestCluster) {
    let role = cluster.kubectl(&["get", "clusterrole", "kubewright", "-o", "json"], "").success();
    let mut role = json::parse(&role).expect("JSON");
    let is_asking = |rule: &Value| {
        let resources = rule.get("resources").and_then(Value::as_array).unwrap_or_default();
        resources.iter().any(|name| name.as_str() == Some("subjectaccessreviews"))
    };
    let rules = role.as_object_mut().and_then(|map| map.get_mut("rules")).and_then(Value::as_array_mut);
    rules.expect("rules").retain(|rule| !is_asking(rule));
    cluster.kubectl(&["replace", "-f", "-"], &json::to_string(&role)).expect_success();
    let policy = generates("{apiVersion: v1, kind: ServiceAccount, namespace: default}");
    cluster.wait_until("it is stored with a warning", || {
        let told = store(cluster, &policy, true);
        told.is_success() && told.stderr.contains("not all rights of")
    });
}
