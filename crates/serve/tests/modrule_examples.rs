//! Every example of the language's document, through kubectl on a real control plane.
//!
//! The rules are read from the document; the objects that they are tried on are ours. One test, because some rules are
//! about the whole cluster.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "modrule/contract.rs"]
mod contract;
#[path = "modrule/serving.rs"]
mod serving;

use kubewright_controlplane::TestCluster;
use kubewright_value::{Value, json, yaml};
use serving::{cluster, create_rule, stored};

#[test]
fn every_example_of_the_document_does_what_it_says() {
    let Some(blocks) = contract::blocks() else { return };
    let Some(cluster) = cluster() else { return };
    cluster.kubectl(&["create", "namespace", "kubemod-system"], "").expect_success();
    let label = ["label", "namespace", "kubemod-system", "admission.kubemod.io/ignore=true"];
    cluster.kubectl(&label, "").expect_success();
    let examples = Examples { cluster, blocks };
    examples.first_rule();
    examples.owner_reference();
    examples.istio_annotation();
    examples.jaeger_sidecar();
    examples.external_addresses();
    examples.root_workloads();
    examples.criteria_of_the_match_section();
    examples.ports_of_the_patch_section();
    examples.one_operation_with_two_placeholders();
    examples.selected_item();
    examples.sidecar_only_once();
    examples.flavour_of_the_namespace();
    examples.zone_of_the_node();
    examples.empty_security_contexts();
}

struct Examples {
    cluster: &'static TestCluster,
    blocks: Vec<String>,
}

impl Examples {
    /// Returns the only block that has all of `parts`.
    #[track_caller]
    fn block(&self, parts: &[&str]) -> &str {
        let found: Vec<_> =
            self.blocks.iter().filter(|block| parts.iter().all(|part| block.contains(part))).collect();
        match found.as_slice() {
            [block] => block,
            found => panic!("{} blocks have {parts:?}", found.len()),
        }
    }

    /// Makes `namespace` with `rule` in it.
    #[track_caller]
    fn namespace(&self, namespace: &str, rule: &str) {
        self.cluster.create_namespace(namespace);
        create_rule(self.cluster, namespace, rule);
    }

    #[track_caller]
    fn create(&self, namespace: &str, object: &str) -> Value {
        let arguments = ["create", "-n", namespace, "-o", "json", "-f", "-"];
        json::parse(&self.cluster.kubectl(&arguments, object).success()).expect("json")
    }

    #[track_caller]
    fn refused(&self, namespace: &str, object: &str, want: &str) {
        let told = self.cluster.kubectl(&["create", "-n", namespace, "-f", "-"], object).failure();
        assert!(told.contains(want), "{told}");
    }

    fn first_rule(&self) {
        self.namespace("first", self.block(&["kind: ModRule", "my-annotation", "nginx:1"]));
        let of = |name: &str, labels: &str, image: &str, context: &str| {
            deployment(name, labels, &format!("containers: [{{name: web, image: {image}}}]{context}"))
        };
        let made = self.create("first", &of("a", "{app: nginx}", "'nginx:1.14.2'", ""));
        assert_eq!(text(&made, &["metadata", "annotations", "my-annotation"]), "whatever");
        let context = pod_spec(&made).get("securityContext").expect("a context");
        let want = "{fsGroup: 101, runAsGroup: 101, runAsUser: 101, runAsNonRoot: true}";
        assert_eq!(context, &yaml::parse(want).expect("yaml"));
        for (name, labels, image, context) in [
            ("b", "{app: web}", "'nginx:1.14.2'", ""),
            ("c", "{app: nginx}", "'nginx:1.15.2'", ""),
            ("d", "{app: nginx}", "'nginx:1.14.2'", ", securityContext: {runAsNonRoot: true}"),
        ] {
            let made = self.create("first", &of(name, labels, image, context));
            assert_eq!(made.at(&["metadata", "annotations", "my-annotation"]), None, "{name}");
        }
    }

    fn owner_reference(&self) {
        self.namespace("owner", self.block(&["PersistentVolumeClaim", "ownerReferences"]));
        let owner = self.create("owner", "{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}");
        let uid = text(&owner, &["metadata", "uid"]).to_owned();
        let claim = |name: &str, kind: &str| {
            format!(
                "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}, labels: {{common.k8s.elastic.co/type: {kind}}},
                  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]}},
                  spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}"
            )
        };
        let made = self.create("owner", &claim("a", "elasticsearch"));
        let owners = |claim: &Value| {
            claim.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).map_or(0, <[_]>::len)
        };
        assert_eq!(owners(&made), 0, "{made}");
        assert_eq!(owners(&self.create("owner", &claim("b", "kibana"))), 1);
    }

    fn istio_annotation(&self) {
        self.namespace("istio", self.block(&["app.kubernetes.io/component", "sidecar.istio.io~1inject"]));
        let spec = "containers: [{name: collector, image: collector}]";
        let made = self
            .create("istio", &deployment("a", "{app: jaeger, app.kubernetes.io/component: collector}", spec));
        assert_eq!(text(&made, &["metadata", "annotations", "sidecar.istio.io/inject"]), "false");
        let made =
            self.create("istio", &deployment("b", "{app: jaeger, app.kubernetes.io/component: query}", spec));
        assert_eq!(made.at(&["metadata", "annotations", "sidecar.istio.io/inject"]), None);
    }

    /// The value that the document compares with has quotes in it, and so must the annotation.
    fn jaeger_sidecar(&self) {
        self.namespace("jaeger", self.block(&["kind: ModRule", "jaeger-agent", "my-inject-annotation"]));
        let of = |name: &str, annotation: &str| {
            let object = deployment(name, "{app: a}", "containers: [{name: web, image: web}]");
            let annotated = format!("metadata: {{annotations: {{my-inject-annotation: {annotation}}}, ");
            object.replacen("metadata: {", &annotated, 1)
        };
        let made = self.create("jaeger", &of("a", "'\"true\"'"));
        let containers = pod_spec(&made).get("containers").and_then(Value::as_array).expect("containers");
        let names: Vec<_> = containers.iter().map(|container| text(container, &["name"])).collect();
        assert_eq!(names, ["web", "jaeger-agent"]);
        let argument = containers.last().and_then(|agent| agent.get("args")?.item(0)?.as_str());
        let argument = argument.expect("arguments");
        assert!(argument.contains("deployment.name=a,pod.namespace=jaeger,"), "{argument}");
        let again = ["annotate", "deployment", "a", "-n", "jaeger", "touched=yes"];
        self.cluster.kubectl(&again, "").expect_success();
        let updated = stored(self.cluster, "jaeger", "deployment/a");
        let containers = pod_spec(&updated).get("containers").and_then(Value::as_array).expect("containers");
        assert_eq!(containers.len(), 2);
    }

    fn external_addresses(&self) {
        self.namespace("addresses", self.block(&["reject-malicious-external-ips"]));
        let service = |name: &str, addresses: &str| {
            format!(
                "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, spec: {{ports: [{{port: 80}}], externalIPs: [{addresses}]}}}}"
            )
        };
        let want = "operation rejected by the following ModRule(s): addresses/reject-malicious-external-ips: \
            \"One or more of the following external IPs are not allowed [123.45.67.8 10.0.0.1]\"";
        self.refused("addresses", &service("a", "123.45.67.8, 10.0.0.1"), want);
        self.create("addresses", &service("b", "123.45.67.8"));
        self.create("addresses", &service("c", ""));
    }

    fn root_workloads(&self) {
        self.namespace("root", self.block(&["reject-root-access-workloads"]));
        let spec = "containers: [{name: web, image: web}]";
        let want = "root/reject-root-access-workloads: \"All workloads must run as non-root user\"";
        self.refused("root", &deployment("a", "{app: a}", spec), want);
        let set = deployment("b", "{app: b}", spec).replace("kind: Deployment", "kind: StatefulSet");
        self.refused("root", &set, want);
        let good = format!("{spec}, securityContext: {{runAsNonRoot: true}}");
        self.create("root", &deployment("c", "{app: c}", &good));
    }

    fn criteria_of_the_match_section(&self) {
        let criteria = self.block(&["container-1", "container-2"]).replacen("...\n", "", 1);
        let rule = format!("{}{criteria}", header("criteria", "Reject"));
        self.namespace("criteria", &rule);
        let of = |name: &str, container: &str| {
            deployment(name, "{app: a}", &format!("containers: [{{name: {container}, image: web}}]"))
        };
        self.refused("criteria", &of("a", "container-2"), "criteria/criteria");
        self.create("criteria", &of("b", "container-3"));
    }

    fn ports_of_the_patch_section(&self) {
        let parts = self.block(&["color", "containers[? @.image =~"]).replacen("...\n", "", 1);
        self.namespace("ports", &format!("{}{parts}", header("ports", "Patch")));
        let containers =
            "containers: [{name: a, image: 'nginx:1', ports: [{containerPort: 81}, {containerPort: 80}]},
            {name: b, image: other, ports: [{containerPort: 80}]}]";
        let made = self.create("ports", &deployment("a", "{app: a}", containers));
        assert_eq!(text(&made, &["metadata", "labels", "color"]), "blue");
        assert_eq!(ports(&made), [vec![81, 8080], vec![80]]);
    }

    fn one_operation_with_two_placeholders(&self) {
        let operation = self.block(&["op: add\nselect: '$.spec.template.spec.containers[*].ports"]);
        let operation = operation.replace('\n', "\n      ");
        let rule = format!(
            "{}  match:\n    - select: '$.kind'\n      matchValue: Deployment\n  patch:\n    - {}\n",
            header("placeholders", "Patch"),
            operation.trim_end()
        );
        self.namespace("placeholders", &rule);
        let containers =
            "containers: [{name: c1, image: i, ports: [{containerPort: 100}, {containerPort: 200, name: x}]},
            {name: c2, image: i, ports: [{containerPort: 101}, {containerPort: 80, name: x}]},
            {name: c4, image: i, ports: [{containerPort: 80}, {containerPort: 201}]}]";
        let made = self.create("placeholders", &deployment("a", "{app: a}", containers));
        assert_eq!(ports(&made), [vec![100, 200], vec![101, 8080], vec![8080, 201]]);
    }

    fn selected_item(&self) {
        let patch = self.block(&["regexReplaceAll"]).replacen("...\n", "", 1).replace('\n', "\n  ");
        let rule = format!(
            "{}  match:\n    - select: '$.kind'\n      matchValue: Pod\n  {}\n",
            header("images", "Patch"),
            patch.trim_end()
        );
        self.namespace("images", &rule);
        let made = self.create(
            "images",
            "{apiVersion: v1, kind: Pod, metadata: {name: a},
              spec: {containers: [{name: a, image: 'their-repo/web:2'}, {name: b, image: 'other/web:2'}]}}",
        );
        let containers = made.at(&["spec", "containers"]).and_then(Value::as_array).expect("containers");
        let images: Vec<_> = containers.iter().map(|container| text(container, &["image"])).collect();
        assert_eq!(images, ["my-repo/web:2", "other/web:2"]);
    }

    fn sidecar_only_once(&self) {
        self.namespace("sidecar", self.block(&["my-sidecar-injection-rule"]));
        let made = self
            .create("sidecar", &deployment("a", "{app: whatever}", "containers: [{name: web, image: web}]"));
        let count =
            |object: &Value| pod_spec(object).get("containers").and_then(Value::as_array).map(<[_]>::len);
        assert_eq!(count(&made), Some(2));
        assert_eq!(text(&made, &["metadata", "labels", "color"]), "blue");
        self.cluster
            .kubectl(&["scale", "deployment", "a", "-n", "sidecar", "--replicas=2"], "")
            .expect_success();
        self.cluster.kubectl(&["annotate", "deployment", "a", "-n", "sidecar", "a=b"], "").expect_success();
        assert_eq!(count(&stored(self.cluster, "sidecar", "deployment/a")), Some(2));
    }

    fn flavour_of_the_namespace(&self) {
        create_rule(self.cluster, "kubemod-system", self.block(&["add-flavor-modrule"]));
        for (namespace, colour) in [("blue", "color=blue"), ("red", "color=red")] {
            self.cluster.create_namespace(namespace);
            let label = ["label", "namespace", namespace, colour, "flavor=vanilla"];
            self.cluster.kubectl(&label, "").expect_success();
        }
        let pod = |name: &str| pod(name, "");
        // The server hears of the label by a watch.
        self.cluster.wait_until("the pod has the flavour of its namespace", || {
            let arguments = ["create", "-n", "blue", "--dry-run=server", "-o", "json", "-f", "-"];
            let made = json::parse(&self.cluster.kubectl(&arguments, &pod("a")).success()).expect("json");
            text(&made, &["metadata", "labels", "flavor"]) == "vanilla"
        });
        let made = self.create("blue", &pod("a"));
        assert_eq!(text(&made, &["metadata", "labels", "flavor"]), "vanilla");
        assert_eq!(made.get("syntheticRefs"), None);
        assert_eq!(self.create("red", &pod("a")).at(&["metadata", "labels", "flavor"]), None);
    }

    fn zone_of_the_node(&self) {
        create_rule(self.cluster, "kubemod-system", self.block(&["inject-node-annotations"]));
        let labels = [
            ("topology.kubernetes.io/region", "north"),
            ("topology.kubernetes.io/zone", "north-1"),
            ("pool", "zoned"),
        ];
        self.cluster.create_node("zoned", &labels);
        self.cluster.create_namespace("zones");
        let selector = "nodeSelector: {pool: zoned}, ";
        let asking = pod("asking", selector).replacen(
            "metadata: {",
            "metadata: {annotations: {ref.kubemod.io/inject-node-ref: 'true'}, ",
            1,
        );
        self.create("zones", &asking);
        self.create("zones", &pod("silent", selector));
        let bound = |name: &str| {
            let pod = stored(self.cluster, "zones", &format!("pod/{name}"));
            (text(&pod, &["spec", "nodeName"]) == "zoned").then_some(pod)
        };
        self.cluster
            .wait_until("both pods are bound", || bound("asking").is_some() && bound("silent").is_some());
        let asked = bound("asking").expect("a bound pod");
        assert_eq!(text(&asked, &["metadata", "labels", "topology.kubernetes.io/region"]), "north");
        assert_eq!(text(&asked, &["metadata", "labels", "topology.kubernetes.io/zone"]), "north-1");
        assert_eq!(text(&asked, &["metadata", "annotations", "ref.kubemod.io/node"]), "zoned");
        assert_eq!(text(&asked, &["metadata", "annotations", "ref.kubemod.io/nodename"]), "zoned");
        let silent = bound("silent").expect("a bound pod");
        assert_eq!(silent.at(&["metadata", "annotations", "ref.kubemod.io/node"]), None);
    }

    fn empty_security_contexts(&self) {
        let rule = self.block(&["kubemod-patch-deployments-containers-securitycontext"]);
        create_rule(self.cluster, "kubemod-system", rule);
        self.cluster.create_namespace("contexts");
        let containers = "containers: [{name: a, image: i}, {name: b, image: i, securityContext: {}},
            {name: c, image: i, securityContext: {runAsNonRoot: false}}]";
        let made = self.create("contexts", &deployment("a", "{app: a}", containers));
        let containers = pod_spec(&made).get("containers").and_then(Value::as_array).expect("containers");
        let roots: Vec<_> = containers
            .iter()
            .map(|container| container.at(&["securityContext", "runAsNonRoot"]).and_then(Value::as_bool))
            .collect();
        assert_eq!(roots, [Some(true), Some(true), Some(false)]);
    }
}

fn header(name: &str, kind: &str) -> String {
    format!(
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata:\n  name: {name}\nspec:\n  type: {kind}\n"
    )
}

fn deployment(name: &str, labels: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, labels: {labels}}},
          spec: {{replicas: 0, selector: {{matchLabels: {{run: it}}}},
            template: {{metadata: {{labels: {{run: it}}}}, spec: {{{spec}}}}}}}}}"
    )
}

fn pod(name: &str, rest: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{a: b}}}},
          spec: {{{rest}containers: [{{name: web, image: web}}]}}}}"
    )
}

fn pod_spec(object: &Value) -> &Value {
    object.at(&["spec", "template", "spec"]).expect("a pod's spec")
}

/// Returns the ports of each container.
fn ports(object: &Value) -> Vec<Vec<i64>> {
    let containers = pod_spec(object).get("containers").and_then(Value::as_array).expect("containers");
    let of = |container: &Value| {
        let ports = container.get("ports").and_then(Value::as_array).expect("ports");
        ports.iter().filter_map(|port| port.get("containerPort")?.as_i64()).collect()
    };
    containers.iter().map(of).collect()
}

fn text<'v>(value: &'v Value, keys: &[&str]) -> &'v str {
    value.str_at(keys)
}
