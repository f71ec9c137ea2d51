//! A control plane with an installation, whose programs do everything that they have rights for.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kubewright_controlplane::{ControlPlaneComponent, Kubelet, TestCluster};

use crate::audit::AuditLog;
use crate::roles::{Right, granted_rights};
use crate::{SCANNER, WEBHOOK};

const NAMESPACE: &str = "kubewright-system";
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");
const RULES: &str = include_str!("rules.yaml");
const PATTERN: &str = include_str!("../../../../patterns/dangling-ingress/pattern.yaml");

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Groups whose kinds rules do not look up.
const OWN_GROUPS: [&str; 9] = [
    "api.kubemod.io",
    "coordination.k8s.io",
    "kubepattern.dev",
    "kubepattern.it",
    "kubepattern.sigemi.it",
    "kyverno.io",
    "openreports.io",
    "policies.kyverno.io",
    "wgpolicyk8s.io",
];

/// Kinds of other projects that the scanner reads or writes: group, version, plural, kind.
const FOREIGN_KINDS: [[&str; 4]; 13] = [
    ["gateway.networking.k8s.io", "v1", "gatewayclasses", "GatewayClass"],
    ["gateway.networking.k8s.io", "v1", "gateways", "Gateway"],
    ["gateway.networking.k8s.io", "v1", "grpcroutes", "GRPCRoute"],
    ["gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute"],
    ["gateway.networking.k8s.io", "v1beta1", "referencegrants", "ReferenceGrant"],
    ["kubepattern.it", "v1", "k8spatterns", "K8sPattern"],
    ["kubepattern.dev", "v1", "smells", "Smell"],
    ["kubepattern.it", "v1", "patterns", "Pattern"],
    ["kubepattern.it", "v1", "clusterpatterns", "ClusterPattern"],
    ["kubepattern.sigemi.it", "v1", "patterns", "Pattern"],
    ["kubepattern.sigemi.it", "v1", "clusterpatterns", "ClusterPattern"],
    ["kubepattern.dev", "v1", "patterns", "Pattern"],
    ["kubepattern.dev", "v1", "clusterpatterns", "ClusterPattern"],
];

const INGRESS: &str = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop, namespace: shop}, spec: \
     {defaultBackend: {service: {name: web, port: {number: 80}}}}}";
const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, labels: {owner: me}}, spec: \
     {ports: [{port: 80}]}}";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: one, namespace: shop, annotations: \
     {ref.kubemod.io/inject-node-ref: 'true'}}, spec: {containers: [{name: c, image: 'registry.example/a:1'}]}}";

/// A program of the installation, with the rights of its account. It is killed when this is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

impl Program {
    /// Ends it as a cluster does, so that it gives up its Lease.
    fn stop(mut self) {
        let asked = Command::new("kill").arg(self.0.id().to_string()).status();
        assert!(asked.expect("kill runs").success());
        self.0.wait().expect("it ends");
    }
}

pub(crate) struct InstalledPrograms {
    cluster: TestCluster,
    pub(crate) audit: AuditLog,
    manifests: String,
}

impl InstalledPrograms {
    pub(crate) fn start() -> Option<Self> {
        let audit = AuditLog::new();
        // Older API servers cannot send a list as part of a watch, so the right to list is needed too.
        let builder =
            TestCluster::builder().flag(ControlPlaneComponent::ApiServer, "--feature-gates=WatchList=false");
        let cluster = audit.of(builder).start()?;
        let output = Command::new(BINARY)
            .args(["install", "--report-crds", "--generate-vap", "--exceptions-from=shop"])
            .args(["--can-read=deployments.apps", "--registry-secret=pull"])
            .output()
            .expect("the binary starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let manifests = String::from_utf8(output.stdout).expect("text");
        let stage = Self { cluster, audit, manifests };
        stage.cluster.create_namespace("shop");
        stage.apply(&stage.manifests);
        FOREIGN_KINDS.iter().for_each(|kind| stage.define(*kind));
        Some(stage)
    }

    fn define(&self, [group, version, plural, kind]: [&str; 4]) {
        let is_wide = kind.starts_with("Cluster") || kind == "GatewayClass";
        let scope = if is_wide { "Cluster" } else { "Namespaced" };
        self.apply(&format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {plural}.{group}, \
             annotations: {{api-approved.kubernetes.io: unapproved}}}}, spec: {{group: {group}, scope: {scope}, names: \
             {{kind: {kind}, plural: {plural}}}, versions: [{{name: {version}, served: true, storage: true, schema: \
             {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}}}"
        ));
    }

    /// The rights that the manifests give to `account`.
    pub(crate) fn rights(&self, account: &str) -> BTreeSet<Right> {
        granted_rights(&self.manifests, account)
    }

    fn apply(&self, objects: &str) {
        self.cluster.wait_until("objects are stored", || {
            self.cluster.kubectl(&["apply", "--server-side", "-f", "-"], objects).is_success()
        });
    }

    /// Runs kubectl with words that have no spaces in them.
    fn kubectl(&self, words: &str) {
        self.ask(&words.split(' ').collect::<Vec<_>>());
    }

    fn patch(&self, object: &str, patch: &str) {
        let mut words = vec!["patch", "--type=merge", "-p", patch];
        words.extend(object.split(' '));
        self.ask(&words);
    }

    /// Runs kubectl until it succeeds: on a busy machine the API server or a webhook that just starts may answer late. What an
    /// earlier try did without an answer is done.
    fn ask(&self, words: &[&str]) {
        let mut answer = String::new();
        let is_done = |answer: &mut String| {
            let output = self.cluster.kubectl(words, "");
            *answer = output.to_string();
            let is_there = words.first() == Some(&"create") && output.stderr.contains("AlreadyExists");
            let is_gone = words.first() == Some(&"delete") && output.stderr.contains("NotFound");
            output.is_success() || is_there || is_gone
        };
        let begun = Instant::now();
        while !is_done(&mut answer) {
            assert!(begun.elapsed() < PATIENCE, "{answer}");
            sleep(Duration::from_secs(1));
        }
    }

    /// Waits until `account` has used all of `rights`, each a verb and a resource; meanwhile does `again` now and then.
    /// What is missing in the end is told by the test itself.
    fn await_use(&self, account: &str, rights: &[&str], mut again: impl FnMut(u64)) {
        let begun = Instant::now();
        for round in 0.. {
            let used = self.audit.read(account).allowed;
            let is_used = |right: &&str| {
                used.iter().any(|request| format!("{} {}", request.verb, request.resource) == **right)
            };
            if rights.iter().all(is_used) || begun.elapsed() > PATIENCE {
                return;
            }
            again(round);
            sleep(Duration::from_secs(1));
        }
    }

    fn serve(&self) -> Program {
        let address = self.cluster.reserve_address().to_string();
        let mut command = Command::new(BINARY);
        command
            .args(["serve", "--namespace", NAMESPACE, "--drain=0s", "--health-address=127.0.0.1:0"])
            .args(["--address", &address, "--url", &format!("https://{address}")])
            .args(["--generate-vap", "--exceptions-from=shop", "--allow-registry=registry.example"]);
        self.run(command, WEBHOOK)
    }

    fn scan(&self, arguments: &[&str]) -> Program {
        let mut command = Command::new(BINARY);
        command.args(["scan", "--serve", "--violation-events", "--health-address=127.0.0.1:0"]);
        let pattern = self.cluster.folder().join("pattern.yaml");
        // The library names the version as the original program does.
        fs::write(&pattern, PATTERN.replacen("version:", "apiVersion:", 1)).expect("a file");
        command.arg("--rules").arg(pattern).args(arguments);
        self.run(command, SCANNER)
    }

    fn run(&self, mut command: Command, account: &str) -> Program {
        let log = self.cluster.folder().join(format!("{account}.log"));
        let child = command
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig_of(NAMESPACE, account))
            .stdin(Stdio::null())
            .stderr(File::options().create(true).append(true).open(log).expect("a log"))
            .spawn();
        Program(child.expect("it starts"))
    }

    /// Lets the programs do everything once.
    pub(crate) fn act(&self) {
        let _kubelet: Kubelet = self.cluster.run_pods();
        self.kubectl("label namespace kubemod-system admission.kubemod.io/ignore-");
        for name in ["settings", "another"] {
            self.kubectl(&format!("create configmap {name} --from-literal=a=b -n shop"));
        }
        self.apply(RULES);
        self.apply(&self.policy_of_all_kinds());
        self.apply(&self.lookups_of_all_kinds());
        self.findings();
        let webhooks = [self.serve(), self.serve()];
        let scanner = self.scan(&[]);
        self.first_requests();
        self.changes();
        scanner.stop();
        let _scanner = self.scan(&["--reports=wgpolicy"]);
        self.other_reports();
        self.kubectl("annotate clusterrole kubewright kubewright.dev/webhooks=off");
        let gone = ["delete mutatingwebhookconfigurations", "delete validatingwebhookconfigurations"];
        self.await_use(WEBHOOK, &gone, |_| {});
        drop(webhooks);
    }

    /// Findings of a pattern, which are objects and go when the missing Service is there, though the scanner may not read
    /// every kind.
    fn findings(&self) {
        self.apply(INGRESS);
        let scanner = self.scan(&["--no-cluster-rules"]);
        self.await_use(SCANNER, &["create k8spatterns", "create smells"], |_| {});
        self.apply(SERVICE);
        self.await_use(SCANNER, &["delete k8spatterns", "delete smells"], |_| {});
        scanner.stop();
    }

    /// Requests that rules refuse, look things up for, and hand over.
    fn first_requests(&self) {
        let refused = || {
            let words = ["create", "service", "clusterip", "a", "--tcp=80", "-n", "shop"];
            self.cluster.kubectl(&words, "").stderr.contains("who is the owner?")
        };
        self.cluster.wait_until("rules refuse", refused);
        self.await_use(WEBHOOK, &["create events", "patch events"], |_| {
            refused();
        });
        self.apply(POD);
        for name in ["handed", "old", "older", "oldest", "ancient"] {
            self.kubectl(&format!("create configmap {name} --from-literal=a=b -n shop"));
        }
        let looked_up =
            ["get deployments", "list deployments", "get configmaps", "create subjectaccessreviews"];
        let made = [
            "create validatingadmissionpolicies",
            "create validatingadmissionpolicybindings",
            "create mutatingadmissionpolicies",
            "create mutatingadmissionpolicybindings",
            "create configmaps",
            "patch pods",
        ];
        self.await_use(WEBHOOK, &[&looked_up[..], &made].concat(), |round| {
            self.kubectl(&format!("create configmap looked-up-{round} -n shop"));
        });
        self.await_use(SCANNER, &["create clusterreports", "create reports"], |_| {});
    }

    /// Changes of what the programs keep as it should be.
    fn changes(&self) {
        let elsewhere = r#"{"spec":{"matchResources":{"objectSelector":{"matchLabels":{"never":"there"}}}}}"#;
        for kind in ["validatingadmissionpolicy", "mutatingadmissionpolicy"] {
            let names = self.cluster.kubectl(&["get", kind, "-o", "name"], "").success();
            names.lines().for_each(|name| self.patch(name, r#"{"spec":{"failurePolicy":"Ignore"}}"#));
            let names = self.cluster.kubectl(&["get", &format!("{kind}binding"), "-o", "name"], "").success();
            names.lines().for_each(|name| self.patch(name, elsewhere));
        }
        self.patch(&format!("secret/kubewright-tls -n {NAMESPACE}"), r#"{"data":{"tls.crt":""}}"#);
        let restored = [
            "update validatingadmissionpolicies",
            "update validatingadmissionpolicybindings",
            "update mutatingadmissionpolicies",
            "update mutatingadmissionpolicybindings",
            "update secrets",
        ];
        self.await_use(WEBHOOK, &restored, |_| {});
        let off = r#"{"spec":{"autogen":{"validatingAdmissionPolicy":{"enabled":false}}}}"#;
        self.cluster.wait_until("the policy is changed", || {
            let words = ["patch", "validatingpolicy", "replicas", "--type=merge", "-p", off];
            self.cluster.kubectl(&words, "").is_success()
        });
        self.patch("mutatingpolicy tier", &off.replace("validating", "mutating"));
        let deleted = [
            "delete validatingadmissionpolicies",
            "delete validatingadmissionpolicybindings",
            "delete mutatingadmissionpolicies",
            "delete mutatingadmissionpolicybindings",
        ];
        self.await_use(WEBHOOK, &deleted, |_| {});
        let again = ["update clusterreports", "update reports", "patch events"];
        self.await_use(SCANNER, &again, |round| self.relabel(round));
        let statuses = [
            "patch cleanuppolicies/status",
            "patch clustercleanuppolicies/status",
            "patch deletingpolicies/status",
            "patch namespaceddeletingpolicies/status",
            "patch generatingpolicies/status",
            "patch namespacedgeneratingpolicies/status",
            "delete configmaps",
        ];
        self.await_use(SCANNER, &statuses, |_| {});
    }

    /// Reports of the other group, which take the place of the first ones and go with their rule.
    fn other_reports(&self) {
        let written = [
            "delete clusterreports",
            "delete reports",
            "create clusterpolicyreports",
            "update clusterpolicyreports",
            "update policyreports",
        ];
        self.await_use(SCANNER, &written, |round| self.relabel(round));
        self.kubectl("delete validatingpolicy everything");
        self.await_use(SCANNER, &["delete clusterpolicyreports", "delete policyreports"], |_| {});
    }

    /// Changes what the rule about everything says.
    fn relabel(&self, round: u64) {
        self.kubectl(&format!("label namespace shop checked=n{round} --overwrite"));
        self.kubectl(&format!("label configmap settings checked=n{round} --overwrite -n shop"));
    }

    /// A policy about every kind that the scanner may read. Two objects fail, with a message that their labels change.
    fn policy_of_all_kinds(&self) -> String {
        let is_object = |right: &&Right| right.verb == "watch" && !OWN_GROUPS.contains(&right.group.as_str());
        let rule = |right: &Right| {
            format!(
                "{{apiGroups: ['{}'], apiVersions: ['*'], operations: [CREATE], resources: [{}]}}",
                right.group, right.resource
            )
        };
        let rules: Vec<String> = self.rights(SCANNER).iter().filter(is_object).map(rule).collect();
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {{name: everything}}, spec: {{evaluation: \
             {{admission: {{enabled: false}}}}, validationActions: [Audit], matchConstraints: {{resourceRules: [{}]}}, \
             validations: [{{expression: \"!(object.metadata.name in ['settings', 'shop'])\", messageExpression: \
             \"'checked: ' + object.metadata.?labels['checked'].orValue('')\"}}]}}}}",
            rules.join(", ")
        )
    }

    /// A policy that looks up one object of every kind that the scanner may read.
    fn lookups_of_all_kinds(&self) -> String {
        let table = self.cluster.kubectl(&["api-resources", "--no-headers", "-o", "wide"], "").success();
        let rights = self.rights(SCANNER);
        let mut rules = Vec::new();
        for line in table.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let place = words.iter().position(|word| ["true", "false"].contains(word));
            let Some((plural, [api_version, is_namespaced])) = place.and_then(|place| {
                let version = words.get(place.checked_sub(1)?)?;
                Some((*words.first()?, [*version, *words.get(place)?]))
            }) else {
                continue;
            };
            let (group, prefix) =
                api_version.split_once('/').map_or(("", "/api"), |(group, _)| (group, "/apis"));
            let is_right =
                |right: &Right| right.verb == "get" && right.group == group && right.resource == plural;
            if OWN_GROUPS.contains(&group) || !rights.iter().any(is_right) {
                continue;
            }
            let place = if is_namespaced == "true" { "/namespaces/shop" } else { "" };
            rules.push(format!(
                "{{name: r{}, match: {{any: [{{resources: {{kinds: [ConfigMap], names: [settings]}}}}]}}, context: [{{name: \
                 found, apiCall: {{urlPath: '{prefix}/{api_version}{place}/{plural}/none'}}}}], validate: {{deny: {{conditions: \
                 {{any: [{{key: '{{{{ found.kind }}}}', operator: Equals, value: x}}]}}}}}}}}",
                rules.len()
            ));
        }
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: reads}}, spec: {{admission: false, rules: [{}]}}}}",
            rules.join(", ")
        )
    }
}
