//! Rules of all languages that judge, for tests.

/// Pods and the workloads that make them have a label.
pub(super) const REQUIRE_APP: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: require-app, annotations: {policies.kyverno.io/severity: high}}
spec:
  rules:
  - name: app
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: 'give the label app', pattern: {metadata: {labels: {app: '?*'}}}}
";

/// Images are from the registries that a ConfigMap lists.
pub(super) const REGISTRIES: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: registries, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  rules:
  - name: registry
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: settings, configMap: {name: registries, namespace: '{{ request.namespace }}'}}]
    validate:
      message: 'the image is not from {{ settings.data.registry }}'
      deny:
        conditions:
          any:
          - {key: '{{ request.object.spec.containers[0].image }}', operator: NotEquals, value: '{{ settings.data.registry }}/*'}
";

/// A namespace with Pods has a quota, which is a ConfigMap here; found by a list.
pub(super) const COUNTED: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: counted, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  rules:
  - name: config-maps
    match: {any: [{resources: {kinds: [Pod]}}]}
    context:
    - name: count
      apiCall: {urlPath: '/api/v1/namespaces/{{ request.namespace }}/configmaps', jmesPath: 'items | length(@)'}
    validate:
      message: 'there are {{ count }} ConfigMaps'
      deny: {conditions: {any: [{key: '{{ count }}', operator: GreaterThan, value: 1}]}}
";

/// Only in namespaces with a label; of its rules the first that applies counts.
pub(super) const SELECTED: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: selected}
spec:
  applyRules: One
  rules:
  - name: first
    match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]}
    validate: {message: 'no default account', pattern: {spec: {serviceAccountName: '!default'}}}
  - name: second
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: 'give a host name', pattern: {spec: {hostname: '?*'}}}
";

/// In CEL, with the labels of the namespace.
pub(super) const TEAM: &str = "
apiVersion: policies.kyverno.io/v1alpha1
kind: ValidatingPolicy
metadata: {name: team}
spec:
  validationActions: [Audit]
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
  validations:
  - expression: \"object.metadata.?labels.team.orValue('') == namespaceObject.metadata.?labels.team.orValue('')\"
    message: the team is not that of the namespace
";

/// With a parameter and a binding.
pub(super) const CEILING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ceiling}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  validations:
  - expression: object.spec.replicas <= int(params.data.?replicas.orValue('3'))
    messageExpression: \"'at most ' + params.data.?replicas.orValue('3') + ' replicas'\"
";

/// The binding of [`CEILING`].
pub(super) const CEILING_BINDING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ceiling-everywhere}
spec:
  policyName: ceiling
  validationActions: [Deny]
  paramRef: {name: ceiling, namespace: a, parameterNotFoundAction: Deny}
";

/// Refuses privileged containers.
pub(super) const REJECT: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: no-privileges, namespace: a}
spec:
  type: Reject
  rejectMessage: '{{ .Target.metadata.name }} is privileged'
  match:
  - {select: '$.kind', matchValue: Pod}
  - {select: '$.spec.containers[*].securityContext.privileged', matchValue: 'true'}
";

/// Gives Pods an annotation.
pub(super) const PATCH: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: annotate, namespace: a}
spec:
  type: Patch
  match:
  - {select: '$.kind', matchValue: Pod}
  - {select: '$.metadata.annotations.owner', negate: true}
  patch:
  - {op: add, path: /metadata/annotations/owner, value: somewhere}
";

/// Two workloads that mount one claim.
pub(super) const TWO_WRITERS: &str = include_str!("../../../../examples/pattern/two-writers.yaml");

/// Excuses one Pod from [`REQUIRE_APP`].
pub(super) const EXCEPTION: &str = "
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: excused, namespace: exceptions}
spec:
  exceptions: [{policyName: require-app, ruleNames: [app, autogen-app]}]
  match: {any: [{resources: {kinds: [Pod, Deployment], names: ['p0', 'd0']}}]}
";

/// Copies a ConfigMap for each Pod.
pub(super) const COPY: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copy}
spec:
  rules:
  - name: registries
    match: {any: [{resources: {kinds: [Pod]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: 'of-{{ request.object.metadata.name }}'
      namespace: '{{ request.namespace }}'
      clone: {name: registries, namespace: '{{ request.namespace }}'}
";

/// Gives a label to the ConfigMaps in the namespace of a Pod.
pub(super) const LABEL_TARGETS: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label-targets}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      targets: [{apiVersion: v1, kind: ConfigMap, namespace: '{{ request.namespace }}'}]
      patchStrategicMerge: {metadata: {labels: {seen: 'yes'}}}
";

/// Makes a ConfigMap in each namespace.
pub(super) const GENERATE: &str = "
apiVersion: policies.kyverno.io/v1beta1
kind: GeneratingPolicy
metadata: {name: settings}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces]}]
  variables:
  - name: made
    expression: >-
      [{'apiVersion': dyn('v1'), 'kind': dyn('ConfigMap'), 'metadata': dyn({'name': 'settings'}), 'data': dyn({'a': 'b'})}]
  generate:
  - expression: generator.apply(object.metadata.name, variables.made)
";

/// Excuses one namespace from [`GENERATE`].
pub(super) const GENERATE_EXCEPTION: &str = "
apiVersion: policies.kyverno.io/v1beta1
kind: PolicyException
metadata: {name: not-a, namespace: exceptions}
spec:
  policyRefs: [{name: settings, kind: GeneratingPolicy}]
  matchConditions: [{name: a, expression: \"object.metadata.name == 'a'\"}]
";

/// Gives Pods a label, and others a label because of namespaces.
pub(super) const MUTATE_EXISTING: &str = "
apiVersion: policies.kyverno.io/v1beta1
kind: MutatingPolicy
metadata: {name: existing}
spec:
  evaluation: {mutateExisting: {enabled: true}}
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces]}]
  targetMatchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  targetMatchConditions: [{name: named, expression: object.metadata.name != 'other'}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: Object.metadata.labels{seen: \"yes\"}}}'}
";

/// Everything.
pub(super) const ALL: &[&str] = &[
    REQUIRE_APP,
    REGISTRIES,
    COUNTED,
    SELECTED,
    TEAM,
    CEILING,
    CEILING_BINDING,
    REJECT,
    PATCH,
    TWO_WRITERS,
    COPY,
    LABEL_TARGETS,
    GENERATE,
    MUTATE_EXISTING,
];

/// A rule whose verdict depends on the time.
pub(super) const CLOCK: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: clock}
spec:
  rules:
  - name: age
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      message: too old
      deny: {conditions: {any: [{key: \"{{ time_after('{{ time_now_utc() }}', '1970-01-01T01:00:00Z') }}\", operator: Equals, value: true}]}}
";
