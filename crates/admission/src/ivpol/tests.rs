//! The mutating phase of ImageValidatingPolicies: which tags become digests.

use kubewright_cel::Inputs;
use kubewright_engine::{
    AdmissionPhase, Decision, DecisionSettings, Dialect, Engine, ImageLookup, OpenWorld, Query, RuleStatus,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Value, yaml};

use crate::PolicyDialect;

const POLICY: &str = "
apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]
  matchImageReferences: [{glob: 'r.example/*'}]
  validationConfigurations: {required: false}
  validations: [{expression: 'true'}]
";
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {initContainers: [{name: i, image: 'r.example/a:1'}], \
                   containers: [{name: c, image: 'r.example/a:1'}, {name: d, image: 'elsewhere.example/a:1'}]}}";
const CRON_JOB: &str = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {containers: \
                        [{name: c, image: 'r.example/a:1'}]}}}}}}";

fn value(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

/// Decides with a registry that knows the tag and the digest, fails, or was not asked yet.
fn decide(policy: &str, object: &str, registry: &str, is_admission: bool) -> Decision {
    let document = Document::written(value(policy), "policy.yaml");
    let rules =
        PolicyDialect::of(&crate::ivpol::LANGUAGE, &[], Inputs::default()).compile(&document, &[]).rules;
    let mut world = OpenWorld::default();
    for reference in ["r.example/a:1".to_owned(), format!("r.example/a@{DIGEST}")] {
        let query = Query::Image(ImageLookup::of(reference));
        match registry {
            "answers" => world.learn(query, Some(value(&format!("{{digest: '{DIGEST}'}}")))),
            "lacks it" => world.learn(query, None),
            "fails" => world.fail(query, "no route"),
            _ => {}
        }
    }
    let mut request = AdmissionRequest::for_object(value(object), Operation::Create, "default");
    if is_admission {
        request.uid = "u".into();
    }
    Engine::new(rules).decide(&request, &world, &DecisionSettings::default())
}

fn images(object: &Value) -> String {
    let spec = object.at(&["spec", "jobTemplate", "spec", "template", "spec"]).or(object.get("spec"));
    let list = |key: &str| spec.and_then(|spec| spec.get(key)?.as_array()).unwrap_or_default().to_vec();
    let all = ["initContainers", "containers"].map(list).concat();
    all.iter().map(|one| one.str_at(&["image"]).replace(DIGEST, "DIGEST")).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn pins(policy: &str, object: &str, want: &str) {
    let decision = decide(policy, object, "answers", true);
    assert_eq!(images(&decision.object), want, "{:?}", decision.outcomes);
}

#[test]
fn tags_become_digests_before_anything_is_verified() {
    pins(POLICY, POD, "r.example/a:1@DIGEST r.example/a:1@DIGEST elsewhere.example/a:1");
    pins(POLICY, CRON_JOB, "r.example/a:1@DIGEST");
    let decision = decide(POLICY, POD, "answers", true);
    assert!(decision.is_allowed, "{:?}", decision.outcomes);
    let messages: Vec<&str> = decision.outcomes.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, ["mutated image digest", "success"]);
}

#[test]
fn tags_stay_where_the_policy_says_so() {
    let unchanged = "r.example/a:1 r.example/a:1 elsewhere.example/a:1";
    pins(&POLICY.replace("{required: false}", "{required: false, mutateDigest: false}"), POD, unchanged);
    pins(
        &POLICY.replace("spec:\n", "spec:\n  matchConditions: [{name: never, expression: 'false'}]\n"),
        POD,
        unchanged,
    );
}

#[test]
fn an_admission_without_an_answer_of_the_registry_is_refused() {
    for (registry, want) in
        [("lacks it", "failed to fetch image r.example/a:1: not found"), ("fails", "no route")]
    {
        let decision = decide(POLICY, POD, registry, true);
        assert!(!decision.is_allowed);
        let first = decision.outcomes.first().expect("an outcome");
        assert!(first.status == RuleStatus::Error && first.message.contains(want), "{first:?}");
    }
    let decision = decide(POLICY, POD, "was not asked", true);
    assert_eq!(decision.queries, [Query::Image(ImageLookup::of("r.example/a:1"))]);
}

#[test]
fn a_manifest_without_an_answer_is_judged_as_it_is_written() {
    let decision = decide(POLICY, POD, "was not asked", false);
    let messages: Vec<&str> = decision.outcomes.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, ["image r.example/a:1 does not have a digest"]);
    assert_eq!(decision.queries, []);
}

#[test]
fn what_is_deleted_is_not_looked_up() {
    let policy = POLICY.replace("[CREATE, UPDATE]", "['*']").replace(
        "spec:\n",
        "spec:\n  matchConditions: [{name: named, expression: 'object.metadata.name == \"a\"'}]\n",
    );
    let document = Document::written(value(&policy), "policy.yaml");
    let compiled = PolicyDialect::of(&crate::ivpol::LANGUAGE, &[], Inputs::default()).compile(&document, &[]);
    let rules = compiled.rules.into_iter().filter(|rule| rule.phase == AdmissionPhase::Mutating).collect();
    let mut request = AdmissionRequest::for_object(value(POD), Operation::Delete, "default");
    request.uid = "u".into();
    request.old_object = std::mem::take(&mut request.object);
    let decision = Engine::new(rules).decide(&request, &OpenWorld::default(), &DecisionSettings::default());
    assert!(decision.is_allowed && decision.queries.is_empty(), "{decision:?}");
}

#[test]
fn each_phase_has_its_webhook() {
    let dialect = PolicyDialect::of(&crate::ivpol::LANGUAGE, &[], Inputs::default());
    let names = |text: &str| -> Vec<(AdmissionPhase, String)> {
        let compiled = dialect.compile(&Document::written(value(text), "policy.yaml"), &[]);
        let name = |plan: &kubewright_engine::WebhookPlan| plan.shared_name.clone().unwrap_or_default();
        compiled.webhooks.iter().map(|plan| (plan.phase, name(plan).to_string())).collect()
    };
    let validating = (AdmissionPhase::Validating, "ivpol.validate.kyverno.svc".to_owned());
    let mutating = (AdmissionPhase::Mutating, "ivpol.mutate.kyverno.svc".to_owned());
    assert_eq!(names(POLICY), [mutating, validating.clone()]);
    assert_eq!(names(&POLICY.replace("required", "mutateDigest")), [validating]);
    let off = POLICY.replace("spec:\n", "spec:\n  evaluation: {admission: {enabled: false}}\n");
    assert_eq!(names(&off), []);
}
