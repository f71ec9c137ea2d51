//! K8sPatterns and Smells by server-side apply on a real API server: what people suppress stays suppressed.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use kubewright_controlplane::TestCluster;
use kubewright_graph::{Graph, References};
use kubewright_patterns::{DetectionSettings, Pattern, PatternFindings, compile_pattern_document, detect};
use kubewright_report::cluster_report::{
    FIELD_MANAGER, JudgedFinding, PatternObject, PatternObjectKind, StoredPatternObject, pattern_object,
    pattern_object_changes,
};
use kubewright_value::{Budget, Source, Value, json, yaml};

/// The fields that the two upstream definitions have and require.
const DEFINITIONS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: k8spatterns.kubepattern.it}
spec:
  group: kubepattern.it
  scope: Namespaced
  names: {kind: K8sPattern, plural: k8spatterns, singular: k8spattern, shortNames: [k8sp]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [apiVersion, name, type]
            properties:
              apiVersion: {type: string}
              name: {type: string}
              type: {type: string}
              description: {type: string}
              referenceLink: {type: string}
              message: {type: string}
              severity: {type: string}
              confidence: {type: string}
              category: {type: string, enum: [Reliability, Security, Performance]}
              suppress: {type: boolean}
              scores:
                type: array
                items: {type: object, properties: {category: {type: string}, score: {type: integer, minimum: 0, maximum: 100}}}
              resources:
                type: array
                items: {type: object, properties: {name: {type: string}, namespace: {type: string}, role: {type: string}, uid: {type: string}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: smells.kubepattern.dev}
spec:
  group: kubepattern.dev
  scope: Namespaced
  names: {kind: Smell, plural: smells, singular: smell}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [name, category]
            properties:
              name: {type: string}
              category: {type: string}
              reference: {type: string}
              pattern: {type: object, properties: {name: {type: string}, version: {type: string}}}
              message: {type: string}
              severity: {type: string, enum: [LOW, MEDIUM, HIGH, CRITICAL]}
              suppress: {type: boolean}
              target:
                type: object
                required: [apiVersion, kind, uid, name]
                properties: {apiVersion: {type: string}, kind: {type: string}, name: {type: string}, namespace: {type: string}, uid: {type: string}}
";

const PATTERN: &str = "
version: kubepattern.it/v1
kind: Pattern
metadata: {name: shared-config, displayName: S, patternType: STRUCTURAL, severity: WARNING, category: Security}
spec:
  message: MESSAGE
  topology: LEADER_FOLLOWER
  resources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}]
  actors: [a, b]
  minRelationshipPoints: 0.1
  commonRelationships:
  - {id: same, type: USES_CONFIG, required: false, shared: true, weight: 1, resourceIds: [a, b]}
";

const PODS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: default, uid: 0b1ff0a2-6a6b-4a0e-9f0e-0123456789ab}
spec: {containers: [{name: c, envFrom: [{configMapRef: {name: common}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: default}
spec: {containers: [{name: c, envFrom: [{configMapRef: {name: common}}]}]}
";

/// Returns the objects of the finding of the pattern, which says `message`.
fn objects(message: &str) -> Vec<PatternObject> {
    let (pattern, graph, found) = found(message);
    let judged = JudgedFinding {
        pattern: &pattern,
        finding: found.findings.first().expect("a finding"),
        graph: &graph,
        suppression: None,
        is_failure: true,
        since: 0,
    };
    PatternObjectKind::ALL.map(|kind| pattern_object(kind, &judged, "results", true)).into()
}

fn found(message: &str) -> (Pattern, Graph, PatternFindings) {
    let documents = yaml::read(&Source::new("p.yaml", PATTERN.replace("MESSAGE", message))).documents;
    let (pattern, _) = compile_pattern_document(documents.first().expect("a document"));
    let pattern = pattern.expect("a pattern");
    let objects = yaml::read(&Source::new("o.yaml", PODS)).documents;
    let graph = Graph::build(objects.into_iter().map(|object| object.value), &References::default());
    let found = detect(&pattern, &graph, &DetectionSettings::default(), &mut Budget::default());
    (pattern, graph, found.expect("findings"))
}

/// Applies `object` and returns what is stored.
#[track_caller]
fn apply(cluster: &TestCluster, object: &PatternObject) -> Value {
    let manager = format!("--field-manager={FIELD_MANAGER}");
    let arguments = [
        "apply",
        "--server-side",
        &manager,
        "--validate=strict",
        "--show-managed-fields",
        "-o",
        "json",
        "-f",
        "-",
    ];
    let stored = cluster.kubectl(&arguments, &json::to_string(&object.value)).success();
    json::parse(&stored).expect("json")
}

/// Returns the names of the fields of `spec` that we own.
fn owned_fields(stored: &Value) -> Vec<String> {
    let entries = stored.at(&["metadata", "managedFields"]).and_then(Value::as_array).expect("managers");
    let ours = entries.iter().find(|entry| entry.str_at(&["manager"]) == FIELD_MANAGER).expect("our entry");
    let spec = ours.at(&["fieldsV1", "f:spec"]).and_then(Value::as_object).expect("fields of the spec");
    spec.keys().map(ToString::to_string).collect()
}

#[test]
fn what_people_suppress_stays_suppressed() {
    let Some(cluster) = TestCluster::start() else { return };
    cluster.kubectl(&["apply", "-f", "-"], DEFINITIONS).expect_success();
    let resources = ["k8spatterns.kubepattern.it", "smells.kubepattern.dev"];
    for resource in resources {
        cluster.wait_until("findings can be listed", || cluster.kubectl(&["get", resource], "").is_success());
    }
    for (object, resource) in objects("first").iter().zip(resources) {
        let stored = apply(&cluster, object);
        assert_eq!(stored.at(&["spec", "suppress"]), None);
        let read = StoredPatternObject::read(object.kind, &stored);
        assert_eq!((read.is_managed, read.suppression_of(object)), (true, None));
        let patch =
            ["patch", resource, &object.name, "--type=merge", "-p", r#"{"spec": {"suppress": true}}"#];
        cluster.kubectl(&patch, "").expect_success();
    }
    let mut stored = Vec::new();
    for object in &objects("second") {
        let after = apply(&cluster, object);
        assert_eq!(after.str_at(&["spec", "message"]), "second");
        assert!(!owned_fields(&after).contains(&"f:suppress".to_owned()));
        let read = StoredPatternObject::read(object.kind, &after);
        assert!(read.suppression_of(object).is_some(), "{after}");
        stored.push(read);
    }
    // A second start with no change writes nothing, suppressed or not.
    assert_eq!(pattern_object_changes(&objects("second"), &stored, |_| true), []);
}
