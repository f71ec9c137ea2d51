//! Tests of GeneratingPolicies: what they make, and why they cannot.

use kubewright_engine::{
    BackgroundProgram, ClosedWorld, DecisionSettings, Dialect as _, Engine, RuleOutcome, RuleStatus,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, json, yaml};

use crate::PolicyDialect;

fn documents(text: &str) -> Vec<Document> {
    yaml::read(&Source::new("policy.yaml", text)).documents
}

fn policy(kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: p, namespace: shop}}\nspec:\n  \
         matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [configmaps], \
         operations: [CREATE, UPDATE]}}]}}\n{}",
        spec.lines().map(|line| format!("  {line}\n")).collect::<String>()
    )
}

const TRIGGER: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: shop, uid: t-1}, data: {list: 'a,b'}}";

const WORLD: &str = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default, uid: u, resourceVersion: '3', \
    annotations: {k: v}}, data: {a: Yg==}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: t, namespace: default}}";

fn outcomes(policy: &str, exceptions: &str) -> Vec<RuleOutcome> {
    let dialect = PolicyDialect::of(&crate::gpol::LANGUAGE, &documents(exceptions), Default::default());
    let compiled = dialect.compile(&documents(policy)[0], &[]);
    let world = ClosedWorld::new(documents(WORLD).into_iter().map(|document| document.value));
    let object = yaml::parse(TRIGGER).expect("YAML");
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    Engine::new(compiled.rules).decide(&request, &world, &DecisionSettings::default()).outcomes
}

/// Checks the lines of the outcome: its status, then each write without our labels.
#[track_caller]
fn check(kind: &str, spec: &str, want: &[&str]) {
    let mut lines = Vec::new();
    for outcome in outcomes(&policy(kind, spec), "") {
        lines.push(format!("{}: {}", outcome.status, outcome.message));
        for write in &outcome.writes {
            let mut object = write.object.clone();
            let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata"));
            metadata.and_then(|metadata| metadata.as_object_mut()).map(|metadata| metadata.remove("labels"));
            lines.push(format!("{} {}", write.verb.name(), json::to_string(&object)));
        }
    }
    assert_eq!(lines, want, "{spec}");
}

const PASS: &str = "pass: policy evaluated successfully";
const CONFIG: &str = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\"}}";

#[test]
fn objects_of_an_expression_are_made_in_the_given_namespace() {
    let spec = format!(
        "generate:\n- expression: \"object.data.list.split(',').all(ns, generator.Apply(ns, [{}]))\"",
        CONFIG.replace('"', "'")
    );
    let made = |namespace: &str| {
        format!(
            r#"create {{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"{namespace}"}}}}"#
        )
    };
    check("GeneratingPolicy", &spec, &[PASS, &made("a"), &made("b")]);
}

#[test]
fn nothing_made_is_a_pass_and_unmet_conditions_are_no_row() {
    check("GeneratingPolicy", "generate: [{expression: object.metadata.name == 'x'}]", &[PASS]);
    let spec = "matchConditions: [{name: c, expression: object.metadata.name == 'x'}]\n\
                generate: [{expression: object.metadata.name == 'x'}]";
    check("GeneratingPolicy", spec, &[]);
}

#[test]
fn copies_lose_what_belongs_to_their_source_and_lists_are_expanded() {
    let spec = "evaluation: {synchronize: {enabled: true}}\n\
                generate: [{expression: 'generator.apply(\"shop\", [resource.List(\"v1\", \"secrets\", \"default\")])'}]";
    check(
        "GeneratingPolicy",
        spec,
        &[
            PASS,
            r#"apply {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","annotations":{"k":"v"},"namespace":"shop"},"data":{"a":"Yg=="}}"#,
            r#"apply {"apiVersion":"v1","kind":"Secret","metadata":{"name":"t","namespace":"shop"}}"#,
        ],
    );
}

#[test]
fn labels_name_the_policy_the_trigger_and_the_source() {
    let spec = "generate: [{expression: 'generator.apply(\"x\", [resource.Get(\"v1\", \"secrets\", \"default\", \"s\")])'}]";
    let outcomes = outcomes(&policy("GeneratingPolicy", spec), "");
    let object = &outcomes[0].writes[0].object;
    let label = |key: &str| object.str_at(&["metadata", "labels", &format!("generate.kyverno.io/{key}")]);
    assert_eq!((label("policy-name"), label("trigger-name"), label("trigger-uid")), ("p", "m", "t-1"));
    assert_eq!((label("source-uid"), label("source-namespace")), ("u", "default"));
    assert_eq!(object.str_at(&["metadata", "labels", "app.kubernetes.io/managed-by"]), "kyverno");
}

#[test]
fn a_missing_source_or_a_wrong_object_is_an_error() {
    for (expression, want) in [
        (
            "generator.apply(\"x\", [resource.Get(\"v1\", \"secrets\", \"default\", \"gone\")])",
            "no such overload",
        ),
        ("generator.apply(\"x\", [{\"kind\": \"ConfigMap\"}])", "an object without `apiVersion`"),
        ("generator.apply(object.metadata.nothing, [])", "no such key: nothing"),
    ] {
        let found =
            outcomes(&policy("GeneratingPolicy", &format!("generate: [{{expression: '{expression}'}}]")), "");
        assert_eq!(found[0].status, RuleStatus::Error, "{expression}");
        assert!(found[0].message.starts_with("failed to evaluate policy: "), "{}", found[0].message);
        assert!(found[0].message.contains(want), "{expression}: {}", found[0].message);
        assert!(found[0].writes.is_empty());
    }
}

#[test]
fn templates_keep_types_and_join_texts() {
    let spec = "variables:\n\
                - {name: labels, expression: '{\"team\": \"a\"}'}\n\
                generate:\n\
                - template:\n\
                \x20   interpolate: cel\n\
                \x20   value: |\n\
                \x20     apiVersion: v1\n\
                \x20     kind: ConfigMap\n\
                \x20     metadata: {name: (( object.metadata.name ))-(( 1 + 1 )), namespace: (( object.metadata.namespace ))}\n\
                \x20     data: (( variables.labels ))\n\
                \x20     count: (( size(object.data.list) ))\n\
                \x20     text: '\\((literal)) (( true ))'\n\
                \x20     ---\n\
                \x20     apiVersion: v1\n\
                \x20     kind: Secret\n\
                \x20     metadata: {name: s}\n";
    check(
        "GeneratingPolicy",
        spec,
        &[
            PASS,
            r#"create {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m-2","namespace":"shop"},"data":{"team":"a"},"count":3,"text":"((literal)) true"}"#,
            r#"create {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}"#,
        ],
    );
    let literal = spec.replace("    interpolate: cel\n", "");
    let found = outcomes(&policy("GeneratingPolicy", &literal), "");
    assert_eq!(found[0].writes[0].object.str_at(&["data"]), "(( variables.labels ))");
    let mixed = spec.replace("(( object.metadata.name ))-(( 1 + 1 ))", "x-(( variables.labels ))");
    let found = outcomes(&policy("GeneratingPolicy", &mixed), "");
    assert!(found[0].message.contains("must be a scalar"), "{}", found[0].message);
}

#[test]
fn a_policy_in_a_namespace_makes_objects_there_only() {
    let apply = |object: &str| format!("generate:\n- expression: 'generator.Apply([{object}])'");
    let kind = "NamespacedGeneratingPolicy";
    check(
        kind,
        &apply(CONFIG),
        &[
            PASS,
            r#"create {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop"}}"#,
        ],
    );
    let elsewhere = CONFIG.replace("\"c\"}", "\"c\", \"namespace\": \"other\"}");
    check(
        kind,
        &apply(&elsewhere),
        &["error: failed to evaluate policy: a policy of namespace shop makes no objects in namespace other"],
    );
    let wide = CONFIG.replace("ConfigMap", "Namespace");
    check(
        kind,
        &apply(&wide),
        &[
            "error: failed to evaluate policy: a policy of namespace shop makes no Namespace, which is in no namespace",
        ],
    );
}

#[test]
fn an_audit_annotation_that_fails_makes_nothing() {
    let spec = |value: &str| {
        format!(
            "generate:\n- expression: 'generator.Apply(\"shop\", [{CONFIG}])'\n\
             auditAnnotations:\n- {{key: a, valueExpression: '{value}'}}"
        )
    };
    let good = outcomes(&policy("GeneratingPolicy", &spec("string(object.metadata.name)")), "");
    let said: Vec<_> = good.iter().map(|outcome| (outcome.message.as_str(), outcome.writes.len())).collect();
    assert_eq!(said, [("policy evaluated successfully", 1)]);
    let bad = outcomes(&policy("GeneratingPolicy", &spec("string(object.data.none)")), "");
    let said: Vec<_> = bad.iter().map(|outcome| (outcome.status, outcome.writes.len())).collect();
    assert_eq!(said, [(RuleStatus::Error, 0)]);
}

#[test]
fn an_exception_makes_nothing() {
    let exception = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: e, namespace: ops}\n\
                     spec: {policyRefs: [{name: p, kind: GeneratingPolicy}], \
                     matchConditions: [{name: c, expression: object.metadata.name == 'm'}]}";
    let spec = format!("generate:\n- expression: 'generator.Apply(\"x\", [{CONFIG}])'");
    let found = outcomes(&policy("GeneratingPolicy", &spec), exception);
    assert_eq!(found[0].status, RuleStatus::Skip);
    assert_eq!(found[0].message.as_str(), "rule is skipped due to policy exception: ops/e");
}

#[test]
fn a_controller_learns_the_triggers_and_the_settings() {
    let spec = "useServerSideApply: true\n\
                evaluation: {synchronize: {enabled: true}, orphanDownstreamOnPolicyDelete: {enabled: true}, \
                generateExisting: {enabled: true}}\n\
                generate: [{expression: 'generator.Apply(\"x\", [object])'}]";
    let dialect = PolicyDialect::of(&crate::gpol::LANGUAGE, &[], Default::default());
    let compiled = dialect.compile(&documents(&policy("GeneratingPolicy", spec))[0], &[]);
    let [BackgroundProgram::Generate(program)] = compiled.background.as_slice() else {
        panic!("one program: {:?}", compiled.background)
    };
    assert!(program.synchronizes && program.orphans_downstream && program.generates_existing);
    assert!(program.uses_server_side_apply && !program.generates_on_delete);
    assert_eq!(program.triggers.len(), 1);
}

#[test]
fn a_controller_learns_the_kinds_that_expressions_write_out() {
    let spec = format!(
        "variables: [{{name: made, expression: '[{CONFIG}]'}}, {{name: other, expression: '{{\"apiVersion\": \"v1\", \"kind\": \
         \"Secret\"}}'}}]\ngenerate: [{{expression: 'generator.Apply(\"x\", variables.made)'}}]"
    );
    let dialect = PolicyDialect::of(&crate::gpol::LANGUAGE, &[], Default::default());
    let compiled = dialect.compile(&documents(&policy("GeneratingPolicy", &spec))[0], &[]);
    let [BackgroundProgram::Generate(program)] = compiled.background.as_slice() else {
        panic!("one program: {:?}", compiled.background)
    };
    let kinds: Vec<_> = program.downstreams.iter().map(|one| one.kind.as_deref().unwrap_or("")).collect();
    assert_eq!((kinds, &program.downstreams[0].namespace), (vec!["ConfigMap"], &None));
}

#[track_caller]
fn reports(spec: &str, want: &[&str]) {
    let dialect = PolicyDialect::of(&crate::gpol::LANGUAGE, &[], Default::default());
    let compiled = dialect.compile(&documents(&policy("GeneratingPolicy", spec))[0], &[]);
    let found: Vec<&str> = compiled.diagnostics.iter().map(|found| found.code.id).collect();
    assert_eq!(found, want, "{spec}: {:?}", compiled.diagnostics);
}

#[test]
fn mistakes_are_reported() {
    let template = |text: &str| format!("generate:\n- template: {{interpolate: cel, value: \"{text}\"}}");
    reports("failurePolicy: Ignore", &["KW-A050"]);
    reports("generate: [{}]", &["KW-A051"]);
    reports("generate: [{expression: 'true', template: {value: 'a: b'}}]", &["KW-A051"]);
    reports("generate: [{expression: 'generator.Apply([object])'}]", &["KW-K072"]);
    reports("generate: [{expression: '1 + 1'}]", &["KW-K072"]);
    reports(&template("{a: (( object.metadata.name }"), &["KW-K119"]);
    reports(&template("{(( object.metadata.name )): b}"), &["KW-K119"]);
    reports(&template("a: &x {b: c}\\nd:\\n  <<: *x"), &["KW-K119"]);
    reports(&template("a: ["), &["KW-K119"]);
    reports(&template("a: (( nothing ))"), &["KW-K071"]);
    reports("generate: [{template: {interpolate: jmespath, value: a}}]", &["KW-A004"]);
}
