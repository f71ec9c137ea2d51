//! Policies in CEL: any stream of policies, bindings, exceptions and objects is loaded, and what compiles judges objects
//! the same way every time.

use kubewright_dialects::{
    DialectOptions, all_dialects, check_all_exceptions, is_exception_document, load_documents,
};
use kubewright_engine::{ClosedWorld, Decision, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Limits, Source, json, yaml};

use crate::dictionary::FuzzDictionary;

use super::{FuzzTarget, judged_rows, load_rules};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "admission",
    run: fuzz_admission,
    seeds: &[
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n  failurePolicy: Ignore\n  matchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]\n    namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}\n  matchConditions: [{name: c, expression: \"has(object.spec)\"}]\n  variables: [{name: v, expression: object.spec.containers}, {name: w, expression: \"size(variables.v)\"}]\n  validations:\n  - {expression: \"variables.v.all(c, c.image != 'x' || c.image in exceptions.allowedImages)\", messageExpression: \"'no ' + object.metadata.name\"}\n  auditAnnotations: [{key: a, valueExpression: \"'x'\"}]\n",
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n  autogen: {podControllers: {controllers: [cronjobs, jobsets.v1alpha2.jobset.x-k8s.io]}}\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*']}]}\n  validations: [{expression: \"object.metadata.name == 'x'\", message: m}]\n---\napiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: e, namespace: n, labels: {polex.kyverno.io/priority: '5'}}\nspec:\n  policyRefs: [{name: p, kind: ValidatingPolicy}]\n  matchConditions: [{name: c, expression: \"object.kind == 'Pod'\"}]\n  images: [nginx]\n  reportResult: pass\n  expiresAt: '2030-01-01T00:00:00Z'\n",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  matchConstraints:\n    matchPolicy: Equivalent\n    resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: [CREATE], resourceNames: [p], scope: Namespaced}]\n    excludeResourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments/status], operations: [DELETE]}]\n    objectSelector: {matchLabels: {a: '1'}}\n  validations: [{expression: \"params.data.a == object.metadata.name\", message: m, reason: Forbidden}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec:\n  policyName: p\n  validationActions: [Deny, Audit]\n  paramRef: {selector: {matchLabels: {a: '1'}}, namespace: n, parameterNotFoundAction: Allow}\n  matchResources: {namespaceSelector: {}}\n",
        "apiVersion: policies.kyverno.io/v1beta1\nkind: NamespacedValidatingPolicy\nmetadata: {name: p, namespace: shop}\nspec:\n  evaluation: {mode: JSON, background: {enabled: false}}\n  validationActions: [Warn]\n  validations: [{expression: \"object.stages.size() > 0 && request == null\"}]\n",
    ],
    dictionaries: &[FuzzDictionary::Yaml, FuzzDictionary::Cel],
    words: &[
        "resourceRules:",
        "excludeResourceRules:",
        "matchConstraints:",
        "matchConditions:",
        "variables:",
        "validations:",
        "expression: ",
        "messageExpression: ",
        "auditAnnotations:",
        "paramKind:",
        "paramRef:",
        "policyRefs:",
        "autogen:",
        "mode: JSON",
        "mode: HTTP",
        "mode: Envoy",
        "failurePolicy: Fail",
        "scope: Cluster",
        "operations: ['*']",
        "resources: ['*/*']",
        "object",
        "oldObject",
        "request.",
        "variables.",
        "params.",
        "exceptions.",
        "namespaceObject",
        "authorizer",
        ".orValue(",
        ".all(c, ",
        "jobsets.v1alpha2.jobset.x-k8s.io",
        "kind: PolicyException",
        "kind: ValidatingAdmissionPolicyBinding",
        "\n---\n",
        "\n  ",
        "\n  - ",
        ": ",
        "'",
        "\"",
        "{",
        "}",
        "[",
        "]",
    ],
};

const OBJECTS: [&str; 3] = [
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop","labels":{"a":"1"}},"spec":{"containers":[{"name":"a","image":"nginx"}]}}"#,
    r#"{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"p","namespace":"shop"},"spec":{"jobs":[{"template":{"metadata":{},"spec":{"containers":[{"name":"a","image":"x"}]}}},{"spec":{"containers":[[]]}}]}}"#,
    r#"{"stages":[{"from":"x"}],"spec":null,"metadata":[]}"#,
];

fn fuzz_admission(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let documents = yaml::read(&Source::new("policy.yaml", text)).documents;
    let (exceptions, documents): (Vec<Document>, Vec<Document>) =
        documents.into_iter().partition(is_exception_document);
    let rules = if exceptions.is_empty() {
        load_rules(&documents)
    } else {
        let options = DialectOptions { exceptions: exceptions.clone(), ..DialectOptions::default() };
        load_documents(&all_dialects(&options), &documents).rules
    };
    check_all_exceptions(&exceptions, rules.iter().map(|rule| &*rule.id));
    if rules.is_empty() {
        return;
    }
    let engine = Engine::new(rules);
    for object in OBJECTS {
        let object = json::parse(object).unwrap_or_default();
        for operation in [Operation::Create, Operation::Update, Operation::Delete] {
            let mut request = AdmissionRequest::for_object(object.clone(), operation, "default");
            if operation != Operation::Create {
                request.old_object = object.clone();
            }
            let (first, again) =
                (decide_request(&engine, &request, false), decide_request(&engine, &request, true));
            assert_eq!(judged_rows(&first), judged_rows(&again), "a trace changes nothing");
        }
    }
}

fn decide_request(engine: &Engine, request: &AdmissionRequest, is_traced: bool) -> Decision {
    let limits = Limits { steps: 200_000, bytes: 4 << 20, ..Limits::default() };
    engine.decide(
        request,
        &ClosedWorld::default(),
        &DecisionSettings { limits, is_traced, ..DecisionSettings::default() },
    )
}
