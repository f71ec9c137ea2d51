//! Patterns: any document compiles or is refused with reasons, the same way every time.

use kubewright_patterns::compile_pattern_document;
use kubewright_value::{Source, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "pattern_compile",
    run: fuzz_pattern_compile,
    seeds: SEEDS,
    dictionaries: &[FuzzDictionary::Yaml],
    words: WORDS,
};

pub(super) const SEEDS: &[&str] = &[
    "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {name: p, displayName: P, patternType: STRUCTURAL, severity: INFO, category: Security}\nspec:\n  message: '{{a.name}} {{count(b)}} {{score}} {{a.podTemplate.spec.containers[@].name}}'\n  topology: SINGLE\n  resources:\n  - resource: [Service, Deployment.apps, apps/v1/StatefulSet]\n    id: a\n    leader: true\n    filters:\n      matchAll: [{key: 'podTemplate.spec.containers[@].env[@].name', operator: MATCHES, values: ['^A']}, {key: spec.replicas, operator: LESS_OR_EQUAL, values: [3]}]\n      matchAny: [{key: metadata.labels.app, operator: NOT_EQUALS, values: [a, true, 1]}, {key: \"metadata.labels['a/b']\", operator: EXISTS}]\n      matchNone: [{key: 'spec.ports[*].port', operator: ARRAY_SIZE_GREATER_THAN, values: [2]}, {key: 'spec.ports[*].name', operator: EQUALS, values: [x], quantifier: ALL}]\n  - {resource: Pod, id: b}\n  - {resource: '*', id: c, presence: ABSENT}\n  relationships:\n  - {id: e, type: EXPOSES, required: true, shared: true, resourceIds: [a, b], atLeast: 2, direction: FORWARD, strength: [REQUIRED, IMPLICIT], via: 'spec.*'}\n  - {id: f, type: [USES_CONFIG, MOUNTS], required: false, shared: false, weight: 0.5, resourceIds: [b, c]}\n  - {id: g, type: CUSTOM, required: true, shared: false, resourceIds: [a, b], criteria: [{path: [metadata.name, kind], otherPath: metadata.name, otherDefault: x, operator: EQUALS}, {value: 1, otherPath: spec.priority, operator: LESS_THAN}]}\n  minRelationshipPoints: 0.5\n",
    "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {name: p, displayName: P, patternType: CUSTOM, severity: CRITICAL, category: architecture, docUrl: 'https://x'}\nspec:\n  message: m\n  topology: LEADER_FOLLOWER\n  dedupe: UNORDERED\n  actors: [a, b]\n  resources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}, {resource: Deployment, id: d}]\n  relationships: [{id: o, type: OWNS, transitive: true, required: true, shared: true, resourceIds: [d, b]}]\n  commonRelationships:\n  - {id: m, type: MOUNTS, matchByName: false, required: true, shared: true, resourceIds: [a, b]}\n  - {id: n, type: SAME_NETWORK, required: false, shared: true, weight: 1, resourceIds: [a, b]}\n  - {id: q, type: ANY, required: false, shared: true, weight: 2, resourceIds: [a, b]}\n  minRelationshipPoints: 1\n  minCommonRelationshipPoints: 1\n",
    "apiVersion: kubepattern.dev/v1\nkind: PatternAsCode\nmetadata: {name: p}\nspec:\n  displayName: P\n  category: c\n  severity: HIGH\n  message: '{{target.metadata.name}}'\n  target: {kind: Service, apiVersion: v1, plural: services, emitOnEmpty: true, filters: {matchNone: [{path: spec.selector, operator: IS_EMPTY}]}}\n  dependencies:\n  - {id: pods, kind: Pod, apiVersion: v1}\n  - {id: any, fromTarget: {apiVersionPath: spec.ref.apiVersion, kindPath: spec.ref.kind}}\n  relationships:\n    matchAll: [{with: pods, type: selects, selectorPath: spec.selector}]\n    matchAny: [{with: any, type: custom, criteria: [{targetPath: 'spec.refs[@].name', dependencyPath: metadata.name, operator: EQUALS, targetTransform: {split: {separator: '/', index: -1}}, dependencyTransform: {lowercase: true}, targetDefault: {value: x}}]}]\n    matchNone: [{with: pods, type: ownedBy}]\n",
];

pub(super) const WORDS: &[&str] = &[
    "[*]",
    "[@]",
    "[0]",
    "[-1]",
    "..",
    "['a.b']",
    "podTemplate.",
    "metadata.name",
    "spec.containers[*].",
    "type: ANY",
    "type: CUSTOM",
    "type: OWNS",
    "type: SAME_NETWORK",
    "transitive: true",
    "atLeast: 2",
    "presence: ABSENT",
    "quantifier: EACH_LACKS",
    "direction: BACKWARD",
    "dedupe: UNORDERED",
    "topology: LEADER_FOLLOWER",
    "required: false",
    "shared: false",
    "weight: 1e300",
    "resourceIds: [a, b, c]",
    "leader: true",
    "actors: [a, b]",
    "operator: GREATER_THAN",
    "operator: MATCHES",
    "operator: ARRAY_SIZE_EQUALS",
    "{{a.name}}",
    "{{count(a)}}",
    "regex: '(a*)*'",
    "\n  - ",
    "\n    ",
    ": ",
    "{",
    "}",
    "[",
    "]",
    "null",
];

fn fuzz_pattern_compile(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for document in yaml::read(&Source::new("fuzz", text)).documents {
        let (pattern, diagnostics) = compile_pattern_document(&document);
        let has_error = diagnostics.iter().any(kubewright_engine::Diagnostic::is_error);
        assert_eq!(pattern.is_none(), has_error, "a pattern or an error");
        let again: Vec<String> =
            compile_pattern_document(&document).1.iter().map(ToString::to_string).collect();
        let once: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(once, again);
    }
}
