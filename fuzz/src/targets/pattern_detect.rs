//! Patterns and objects from one stream: looking for the patterns ends, alone and shared among threads with the same
//! findings.

use kubewright_graph::{Graph, References};
use kubewright_patterns::{
    DetectionSettings, Pattern, compile_pattern_document, detect, detect_all, detection_budget,
    is_pattern_document,
};
use kubewright_value::{Limits, Source, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;
use super::pattern_compile::WORDS;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "pattern_detect",
    run: fuzz_pattern_detect,
    seeds: &[
        "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {name: p, displayName: P, patternType: STRUCTURAL, severity: INFO, category: Security}\nspec:\n  message: '{{a.name}} {{b.name}} {{count(b)}}'\n  topology: SINGLE\n  resources: [{resource: Service, id: a, leader: true}, {resource: [Pod, Deployment], id: b, filters: {matchNone: [{key: 'podTemplate.spec.containers[@].livenessProbe', operator: EXISTS}]}}, {resource: '*', id: c, presence: ABSENT}]\n  relationships:\n  - {id: e, type: EXPOSES, required: true, shared: true, resourceIds: [a, b], atLeast: 1}\n  - {id: f, type: [USES_CONFIG, MOUNTS], required: false, shared: true, weight: 0.5, resourceIds: [b, c]}\n---\n{apiVersion: v1, kind: Service, metadata: {name: s, namespace: a}, spec: {selector: {app: x}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a, labels: {app: x}}, spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: gone}}]}]}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: r, namespace: a, labels: {app: x}}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, livenessProbe: {}}]}}\n",
        "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {name: p, displayName: P, patternType: CUSTOM, severity: INFO, category: x}\nspec:\n  message: '{{a.name}} {{b.name}} {{score}}'\n  topology: LEADER_FOLLOWER\n  dedupe: UNORDERED\n  actors: [a, b]\n  resources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}, {resource: Deployment, id: d}]\n  relationships: [{id: o, type: OWNS, transitive: true, required: false, shared: true, weight: 1, resourceIds: [d, b]}, {id: c, type: CUSTOM, required: true, shared: true, resourceIds: [a, b], criteria: [{path: metadata.namespace, otherPath: metadata.namespace, operator: EQUALS}]}]\n  commonRelationships: [{id: m, type: MOUNTS, required: true, shared: true, resourceIds: [a, b]}, {id: n, type: ANY, required: false, shared: false, weight: 2, resourceIds: [a, b]}]\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, controller: true}]}, spec: {volumes: [{name: v, emptyDir: {}}]}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: r, namespace: a}, spec: {volumes: [{name: v, configMap: {name: m}}]}}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}\n",
        "apiVersion: kubepattern.dev/v1\nkind: Pattern\nmetadata: {name: p}\nspec:\n  displayName: P\n  category: c\n  severity: LOW\n  message: m\n  target: {kind: Service, apiVersion: v1, emitOnEmpty: true}\n  dependencies: [{id: pods, kind: Pod, apiVersion: v1}]\n  relationships: {matchAll: [{with: pods, type: selects}], matchNone: [{with: pods, type: custom, criteria: [{targetPath: 'spec.ports[@].name', dependencyPath: 'spec.containers[@].name', operator: CONTAINS}]}]}\n---\n{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: x}, ports: [{name: h}]}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: x}}, spec: {containers: [{name: g}]}}\n",
    ],
    dictionaries: &[FuzzDictionary::Yaml],
    words: WORDS,
};

pub(super) fn fuzz_pattern_detect(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut patterns, mut objects): (Vec<Pattern>, Vec<_>) = (Vec::new(), Vec::new());
    for document in yaml::read(&Source::new("fuzz", text)).documents {
        match is_pattern_document(&document) {
            true => patterns.extend(compile_pattern_document(&document).0),
            false => objects.push(document.value),
        }
    }
    let graph = Graph::build(objects, &References::default());
    let settings = DetectionSettings { traces: true, per_pattern: 50, ..DetectionSettings::default() };
    let together = detect_all(&patterns, &graph, &settings, 2);
    assert_eq!(together.len(), patterns.len());
    for (pattern, found) in patterns.iter().zip(together) {
        let alone = detect(pattern, &graph, &settings, &mut detection_budget(pattern, &graph));
        assert_eq!(format!("{alone:?}"), format!("{found:?}"));
        let small = Limits { steps: 200, bytes: 200, ..Limits::default() };
        let _ = detect(pattern, &graph, &settings, &mut kubewright_value::Budget::new(small));
    }
}
