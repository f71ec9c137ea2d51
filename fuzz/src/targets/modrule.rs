//! Whole rules: any text is compiled, and what compiles decides an object the same way every time, without
//! changing what rules cannot change.

use kubewright_engine::{ClosedWorld, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Limits, Source, Value, json, yaml};

use crate::dictionary::FuzzDictionary;

use super::{FuzzTarget, load_rules};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "modrule",
    run: fuzz_modrule,
    seeds: &[
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {name: r, namespace: shop}\nspec:\n  type: Patch\n  match:\n    - {select: $.kind, matchValue: Pod}\n    - {select: '$.spec.containers[*].image', matchRegex: '^nginx', negate: true}\n  patch:\n    - {op: add, select: '$.spec.containers[*]', path: '/spec/containers/#0/x', value: '{{ .SelectedItem.name }}-{{ .#0 }}'}\n    - {op: remove, path: /metadata/ownerReferences/0}\n    - op: add\n      path: /spec/tolerations/-1\n      value: |-\n        key: {{ .Target.metadata.name }}\n",
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {name: r, namespace: kubemod-system}\nspec:\n  type: Reject\n  targetNamespaceRegex: ^sh\n  rejectMessage: 'no {{ .Target.metadata.labels }}'\n  executionTier: -3\n  admissionOperations: [CREATE, DELETE]\n  match:\n    - {select: 'length($.spec.containers) > 0', matchFor: All}\n    - {select: $.syntheticRefs.namespace.metadata.labels.team, matchValues: [a, b]}\n",
    ],
    dictionaries: &[
        FuzzDictionary::Yaml,
        FuzzDictionary::JsonPath,
        FuzzDictionary::GoTemplate,
        FuzzDictionary::JsonPatch,
    ],
    words: &[
        "type: Patch",
        "type: Reject",
        "match:",
        "patch:",
        "select:",
        "path:",
        "value:",
        "op: add",
        "op: remove",
        "op: replace",
        "negate: true",
        "matchFor: All",
        "#0",
        "#1",
        "{{ .Target }}",
        "{{ .#0 }}",
        "/-1",
        "/-",
        "/metadata",
        "/metadata/managedFields",
        "/syntheticRefs",
        "/metadata/annotations",
        "$.syntheticRefs",
        "$..",
        "[*]",
        "[?",
        "\n  ",
        "\n    - ",
        ": ",
        "'",
    ],
};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop","managedFields":[{"manager":"m"}],"labels":{"a.b/c":"1"},
    "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"Pod\"}"},"ownerReferences":[{"name":"o"}]},
    "spec":{"containers":[{"name":"a","image":"nginx:1"},{"name":"b","image":"redis"}]}}"#;

fn fuzz_modrule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_rule_decisions(text, &json::parse(POD).unwrap_or_default());
}

/// Checks that a request about `object` is decided the same way twice, and what a rule cannot change.
pub(super) fn check_rule_decisions(text: &str, object: &Value) {
    let documents = yaml::read(&Source::new("rule.yaml", text)).documents;
    let rules = load_rules(&documents);
    if rules.is_empty() {
        return;
    }
    let engine = Engine::new(rules);
    let world = ClosedWorld::new(
        json::parse(
            r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"team":"a"}}}"#,
        )
        .ok(),
    );
    let settings = DecisionSettings {
        limits: Limits { steps: 200_000, bytes: 4 << 20, depth: 128 },
        is_traced: true,
        ..DecisionSettings::default()
    };
    for operation in [Operation::Create, Operation::Delete] {
        let request = AdmissionRequest::for_object(object.clone(), operation, "default");
        let decide = || engine.decide(&request, &world, &settings);
        let (first, second) = (decide(), decide());
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "decided twice");
        assert!(first.object.get("syntheticRefs").is_none(), "references are not written back");
        if first.object.get("metadata").is_some_and(|metadata| metadata.as_object().is_some()) {
            assert_eq!(
                first.object.at(&["metadata", "managedFields"]),
                object.at(&["metadata", "managedFields"])
            );
        }
    }
}
