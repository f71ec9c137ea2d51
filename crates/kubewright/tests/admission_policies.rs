//! Rules that the API server enforces itself, on a real control plane: two replicas with the rights of `install
//! --generate-vap` write a ValidatingAdmissionPolicy or MutatingAdmissionPolicy and its binding, keep them, leave the rule to them,
//! and take it back.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use kubewright_controlplane::{CommandOutput, TestCluster};

const NAMESPACE: &str = "kubewright-system";
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");
const POLICY: &str = "validatingadmissionpolicy/cpol-replicas";
const BINDING: &str = "validatingadmissionpolicybinding/cpol-replicas-binding";

/// Replicas, with their logs. They are killed when this is dropped.
struct Replicas {
    processes: Vec<(Child, PathBuf)>,
    /// One test at a time: what one control plane does within a second, three on two cores do not.
    _turn: MutexGuard<'static, ()>,
}

impl Replicas {
    /// Starts two. The API server calls the first; both write.
    fn start(cluster: &TestCluster, turn: MutexGuard<'static, ()>) -> Self {
        let url = cluster.reserve_address();
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "kubewright");
        let replica = |address: SocketAddr| {
            let log = cluster.folder().join(format!("serve-{address}.log"));
            let child = Command::new(BINARY)
                .args(["serve", "--generate-vap", "--namespace", NAMESPACE, "--drain=0s"])
                .args(["--exceptions-from=exempt", "--health-address=127.0.0.1:0"])
                .args(["--address", &address.to_string(), "--url", &format!("https://{url}")])
                .arg("--kubeconfig")
                .arg(&kubeconfig)
                .stdin(Stdio::null())
                .stderr(File::create(&log).expect("a log"))
                .spawn();
            (child.expect("it starts"), log)
        };
        let processes = vec![replica(url), replica(cluster.reserve_address())];
        Self { processes, _turn: turn }
    }

    fn logs(&self) -> String {
        self.processes.iter().map(|(_, log)| fs::read_to_string(log).unwrap_or_default()).collect()
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        for (child, _) in &mut self.processes {
            let _ = (child.kill(), child.wait());
        }
    }
}

/// A policy about Deployments that asks for a ValidatingAdmissionPolicy.
fn policy(resources: &str, action: &str, expression: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: replicas}}, spec: {{rules: [{{name: r, \
         match: {{any: [{{resources: {{kinds: [Deployment], operations: [CREATE]{resources}}}}}]}}, \
         validate: {{failureAction: {action}, cel: {{generate: true, expressions: [{{expression: '{expression}', message: 'too many'}}]}}}}}}]}}}}"
    )
}

fn installed() -> Option<(TestCluster, Replicas)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = TestCluster::start()?;
    let flags = ["install", "--generate-vap", "--exceptions-from=exempt"];
    let output = Command::new(BINARY).args(flags).output().expect("the binary starts");
    let manifests = String::from_utf8(output.stdout).expect("text");
    cluster.wait_until("the manifests are taken", || {
        cluster.kubectl(&["apply", "--server-side", "-f", "-"], &manifests).is_success()
    });
    cluster.create_namespace("exempt");
    let replicas = Replicas::start(&cluster, turn);
    Some((cluster, replicas))
}

fn state(cluster: &TestCluster, key: &str) -> String {
    let path = format!("jsonpath={{.status.validatingadmissionpolicy.{key}}}");
    cluster.kubectl(&["get", "clusterpolicy", "replicas", "-o", &path], "").stdout
}

fn field(cluster: &TestCluster, object: &str, path: &str) -> String {
    cluster.kubectl(&["get", object, "-o", &format!("jsonpath={{{path}}}")], "").stdout
}

fn is_there(cluster: &TestCluster, object: &str) -> bool {
    cluster.kubectl(&["get", object], "").is_success()
}

/// Asks whether there may be a Deployment with four replicas.
fn ask(cluster: &TestCluster) -> CommandOutput {
    cluster.kubectl(&["create", "deployment", "many", "--image=web", "--replicas=4", "--dry-run=server"], "")
}

fn apply(cluster: &TestCluster, object: &str) {
    cluster.wait_until("it is stored", || cluster.kubectl(&["apply", "-f", "-"], object).is_success());
}

fn await_generated(cluster: &TestCluster) {
    cluster.wait_until("the API server enforces the rule", || state(cluster, "generated") == "true");
}

/// Waits until the webhook refuses. Nothing passes until then: the API server forgets a policy a moment later
/// than it is deleted.
fn await_webhook(cluster: &TestCluster) {
    cluster.wait_until("the webhook refuses", || {
        let told = ask(cluster);
        assert!(!told.is_success(), "{told}");
        told.stderr.contains("admission webhook")
    });
}

/// The resources that our webhook is asked about.
fn asked_about(cluster: &TestCluster) -> String {
    field(cluster, "validatingwebhookconfiguration/kubewright", ".webhooks[*].rules[*].resources")
}

#[test]
fn a_rule_that_asks_is_enforced_by_the_api_server_alone_for_as_long_as_it_can() {
    let Some((cluster, replicas)) = installed() else { return };
    let cluster = &cluster;
    let good = policy("", "Enforce", "object.spec.replicas <= 3");
    apply(cluster, &good);
    cluster.wait_until("it is refused by whomever", || ask(cluster).stderr.contains("too many"));
    await_generated(cluster);
    is_written_as_the_original_writes_it(cluster);
    cluster.wait_until("the webhook has left it", || !asked_about(cluster).contains("deployments"));
    assert!(ask(cluster).stderr.contains("ValidatingAdmissionPolicy 'cpol-replicas'"), "{}", ask(cluster));

    foreign_changes_are_reverted(cluster);
    replicas_do_not_fight(cluster, &replicas);
    an_exception_is_written_into_it_or_takes_it_back(cluster);

    // No longer expressible: the webhook takes over before the objects go.
    apply(cluster, &policy(", names: [\"m*\"]", "Enforce", "object.spec.replicas <= 3"));
    cluster.wait_until("both are gone", || !is_there(cluster, POLICY) && !is_there(cluster, BINDING));
    cluster.wait_until("it is told why", || state(cluster, "message").contains("wildcards in resource name"));
    assert_eq!(state(cluster, "generated"), "false");
    await_webhook(cluster);

    // What does not pass the type check is not bound.
    apply(cluster, &policy("", "Enforce", "object.spec.replicas <= 3 && object.spec.nonsense == 1"));
    cluster.wait_until("the type check is told", || state(cluster, "message").contains("nonsense"));
    assert!(is_there(cluster, POLICY) && !is_there(cluster, BINDING));
    await_webhook(cluster);

    // Audit is Audit and Warn, and told once.
    apply(cluster, &policy("", "Audit", "object.spec.replicas <= 3"));
    await_generated(cluster);
    assert_eq!(field(cluster, BINDING, ".spec.validationActions"), r#"["Audit","Warn"]"#);
    cluster.wait_until("the webhook has left it", || !asked_about(cluster).contains("deployments"));
    let told = ask(cluster);
    assert!(told.is_success(), "{told}");
    assert_eq!(told.stderr.matches("too many").count(), 1, "{told}");

    // What stands for a policy goes with it.
    cluster.kubectl(&["delete", "clusterpolicy", "replicas"], "").expect_success();
    cluster.wait_until("both are gone", || !is_there(cluster, POLICY) && !is_there(cluster, BINDING));
    let logs = replicas.logs();
    assert!(!logs.contains("forbidden") && !logs.contains("panic caught"), "{logs}");
}

fn is_written_as_the_original_writes_it(cluster: &TestCluster) {
    for object in [POLICY, BINDING] {
        assert_eq!(field(cluster, object, r".metadata.labels.app\.kubernetes\.io/managed-by"), "kyverno");
        assert_eq!(field(cluster, object, ".metadata.ownerReferences[0].kind"), "ClusterPolicy");
        let uid = field(cluster, "clusterpolicy/replicas", ".metadata.uid");
        assert_eq!(field(cluster, object, ".metadata.ownerReferences[0].uid"), uid);
    }
    assert_eq!(state(cluster, "message"), "");
    assert_eq!(field(cluster, BINDING, ".spec.policyName"), "cpol-replicas");
    assert_eq!(field(cluster, BINDING, ".spec.validationActions"), r#"["Deny"]"#);
}

fn foreign_changes_are_reverted(cluster: &TestCluster) {
    cluster.kubectl(&["delete", BINDING], "").expect_success();
    cluster.wait_until("the binding is back", || is_there(cluster, BINDING));
    await_generated(cluster);
    let open = r#"{"spec":{"validations":[{"expression":"true"}]}}"#;
    cluster.kubectl(&["patch", POLICY, "--type=merge", "-p", open], "").expect_success();
    cluster.wait_until("the policy is as it was", || {
        field(cluster, POLICY, ".spec.validations[0].expression") == "object.spec.replicas <= 3"
    });
    await_generated(cluster);
    cluster.kubectl(&["delete", POLICY], "").expect_success();
    cluster.wait_until("the policy is back", || is_there(cluster, POLICY));
    await_generated(cluster);
    cluster.wait_until("it is refused", || ask(cluster).stderr.contains("ValidatingAdmissionPolicy"));
}

/// Both write the same, and a correct object is not written.
fn replicas_do_not_fight(cluster: &TestCluster, replicas: &Replicas) {
    cluster.wait_until("the webhook has left it", || !asked_about(cluster).contains("deployments"));
    let versions = || [POLICY, BINDING].map(|object| field(cluster, object, ".metadata.resourceVersion"));
    let (before, written) = (versions(), replicas.logs().matches("admission policy changed").count());
    sleep(Duration::from_secs(5));
    assert_eq!(versions(), before);
    assert_eq!(replicas.logs().matches("admission policy changed").count(), written);
}

fn an_exception_is_written_into_it_or_takes_it_back(cluster: &TestCluster) {
    let exception = |more: &str| {
        format!(
            "{{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {{name: one, namespace: exempt}}, spec: \
             {{exceptions: [{{policyName: replicas, ruleNames: [r]}}], match: {{any: [{{resources: {{kinds: [Deployment]{more}}}}}]}}}}}}"
        )
    };
    apply(cluster, &exception(", names: [many]"));
    cluster.wait_until("it is excluded", || {
        field(cluster, POLICY, ".spec.matchConstraints.excludeResourceRules[0].resourceNames")
            == r#"["many"]"#
    });
    cluster.wait_until("it is let pass", || ask(cluster).is_success());
    apply(cluster, &exception(", selector: {matchLabels: {a: b}}"));
    cluster.wait_until("both are gone", || !is_there(cluster, POLICY) && !is_there(cluster, BINDING));
    cluster.wait_until("it is told why", || state(cluster, "message").contains("ObjectSelector"));
    await_webhook(cluster);
    cluster.kubectl(&["delete", "policyexception", "one", "-n", "exempt"], "").expect_success();
    await_generated(cluster);
}

/// A ValidatingPolicy about Deployments that asks for a ValidatingAdmissionPolicy, with further fields of its spec.
fn validating_policy(more: &str) -> String {
    format!(
        "{{apiVersion: policies.kyverno.io/v1beta1, kind: ValidatingPolicy, metadata: {{name: replicas}}, spec: {{autogen: \
         {{validatingAdmissionPolicy: {{enabled: true}}}}, matchConstraints: {{resourceRules: [{{apiGroups: [apps], apiVersions: \
         [v1], operations: [CREATE], resources: [deployments]}}]}}, {more}validations: [{{expression: 'object.spec.replicas <= \
         3', message: 'too many'}}]}}}}"
    )
}

#[test]
fn a_validating_policy_that_asks_is_enforced_by_the_api_server_for_as_long_as_it_can() {
    let Some((cluster, _replicas)) = installed() else { return };
    let cluster = &cluster;
    let (policy, binding) =
        ("validatingadmissionpolicy/vpol-replicas", "validatingadmissionpolicybinding/vpol-replicas-binding");
    let is_generated = || field(cluster, "validatingpolicy/replicas", ".status.generated") == "true";
    apply(cluster, &validating_policy(""));
    cluster.wait_until("the API server enforces the policy", is_generated);
    let owner = field(cluster, policy, ".metadata.ownerReferences[0].kind");
    assert_eq!(owner, "ValidatingPolicy");
    assert_eq!(field(cluster, binding, ".spec.validationActions"), r#"["Deny"]"#);
    cluster.wait_until("the webhook has left it", || !asked_about(cluster).contains("deployments"));
    assert!(ask(cluster).stderr.contains("ValidatingAdmissionPolicy 'vpol-replicas'"), "{}", ask(cluster));

    let exception = "{apiVersion: policies.kyverno.io/v1beta1, kind: PolicyException, metadata: {name: many, namespace: exempt}, \
         spec: {policyRefs: [{name: replicas, kind: ValidatingPolicy}], matchConditions: [{name: one, expression: \
         \"object.metadata.name == 'many'\"}]}}";
    apply(cluster, exception);
    cluster.wait_until("the exempt object passes", || ask(cluster).is_success());
    assert!(is_there(cluster, policy));
    let condition = field(cluster, policy, ".spec.matchConditions[0].expression");
    assert_eq!(condition, "!(object.metadata.name == 'many')");
    cluster
        .kubectl(&["delete", "policyexceptions.policies.kyverno.io", "many", "-n", "exempt"], "")
        .expect_success();
    cluster.wait_until("it is refused again", || !ask(cluster).is_success());

    // The API server does not know what the cluster shares: the webhook takes over before the objects go.
    let entry = "{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: accounts}, spec: \
         {kubernetesResource: {version: v1, resource: serviceaccounts, namespace: exempt}, projections: [{name: count, jmesPath: \
         length(@)}]}}";
    apply(cluster, entry);
    let variables = "variables: [{name: unused, expression: \"globalContext.Get('accounts', 'count') == 1 && \
         globalContext.Get('nothing', 'count') == null\"}], matchConditions: [{name: known, expression: \
         \"globalContext.Get('accounts', 'count') == 1 && globalContext.Get('nothing', '') == null\"}], ";
    apply(cluster, &validating_policy(variables));
    cluster.wait_until("both are gone", || !is_there(cluster, policy) && !is_there(cluster, binding));
    let message = || field(cluster, "validatingpolicy/replicas", ".status.conditionStatus.message");
    cluster.wait_until("it is told why", || message().contains("the API server cannot evaluate it"));
    await_webhook(cluster);

    cluster.kubectl(&["delete", "validatingpolicy", "replicas"], "").expect_success();
    cluster.wait_until("nothing is enforced", || ask(cluster).is_success());
}

/// A policy that gives Deployments the label `tier`, with further fields of its spec.
fn labelling_policy(more: &str) -> String {
    format!(
        r#"{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: tier}}, spec: {{autogen: {{mutatingAdmissionPolicy:
         {{enabled: true}}}}, matchConstraints: {{resourceRules: [{{apiGroups: [apps], apiVersions: [v1], operations: [CREATE],
         resources: [deployments]}}]}}, matchConditions: [{{name: many, expression: "object.metadata.name == 'many'"}}],
         {more}mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: "Object{{metadata:
         Object.metadata{{labels: Object.metadata.labels{{tier: 'web'}}}}}}"}}}}]}}}}"#
    )
}

const MUTATING_POLICY: &str = "mutatingadmissionpolicy/mpol-tier";
const MUTATING_BINDING: &str = "mutatingadmissionpolicybinding/mpol-tier-binding";

fn mutating_state(cluster: &TestCluster, path: &str) -> String {
    field(cluster, "mutatingpolicy/tier", &format!(".status.{path}"))
}

/// The label that a new Deployment gets.
fn tier(cluster: &TestCluster) -> String {
    let made = ["create", "deployment", "many", "--image=web", "--dry-run=server"];
    cluster.kubectl(&[&made[..], &["-o", "jsonpath={.metadata.labels.tier}"]].concat(), "").stdout
}

/// The conditions of our webhooks that change objects.
fn webhook_conditions(cluster: &TestCluster) -> String {
    field(cluster, "mutatingwebhookconfiguration/kubewright", ".webhooks[*].matchConditions[*].expression")
}

#[test]
fn a_policy_that_changes_objects_is_left_to_the_api_server_and_taken_back() {
    let Some((cluster, replicas)) = installed() else { return };
    let cluster = &cluster;
    apply(cluster, &labelling_policy(""));
    cluster.wait_until("the API server has the policy", || mutating_state(cluster, "generated") == "true");
    assert_eq!(field(cluster, MUTATING_POLICY, ".spec.reinvocationPolicy"), "Never");
    assert_eq!(field(cluster, MUTATING_BINDING, ".spec.policyName"), "mpol-tier");
    let is_asked = || webhook_conditions(cluster).contains("object.metadata.name == 'many'");
    cluster.wait_until("the webhook has left it", || !is_asked());
    cluster.wait_until("the API server changes objects", || tier(cluster) == "web");

    cluster.kubectl(&["delete", MUTATING_BINDING], "").expect_success();
    cluster.wait_until("the binding is back", || is_there(cluster, MUTATING_BINDING));

    // What only policies can evaluate: the webhook takes over, and the API server evaluates the other condition for it.
    apply(
        cluster,
        &labelling_policy(
            "reinvocationPolicy: IfNeeded, variables: [{name: v, expression: 'random() != \"\"'}], ",
        ),
    );
    cluster.wait_until("it is told why", || {
        mutating_state(cluster, "conditionStatus.message").contains("skip generating MutatingAdmissionPolicy")
    });
    cluster.wait_until("both are gone", || {
        !is_there(cluster, MUTATING_POLICY) && !is_there(cluster, MUTATING_BINDING)
    });
    cluster.wait_until("the webhook has the condition", is_asked);
    cluster.wait_until("the webhook changes objects", || tier(cluster) == "web");
    let again = field(cluster, "mutatingwebhookconfiguration/kubewright", ".webhooks[*].reinvocationPolicy");
    assert!(again.contains("IfNeeded") && !again.contains("Never"), "{again}");

    apply(cluster, &labelling_policy("reinvocationPolicy: Never, "));
    cluster.wait_until("the API server has it again", || mutating_state(cluster, "generated") == "true");
    cluster.kubectl(&["delete", "mutatingpolicy", "tier"], "").expect_success();
    cluster.wait_until("both are gone", || {
        !is_there(cluster, MUTATING_POLICY) && !is_there(cluster, MUTATING_BINDING)
    });
    let logs = replicas.logs();
    assert!(!logs.contains("forbidden") && !logs.contains("panic caught"), "{logs}");
}
