//! Whole policies: any text is compiled, and what compiles judges an object the same way every time.

use kubewright_engine::{ClosedWorld, Decision, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Limits, Source, Value, json, yaml};

use crate::dictionary::FuzzDictionary;

use super::{FuzzTarget, judged_rows, load_rules, outcome_row};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "kyverno",
    run: fuzz_kyverno,
    seeds: &[
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod], namespaces: ['sh*'], selector: {matchLabels: {'a*': '1'}}}}]}\n    validate:\n      message: 'no {{ request.object.metadata.name }}'\n      pattern:\n        metadata: {labels: {'a*': '?*'}}\n        spec:\n          =(initContainers): [{=(securityContext): {X(privileged): 'null'}}]\n          containers: [{(image): 'nginx*', name: 'a|b & !c', =(resources): {limits: {memory: '<=1Gi', cpu: 1-5}}}]\n          ^(volumes): [{name: x}]\n          <(hostNetwork): '!true'\n",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {all: [{resources: {kinds: ['*/Pod', 'apps/v1/Deployment'], operations: [CREATE]}}]}\n    exclude: {any: [{resources: {names: [x]}, subjects: [{kind: User, name: u}]}]}\n    context:\n    - {name: v, variable: {value: {a: ['1h', 2, '3Gi']}, jmesPath: 'a[0]', default: x}}\n    - {name: c, configMap: {name: m, namespace: n}}\n    - {name: w, apiCall: {urlPath: '/api/v1/namespaces/{{ request.namespace }}/pods', jmesPath: 'items[].metadata.name'}}\n    preconditions:\n      any:\n      - {key: '{{ request.operation || `BACKGROUND` }}', operator: AnyIn, value: [CREATE, UPDATE]}\n    validate:\n      message: m\n      deny:\n        conditions:\n          all:\n          - {key: '{{ length(request.object.spec.containers) }}', operator: GreaterThan, value: 1, message: 'too many {{ v }}'}\n          - {key: '{{ request.object.spec.containers[].image }}', operator: AllNotIn, value: 'redis*'}\n          - {key: '{{ v }}', operator: DurationLessThan, value: 2h}\n",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate:\n      foreach:\n      - list: request.object.spec.containers\n        preconditions: {all: [{key: '{{ element.name }}', operator: NotEquals, value: b}]}\n        anyPattern: [{image: '*:1'}, {name: '{{ element.name }}'}]\n      - list: request.object.spec.containers[].name\n        elementScope: false\n        foreach:\n        - list: 'request.object.metadata.labels.keys(@)'\n          deny: {conditions: {any: [{key: '{{ element1 }}{{ elementIndex }}', operator: Equals, value: 'a?b*'}]}}\n",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate:\n      podSecurity:\n        level: restricted\n        version: v1.31\n        exclude:\n        - {controlName: Capabilities, images: ['nginx*'], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: ['NET_*']}\n        - {controlName: Seccomp}\n        - {controlName: Host Namespaces}\n        - {controlName: Running as Non-root, images: ['*']}\n",
    ],
    dictionaries: &[FuzzDictionary::Yaml, FuzzDictionary::JmesPath, FuzzDictionary::KyvernoPattern],
    words: &[
        "pattern:",
        "anyPattern:",
        "deny:",
        "foreach:",
        "podSecurity:",
        "level: baseline",
        "version: v1.8",
        "controlName: AppArmor",
        "context:",
        "preconditions:",
        "match:",
        "exclude:",
        "any:",
        "all:",
        "operator: Equals",
        "operator: AnyNotIn",
        "operator: In",
        "(image)",
        "=(x)",
        "X(x)",
        "^(x)",
        "<(x)",
        "{{ request.object }}",
        "{{ element }}",
        "{{ @ }}",
        "$(../name)",
        "\\{{",
        "}}",
        "|",
        "&",
        "!",
        ">=1Gi",
        "1-10",
        "1!-10",
        "1h",
        "*",
        "?*",
        "null",
        "kinds: [Pod]",
        "\n  ",
        "\n    - ",
        ": ",
        "'",
    ],
};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop","labels":{"a.b/c":"1","a*":"{{ x }}"},
    "annotations":{"x":"$(../y)","container.apparmor.security.beta.kubernetes.io/a":"unconfined"}},"spec":{"hostPID":true,
    "securityContext":{"sysctls":[{"name":"kernel.msgmax"}],"seccompProfile":{}},"containers":[{"name":"a","image":"nginx:1",
    "securityContext":{"capabilities":{"add":["NET_RAW"]},"runAsUser":0},"resources":{"limits":{"memory":"1Gi","cpu":2}}},
    {"name":"*","image":"redis","ports":[{"containerPort":80}]}],"volumes":[],"initContainers":null}}"#;

fn fuzz_kyverno(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_decisions(text, &json::parse(POD).unwrap_or_default());
}

/// Checks that a request about `object` is decided the same way twice, and with a trace.
pub(super) fn check_decisions(text: &str, object: &Value) {
    let documents = yaml::read(&Source::new("policy.yaml", text)).documents;
    let rules = load_rules(&documents);
    if rules.is_empty() {
        return;
    }
    let engine = Engine::new(rules);
    let limits = Limits { steps: 200_000, bytes: 4 << 20, ..Limits::default() };
    for operation in [Operation::Create, Operation::Update, Operation::Delete] {
        let mut request = AdmissionRequest::for_object(object.clone(), operation, "default");
        if operation != Operation::Create {
            request.old_object = object.clone();
        }
        let decide = |is_traced| {
            engine.decide(
                &request,
                &ClosedWorld::default(),
                &DecisionSettings { limits, is_traced, ..DecisionSettings::default() },
            )
        };
        let (first, again, traced) = (decide(false), decide(false), decide(true));
        let all_rows = |decision: &Decision| decision.outcomes.iter().map(outcome_row).collect::<Vec<_>>();
        assert_eq!(all_rows(&first), all_rows(&again), "the same request twice");
        assert_eq!(judged_rows(&first), judged_rows(&traced), "a trace changes nothing");
        assert_eq!(first.is_allowed, traced.is_allowed, "a trace changes nothing");
    }
}
