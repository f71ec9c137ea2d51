//! ValidatingAdmissionPolicies that stand for rules: the API server takes them, and says of Pods what the rules say.

use kubewright_controlplane::TestCluster;
use kubewright_convert::{ConversionTarget, convert_policy};
use kubewright_dialects::Inputs;
use kubewright_engine::{DecisionSettings, Engine, OpenWorld, Query, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Map, Value, json};

use crate::definitions::{self, dialect};

const NAMESPACE: &str = "generated";

/// Pods, of which some break nearly every rule and some none.
const PODS: [&str; 4] = [
    r#"{"metadata":{"name":"plain"},"spec":{"containers":[{"name":"c","image":"nginx:latest"}]}}"#,
    r#"{"metadata":{"name":"hardened","labels":{"app":"web","app.kubernetes.io/name":"web","team":"a","env":"prod"},"annotations":{"owner":"me"}},"spec":{"automountServiceAccountToken":false,"securityContext":{"runAsNonRoot":true,"runAsUser":1000,"runAsGroup":3000,"fsGroup":2000,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"c","image":"ghcr.io/a/b:1.2.3","imagePullPolicy":"Always","resources":{"requests":{"cpu":"10m","memory":"16Mi"},"limits":{"cpu":"1","memory":"64Mi"}},"livenessProbe":{"httpGet":{"path":"/","port":80}},"readinessProbe":{"httpGet":{"path":"/r","port":80}},"securityContext":{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"privileged":false,"capabilities":{"drop":["ALL"]}}}]}}"#,
    r#"{"metadata":{"name":"open","labels":{"app":"x"}},"spec":{"hostNetwork":true,"hostPID":true,"hostIPC":true,"volumes":[{"name":"h","hostPath":{"path":"/var/run/docker.sock"}}],"initContainers":[{"name":"i","image":"busybox","securityContext":{"allowPrivilegeEscalation":true}}],"containers":[{"name":"c","image":"docker.io/a","ports":[{"containerPort":80,"hostPort":80}],"securityContext":{"runAsUser":0,"capabilities":{"add":["SYS_ADMIN"]},"procMount":"Default"}}]}}"#,
    r#"{"metadata":{"name":"mixed","annotations":{"a":"b"}},"spec":{"restartPolicy":"Never","tolerations":[{"operator":"Exists"}],"nodeSelector":{"kubernetes.io/os":"linux"},"containers":[{"name":"one","image":"registry.example.com/a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","env":[{"name":"A","value":"b"}]},{"name":"two","image":"quay.io/b:latest","resources":{"limits":{"memory":"1Gi"}},"securityContext":{"runAsNonRoot":false,"capabilities":{"drop":["NET_RAW"],"add":["NET_BIND_SERVICE"]}}}]}}"#,
];

/// A policy that stands for rules, and those rules.
struct Generated {
    file: String,
    documents: Vec<Value>,
    engine: Engine,
}

#[test]
fn generated_policies_are_taken_and_decide_the_same() {
    let Some(cluster) = definitions::cluster() else { return };
    cluster.create_namespace(NAMESPACE);
    let generated = generated();
    assert!(!generated.is_empty());
    let documents = generated.iter().flat_map(|one| one.documents.iter().cloned()).chain(sentinel());
    let taken = cluster.kubectl(&["create", "-f", "-"], &list(documents.collect()));
    assert!(taken.is_success(), "{}", taken.stderr);
    cluster.wait_until("the last of them is asked", || {
        let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: sentinel}}";
        !cluster.kubectl(&["create", "--dry-run=server", "-n", NAMESPACE, "-f", "-"], map).is_success()
    });
    let stored = stored(cluster);
    let namespace = cluster.kubectl(&["get", "namespace", NAMESPACE, "-o", "json"], "").success();
    let mut world = OpenWorld::default();
    world.learn(Query::namespace(NAMESPACE), Some(json::parse(&namespace).expect("JSON")));
    let mut pods = Vec::new();
    for case in 0..generated.len() {
        pods.extend(stored.iter().map(|pod| labelled(pod, case)));
    }
    let mut passed = String::new();
    for batch in pods.chunks(200) {
        passed += &cluster
            .kubectl(&["create", "--dry-run=server", "-n", NAMESPACE, "-f", "-"], &list(batch.to_vec()))
            .stdout;
    }
    let (mut differences, mut refused) = (Vec::new(), 0);
    for (case, one) in generated.iter().enumerate() {
        for pod in &stored {
            let pod = labelled(pod, case);
            let name = pod.str_at(&["metadata", "name"]).to_owned();
            let is_refused = !passed.contains(&format!("pod/{name} created"));
            let mut request = AdmissionRequest::for_object(pod, Operation::Create, NAMESPACE);
            request.uid = "uid".into();
            let decision = one.engine.decide(&request, &world, &DecisionSettings::default());
            let said = decision
                .outcomes
                .iter()
                .find(|one| matches!(one.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error));
            refused += usize::from(is_refused);
            if said.is_some() != is_refused {
                differences.push(format!(
                    "{} {name}: ours {:?}, theirs {is_refused}",
                    one.file,
                    said.map(|one| &one.message)
                ));
            }
        }
    }
    println!("{} policies, {} verdicts, {refused} refusals", generated.len(), generated.len() * stored.len());
    assert!(refused > 0);
    assert!(differences.is_empty(), "{} differ: {differences:#?}", differences.len());
}

/// Of how many policies one is taken with `KUBEWRIGHT_DOORS=some`; otherwise all are.
const SOME: usize = 3;

/// Returns what can be generated, with bindings that refuse and are about Pods with the label of their case alone.
fn generated() -> Vec<Generated> {
    let mut all = Vec::new();
    let every = if std::env::var("KUBEWRIGHT_DOORS").is_ok_and(|wish| wish == "some") { SOME } else { 1 };
    for (file, policy) in definitions::policies().into_iter().step_by(every) {
        let document = Document::written(policy, "policy");
        let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
        let Some(conversion) = convert_policy(&document, target, &[], Inputs::default()) else { continue };
        for written in conversion.written {
            let mut rules = dialect().compile(&document, &[]).rules;
            rules.retain(|rule| written.rules.contains(&rule.id.rule));
            let case = all.len();
            let documents = written.documents.into_iter().map(|document| prepared(document, case)).collect();
            all.push(Generated { file: file.display().to_string(), documents, engine: Engine::new(rules) });
        }
    }
    all
}

fn prepared(mut document: Value, case: usize) -> Value {
    let is_binding = document.get("kind").and_then(Value::as_str) == Some("ValidatingAdmissionPolicyBinding");
    let text = |path: &[&str]| document.str_at(path).to_owned();
    let policy = if is_binding { text(&["spec", "policyName"]) } else { text(&["metadata", "name"]) };
    let name = format!("case-{case}-{policy}");
    let map = document.as_object_mut().expect("an object");
    let metadata = Map::from([("name", Value::from(name.as_str()))]);
    map.insert("metadata".into(), metadata.into());
    let spec = map.get_mut("spec").and_then(Value::as_object_mut).expect("a spec");
    if is_binding {
        spec.insert("policyName".into(), name.into());
        spec.insert("validationActions".into(), vec!["Deny"].into());
        let labels = Map::from([("case", Value::from(case.to_string()))]);
        let selector = Map::from([("matchLabels", Value::from(labels))]);
        let mut about = spec.get("matchResources").and_then(Value::as_object).cloned().unwrap_or_default();
        about.insert("objectSelector".into(), selector.into());
        spec.insert("matchResources".into(), about.into());
    }
    document
}

/// Refuses ConfigMaps called `sentinel`.
fn sentinel() -> [Value; 2] {
    [
        r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"sentinel"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"],"resourceNames":["sentinel"]}]},"validations":[{"expression":"false"}]}}"#,
        r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"sentinel"},"spec":{"policyName":"sentinel","validationActions":["Deny"]}}"#,
    ]
    .map(|text| json::parse(text).expect("JSON"))
}

/// Returns the Pods as the API server would store them, with everything that it fills in.
fn stored(cluster: &TestCluster) -> Vec<Value> {
    let mut all = Vec::new();
    for pod in PODS {
        let mut pod = json::parse(pod).expect("JSON");
        let map = pod.as_object_mut().expect("an object");
        map.insert("apiVersion".into(), "v1".into());
        map.insert("kind".into(), "Pod".into());
        let create = ["create", "--dry-run=server", "-n", NAMESPACE, "-o", "json", "-f", "-"];
        let mut stored = json::parse(&cluster.kubectl(&create, &pod.to_string()).success()).expect("JSON");
        let map = stored.as_object_mut().expect("an object");
        map.remove("status");
        let metadata = map.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(key);
        }
        all.push(stored);
    }
    all
}

fn labelled(pod: &Value, case: usize) -> Value {
    let mut pod = pod.clone();
    let metadata = pod.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
    let metadata = metadata.expect("metadata");
    let name = metadata.str_at(&["name"]).to_owned();
    let mut labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.insert("case".into(), case.to_string().into());
    metadata.insert("labels".into(), labels.into());
    metadata.insert("name".into(), format!("{name}-{case}").into());
    pod
}

fn list(items: Vec<Value>) -> String {
    let list = Map::from([
        ("apiVersion", Value::from("v1")),
        ("kind", "List".into()),
        ("items", Value::array(items)),
    ]);
    Value::from(list).to_string()
}
