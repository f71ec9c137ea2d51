//! MutatingPolicies on objects.

use kubewright_engine::{ClosedWorld, Decision, DecisionSettings, Engine, WriteVerb};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, Value, json, yaml};

const PODS: &str = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]}";
const ANY: &str = "matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]}";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}}}";
const CRON_JOB: &str = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: web, namespace: shop}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: nginx}]}}}}}}";
const WIDGET: &str = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: {items: [{id: a, size: 1}], tags: [x]}}";
const WIDGET_DEFINITION: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}, size: {type: integer}}}}, tags: {type: array, items: {type: string}}, free: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}]}}";
const CONFIG_MAP: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: shop, labels: {a: b}}, data: {k: v}}";
const LABEL: &str = "Object{metadata: Object.metadata{labels: {\"x\": \"1\"}}}";

fn documents(text: &str) -> Vec<Document> {
    let reading = yaml::read(&Source::new("policy.yaml", text));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    reading.documents
}

fn value(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

/// A policy with the lines of a spec and its mutations, each `apply` or `json` and an expression.
fn policy(spec: &str, mutations: &[(&str, &str)]) -> String {
    let mut text = format!(
        "apiVersion: policies.kyverno.io/v1beta1\nkind: MutatingPolicy\nmetadata: {{name: p}}\nspec:\n  {}\n  mutations:\n",
        spec.replace('\n', "\n  ")
    );
    for (language, expression) in mutations {
        let (patch, key) = match *language {
            "json" => ("JSONPatch", "jsonPatch"),
            _ => ("ApplyConfiguration", "applyConfiguration"),
        };
        text.push_str(&format!(
            "  - patchType: {patch}\n    {key}:\n      expression: {}\n",
            json::quote(expression)
        ));
    }
    text
}

fn decide(policies: &str, exceptions: &str, object: &str) -> Decision {
    let loaded = crate::tests::load(&documents(exceptions), &documents(policies));
    let world = ClosedWorld::new([value(WIDGET_DEFINITION), value(CONFIG_MAP)]);
    let request = AdmissionRequest::for_object(value(object), Operation::Create, "default");
    Engine::new(loaded.rules).decide(&request, &world, &DecisionSettings::default())
}

fn row(decision: &Decision) -> String {
    let outcomes = decision.outcomes.iter().filter(|outcome| outcome.is_judged);
    outcomes.map(|outcome| format!("{}: {}", outcome.status, outcome.message)).collect::<Vec<_>>().join("\n")
}

/// Compares the part of the changed object at `path`.
#[track_caller]
fn gives(policies: &str, object: &str, path: &[&str], want: &str) {
    let decision = decide(policies, "", object);
    assert_eq!(row(&decision), "pass: success", "{policies}");
    let found = decision.object.at(path).cloned().unwrap_or_default();
    assert_eq!(found, value(want), "{policies}: {}", decision.object);
}

#[track_caller]
fn says(policies: &str, object: &str, want: &str) {
    let decision = decide(policies, "", object);
    assert_eq!(row(&decision), want, "{policies}");
    assert_eq!(decision.object, value(object), "the object stays as it is");
}

#[track_caller]
fn warns(policies: &str, want: &[&str]) {
    let loaded = crate::tests::load(&[], &documents(policies));
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
    assert_eq!(codes, want, "{policies}: {:?}", loaded.diagnostics);
}

#[test]
fn mutations_run_one_after_the_other() {
    let second =
        r#"[JSONPatch{op: "add", path: "/metadata/labels/z", value: object.metadata.labels.x + "2"}]"#;
    let labels = "{app: a, x: '1', z: '12'}";
    gives(&policy(PODS, &[("apply", LABEL), ("json", second)]), POD, &["metadata", "labels"], labels);
}

#[test]
fn a_variable_keeps_what_it_read_first() {
    let spec = format!("{PODS}\nvariables: [{{name: count, expression: 'size(object.metadata.labels)'}}]");
    let read = r#"Object{metadata: Object.metadata{annotations: {"count": string(variables.count)}}}"#;
    let late = [("apply", LABEL), ("apply", read)];
    gives(&policy(&spec, &late), POD, &["metadata", "annotations", "count"], "'2'");
    let early = [("apply", read), ("apply", LABEL), ("apply", read)];
    gives(&policy(&spec, &early), POD, &["metadata", "annotations", "count"], "'1'");
    let conditional = format!("{spec}\nmatchConditions: [{{name: c, expression: 'variables.count == 1'}}]");
    gives(&policy(&conditional, &late), POD, &["metadata", "annotations", "count"], "'1'");
}

#[test]
fn an_error_discards_all_mutations_of_the_policy() {
    let broken = r#"[JSONPatch{op: "remove", path: "/spec/zz"}]"#;
    says(
        &policy(PODS, &[("apply", LABEL), ("json", broken)]),
        POD,
        "error: failed to evaluate policy: JSON Patch: error in remove for path: '/spec/zz': Unable to remove nonexistent key: zz: missing value",
    );
    let other = policy(PODS, &[("apply", LABEL)]).replace("name: p", "name: q");
    let both = format!("{}---\n{other}", policy(PODS, &[("json", broken)]));
    let decision = decide(&both, "", POD);
    assert_eq!(decision.object.str_at(&["metadata", "labels", "x"]), "1");
}

#[test]
fn conditions_decide_whether_the_policy_runs() {
    let with = |expression: &str| {
        policy(
            &format!("{PODS}\nmatchConditions: [{{name: c, expression: {expression}}}]"),
            &[("apply", LABEL)],
        )
    };
    says(&with("object.metadata.name == 'other'"), POD, "skip: skip");
    says(&with("object.spec.nope == 1"), POD, "error: failed to evaluate policy: no such key: nope");
    let lenient = with("object.spec.nope == 1").replace("spec:\n", "spec:\n  failurePolicy: Ignore\n");
    let decision = decide(&lenient, "", POD);
    assert_eq!(row(&decision), "error: failed to evaluate policy: no such key: nope");
    assert!(decision.is_allowed, "an error does not refuse the request");
    assert!(!decide(&with("object.spec.nope == 1"), "", POD).is_allowed);
}

#[test]
fn structures_must_be_in_their_place() {
    says(
        &policy(PODS, &[("apply", "Object{spec: Object.spec{securityContext: Object.spec.wrong{}}}")]),
        POD,
        "error: failed to evaluate policy: type mismatch: unexpected type name \"Object.spec.wrong\", expected \"Object.spec.securityContext\", which matches field name path from root Object type",
    );
}

#[test]
fn maps_stand_for_objects_but_not_in_lists() {
    gives(
        &policy(PODS, &[("apply", "Object{spec: {\"nodeName\": \"a\"}}")]),
        POD,
        &["spec", "nodeName"],
        "a",
    );
    says(
        &policy(PODS, &[("apply", "Object{spec: Object.spec{containers: [{\"name\": \"c\"}]}}")]),
        POD,
        "error: failed to evaluate policy: error applying patch: failed to convert patch object to typed object: .spec.containers: element 0: associative list with keys may not have non-map elements",
    );
    let own = "Object{spec: Object.spec{containers: object.spec.containers.map(c, c)}}";
    gives(&policy(PODS, &[("apply", own)]), POD, &["spec", "containers"], "[{name: c, image: nginx}]");
}

#[test]
fn an_object_without_kind_is_refused() {
    says(
        &policy(PODS, &[("json", r#"[JSONPatch{op: "replace", path: "", value: {"b": 1, "a": 2}}]"#)]),
        POD,
        "error: failed to evaluate policy: Internal error occurred: Object 'Kind' is missing in '{\"a\":2,\"b\":1}'",
    );
}

#[test]
fn a_test_that_does_not_hold_drops_the_patch() {
    let patch = r#"[JSONPatch{op: "test", path: "/metadata/name", value: "no"}, JSONPatch{op: "add", path: "/spec/q", value: 1}]"#;
    says(&policy(PODS, &[("json", patch)]), POD, "pass: success");
}

#[test]
fn controllers_are_changed_at_their_template() {
    let keys = &["spec", "template", "metadata", "labels"];
    gives(&policy(PODS, &[("apply", LABEL)]), DEPLOYMENT, keys, "{app: a, x: '1'}");
    let image = r#"[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: object.spec.containers[0].image + ":1"}]"#;
    let path = ["spec", "template", "spec", "containers"];
    gives(&policy(PODS, &[("json", image)]), DEPLOYMENT, &path, "[{name: c, image: 'nginx:1'}]");
    let path = ["spec", "jobTemplate", "spec", "template", "spec", "containers"];
    gives(&policy(PODS, &[("json", image)]), CRON_JOB, &path, "[{name: c, image: 'nginx:1'}]");
    gives(
        &policy(PODS, &[("json", image)]),
        CRON_JOB,
        &["spec", "jobTemplate", "spec", "template", "metadata"],
        "null",
    );
    let decision = decide(&policy(PODS, &[("apply", LABEL)]), "", DEPLOYMENT);
    assert_eq!(decision.object.get("metadata"), value(DEPLOYMENT).get("metadata"));
}

#[test]
fn controllers_can_be_left_out() {
    let none = format!("{PODS}\nautogen: {{podControllers: {{controllers: []}}}}");
    says(&policy(&none, &[("apply", LABEL)]), DEPLOYMENT, "");
    let selected = PODS.replace("{resourceRules", "{namespaceSelector: {matchLabels: {a: b}}, resourceRules");
    says(&policy(&selected, &[("apply", LABEL)]), DEPLOYMENT, "");
    let custom = format!("{PODS}\nautogen: {{podControllers: {{controllers: [widgets.v1.example.com]}}}}");
    says(&policy(&custom, &[("apply", LABEL)]), WIDGET, "skip: mutation is not supported in extraction mode");
}

#[test]
fn custom_resources_are_merged_by_their_definition() {
    let item = "Object{spec: Object.spec{items: [Object.spec.items{id: \"a\", size: 2}, Object.spec.items{id: \"b\"}]}}";
    gives(&policy(ANY, &[("apply", item)]), WIDGET, &["spec", "items"], "[{id: a, size: 2}, {id: b}]");
    says(
        &policy(ANY, &[("apply", "Object{spec: Object.spec{tags: [\"y\"]}}")]),
        WIDGET,
        "error: failed to evaluate policy: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tags",
    );
    says(
        &policy(ANY, &[("apply", "Object{spec: Object.spec{zz: 1}}")]),
        WIDGET,
        "error: failed to evaluate policy: error applying patch: failed to convert patch object to typed object: .spec.zz: field not declared in schema",
    );
    gives(
        &policy(ANY, &[("apply", "Object{spec: Object.spec{free: {\"a\": 1}}}")]),
        WIDGET,
        &["spec", "free"],
        "{a: 1}",
    );
    says(
        &policy(ANY, &[("apply", LABEL)]),
        &WIDGET.replace("Widget", "Gadget"),
        "error: failed to evaluate policy: error applying patch: type converter must not be nil",
    );
}

#[test]
fn server_side_apply_replaces_atomic_parts() {
    let args = "Object{spec: Object.spec{containers: [Object.spec.containers{name: \"c\", args: [\"x\"]}]}}";
    let spec = format!("{PODS}\nevaluation: {{useServerSideApply: true}}");
    gives(
        &policy(&spec, &[("apply", args)]),
        POD,
        &["spec", "containers"],
        "[{name: c, image: nginx, args: [x]}]",
    );
}

fn exception(fields: &str) -> String {
    format!(
        "---\n{{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {{name: e, namespace: shop}}, spec: {{policyRefs: [{{name: p, kind: MutatingPolicy}}], {fields}}}}}\n"
    )
}

#[test]
fn exceptions_keep_objects_as_they_are() {
    let label = policy(PODS, &[("apply", LABEL)]);
    let decision = decide(&label, &exception("reportResult: skip"), POD);
    assert_eq!(row(&decision), "skip: rule is skipped due to policy exception: shop/e");
    assert_eq!(decision.object, value(POD));
    let decision = decide(&label, &exception("reportResult: pass"), POD);
    assert_eq!(row(&decision), "pass: rule is passed due to policy exception: shop/e");
    let other = exception("matchConditions: [{name: c, expression: \"object.metadata.name == 'no'\"}]");
    assert_eq!(row(&decide(&label, &other, POD)), "pass: success");
    let read = "Object{metadata: Object.metadata{labels: {\"x\": exceptions.allowedValues[0]}}}";
    let decision = decide(&policy(PODS, &[("apply", read)]), &exception("allowedValues: [v]"), POD);
    assert_eq!(decision.object.str_at(&["metadata", "labels", "x"]), "v");
}

#[test]
fn a_policy_of_a_namespace_changes_that_namespace_alone() {
    let own = policy(PODS, &[("apply", LABEL)])
        .replace("MutatingPolicy", "NamespacedMutatingPolicy")
        .replace("{name: p}", "{name: p, namespace: shop}");
    gives(&own, POD, &["metadata", "labels", "x"], "'1'");
    says(&own, &POD.replace("namespace: shop", "namespace: other"), "");
}

#[test]
fn existing_objects_are_written_because_of_another_one() {
    let writes = |spec: &str| -> Vec<Value> {
        let decision = decide(&policy(&format!("{ANY}\n{spec}"), &[("apply", LABEL)]), "", POD);
        let writes = decision.outcomes.iter().flat_map(|outcome| &outcome.writes);
        let updated = |write: &kubewright_engine::ObjectWrite| {
            assert_eq!(write.verb, WriteVerb::Update);
            write.object.clone()
        };
        writes.map(updated).collect()
    };
    let changed = value(&CONFIG_MAP.replace("a: b", "a: b, x: '1'"));
    let existing = "evaluation: {mutateExisting: {enabled: true}}\n";
    let shape = "targetMatchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}";
    assert_eq!(writes(&format!("{existing}{shape}")), std::slice::from_ref(&changed));
    let expression = "targetMatchConstraints: {expression: \"resource.get('v1', 'configmaps', object.metadata.namespace, 'cm')\"}";
    assert_eq!(writes(&format!("{existing}{expression}")), [changed]);
    let other = "targetMatchConditions: [{name: c, expression: \"object.metadata.name == 'other'\"}]";
    assert_eq!(writes(&format!("{existing}{shape}\n{other}")), [Value::Null; 0]);
    assert_eq!(writes(shape), [Value::Null; 0]);
}

#[test]
fn payloads_are_changed_in_the_mode_for_them() {
    let spec = "evaluation: {mode: JSON}";
    let patch = r#"[JSONPatch{op: "add", path: "/b", value: object.a}]"#;
    gives(&policy(spec, &[("json", patch)]), "{a: 1}", &["b"], "1");
}

#[test]
fn mistakes_are_found_when_the_policy_is_loaded() {
    let apply = |expression: &str| policy(PODS, &[("apply", expression)]);
    warns(&apply(LABEL), &[]);
    warns(&apply("object"), &["KW-K072"]);
    warns(&apply("[JSONPatch{op: \"add\"}]"), &["KW-K072"]);
    warns(&policy(PODS, &[("json", "Object{}")]), &["KW-K072"]);
    warns(&policy(PODS, &[]).replace("mutations:", "mutations: []"), &["KW-A040"]);
    warns(
        &apply("Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: \"k\"}]}}"),
        &["KW-A041"],
    );
    warns(
        &apply("Object{spec: Object.spec{imagePullSecrets: [Object.spec.imagePullSecrets{name: \"k\"}]}}"),
        &["KW-A041"],
    );
    warns(&apply("Object{spec: Object.spec{nodename: \"k\"}}"), &["KW-A042"]);
    warns(&apply("Object{spec: Object.spec{securityContext: Object.securityContext{}}}"), &["KW-A043"]);
    let targets = format!("{PODS}\ntargetMatchConstraints: {{expression: '[object]'}}");
    warns(&policy(&targets, &[("apply", LABEL)]), &["KW-A044"]);
    let off = format!("{PODS}\nevaluation: {{admission: {{enabled: false}}}}");
    warns(&policy(&off, &[("apply", LABEL)]), &["KW-A045"]);
}

#[test]
fn a_policy_with_a_mistake_answers_with_it() {
    let decision = decide(&policy(PODS, &[("apply", "object")]), "", POD);
    assert!(
        row(&decision)
            .starts_with("error: failed to evaluate policy: the policy is not valid: output is expected")
    );
    assert_eq!(decision.object, value(POD));
}

#[test]
fn a_policy_asks_for_a_mutating_webhook() {
    use kubewright_engine::{AdmissionPhase, Dialect, FailurePolicy};
    let plans = |text: &str| {
        let dialect =
            crate::PolicyDialect::of(&crate::mpol::LANGUAGE, &[], kubewright_cel::Inputs::default());
        dialect.compile(documents(text).first().expect("a policy"), &[]).webhooks
    };
    let spec = format!("{PODS}\nfailurePolicy: Ignore\nwebhookConfiguration: {{timeoutSeconds: 7}}");
    let found = plans(&policy(&spec, &[("apply", LABEL)]));
    let [plan] = found.as_slice() else { panic!("one webhook") };
    assert_eq!((plan.phase, plan.failure_policy), (AdmissionPhase::Mutating, FailurePolicy::Ignore));
    assert_eq!((plan.timeout_seconds, plan.rules.len()), (7, 7), "Pods and six controllers");
    let own = format!("{PODS}\nwebhookConfiguration: {{matchConditions: [{{name: c, expression: 'true'}}]}}");
    let dedicated: Vec<_> =
        plans(&policy(&own, &[("apply", LABEL)])).into_iter().map(|plan| plan.dedicated_name).collect();
    assert_eq!(dedicated, [Some("mpol.p".into())]);
    let off = format!("{PODS}\nevaluation: {{admission: {{enabled: false}}}}");
    assert!(plans(&policy(&off, &[("apply", LABEL)])).is_empty());
}

#[test]
fn a_variable_that_is_declared_is_there() {
    let spec = format!("{PODS}\nvariables: [{{name: v, expression: object.metadata}}]");
    let text = "Object{metadata: Object.metadata{labels: {\"x\": has(variables.v) && has(variables.v.name) ? \"1\" : \"0\"}}}";
    gives(&policy(&spec, &[("apply", text)]), POD, &["metadata", "labels", "x"], "'1'");
    let other = text.replace("has(variables.v)", "has(variables.w)");
    warns(&policy(&spec, &[("apply", &other)]), &["KW-K071"]);
}
