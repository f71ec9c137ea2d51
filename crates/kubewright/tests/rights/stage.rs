//! A control plane with an installation, whose programs do everything that they have rights for.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Child, Command, Stdio};

use kubewright_controlplane::TestCluster;

use crate::audit::AuditLog;
use crate::roles::{Right, granted_rights};

const NAMESPACE: &str = "kubewright-system";
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");
const RULES: &str = include_str!("rules.yaml");

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

/// A program of the installation, with the rights of its account. It is killed when this is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

pub(crate) struct Stage {
    cluster: TestCluster,
    pub(crate) audit: AuditLog,
    manifests: String,
}

impl Stage {
    pub(crate) fn start() -> Option<Self> {
        let audit = AuditLog::new();
        let cluster = audit.of(TestCluster::builder()).start()?;
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
        for [group, version, plural, kind] in FOREIGN_KINDS {
            let scope =
                if kind.starts_with("Cluster") || kind == "GatewayClass" { "Cluster" } else { "Namespaced" };
            let approved = "{api-approved.kubernetes.io: unapproved}";
            stage.apply(&format!(
                "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
                 {plural}.{group}, annotations: {approved}}}, spec: {{group: {group}, scope: {scope}, names: {{kind: {kind}, plural: \
                 {plural}}}, versions: [{{name: {version}, served: true, storage: true, schema: {{openAPIV3Schema: \
                 {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}}}"
            ));
        }
        Some(stage)
    }

    /// The rights that the manifests give to `account`.
    pub(crate) fn rights(&self, account: &str) -> BTreeSet<Right> {
        granted_rights(&self.manifests, account)
    }

    fn apply(&self, objects: &str) {
        self.cluster.wait_until("objects are stored", || {
            let output = self.cluster.kubectl(&["apply", "--server-side", "-f", "-"], objects);
            if !output.is_success() {
                eprintln!("{}", output.stderr);
            }
            output.is_success()
        });
    }

    fn kubectl(&self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        let output = self.cluster.kubectl(&words, "");
        if !output.is_success() {
            eprintln!("{words:?}: {}", output.stderr);
        }
    }

    fn serve(&self) -> Program {
        let address = self.cluster.reserve_address().to_string();
        let mut command = Command::new(BINARY);
        command
            .args(["serve", "--namespace", NAMESPACE, "--drain=0s", "--health-address=127.0.0.1:0"])
            .args(["--address", &address, "--url", &format!("https://{address}")])
            .args(["--generate-vap", "--exceptions-from=shop", "--allow-registry=registry.example"]);
        self.run(command, "kubewright", "serve")
    }

    fn scan(&self, arguments: &[&str]) -> Program {
        let mut command = Command::new(BINARY);
        command
            .args(["scan", "--serve", "--violation-events", "--health-address=127.0.0.1:0"])
            .args(arguments);
        self.run(command, "kubewright-scan", "scan")
    }

    fn run(&self, mut command: Command, account: &str, name: &str) -> Program {
        let log = File::options()
            .create(true)
            .append(true)
            .open(std::env::temp_dir().join(format!("rights-{name}.log")));
        let child = command
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig_of(NAMESPACE, account))
            .stdin(Stdio::null())
            .stderr(log.expect("a log"))
            .spawn();
        Program(child.expect("it starts"))
    }

    /// Lets the programs do everything once.
    pub(crate) fn act(&self) {
        self.apply(RULES);
        self.apply(&self.policy_of_all_kinds());
        self.apply(&self.lookups_of_all_kinds());
        let _webhooks = [self.serve(), self.serve()];
        let scanner = self.scan(&[]);
        self.cluster.wait_until("rules refuse", || {
            let words = ["create", "service", "clusterip", "a", "--tcp=80", "-n", "shop"];
            self.cluster.kubectl(&words, "").stderr.contains("who is the owner?")
        });
        std::thread::sleep(std::time::Duration::from_secs(10));
        for _ in 0..3 {
            self.kubectl("create service clusterip a --tcp=80 -n shop");
            std::thread::sleep(std::time::Duration::from_secs(2));
        }
        for name in ["settings", "looked-up-1", "handed", "old", "older", "oldest", "ancient"] {
            self.kubectl(&format!("create configmap {name} --from-literal=a=b -n shop"));
        }
        self.apply("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop, namespace: shop}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}");
        self.apply("{apiVersion: v1, kind: Pod, metadata: {name: one, namespace: shop, annotations: {ref.kubemod.io/inject-node-ref: 'true'}}, spec: {containers: [{name: c, image: 'registry.example/a:1'}]}}");
        std::thread::sleep(std::time::Duration::from_secs(70));
        drop(scanner);
        let _scanner = self.scan(&["--reports=wgpolicy"]);
        std::thread::sleep(std::time::Duration::from_secs(40));
        self.kubectl("delete validatingpolicy,mutatingpolicy --all");
        self.kubectl("label clusterrole kubewright a=b");
        std::thread::sleep(std::time::Duration::from_secs(20));
    }

    /// A policy about every kind that the scanner may read.
    fn policy_of_all_kinds(&self) -> String {
        let is_object = |right: &&Right| right.verb == "watch" && !right.group.ends_with("kyverno.io");
        let rights = self.rights("kubewright-scan");
        let rules: BTreeSet<String> = rights
            .iter()
            .filter(is_object)
            .map(|right| {
                format!(
                    "{{apiGroups: ['{}'], apiVersions: ['*'], operations: [CREATE], resources: [{}]}}",
                    right.group, right.resource
                )
            })
            .collect();
        let rules: Vec<String> = rules.into_iter().collect();
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {{name: everything}}, spec: {{evaluation: {{admission: {{enabled: false}}}}, validationActions: [Audit], \
             matchConstraints: {{resourceRules: [{}]}}, validations: [{{expression: \"object.metadata.name != 'settings'\"}}]}}}}",
            rules.join(", ")
        )
    }

    /// A policy that looks up one object of every kind that the scanner may read.
    fn lookups_of_all_kinds(&self) -> String {
        let table = self.cluster.kubectl(&["api-resources", "--no-headers", "-o", "wide"], "").success();
        let rights = self.rights("kubewright-scan");
        let mut rules = Vec::new();
        for line in table.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(at) = words.iter().position(|word| *word == "true" || *word == "false") else {
                continue;
            };
            let (plural, api_version, is_namespaced) = (words[0], words[at - 1], words[at] == "true");
            let (group, prefix) = match api_version.split_once('/') {
                Some((group, _)) => (group, "/apis"),
                None => ("", "/api"),
            };
            let is_right =
                |right: &Right| right.verb == "get" && right.group == group && right.resource == plural;
            if !rights.iter().any(is_right) {
                continue;
            }
            let place = if is_namespaced { "/namespaces/shop" } else { "" };
            rules.push(format!(
                "{{name: r{}, match: {{any: [{{resources: {{kinds: [ConfigMap], names: [settings]}}}}]}}, context: [{{name: found, apiCall: \
                 {{urlPath: '{prefix}/{api_version}{place}/{plural}/none'}}}}], validate: {{deny: {{conditions: {{any: [{{key: '{{{{ found.kind }}}}', operator: Equals, value: x}}]}}}}}}}}",
                rules.len()
            ));
        }
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: reads}}, spec: {{admission: false, background: true, rules: [{}]}}}}",
            rules.join(", ")
        )
    }
}
