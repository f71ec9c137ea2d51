//! Tests of CEL policies on objects.

mod hostile;

use kubewright_cel::Inputs;
use kubewright_engine::{ClosedWorld, CompiledPolicy, DecisionSettings, Dialect, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, Value, yaml};

use super::{
    MutatingAdmissionPolicies, PolicyDialect, ValidatingAdmissionPolicies, check_validating_policy_exceptions,
};

const VPOL: &str = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n";
const TEAM: &str = "apiVersion: policies.kyverno.io/v1\nkind: NamespacedValidatingPolicy\nmetadata: {name: p, namespace: shop}\nspec:\n";
const VAP: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n";
const PODS: &str = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]}";
const WORLD: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: prod}}}";
const PARAMS: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: pm, namespace: shop}, data: {name: web}}";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}}}";
const CRON_JOB: &str = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: web, namespace: shop}, spec: {jobTemplate: {spec: {template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}}}}}";
const JOB_SET: &str = "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: web, namespace: shop}, spec: {jobs: [{template: {spec: {containers: [{name: c, image: nginx}]}}}, {template: {spec: {containers: [{name: c, image: redis}]}}}]}, status: {template: {spec: {containers: [{name: c, image: bad}]}}}}";
const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n}}";

fn documents(text: &str) -> Vec<Document> {
    let reading = yaml::read(&Source::new("policy.yaml", text));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    reading.documents
}

fn value(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

fn vpol(lines: &str) -> String {
    format!("{VPOL}{}", indented(lines))
}

fn vap(lines: &str) -> String {
    format!("{VAP}{}", indented(lines))
}

/// A binding of `p` with these further lines.
fn binding(lines: &str) -> String {
    format!(
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\nspec:\n  policyName: p\n{}",
        indented(lines)
    )
}

/// An exception from the ValidatingPolicy `p` with these further fields.
fn exception(name: &str, fields: &str) -> String {
    format!(
        "---\n{{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {{name: {name}, namespace: shop}}, spec: {{policyRefs: [{{name: p, kind: ValidatingPolicy}}], {fields}}}}}\n"
    )
}

/// Compiles `documents` with all dialects, and policies beside the bindings among them.
pub(crate) fn load(exceptions: &[Document], documents: &[Document]) -> CompiledPolicy {
    let dialects: [Box<dyn Dialect>; 4] = [
        Box::new(ValidatingAdmissionPolicies::new()),
        Box::new(PolicyDialect::of(&crate::vpol::LANGUAGE, exceptions, Inputs::default())),
        Box::new(MutatingAdmissionPolicies::new()),
        Box::new(PolicyDialect::of(&crate::mpol::LANGUAGE, exceptions, Inputs::default())),
    ];
    let mut loaded = CompiledPolicy::default();
    for dialect in &dialects {
        let bindings: Vec<Document> =
            documents.iter().filter(|document| dialect.is_auxiliary(document)).cloned().collect();
        for document in documents.iter().filter(|document| dialect.claims(document)) {
            let compiled = dialect.compile(document, &bindings);
            loaded.rules.extend(compiled.rules);
            loaded.diagnostics.extend(compiled.diagnostics);
        }
        let ids: Vec<_> = loaded.rules.iter().map(|rule| std::sync::Arc::clone(&rule.id)).collect();
        loaded.diagnostics.extend(dialect.check_auxiliaries(&bindings, &ids));
    }
    loaded
}

/// Returns the outcomes of `policies`, under `exceptions`, for an operation on `object`.
fn said(policies: &str, exceptions: &str, operation: Operation, object: &str) -> String {
    let rules = load(&documents(exceptions), &documents(policies)).rules;
    let world = ClosedWorld::new([value(WORLD), value(PARAMS)]);
    let request = AdmissionRequest::for_object(value(object), operation, "default");
    let decision = Engine::new(rules).decide(&request, &world, &DecisionSettings::default());
    let outcomes = decision.outcomes.iter().filter(|outcome| outcome.is_judged);
    outcomes.map(|outcome| format!("{}: {}", outcome.status, outcome.message)).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn says(policies: &str, object: &str, want: &str) {
    assert_eq!(said(policies, "", Operation::Create, object), want, "{policies}");
}

#[track_caller]
fn says_under(policies: &str, exceptions: &[String], object: &str, want: &str) {
    assert_eq!(said(policies, &exceptions.concat(), Operation::Create, object), want, "{exceptions:?}");
}

/// Compares the codes that `policies` lead to.
#[track_caller]
fn warns(policies: &str, want: &[&str]) {
    let loaded = load(&[], &documents(policies));
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
    assert_eq!(codes, want, "{policies}: {:?}", loaded.diagnostics);
}

/// A policy with the resource rule `rule` that refuses every matched object.
fn about(rule: &str) -> String {
    vpol(&format!(
        "matchConstraints: {{resourceRules: [{{{rule}}}]}}\nvalidations: [{{expression: object == oldObject, message: hit}}]"
    ))
}

/// A policy about Pods with one validation.
fn pods(expression: &str) -> String {
    vpol(&format!("{PODS}\nvalidations: [{{expression: \"{expression}\", message: bad}}]"))
}

fn pods_and(lines: &str, expression: &str) -> String {
    vpol(&format!("{PODS}\n{lines}\nvalidations: [{{expression: \"{expression}\", message: bad}}]"))
}

#[test]
fn resource_rules_decide_what_a_policy_is_about() {
    says(
        &about("apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]"),
        POD,
        "fail: hit",
    );
    says(
        &about("apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']"),
        NODE,
        "fail: hit",
    );
    says(&about("apiGroups: [apps], apiVersions: ['*'], resources: ['*'], operations: ['*']"), POD, "");
    says(&about("apiGroups: [''], apiVersions: [v2], resources: [pods], operations: ['*']"), POD, "");
    says(&about("apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [UPDATE]"), POD, "");
    says(&about("apiGroups: [''], apiVersions: [v1], resources: [pods/status], operations: ['*']"), POD, "");
    says(
        &about("apiGroups: [''], apiVersions: [v1], resources: ['pods/*'], operations: ['*']"),
        POD,
        "fail: hit",
    );
    says(
        &about("apiGroups: [''], apiVersions: [v1], resources: ['*/*'], operations: ['*']"),
        POD,
        "fail: hit",
    );
    says(
        &about(
            "apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*'], resourceNames: [db]",
        ),
        POD,
        "",
    );
    says(
        &about("apiGroups: [''], apiVersions: [v1], resources: ['*'], operations: ['*'], scope: Cluster"),
        POD,
        "",
    );
    says(
        &about("apiGroups: [''], apiVersions: [v1], resources: ['*'], operations: ['*'], scope: Cluster"),
        NODE,
        "fail: hit",
    );
}

#[test]
fn selectors_leave_out_what_has_other_labels() {
    let with = |selector: &str| {
        let rules =
            "resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: ['*'], operations: ['*']}]";
        vpol(&format!(
            "matchConstraints: {{{rules}, {selector}}}\nvalidations: [{{expression: 'false', message: hit}}]"
        ))
    };
    says(&with("objectSelector: {matchLabels: {app: a}}"), POD, "fail: hit");
    says(&with("objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}"), POD, "");
    says(
        &with("objectSelector: {matchExpressions: [{key: app, operator: NotIn, values: [b]}]}"),
        POD,
        "fail: hit",
    );
    says(&with("namespaceSelector: {matchLabels: {env: prod}}"), POD, "fail: hit");
    says(&with("namespaceSelector: {matchLabels: {env: dev}}"), POD, "");
    says(&with("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}"), POD, "fail: hit");
    says(&with("namespaceSelector: {matchLabels: {env: dev}}"), NODE, "fail: hit");
    says(
        &with(
            "excludeResourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*']}]",
        ),
        POD,
        "",
    );
}

#[test]
fn the_first_validation_that_does_not_hold_is_the_answer() {
    let two = vpol(&format!(
        "{PODS}\nvalidations: [{{expression: 'has(object.spec)'}}, {{expression: object.metadata.name == 'x'}}]"
    ));
    says(&two, POD, "fail: CEL expression validation failed at index 1");
    let made = vpol(&format!(
        "{PODS}\nvalidations: [{{expression: object.metadata.name == 'x', message: m, messageExpression: \"'no ' + object.metadata.name\"}}]"
    ));
    says(&made, POD, "fail: no web");
    let failing = vpol(&format!(
        "{PODS}\nvalidations: [{{expression: object.metadata.name == 'x', message: m, messageExpression: \"'no ' + object.metadata.nope\"}}]"
    ));
    says(&failing, POD, "fail: m");
    says(&pods("object.metadata.name == 'web'"), POD, "pass: success");
}

#[test]
fn conditions_that_do_not_hold_skip_and_those_that_fail_are_errors_unless_ignored() {
    let conditions = |list: &str, besides: &str| {
        pods_and(&format!("matchConditions: [{list}]{besides}"), "object.metadata.name == 'x'")
    };
    let (no, bad) =
        ("{name: a, expression: object.kind == 'Node'}", "{name: b, expression: object.spec.x == 1}");
    says(&conditions(no, ""), POD, "skip: skip");
    says(&conditions(&format!("{bad}, {no}"), ""), POD, "skip: skip");
    says(
        &conditions(bad, ""),
        POD,
        "error: expression 'object.spec.x == 1' resulted in error: no such key: x",
    );
    says(&conditions(bad, "\nfailurePolicy: Ignore"), POD, "skip: skip");
    let again = format!("{bad}, {{name: c, expression: object.spec.x == 1}}");
    says(
        &conditions(&again, ""),
        POD,
        "error: expression 'object.spec.x == 1' resulted in error: no such key: x",
    );
}

#[test]
fn an_expression_that_fails_is_an_error_also_under_ignore() {
    let policy = pods_and("failurePolicy: Ignore", "object.spec.x == 1");
    says(&policy, POD, "error: expression 'object.spec.x == 1' resulted in error: no such key: x");
    let native =
        vap(&format!("failurePolicy: Ignore\n{PODS}\nvalidations: [{{expression: object.spec.x == 1}}]"));
    says(&native, POD, "pass: ");
}

#[test]
fn annotations_that_fail_are_errors() {
    let lines = "auditAnnotations: [{key: a, valueExpression: string(object.spec.x)}]";
    let error = "error: expression 'string(object.spec.x)' resulted in error: no such key: x";
    says(&pods_and(lines, "has(object.spec)"), POD, error);
    let native = |policy: &str| {
        vap(&format!(
            "failurePolicy: {policy}\n{PODS}\n{lines}\nvalidations: [{{expression: has(object.spec)}}]"
        ))
    };
    says(&native("Fail"), POD, error);
    says(&native("Ignore"), POD, "pass: ");
}

#[test]
fn variables_read_those_above_and_fail_only_when_read() {
    let variables = "variables: [{name: a, expression: object.spec.containers}, {name: b, expression: size(variables.a)}, {name: c, expression: object.spec.x}]";
    says(&pods_and(variables, "variables.b == 1"), POD, "pass: success");
    says(&pods_and(variables, "variables.b == 2"), POD, "fail: bad");
}

#[test]
fn a_policy_about_pods_is_asked_about_the_controllers_that_make_them() {
    let policy = pods("object.spec.containers.all(c, c.image != 'nginx')");
    says(&policy, DEPLOYMENT, "fail: bad");
    says(&policy, CRON_JOB, "fail: bad");
    let labels = pods(
        "object.metadata.labels.app == 'a' && object.metadata.name == 'web' && object.metadata.namespace == 'shop'",
    );
    says(&labels, DEPLOYMENT, "pass: success");
    says(&labels, CRON_JOB, "pass: success");
    for expression in ["object.?spec.?containers.hasValue()", "size(object['spec'].containers) == 1"] {
        says(&pods(expression), DEPLOYMENT, "pass: success");
    }
}

#[test]
fn controllers_are_those_that_the_policy_names() {
    let only = |names: &str| {
        pods_and(
            &format!("autogen: {{podControllers: {{controllers: [{names}]}}}}"),
            "object.metadata.name == 'x'",
        )
    };
    says(&only("cronjobs"), DEPLOYMENT, "");
    says(&only("cronjobs"), CRON_JOB, "fail: bad");
    says(&only(""), DEPLOYMENT, "");
    says(&only("deployments"), DEPLOYMENT, "fail: bad");
    let selected = PODS.replace("}]}", "}], objectSelector: {matchLabels: {app: a}}}");
    says(&vpol(&format!("{selected}\nvalidations: [{{expression: 'false'}}]")), DEPLOYMENT, "");
}

#[test]
fn pods_are_found_in_controllers_of_any_kind() {
    let policy = |expression: &str| {
        pods_and("autogen: {podControllers: {controllers: [jobsets.v1alpha2.jobset.x-k8s.io]}}", expression)
    };
    let image = "object.spec.containers.all(c, c.image != 'redis')";
    says(&policy(image), JOB_SET, "fail: bad (pod template at spec.jobs[1].template)");
    says(&policy("object.spec.containers.all(c, c.image != 'bad')"), JOB_SET, "pass: success");
    says(
        &policy("object.kind == 'Pod' && request.kind.kind == 'Pod' && object.metadata.name == 'web'"),
        JOB_SET,
        "pass: success",
    );
    let error = "error: expression 'object.spec.x == 1' resulted in error: no such key: x (pod template at spec.jobs[0].template)";
    says(&policy("object.spec.x == 1"), JOB_SET, error);
    let empty = "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: web}, spec: {template: {spec: {containers: [{name: c}]}}}}";
    says(
        &policy(image),
        empty,
        "error: extraction mode: no pod template found in jobset.x-k8s.io/v1alpha2/JobSet",
    );
    let excused = exception(
        "e",
        "matchConditions: [{name: a, expression: \"object.spec.containers[0].image == 'redis'\"}]",
    );
    says_under(&policy(image), &[excused], JOB_SET, "pass: success");
}

#[test]
fn pods_in_controllers_are_compared_with_what_they_were() {
    let policy = pods_and(
        "autogen: {podControllers: {controllers: [jobsets.v1alpha2.jobset.x-k8s.io]}}",
        "object.spec.containers[0].image == oldObject.spec.containers[0].image",
    );
    let rules = load(&[], &documents(&policy)).rules;
    let mut request = AdmissionRequest::for_object(value(JOB_SET), Operation::Update, "default");
    request.old_object = value(&JOB_SET.replace("image: redis", "image: valkey"));
    let decision = Engine::new(rules).decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    let outcomes = decision.outcomes.iter().filter(|outcome| outcome.is_judged);
    let messages: Vec<&str> = outcomes.map(|outcome| outcome.message.as_str()).collect();
    assert_eq!(messages, ["bad (pod template at spec.jobs[1].template)"]);
}

#[test]
fn pod_template_below_the_depth_limit_is_an_error() {
    let policy = pods_and(
        "autogen: {podControllers: {controllers: [jobsets.v1alpha2.jobset.x-k8s.io]}}",
        "object.spec.containers.all(c, c.image != 'nginx')",
    );
    let deep = |levels: usize| {
        let template = "{spec: {containers: [{name: c, image: nginx}]}}";
        let (open, close) = ("{a: ".repeat(levels), "}".repeat(levels));
        format!(
            "{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{name: w}}, spec: {open}{template}{close}}}"
        )
    };
    says(&policy, &deep(2), "fail: bad (pod template at spec.a.a)");
    says(&policy, &deep(80), "error: too many or too deep Pod templates");
}

#[test]
fn exceptions_excuse_what_fits_their_conditions() {
    let policy = pods("object.metadata.name == 'x'");
    let all = exception("e", "matchConditions: [{name: a, expression: has(object.spec)}]");
    says_under(
        &policy,
        std::slice::from_ref(&all),
        POD,
        "skip: rule is skipped due to policy exception: shop/e",
    );
    let none = exception("f", "matchConditions: [{name: a, expression: has(object.status)}]");
    says_under(&policy, &[none], POD, "fail: bad");
    let passed = exception("g", "reportResult: pass")
        .replace("name: g,", "name: g, labels: {polex.kyverno.io/priority: '5'},");
    says_under(&policy, &[all, passed], POD, "pass: rule is passed due to policy exception: shop/e, shop/g");
}

#[test]
fn failing_exception_is_an_error_unless_another_applies_or_failures_are_ignored() {
    let bad = exception("bad", "matchConditions: [{name: a, expression: object.spec.x == 1}]");
    let all = exception("all", "images: []");
    let strict = pods("object.metadata.name == 'x'");
    says_under(
        &strict,
        &[bad.clone(), all.clone()],
        POD,
        "error: exception shop/bad: expression 'object.spec.x == 1' resulted in error: no such key: x",
    );
    says_under(&strict, &[all, bad.clone()], POD, "skip: rule is skipped due to policy exception: shop/all");
    let lenient = pods_and("failurePolicy: Ignore", "object.metadata.name == 'x'");
    says_under(&lenient, &[bad], POD, "fail: bad");
}

#[test]
fn exceptions_that_fit_no_policy_are_reported() {
    let codes = |policy: &str, exception: &str| -> Vec<&str> {
        let rules = load(&[], &documents(policy)).rules;
        let found =
            check_validating_policy_exceptions(&documents(exception), rules.iter().map(|rule| &*rule.id));
        found.iter().map(|diagnostic| diagnostic.code.id).collect()
    };
    let policy = pods("has(object.spec)");
    assert_eq!(codes(&policy, &exception("e", "images: [a]")), [""; 0]);
    assert_eq!(codes(&policy, &exception("e", "images: [a]").replace("name: p,", "name: q,")), ["KW-A026"]);
    let namespaced = exception("e", "images: [a]").replace("kind: Validating", "kind: NamespacedValidating");
    assert_eq!(codes(&policy, &namespaced), ["KW-A026"]);
    let other = exception("e", "images: [a]").replace("kind: ValidatingPolicy", "kind: GeneratingPolicy");
    assert_eq!(codes(&policy, &other), [""; 0]);
    let wrong = exception("e", "expiresAt: tomorrow, matchConditions: [{name: a, expression: object.}]");
    assert_eq!(codes(&policy, &wrong), ["KW-K070", "KW-A004"]);
}

#[test]
fn exceptions_with_images_or_values_are_read_by_the_policy() {
    let policy = pods("object.spec.containers.all(c, c.image in exceptions.allowedImages)");
    says(&policy, POD, "fail: bad");
    says_under(&policy, &[exception("e", "images: [nginx]")], POD, "pass: success");
    says_under(&policy, &[exception("e", "allowedValues: [nginx]")], POD, "fail: bad");
}

#[test]
fn a_policy_in_a_namespace_is_about_that_one_alone() {
    let policy = format!(
        "{TEAM}{}",
        indented(&format!("{PODS}\nvalidations: [{{expression: 'false', message: hit}}]"))
    );
    says(&policy, POD, "fail: hit");
    says(&policy, &POD.replace("namespace: shop", "namespace: other"), "");
}

#[test]
fn payloads_have_no_request_and_no_namespace() {
    let json = |expression: &str| {
        vpol(&format!(
            "evaluation: {{mode: JSON}}\nvalidations: [{{expression: \"{expression}\", message: bad}}]"
        ))
    };
    says(&json("object.stages.size() == 2"), "{stages: [1, 2]}", "pass: success");
    says(&json("oldObject == null && namespaceObject == null"), POD, "pass: success");
    says(
        &json("request.operation == 'CREATE'"),
        POD,
        "error: expression 'request.operation == 'CREATE'' resulted in error: no such key: operation",
    );
}

#[test]
fn a_native_policy_is_judged_once_for_each_binding() {
    let policy = vap(&format!("{PODS}\nvalidations: [{{expression: object.metadata.name == 'x'}}]"));
    let deny = binding("validationActions: [Deny]");
    says(&policy, POD, "fail: failed expression: object.metadata.name == 'x'");
    says(&format!("{policy}{deny}"), POD, "fail: failed expression: object.metadata.name == 'x'");
    let elsewhere =
        binding("validationActions: [Deny]\nmatchResources: {namespaceSelector: {matchLabels: {env: dev}}}");
    says(&format!("{policy}{elsewhere}"), POD, "");
    let both = format!("{policy}{deny}{}", elsewhere.replace("name: b}", "name: c}"));
    says(&both, POD, "fail: failed expression: object.metadata.name == 'x'");
}

#[test]
fn conditions_of_the_api_server_do_not_know_the_namespace() {
    let condition =
        |expression: &str| format!("matchConditions: [{{name: a, expression: \"{expression}\"}}]");
    let native = |expression: &str| {
        vap(&format!(
            "{PODS}\n{}\nvalidations: [{{expression: namespaceObject.metadata.name == 'shop'}}]",
            condition(expression)
        ))
    };
    says(&native("namespaceObject == null"), POD, "pass: ");
    let error = "error: expression 'namespaceObject.metadata.name == 'shop'' resulted in error: no such key: metadata";
    says(&native("namespaceObject.metadata.name == 'shop'"), POD, error);
    warns(
        &format!("{}{}", native("namespaceObject == null"), binding("validationActions: [Deny]")),
        &["KW-A031"],
    );
    let policy = pods_and(&condition("namespaceObject.metadata.name == 'shop'"), "has(object.spec)");
    says(&policy, POD, "pass: success");
}

#[test]
fn parameters_are_looked_for_where_the_object_is() {
    let policy = vap(
        "paramKind: {apiVersion: v1, kind: ConfigMap}\nmatchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods, namespaces], operations: [CREATE]}]}\nvalidations: [{expression: object.metadata.name == params.data.name, message: bad}]",
    );
    let bound = |name: &str, action: &str| {
        let reference = format!("paramRef: {{name: {name}, parameterNotFoundAction: {action}}}");
        format!("{policy}{}", binding(&format!("validationActions: [Deny]\n{reference}")))
    };
    says(&bound("pm", "Deny"), POD, "pass: ");
    says(&bound("pm", "Deny"), &POD.replace("name: web,", "name: db,"), "fail: bad");
    says(&bound("pm", "Deny"), "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "fail: bad");
    says(&bound("absent", "Allow"), POD, "pass: ");
    says(
        &bound("absent", "Deny"),
        POD,
        "error: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
    let unbound = vap(&format!(
        "{PODS}\nparamKind: {{apiVersion: v1, kind: ConfigMap}}\nvalidations: [{{expression: params == null}}]"
    ));
    says(&format!("{unbound}{}", binding("validationActions: [Deny]")), POD, "pass: ");
}

#[test]
fn a_namespace_is_in_itself() {
    let policy = vap(
        "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [namespaces], operations: [CREATE]}]}\nvalidations: [{expression: request.namespace == 'shop' && namespaceObject == null}]",
    );
    says(&policy, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "pass: ");
}

#[test]
fn the_api_server_asks_no_policy_about_policies() {
    let rules = "matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]}\nvalidations: [{expression: object.kind == 'x', message: hit}]";
    let webhook = |kind: &str| {
        format!("{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}, metadata: {{name: x}}}}")
    };
    says(&vap(rules), &webhook("ValidatingWebhookConfiguration"), "fail: hit");
    says(&vap(rules), &webhook("ValidatingAdmissionPolicyBinding"), "");
    says(&vap(rules), &webhook("MutatingAdmissionPolicy"), "");
    says(&vpol(rules), &webhook("MutatingAdmissionPolicy"), "fail: hit");
}

#[test]
fn deletions_have_only_the_old_object() {
    let policy = vpol(
        "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [DELETE]}]}\nvalidations: [{expression: object == null && oldObject.metadata.name == 'web'}]",
    );
    assert_eq!(said(&policy, "", Operation::Delete, POD), "pass: success");
    assert_eq!(said(&policy, "", Operation::Create, POD), "");
}

#[test]
fn mistakes_in_policies_have_codes() {
    let rule = |rule: &str| about(rule);
    warns(&rule("apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]"), &[]);
    warns(&rule("apiGroups: [''], apiVersions: [v1], resources: [pods]"), &["KW-A021"]);
    warns(&rule("apiGroups: [''], apiVersions: [v1], resources: [Pod], operations: [CREATE]"), &["KW-A022"]);
    warns(&rule("apiGroups: [''], apiVersions: [v1], resources: [pod], operations: [CREATE]"), &["KW-A022"]);
    warns(
        &rule("apiGroups: [''], apiVersions: [v1], resources: [configMaps], operations: [CREATE]"),
        &["KW-A022"],
    );
    warns(
        &rule("apiGroups: [''], apiVersions: [v1], resources: [deployments], operations: [CREATE]"),
        &["KW-A028"],
    );
    warns(
        &rule("apiGroups: [example.com], apiVersions: [v1], resources: [deployments], operations: [CREATE]"),
        &[],
    );
    warns(
        &rule(
            "apiGroups: [''], apiVersions: [v1], resources: [nodes], operations: [CREATE], scope: Namespaced",
        ),
        &["KW-A028"],
    );
    warns(
        &rule("apiGroups: ['*', apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]"),
        &["KW-A027"],
    );
    warns(
        &rule("apiGroups: [''], apiVersions: [v1], resources: ['*', pods/status], operations: [CREATE]"),
        &[],
    );
    warns(&rule("apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [PATCH]"), &["KW-A004"]);
    warns(&vpol("matchConstraints: {}\nvalidations: [{expression: object == oldObject}]"), &["KW-A005"]);
    let names = "autogen: {podControllers: {controllers: [deployment, jobsets, a.b.c]}}";
    warns(&pods_and(names, "has(object.spec)"), &["KW-A025", "KW-A025"]);
    let team = format!(
        "{TEAM}{}",
        indented(
            "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [nodes], operations: [CREATE]}]}\nvalidations: [{expression: object == oldObject}]"
        )
    );
    warns(&team, &["KW-A028"]);
    let variables = "variables: [{name: a, expression: object.spec}]";
    warns(&pods_and(variables, "has(object.spec)"), &["KW-K074"]);
    warns(&pods_and(variables, "nobody == variables.a"), &["KW-K071"]);
    warns(
        &pods_and("auditAnnotations: [{key: a, valueExpression: object.metadata.name}]", "has(object.spec)"),
        &["KW-K072"],
    );
}

#[test]
fn policies_about_deletions_should_know_that_there_is_no_object() {
    let rule = "apiGroups: [''], apiVersions: [v1], resources: [pods]";
    let policy = |operations: &str, expression: &str| {
        vpol(&format!(
            "matchConstraints: {{resourceRules: [{{{rule}, operations: [{operations}]}}]}}\nvalidations: [{{expression: {expression}}}]"
        ))
    };
    warns(&policy("CREATE, DELETE", "object.metadata.name != 'x'"), &["KW-A032"]);
    warns(&policy("'*'", "object.metadata.name != 'x'"), &["KW-A032"]);
    warns(&policy("DELETE", "oldObject.metadata.name != 'x'"), &[]);
    warns(&policy("CREATE, DELETE", "object == null || object.metadata.name != 'x'"), &[]);
    warns(&policy("CREATE, UPDATE", "object.metadata.name != 'x'"), &[]);
}

#[test]
fn selectors_that_the_api_server_refuses_are_errors() {
    let with = |selector: &str| {
        vpol(&format!(
            "{}\nvalidations: [{{expression: has(object.spec)}}]",
            PODS.replace("}]}", &format!("}}], objectSelector: {{{selector}}}}}"))
        ))
    };
    warns(&with("matchLabels: {app: 'a*'}"), &["KW-A009"]);
    warns(&with("matchLabels: {'a b': x}"), &["KW-A009"]);
    warns(&with("matchLabels: {example.com/app: ''}"), &[]);
    warns(&with("matchExpressions: [{key: app, operator: In}]"), &["KW-A009"]);
    warns(&with("matchExpressions: [{key: app, operator: Exists, values: [a]}]"), &["KW-A009"]);
    warns(&with("matchExpressions: [{key: app, operator: Near}]"), &["KW-A004"]);
}

#[test]
fn mistakes_in_native_policies_and_bindings_have_codes() {
    let policy = |lines: &str| vap(&format!("{PODS}\n{lines}"));
    let bound = |lines: &str, actions: &str| format!("{}{}", policy(lines), binding(actions));
    let holds = "validations: [{expression: has(object.spec)}]";
    warns(&bound(holds, "validationActions: [Deny, Audit]"), &[]);
    warns(&policy(holds), &["KW-A023"]);
    warns(&bound(holds, "validationActions: [Deny, Warn]"), &["KW-A010"]);
    warns(&bound(holds, "validationActions: [Deny, Deny]"), &["KW-A010"]);
    warns(&bound(holds, ""), &["KW-A011"]);
    warns(&bound(holds, "validationActions: []"), &["KW-A011"]);
    warns(
        &bound(holds, "validationActions: [Deny]\nmatchResources: {objectSelector: {matchLabels: {a: '*'}}}"),
        &["KW-A009"],
    );
    let params = "validationActions: [Deny]\nparamRef: {name: a, parameterNotFoundAction: Deny}";
    warns(&bound(holds, params), &["KW-A008"]);
    let blank = "validations: [{expression: has(object.spec), message: ' '}, {expression: has(object.spec), reason: Teapot}]";
    warns(&bound(blank, "validationActions: [Deny]"), &["KW-A030", "KW-A030"]);
    let names = "variables: [{name: a-b, expression: '1'}]\nmatchConditions: [{name: not a name, expression: has(object.spec)}]\nvalidations: [{expression: has(object.spec)}]";
    warns(&bound(names, "validationActions: [Deny]"), &["KW-A029", "KW-K074", "KW-A029"]);
}
