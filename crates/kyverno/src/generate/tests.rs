//! Tests of generate rules: what they make, what they delete, and why they cannot.

use kubewright_engine::{
    BackgroundProgram, CloneSource, ClosedWorld, Decision, DecisionSettings, Dialect as _,
    DownstreamTemplate, Engine, GenerateProgram, RuleStatus,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, Value, json, yaml};

use crate::Kyverno;

fn documents(text: &str) -> Vec<Document> {
    let reading = yaml::read(&Source::new("policy.yaml", text));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    reading.documents
}

fn policy(rules: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec: {{rules: [{rules}]}}\n"
    )
}

fn namespaces(generate: &str) -> String {
    policy(&format!(
        "{{name: r, match: {{any: [{{resources: {{kinds: [Namespace]}}}}]}}, generate: {generate}}}"
    ))
}

fn decide(policy: &str, request: &AdmissionRequest, world: &str) -> Decision {
    let dialect = Kyverno::new(&[], Default::default());
    let compiled = dialect.compile(&documents(policy)[0], &[]);
    assert!(!compiled.rules.is_empty(), "{policy}: {:?}", compiled.diagnostics);
    let world = ClosedWorld::new(documents(world).into_iter().map(|document| document.value));
    Engine::new(compiled.rules).decide(request, &world, &DecisionSettings::default())
}

fn create(object: &str) -> AdmissionRequest {
    AdmissionRequest::for_object(yaml::parse(object).expect("YAML"), Operation::Create, "default")
}

const SHOP: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}";

/// Returns each outcome as its status and its message, and each write as its verb and the object without our labels.
fn shown(decision: &Decision) -> Vec<String> {
    let mut lines = Vec::new();
    for outcome in &decision.outcomes {
        let message =
            if outcome.message.is_empty() { String::new() } else { format!(": {}", outcome.message) };
        lines.push(format!("{}{message}", outcome.status));
        for write in &outcome.writes {
            lines.push(format!("{} {}", write.verb.name(), json::to_string(&without_labels(&write.object))));
        }
    }
    lines
}

fn without_labels(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata"));
    let metadata = metadata.and_then(Value::as_object_mut).expect("metadata");
    let is_ours = |key: &str| key.starts_with("generate.kyverno.io/") || key.ends_with("/managed-by");
    let labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let left: kubewright_value::Map = labels
        .iter()
        .filter(|(key, _)| !is_ours(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    match left.is_empty() {
        true => metadata.remove("labels"),
        false => metadata.insert("labels".into(), left.into()),
    };
    object
}

#[track_caller]
fn check(policy: &str, request: &AdmissionRequest, world: &str, want: &[&str]) {
    assert_eq!(shown(&decide(policy, request, world)), want, "{policy}");
}

const NS: &str = "namespace: \"{{ request.object.metadata.name }}\"";

#[test]
fn data_is_made_with_the_name_of_the_block_and_the_kind_of_the_data() {
    let block = format!(
        "{{apiVersion: v1, kind: ConfigMap, name: c, {NS}, data: {{metadata: {{name: other, labels: {{x: yy}}}}, \
         data: {{team: \"{{{{ request.object.metadata.labels.team }}}}\"}}}}}}"
    );
    check(
        &namespaces(&block),
        &create(SHOP),
        "",
        &[
            "pass",
            r#"create {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"x":"yy"},"namespace":"shop"},"data":{"team":"a"}}"#,
        ],
    );
    let block =
        "{apiVersion: v1, kind: ConfigMap, name: c, namespace: x, data: {apiVersion: v2, kind: Secret}}";
    check(
        &namespaces(block),
        &create(SHOP),
        "",
        &["pass", r#"create {"apiVersion":"v1","kind":"Secret","metadata":{"name":"c","namespace":"x"}}"#],
    );
}

#[test]
fn missing_data_makes_an_object_with_nothing_but_its_name() {
    let want = r#"create {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"x"}}"#;
    for data in ["", ", data: null", ", data: {}"] {
        let block = format!("{{apiVersion: v1, kind: ConfigMap, name: c, namespace: x{data}}}");
        check(&namespaces(&block), &create(SHOP), "", &["pass", want]);
    }
}

#[test]
fn synchronised_objects_are_applied_and_have_labels() {
    let block = "{synchronize: true, apiVersion: v1, kind: ConfigMap, name: c, namespace: x}";
    let decision = decide(&namespaces(block), &create(SHOP), "");
    let write = &decision.outcomes[0].writes[0];
    assert_eq!(write.verb.name(), "apply");
    let label = |key: &str| write.object.str_at(&["metadata", "labels", key]).to_owned();
    for (key, want) in [
        ("app.kubernetes.io/managed-by", "kyverno"),
        ("generate.kyverno.io/policy-name", "p"),
        ("generate.kyverno.io/policy-namespace", ""),
        ("generate.kyverno.io/rule-name", "r"),
        ("generate.kyverno.io/trigger-kind", "Namespace"),
        ("generate.kyverno.io/trigger-version", "v1"),
        ("generate.kyverno.io/trigger-uid", ""),
    ] {
        assert_eq!(label(key), want, "{key}");
    }
}

#[test]
fn a_value_from_the_trigger_is_never_read_for_variables() {
    let block = "{apiVersion: v1, kind: ConfigMap, name: c, namespace: x, \
                 data: {data: {a: \"{{ request.object.metadata.annotations.a }}\"}}}";
    let trigger =
        "{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {a: '{{ request.object }}'}}}";
    check(
        &namespaces(block),
        &create(trigger),
        "",
        &[
            "pass",
            r#"create {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"x"},"data":{"a":"{{ request.object }}"}}"#,
        ],
    );
}

#[test]
fn at_means_the_same_path_in_the_trigger() {
    let block = "{apiVersion: v1, kind: ConfigMap, name: c, namespace: x, \
                 data: {metadata: {labels: {team: \"{{@}}\"}}}}";
    check(
        &namespaces(block),
        &create(SHOP),
        "",
        &[
            "pass",
            r#"create {"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"team":"a"},"name":"c","namespace":"x"}}"#,
        ],
    );
}

#[test]
fn an_unresolved_variable_is_an_error_and_makes_nothing() {
    let block = "{apiVersion: v1, kind: ConfigMap, name: \"{{ request.object.spec.x }}\", namespace: x}";
    let decision = decide(&namespaces(block), &create(SHOP), "");
    assert_eq!(decision.outcomes[0].status, RuleStatus::Error);
    assert!(
        decision.outcomes[0].message.contains("Unknown key \"spec\""),
        "{}",
        decision.outcomes[0].message
    );
    assert!(decision.outcomes[0].writes.is_empty() && decision.is_allowed);
    let block = "{apiVersion: v1, kind: ConfigMap, name: c, namespace: x, data: \"{{ request.object.metadata.name }}\"}";
    check(&namespaces(block), &create(SHOP), "", &["error: `data` must be a map, found a string"]);
}

const SOURCE: &str = "{apiVersion: v1, kind: Secret, type: Opaque, data: {a: b}, metadata: {name: s, \
    namespace: default, uid: u, resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', \
    annotations: {k: v}, labels: {l: m, generate.kyverno.io/clone-source: ''}, ownerReferences: [{uid: o}]}}";

#[test]
fn a_clone_keeps_labels_and_annotations_and_drops_what_is_the_sources_own() {
    let block =
        format!("{{apiVersion: v1, kind: Secret, name: t, {NS}, clone: {{name: s, namespace: default}}}}");
    let decision = decide(&namespaces(&block), &create(SHOP), SOURCE);
    assert_eq!(
        shown(&decision),
        [
            "pass",
            r#"create {"apiVersion":"v1","kind":"Secret","metadata":{"name":"t","annotations":{"k":"v"},"labels":{"l":"m"},"namespace":"shop"},"type":"Opaque","data":{"a":"b"}}"#,
        ]
    );
    let object = &decision.outcomes[0].writes[0].object;
    let label = |key: &str| object.str_at(&["metadata", "labels", key]);
    assert_eq!(label("generate.kyverno.io/source-uid"), "u");
    assert_eq!(label("generate.kyverno.io/source-namespace"), "default");
}

#[test]
fn a_clone_of_itself_makes_nothing_and_one_in_the_same_namespace_keeps_owners() {
    let block =
        "{apiVersion: v1, kind: Secret, name: s, namespace: default, clone: {name: s, namespace: default}}";
    check(&namespaces(block), &create(SHOP), SOURCE, &["pass"]);
    let block =
        "{apiVersion: v1, kind: Secret, name: t, namespace: default, clone: {name: s, namespace: default}}";
    let decision = decide(&namespaces(block), &create(SHOP), SOURCE);
    assert!(decision.outcomes[0].writes[0].object.at(&["metadata", "ownerReferences"]).is_some());
}

#[test]
fn a_missing_source_is_an_error() {
    let block =
        "{apiVersion: v1, kind: Secret, name: t, namespace: x, clone: {name: none-here, namespace: default}}";
    check(
        &namespaces(block),
        &create(SHOP),
        SOURCE,
        &[
            "error: source resource Secret `default/none-here` not found: give it in `cloneSourceResource` of the test, or in a \
           `--world` file",
        ],
    );
}

#[test]
fn a_clone_list_copies_what_its_selector_selects() {
    let world = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default, labels: {c: 'yes'}}}\n---\n\
                 {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: default}}\n---\n\
                 {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {c: 'yes'}}}";
    let list = |more: &str| {
        format!(
            "{{namespace: shop, cloneList: {{namespace: default, kinds: [v1/Secret, v1/ConfigMap]{more}}}}}"
        )
    };
    let copied = |kind: &str, name: &str, labels: &str| {
        format!(
            r#"create {{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"{name}",{labels}"namespace":"shop"}}}}"#
        )
    };
    let labels = r#""labels":{"c":"yes"},"#;
    let selected = [copied("Secret", "a", labels), copied("ConfigMap", "a", labels)];
    check(
        &namespaces(&list(", selector: {matchLabels: {c: 'yes'}}")),
        &create(SHOP),
        world,
        &["pass", &selected[0], &selected[1]],
    );
    check(&namespaces(&list(", selector: {matchLabels: {c: 'no'}}")), &create(SHOP), world, &["pass"]);
    let own = "{namespace: default, cloneList: {namespace: default, kinds: [v1/Secret]}}";
    check(&namespaces(own), &create(SHOP), world, &["pass"]);
}

#[test]
fn loops_make_an_object_for_each_element_and_go_on_after_an_error() {
    let trigger = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default}, \
                   data: {list: 'a,b,skip', bad: 'x'}}";
    let rule = |list: &str, name: &str| {
        policy(&format!(
            "{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, generate: {{foreach: [{{list: {list}, \
             preconditions: {{all: [{{key: \"{{{{ element }}}}\", operator: NotEquals, value: skip}}]}}, \
             apiVersion: v1, kind: Secret, name: {name}, namespace: \"{{{{ element }}}}\", data: {{type: Opaque}}}}]}}}}"
        ))
    };
    let made = |name: &str, namespace: &str| {
        format!(
            r#"create {{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{name}","namespace":"{namespace}"}},"type":"Opaque"}}"#
        )
    };
    let policy = rule("\"request.object.data.list | split(@, ',')\"", "\"n-{{ elementIndex }}\"");
    check(&policy, &create(trigger), "", &["pass", &made("n-0", "a"), &made("n-1", "b")]);
    let policy = rule("\"[null, 'a', request.object.data]\"", "one");
    let decision = decide(&policy, &create(trigger), "");
    assert_eq!(decision.outcomes[0].status, RuleStatus::Error, "{:?}", shown(&decision));
    assert_eq!(shown(&decision)[1..], [made("one", "a")], "what was made stays");
    let policy = rule("request.object.nothing", "one");
    assert_eq!(decide(&policy, &create(trigger), "").outcomes[0].status, RuleStatus::Error);
}

#[test]
fn only_the_first_rule_generates_where_one_is_applied() {
    let rule = |name: &str| {
        format!(
            "{{name: {name}, match: {{any: [{{resources: {{kinds: [Namespace]}}}}]}}, \
             generate: {{apiVersion: v1, kind: ConfigMap, name: {name}, namespace: x}}}}"
        )
    };
    let text = policy(&format!("{}, {}", rule("a"), rule("b")));
    assert_eq!(decide(&text, &create(SHOP), "").outcomes.len(), 2);
    let text = text.replace("spec: {", "spec: {applyRules: One, ");
    assert_eq!(decide(&text, &create(SHOP), "").outcomes.len(), 1);
}

fn update(old: &str, new: &str) -> AdmissionRequest {
    let mut request = create(new);
    request.operation = Operation::Update;
    request.old_object = yaml::parse(old).expect("YAML");
    request
}

fn labelled(team: &str) -> String {
    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: shop, labels: {{team: {team}}}}}}}")
}

const ENDED: &str =
    r#"delete {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-a","namespace":"x"}}"#;

#[test]
fn an_update_that_ends_the_match_deletes_what_was_made() {
    let rule = |synchronize: &str| {
        policy(&format!(
            "{{name: r, match: {{any: [{{resources: {{kinds: [Namespace], selector: {{matchLabels: {{team: a}}}}}}}}]}}, \
             generate: {{synchronize: {synchronize}, apiVersion: v1, kind: ConfigMap, namespace: x, \
             name: \"c-{{{{ request.object.metadata.labels.team }}}}\"}}}}"
        ))
    };
    let request = update(&labelled("a"), &labelled("b"));
    check(&rule("true"), &request, "", &["pass: the object no longer matches the rule", ENDED]);
    check(&rule("false"), &request, "", &[]);
    check(&rule("true"), &update(&labelled("b"), &labelled("c")), "", &[]);
}

#[test]
fn an_update_that_ends_the_preconditions_deletes_what_was_made() {
    let rule = policy(
        "{name: r, match: {any: [{resources: {kinds: [Namespace]}}]}, preconditions: {all: [{key: \"{{ \
         request.object.metadata.labels.team }}\", operator: Equals, value: a}]}, \
         generate: {synchronize: true, apiVersion: v1, kind: ConfigMap, namespace: x, \
         name: \"c-{{ request.object.metadata.labels.team }}\"}}",
    );
    let request = update(&labelled("a"), &labelled("b"));
    check(&rule, &request, "", &["pass: the preconditions are no longer met", ENDED]);
    check(&rule, &update(&labelled("b"), &labelled("c")), "", &["skip: preconditions not met"]);
    check(&rule, &create(&labelled("b")), "", &["skip: preconditions not met"]);
}

#[test]
fn a_deletion_deletes_what_is_synchronised_unless_the_rule_lists_it() {
    let rule = |synchronize: &str, operations: &str| {
        policy(&format!(
            "{{name: r, match: {{any: [{{resources: {{kinds: [Namespace]{operations}}}}}]}}, \
             generate: {{synchronize: {synchronize}, apiVersion: v1, kind: ConfigMap, namespace: x, name: c-a}}}}"
        ))
    };
    let mut request = create(SHOP);
    request.set_operation(Operation::Delete);
    check(&rule("true", ""), &request, "", &["pass", ENDED]);
    check(&rule("false", ""), &request, "", &[]);
    let made = ENDED.replace("delete", "create");
    check(&rule("false", ", operations: [DELETE]"), &request, "", &["pass", &made]);
}

#[test]
fn a_policy_in_a_namespace_generates_there_only() {
    let text = |namespace: &str| {
        policy(&format!(
            "{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap], names: [m]}}}}]}}, \
             generate: {{apiVersion: v1, kind: Secret, name: s, namespace: {namespace}}}}}"
        ))
        .replace("ClusterPolicy", "Policy")
        .replace("{name: p}", "{name: p, namespace: shop}")
    };
    let trigger =
        create("{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: shop}, data: {ns: other}}");
    let own = r#"create {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop"}}"#;
    check(&text("shop"), &trigger, "", &["pass", own]);
    check(
        &text("\"{{ request.object.data.ns }}\""),
        &trigger,
        "",
        &["error: a policy of namespace shop generates in that namespace alone, not in `other`"],
    );
}

#[test]
fn an_exception_skips_the_rule() {
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: ops}\n\
                     spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Namespace]}}]}}";
    let dialect = Kyverno::new(&documents(exception), Default::default());
    let block = "{apiVersion: v1, kind: ConfigMap, name: c, namespace: x}";
    let rules = dialect.compile(&documents(&namespaces(block))[0], &[]).rules;
    let decision =
        Engine::new(rules).decide(&create(SHOP), &ClosedWorld::default(), &DecisionSettings::default());
    assert_eq!(shown(&decision), ["skip: rule is skipped due to policy exception ops/e"]);
}

#[test]
fn a_rule_with_a_mistake_refuses_nothing() {
    let decision = decide(&namespaces("{kind: ConfigMap, typo: 1}"), &create(SHOP), "");
    assert_eq!(decision.outcomes[0].status, RuleStatus::Error);
    assert!(decision.is_allowed);
}

#[test]
fn a_controller_learns_what_a_rule_makes_of_what() {
    let text = namespaces(&format!(
        "{{synchronize: true, orphanDownstreamOnPolicyDelete: true, apiVersion: v1, kind: Secret, name: t, {NS}, \
         clone: {{name: s, namespace: default}}}}"
    ))
    .replace("spec: {", "spec: {generateExisting: true, useServerSideApply: true, ");
    let compiled = Kyverno::new(&[], Default::default()).compile(&documents(&text)[0], &[]);
    let [BackgroundProgram::Generate(program)] = compiled.background.as_slice() else {
        panic!("one program: {:?}", compiled.background)
    };
    let GenerateProgram { downstreams, .. } = program;
    let source = CloneSource { namespace: Some("default".into()), name: Some("s".into()) };
    let want = DownstreamTemplate {
        api_version: Some("v1".into()),
        kind: Some("Secret".into()),
        namespace: None,
        name: Some("t".into()),
        source: Some(source),
    };
    assert_eq!(downstreams, &[want]);
    assert!(program.synchronizes && program.orphans_downstream && program.generates_existing);
    assert!(program.uses_server_side_apply && !program.generates_on_delete);
    assert_eq!(program.triggers.len(), 1);
    assert!(compiled.webhooks.iter().all(|webhook| webhook.rules.is_empty()), "no webhook asks for it");
}
