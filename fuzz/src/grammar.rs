//! Makes whole rules and objects from bytes: each byte chooses one of the alternatives of a grammar, so that almost
//! every input is a rule that compiles, and mutated bytes are another rule.

/// The alternatives of a symbol. An alternative names other symbols as `«symbol»`.
pub(crate) type GrammarRule = (&'static str, &'static [&'static str]);

/// The depth below which only first alternatives are taken, which come to an end.
const MAX_GRAMMAR_DEPTH: usize = 12;

/// The longest text that is made.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Makes texts of a grammar from bytes. Without bytes left it takes first alternatives.
pub(crate) struct GrammarText<'b> {
    grammars: &'static [&'static [GrammarRule]],
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> GrammarText<'b> {
    pub(crate) fn new(grammars: &'static [&'static [GrammarRule]], bytes: &'b [u8]) -> Self {
        Self { grammars, bytes: bytes.iter() }
    }

    /// Returns a text of `symbol`.
    pub(crate) fn make(&mut self, symbol: &str) -> String {
        let mut text = String::new();
        self.expand(symbol, 0, &mut text);
        text
    }

    fn expand(&mut self, symbol: &str, depth: usize, text: &mut String) {
        let Some(alternatives) = find_rule(self.grammars, symbol) else { return };
        let is_free = depth < MAX_GRAMMAR_DEPTH && text.len() < MAX_TEXT_BYTES;
        let choice = if is_free { self.bytes.next().copied().map_or(0, usize::from) } else { 0 };
        let mut rest = alternatives.get(choice % alternatives.len().max(1)).copied().unwrap_or_default();
        while let Some((before, after)) = rest.split_once('«') {
            text.push_str(before);
            let (inner, behind) = after.split_once('»').unwrap_or((after, ""));
            self.expand(inner, depth + 1, text);
            rest = behind;
        }
        text.push_str(rest);
    }
}

fn find_rule(grammars: &[&[GrammarRule]], symbol: &str) -> Option<&'static [&'static str]> {
    grammars
        .iter()
        .copied()
        .flatten()
        .find(|(name, _)| *name == symbol)
        .map(|(_, alternatives)| *alternatives)
}

/// Objects of Kubernetes, and what rules say about them.
pub(crate) const OBJECTS: &[GrammarRule] = &[
    ("name", &["a", "b", "web", "x-1", "a*"]),
    ("namespace", &["shop", "a", "kube-system"]),
    ("key", &["app", "a.b/c", "team", "name", "x"]),
    (
        "scalar",
        &[
            "a",
            "1",
            "true",
            "null",
            "1Gi",
            "500m",
            "1h",
            "-3",
            "1.5",
            "a|b",
            "9223372036854775807",
            "nginx:1.25",
        ],
    ),
    (
        "value",
        &[
            "«scalar»",
            "[«scalar», «value»]",
            "{«key»: «value»}",
            "[]",
            "{}",
            "{a: «value», b: «value»}",
            "''",
        ],
    ),
    ("labels", &["{}", "{«key»: '«name»'}", "{app: web, «key»: '«name»'}"]),
    (
        "metadata",
        &[
            "{name: «name», namespace: «namespace», labels: «labels»}",
            "{name: «name», annotations: «labels», ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: «name», controller: true}]}",
            "{name: «name»}",
        ],
    ),
    ("image", &["nginx", "nginx:1.25", "ghcr.io/a/b:latest", "a@sha256:b", "''"]),
    (
        "security",
        &[
            "{}",
            "{privileged: true}",
            "{runAsNonRoot: true, runAsUser: 0}",
            "{capabilities: {add: [NET_RAW], drop: [ALL]}}",
            "{seccompProfile: {type: Unconfined}}",
            "null",
        ],
    ),
    (
        "container",
        &[
            "{name: «name», image: «image»}",
            "{name: «name», image: «image», securityContext: «security», ports: [{containerPort: 80}], resources: {limits: {memory: «scalar», cpu: «scalar»}}}",
            "{name: «name», env: [{name: A, valueFrom: {secretKeyRef: {name: «name», key: k}}}], envFrom: [{configMapRef: {name: «name»}}], livenessProbe: {}}",
            "«value»",
        ],
    ),
    ("containers", &["[«container»]", "[«container», «container»]", "[]"]),
    (
        "volumes",
        &[
            "[]",
            "[{name: v, emptyDir: {}}]",
            "[{name: v, configMap: {name: «name»}}, {name: w, hostPath: {path: /}}]",
        ],
    ),
    (
        "pod_spec",
        &[
            "{containers: «containers»}",
            "{containers: «containers», initContainers: «containers», volumes: «volumes», hostNetwork: true, serviceAccountName: «name»}",
            "{securityContext: «security», containers: «containers», volumes: «volumes»}",
            "«value»",
        ],
    ),
    ("pod", &["{apiVersion: v1, kind: Pod, metadata: «metadata», spec: «pod_spec»}"]),
    (
        "workload",
        &[
            "{apiVersion: apps/v1, kind: Deployment, metadata: «metadata», spec: {replicas: 2, selector: {matchLabels: «labels»}, template: {metadata: {labels: «labels»}, spec: «pod_spec»}}}",
            "{apiVersion: batch/v1, kind: CronJob, metadata: «metadata», spec: {jobTemplate: {spec: {template: {spec: «pod_spec»}}}}}",
        ],
    ),
    (
        "object",
        &[
            "«pod»",
            "«workload»",
            "{apiVersion: v1, kind: Service, metadata: «metadata», spec: {selector: «labels», ports: [{port: 80, name: «name»}]}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: «metadata», data: «labels»}",
            "{apiVersion: v1, kind: Namespace, metadata: {name: «namespace», labels: «labels»}}",
            "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: «metadata», spec: {podSelector: {matchLabels: «labels»}, ingress: [{from: [{namespaceSelector: {}}]}]}}",
            "{apiVersion: example.com/v1, kind: Thing, metadata: «metadata», spec: «value»}",
        ],
    ),
    ("path", &["metadata.name", "metadata.labels", "spec", "spec.containers", "kind", "spec.replicas"]),
    (
        "cel",
        &[
            "true",
            "object.metadata.name == '«name»'",
            "has(object.spec.containers) && object.spec.containers.all(c, «cel_item»)",
            "object.«path» == «cel_value»",
            "!(«cel»)",
            "«cel» || «cel»",
            "size(object.metadata.name) > «cel_value»",
            "object.?spec.?replicas.orValue(1) < 5",
            "[«cel_value», «cel_value»].exists(i, i == «cel_value»)",
        ],
    ),
    (
        "cel_item",
        &[
            "c.name != '«name»'",
            "has(c.image) && c.image.startsWith('«name»')",
            "c.?securityContext.?privileged.orValue(false) == false",
            "'«key»' in c",
            "«cel»",
        ],
    ),
    (
        "cel_value",
        &[
            "1",
            "'«name»'",
            "2.5",
            "null",
            "object.«path»",
            "[1, 'a']",
            "{'a': 1}",
            "duration('1h')",
            "'1.2.3'.split('.')",
            "string(object.metadata.name).matches('^a+$')",
        ],
    ),
];

/// Kyverno policies.
pub(crate) const POLICIES: &[GrammarRule] = &[
    (
        "policy",
        &[
            "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [«rule»]}}",
            "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {background: false, rules: [«rule», «other_rule»]}}",
            "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]}, validations: [{expression: \"«cel»\", message: m}]}}",
            "{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'«key»': '«name»'}}}\"}}]}}",
        ],
    ),
    (
        "rule",
        &[
            "{name: r, match: «match», validate: «validate»}",
            "{name: r, match: «match», exclude: «match», preconditions: «conditions», validate: «validate»}",
            "{name: r, match: «match», context: [{name: v, variable: {value: «value», jmesPath: \"«jmespath»\", default: 1}}], validate: «validate»}",
            "{name: r, match: «match», mutate: «mutate»}",
        ],
    ),
    (
        "other_rule",
        &["{name: s, match: «match», validate: «validate»}", "{name: s, match: «match», mutate: «mutate»}"],
    ),
    (
        "match",
        &[
            "{any: [{resources: {kinds: [Pod]}}]}",
            "{all: [{resources: {kinds: ['*']}}]}",
            "{any: [{resources: {kinds: [Pod, Deployment], names: ['«name»'], namespaces: ['sh*'], operations: [CREATE]}}]}",
            "{any: [{resources: {kinds: [Pod], selector: {matchLabels: {«key»: '«wild»'}}}}, {resources: {kinds: [CronJob, v1/Service]}}]}",
        ],
    ),
    (
        "validate",
        &[
            "{message: m, pattern: «pattern»}",
            "{message: 'no {{ request.object.metadata.name }}', anyPattern: [«pattern», «pattern»]}",
            "{message: m, deny: {conditions: «conditions»}}",
            "{message: m, foreach: [{list: \"request.object.spec.containers\", pattern: «pattern»}]}",
            "{message: m, foreach: [{list: \"«jmespath»\", elementScope: false, deny: {conditions: «conditions»}}]}",
            "{podSecurity: {level: restricted, version: latest, exclude: [{controlName: Capabilities, images: ['*']}]}}",
            "{cel: {expressions: [{expression: \"«cel»\"}]}}",
        ],
    ),
    ("anchor", &["«key»", "(«key»)", "=(«key»)", "X(«key»)", "^(«key»)", "<(«key»)"]),
    ("wild", &["*", "?*", "a*", "«name»", "a?b"]),
    (
        "leaf",
        &[
            "'«wild»'",
            "'!«wild»'",
            "'>=«scalar»'",
            "'<1Gi'",
            "'1-10'",
            "'1Mi!-1Gi'",
            "'«wild» | «wild»'",
            "'>1 & <10'",
            "«scalar»",
            "null",
            "'{{ request.object.metadata.name }}'",
            "'$(./«key»)'",
        ],
    ),
    (
        "plain_pattern",
        &[
            "{metadata: {«anchor»: «plain_node»}}",
            "{spec: {containers: [{«anchor»: «plain_node», name: «plain_leaf»}]}}",
            "{metadata: {labels: {'«wild»': «plain_leaf»}}, «anchor»: «plain_node»}",
            "{kind: «plain_leaf», «anchor»: «plain_node»}",
            "«plain_node»",
        ],
    ),
    (
        "plain_node",
        &[
            "«plain_leaf»",
            "{«anchor»: «plain_node»}",
            "[«plain_node»]",
            "[«plain_node», «plain_node»]",
            "{(name): «plain_leaf», «anchor»: «plain_node»}",
        ],
    ),
    (
        "plain_leaf",
        &[
            "'«wild»'",
            "'!«wild»'",
            "'>=«scalar»'",
            "'<1Gi'",
            "'1-10'",
            "'1Mi!-1Gi'",
            "'«wild» | «wild»'",
            "'>1 & <10'",
            "«scalar»",
            "null",
        ],
    ),
    (
        "pattern",
        &[
            "{metadata: {«anchor»: «node»}}",
            "{spec: {containers: [{«anchor»: «node», name: «leaf»}]}}",
            "{spec: {=(initContainers): [{=(securityContext): {X(privileged): «leaf»}}], containers: [{image: «leaf»}]}}",
            "{metadata: {labels: {'«wild»': «leaf»}}, «anchor»: «node»}",
            "«node»",
        ],
    ),
    (
        "node",
        &[
            "«leaf»",
            "{«anchor»: «node»}",
            "[«node»]",
            "[«node», «node»]",
            "{(name): «leaf», «anchor»: «node»}",
        ],
    ),
    ("conditions", &["{any: [«condition»]}", "{all: [«condition», «condition»]}", "[«condition»]"]),
    (
        "condition",
        &[
            "{key: \"{{ «jmespath» }}\", operator: «operator», value: «value»}",
            "{key: «scalar», operator: «operator», value: \"{{ «jmespath» }}\"}",
        ],
    ),
    (
        "operator",
        &[
            "Equals",
            "NotEquals",
            "AnyIn",
            "AllIn",
            "AnyNotIn",
            "AllNotIn",
            "GreaterThan",
            "LessThanOrEquals",
            "DurationGreaterThan",
            "In",
            "NotIn",
        ],
    ),
    (
        "jmespath",
        &[
            "request.object.«path»",
            "request.object.spec.containers[].name",
            "request.object.spec.containers[?name == '«name»']",
            "length(request.object.metadata.name)",
            "element.name || '«name»'",
            "to_string(«jmespath»)",
            "[«jmespath», `1`]",
            "request.object.metadata.labels.\\\"«key»\\\" || `null`",
            "«jmespath» | [0]",
            "sort(keys(request.object.metadata))",
            "add('1Gi', '«scalar»')",
            "request.operation",
        ],
    ),
    (
        "mutate",
        &[
            "{patchStrategicMerge: «merge»}",
            "{patchesJson6902: \"[{op: «op», path: /metadata/labels/«name», value: «name»}]\"}",
            "{foreach: [{list: \"request.object.spec.containers\", patchStrategicMerge: {spec: {containers: [{name: '{{ element.name }}', image: «image»}]}}}]}",
        ],
    ),
    ("op", &["add", "remove", "replace"]),
    (
        "merge",
        &[
            "{metadata: {labels: {+(«key»): «name»}}}",
            "{spec: {containers: [{(name): '«wild»', image: «image»}]}}",
            "{spec: {(hostNetwork): true, +(volumes): «volumes»}}",
            "{metadata: {annotations: {«key»: null}}}",
        ],
    ),
];

/// ModRules.
pub(crate) const MODRULES: &[GrammarRule] = &[
    (
        "modrule",
        &[
            "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: r, namespace: «namespace»}, spec: {type: Patch, match: [«criterion»], patch: [«patch»]}}",
            "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: r, namespace: kubemod-system}, spec: {type: Reject, targetNamespaceRegex: '.*', rejectMessage: 'no «template»', match: [«criterion», «criterion»]}}",
            "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: r, namespace: «namespace»}, spec: {type: Patch, executionTier: -1, admissionOperations: [CREATE, DELETE], match: [«criterion»], patch: [«patch», «patch»]}}",
        ],
    ),
    (
        "criterion",
        &[
            "{select: $.kind, matchValue: Pod}",
            "{select: \"«jsonpath»\"}",
            "{select: \"«jsonpath»\", matchRegex: '^«name»', negate: true}",
            "{select: \"«jsonpath»\", matchValues: [«name», '1'], matchFor: All}",
        ],
    ),
    (
        "jsonpath",
        &[
            "$.«path»",
            "$.spec.containers[*].name",
            "$.spec.containers[? @.name == '«name»']",
            "$..name",
            "length(«jsonpath») > 1",
            "isDefined($.«path»)",
            "«jsonpath» == '«name»'",
            "«jsonpath» && «jsonpath»",
            "$.spec.containers[0].image =~ 'nginx'",
            "$.metadata.labels['«key»']",
            "!isEmpty(«jsonpath»)",
            "$.spec.containers[0:-1]",
            "«jsonpath» in ['«name»', 1]",
        ],
    ),
    (
        "patch",
        &[
            "{op: «op», path: /metadata/labels/«name», value: '«template»'}",
            "{op: «op», select: \"$.spec.containers[*]\", path: '/spec/containers/#0/«name»', value: '«template»'}",
            "{op: add, path: /spec/«name», value: \"{a: «template»}\"}",
            "{op: remove, path: /spec/containers/0}",
            "{op: add, path: /spec/containers/-1, value: '«template»'}",
        ],
    ),
    ("op", &["add", "replace", "remove"]),
    (
        "template",
        &[
            "«name»",
            "{{ .Target.metadata.name }}",
            "{{ .SelectedItem.name | upper }}",
            "{{ index .SelectKeyParts 0 }}",
            "{{ range .Target.spec.containers }}{{ .name }},{{ end }}",
            "{{ if eq .Namespace `shop` }}«template»{{ else }}b{{ end }}",
            "{{ .Target.metadata.labels | toJson }}",
            "{{ default `a` .Target.x | quote }}",
        ],
    ),
];

/// Patterns.
pub(crate) const PATTERNS: &[GrammarRule] = &[
    (
        "pattern_document",
        &[
            "{version: kubepattern.it/v1, kind: Pattern, metadata: {name: p, displayName: P, patternType: STRUCTURAL, severity: INFO, category: x}, spec: {message: '{{a.name}} {{count(b)}}', topology: «topology», resources: [{resource: «kind», id: a, leader: true, filters: «filters»}, {resource: «kind», id: b«presence»}], relationships: [«relationship»]}}",
            "{version: kubepattern.it/v1, kind: Pattern, metadata: {name: p, displayName: P, patternType: STRUCTURAL, severity: CRITICAL, category: x}, spec: {message: m, topology: «topology», resources: [{resource: «kind», id: a, leader: true}, {resource: «kind», id: b, filters: «filters»}, {resource: «kind», id: c«presence»}], relationships: [«relationship», «far_relationship»], minRelationshipPoints: 0.5}}",
            "{version: kubepattern.it/v1, kind: Pattern, metadata: {name: p, displayName: P, patternType: STRUCTURAL, severity: INFO, category: x}, spec: {message: m, topology: LEADER_FOLLOWER, dedupe: UNORDERED, resources: [{resource: «kind», id: a, leader: true}, {resource: «kind», id: b}], commonRelationships: [{id: m, type: «edge», required: true, shared: true, resourceIds: [a, b]}]}}",
        ],
    ),
    ("topology", &["SINGLE", "LEADER_FOLLOWER"]),
    ("presence", &["", ", presence: ABSENT"]),
    (
        "kind",
        &["Pod", "Service", "Deployment", "'*'", "[Pod, ConfigMap]", "NetworkPolicy", "Thing.example.com"],
    ),
    ("edge", &["EXPOSES", "[OWNS]", "[MOUNTS]", "USES_CONFIG", "ANY", "SAME_NETWORK", "[OWNS, MOUNTS]"]),
    (
        "relationship",
        &[
            "{id: e, type: «edge», required: true, shared: true, resourceIds: [a, b]}",
            "{id: e, type: «edge», required: false, shared: false, weight: 1, resourceIds: [b, a], atLeast: 1}",
            "{id: e, type: OWNS, transitive: true, required: true, shared: true, resourceIds: [a, b]}",
            "{id: e, type: CUSTOM, required: true, shared: true, resourceIds: [a, b], criteria: [{path: «path», otherPath: «path», operator: EQUALS}]}",
        ],
    ),
    (
        "far_relationship",
        &[
            "{id: f, type: «edge», required: false, shared: true, weight: 0.5, resourceIds: [b, c]}",
            "{id: f, type: «edge», required: true, shared: true, resourceIds: [a, c]}",
        ],
    ),
    ("filters", &["{}", "{matchAll: [«filter»]}", "{matchAny: [«filter», «filter»], matchNone: [«filter»]}"]),
    (
        "filter",
        &[
            "{key: «path», operator: EXISTS}",
            "{key: 'podTemplate.spec.containers[@].image', operator: MATCHES, values: ['^a']}",
            "{key: spec.replicas, operator: «comparison», values: [1]}",
            "{key: 'spec.containers[*].name', operator: EQUALS, values: [«name»], quantifier: ALL}",
        ],
    ),
    ("comparison", &["EQUALS", "NOT_EQUALS", "GREATER_THAN", "LESS_OR_EQUAL", "ARRAY_SIZE_EQUALS"]),
    ("objects", &["«object»", "«object»\n---\n«objects»", "«object»\n---\n«object»\n---\n«objects»"]),
];

/// Traits.
pub(crate) const TRAITS: &[GrammarRule] = &[
    (
        "trait",
        &[
            "{apiVersion: openchoreo.dev/v1alpha1, kind: Trait, metadata: {name: t}, spec: {parameters: {ocSchema: {size: 'integer | default=1', names: '[]string | default=[]'}}, patches: [«trait_patch»]}}",
            "{apiVersion: openchoreo.dev/v1alpha1, kind: Trait, metadata: {name: t}, spec: {creates: [{template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${metadata.name}'}, data: {a: «interpolation»}}}], patches: [«trait_patch», «trait_patch»]}}",
            "{apiVersion: openchoreo.dev/v1alpha1, kind: Trait, metadata: {name: t}, spec: {creates: [{includeWhen: '${«trait_cel»}', forEach: '${[1, 2]}', var: item, template: {apiVersion: v1, kind: Secret, metadata: {name: 'a${item}'}}}], removes: [{target: «target»}]}}",
            "{apiVersion: openchoreo.dev/v1alpha1, kind: Trait, metadata: {name: t}, spec: {preRenderValidations: [{rule: '${«trait_cel»}', message: m}], patches: [«trait_patch»]}}",
        ],
    ),
    (
        "target",
        &[
            "{group: apps, version: v1, kind: Deployment}",
            "{group: '', version: v1, kind: Service}",
            "{group: apps, version: v1, kind: Deployment, where: '${«trait_cel»}'}",
        ],
    ),
    (
        "trait_cel",
        &[
            "true",
            "resource.spec.replicas > 1",
            "has(resource.spec)",
            "metadata.name == \"a\"",
            "parameters.size == 1",
            "!(«trait_cel»)",
            "«trait_cel» && «trait_cel»",
        ],
    ),
    (
        "trait_patch",
        &[
            "{target: «target», operations: [«operation»]}",
            "{target: «target», forEach: '${[1, 2, 3]}', var: item, operations: [«operation», «operation»]}",
        ],
    ),
    (
        "operation",
        &[
            "{op: add, path: «trait_path», value: «interpolation»}",
            "{op: replace, path: «trait_path», value: «interpolation»}",
            "{op: remove, path: «trait_path»}",
            "{op: mergeShallow, path: «trait_path», value: {«name»: «interpolation»}}",
            "{op: addIfNotExists, path: «trait_path», value: «value»}",
        ],
    ),
    (
        "trait_path",
        &[
            "/spec/replicas",
            "/spec/template/spec/containers/-",
            "\"/spec/template/spec/containers[?(@.name=='«name»')]/image\"",
            "/metadata/labels/a~1b",
            "\"/spec/template/spec/containers[*]/env\"",
            "/spec/ports/0/port",
            "/metadata/annotations/«name»",
        ],
    ),
    (
        "interpolation",
        &[
            "'${metadata.name}'",
            "'a-${metadata.namespace}-b'",
            "'${{\"a\": 1}}'",
            "«value»",
            "'${parameters.size + 1}'",
            "'${[1, 2].map(x, x * 2)}'",
            "'${oc_omit()}'",
            "'${item}'",
        ],
    ),
    ("manifests", &["«workload»", "«workload»\n---\n«object»", "«object»\n---\n«object»\n---\n«workload»"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kubewright_patterns::compile_pattern_document;
    use kubewright_traits::CompiledTrait;
    use kubewright_value::{Document, Source, yaml};

    use super::{GrammarRule, GrammarText, MODRULES, OBJECTS, PATTERNS, POLICIES, TRAITS, find_rule};
    use crate::random::FuzzRandom;
    use crate::targets::load_rules;

    const GRAMMARS: [&[&[GrammarRule]]; 4] =
        [&[OBJECTS, POLICIES], &[OBJECTS, MODRULES], &[OBJECTS, PATTERNS], &[OBJECTS, TRAITS]];

    #[test]
    fn every_symbol_of_an_alternative_is_in_the_grammar() {
        for grammars in GRAMMARS {
            let alternatives = grammars.iter().copied().flatten().flat_map(|(_, alternatives)| *alternatives);
            let symbols: BTreeSet<&str> = alternatives
                .flat_map(|text| text.split('«').skip(1).filter_map(|rest| rest.split('»').next()))
                .collect();
            let missing: Vec<_> =
                symbols.into_iter().filter(|symbol| find_rule(grammars, symbol).is_none()).collect();
            assert_eq!(missing, Vec::<&str>::new());
        }
    }

    /// Makes 500 texts of `symbol` and demands that at least `percent` of them compile.
    #[track_caller]
    fn check(
        grammars: &'static [&'static [GrammarRule]],
        symbol: &str,
        compiles: fn(&Document) -> bool,
        percent: usize,
    ) {
        let mut random = FuzzRandom::new(1);
        let mut compiled = 0;
        for _ in 0..500 {
            let bytes: Vec<u8> = (0..200).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect();
            let text = GrammarText::new(grammars, &bytes).make(symbol);
            let reading = yaml::read(&Source::new("made", text.as_str()));
            // A key may come twice, which is told and read.
            assert_eq!(reading.documents.len(), 1, "{text}: {:?}", reading.problems);
            compiled += usize::from(reading.documents.first().is_some_and(compiles));
        }
        assert!(compiled * 100 >= 500 * percent, "{compiled} of 500 texts of `{symbol}` compile");
    }

    fn loads(document: &Document) -> bool {
        let documents = std::slice::from_ref(document);
        !load_rules(documents).is_empty()
    }

    #[test]
    fn most_rules_that_are_made_compile() {
        check(GRAMMARS[0], "policy", loads, 60);
        check(GRAMMARS[1], "modrule", loads, 60);
        check(GRAMMARS[2], "pattern_document", |document| compile_pattern_document(document).0.is_some(), 60);
        check(GRAMMARS[3], "trait", |document| CompiledTrait::compile(document, &[]).0.is_some(), 60);
    }
}
