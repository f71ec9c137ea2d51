//! Tests of image rules: phases, records and what is never believed.

use kubewright_engine::{Decision, DecisionSettings, Dialect as _, Engine, OpenWorld, Query, RuleAction};
use kubewright_engine::{ImageLookup, ImagePart};
use kubewright_jmespath::Inputs;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_signatures::SignatureArtifact;
use kubewright_signatures::sign::{ImageSigningKey, sign_image};
use kubewright_value::{Map, Source, Value, yaml};

use crate::Kyverno;

const KEY: &str = include_str!("../../../signatures/src/tests/fixtures/signing-key.pem");
const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const OTHER: &str = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn engine(entry: &str) -> Engine {
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  validationFailureAction: Enforce\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    verifyImages: [{entry}]\n"
    );
    let document = yaml::read(&Source::new("p.yaml", text.as_str())).documents.remove(0);
    let compiled = Kyverno::new(&[], Inputs::default()).compile(&document, &[]);
    assert!(!compiled.diagnostics.iter().any(|one| one.is_error()), "{:?}", compiled.diagnostics);
    Engine::new(compiled.rules)
}

fn signed_entry() -> String {
    let key = ImageSigningKey::from_pem(KEY).expect("a key").public_pem().replace('\n', "\\n");
    format!(
        "{{imageReferences: ['r.io/*'], attestors: [{{entries: [{{keys: {{publicKeys: \"{key}\", rekor: {{ignoreTlog: true}}}}}}]}}]}}"
    )
}

/// A registry in which the image with `signed` is signed.
fn registry(signed: &str) -> OpenWorld {
    let mut world = OpenWorld::default();
    let description = Map::from([("digest", Value::from(DIGEST))]);
    world.learn(Query::Image(ImageLookup::of("r.io/app:1")), Some(description.into()));
    let key = ImageSigningKey::from_pem(KEY).expect("a key");
    let layer = sign_image(&key, "r.io/app", signed, &[]);
    let artifact = SignatureArtifact { layers: vec![layer], ..SignatureArtifact::default() };
    let answer = Map::from([("artifacts", Value::array(vec![artifact.to_value()]))]);
    let query = |digest: &str| {
        let reference = format!("r.io/app@{digest}");
        Query::Image(ImageLookup { part: ImagePart::Signatures, ..ImageLookup::of(reference) })
    };
    world.learn(query(DIGEST), Some(answer.into()));
    world
}

fn pod(annotations: &str, image: &str) -> Value {
    let text = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: n, annotations: {annotations}}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
    );
    yaml::parse(&text).expect("YAML")
}

fn decide(engine: &Engine, object: Value, world: &OpenWorld) -> Decision {
    let request = AdmissionRequest::for_object(object, Operation::Create, "n");
    engine.decide(&request, world, &DecisionSettings::default())
}

#[track_caller]
fn outcomes(decision: &Decision, want: &[&str]) {
    let found: Vec<String> =
        decision.outcomes.iter().map(|one| format!("{} {}", one.status, one.message)).collect();
    assert_eq!(found, want);
}

#[test]
fn a_signed_image_is_pinned_recorded_and_passes() {
    let engine = engine(&signed_entry());
    assert_eq!(engine.rules().first().map(|rule| rule.action), Some(RuleAction::Mutate));
    let decision = decide(&engine, pod("{}", "r.io/app:1"), &registry(DIGEST));
    outcomes(&decision, &["pass verified image signatures for r.io/app:1", "pass image verified"]);
    let image =
        decision.object.at(&["spec", "containers"]).and_then(|all| all.item(0)?.get("image")?.as_str());
    assert_eq!(image, Some(format!("r.io/app:1@{DIGEST}").as_str()));
    assert!(decision.is_allowed);
}

#[test]
fn a_signature_of_another_image_is_no_signature() {
    let decision = decide(&engine(&signed_entry()), pod("{}", "r.io/app:1"), &registry(OTHER));
    let reason = format!("no matching signatures: the signature is of {OTHER}");
    let failed = format!("fail failed to verify image r.io/app:1: .attestors[0].entries[0].keys: {reason}");
    outcomes(&decision, &[&failed, "fail missing digest for r.io/app:1"]);
    assert!(!decision.is_allowed);
}

#[test]
fn without_an_answer_the_query_is_open_and_nothing_passes() {
    let decision = decide(&engine(&signed_entry()), pod("{}", "r.io/app:1"), &OpenWorld::default());
    assert_eq!(decision.queries, [Query::Image(ImageLookup::of("r.io/app:1"))]);
    assert!(!decision.is_allowed);
}

#[test]
fn only_the_record_of_the_own_policy_and_rule_counts() {
    let entry = "{imageReferences: ['r.io/*'], mutateDigest: false, verifyDigest: false}";
    let check = |record: &str, want: &str| {
        let annotations = format!("{{kyverno.io/verify-images-scoped: '{record}'}}");
        let decision = decide(&engine(entry), pod(&annotations, "r.io/app:1"), &OpenWorld::default());
        outcomes(&decision, &[want]);
    };
    let unverified = "fail unverified image r.io/app:1";
    check(r#"{"version":1,"policies":{"p":{"r":{"r.io/app:1":"pass"}}}}"#, "pass image verified");
    check(r#"{"version":1,"policies":{"p":{"r":{"r.io/app:1":"fail"}}}}"#, unverified);
    check(r#"{"version":1,"policies":{"q":{"r":{"r.io/app:1":"pass"}}}}"#, unverified);
    check(r#"{"version":2,"policies":{"p":{"r":{"r.io/app:1":"pass"}}}}"#, unverified);
    check("no JSON", unverified);
}

#[test]
fn at_admission_a_written_record_is_taken_away() {
    let entry = "{imageReferences: ['r.io/*'], mutateDigest: false, verifyDigest: false}";
    let record =
        r#"{kyverno.io/verify-images-scoped: '{"version":1,"policies":{"p":{"r":{"r.io/app:1":"pass"}}}}'}"#;
    let mut request = AdmissionRequest::for_object(pod(record, "r.io/app:1"), Operation::Create, "n");
    request.uid = "1".into();
    assert!(request.is_admission());
    let decision = engine(entry).decide(&request, &OpenWorld::default(), &DecisionSettings::default());
    outcomes(&decision, &["fail unverified image r.io/app:1"]);
    for world in [OpenWorld::default(), registry(OTHER)] {
        let decision = engine(&signed_entry()).decide(&request, &world, &DecisionSettings::default());
        assert!(
            decision.outcomes.iter().all(|one| one.message != "image verified"),
            "{:?}",
            decision.outcomes
        );
    }
}

#[test]
fn a_tag_beside_a_digest_is_not_compared() {
    let entry = "{imageReferences: ['r.io/app:1'], mutateDigest: false, required: false}";
    let image = format!("r.io/app:1@{DIGEST}");
    let decision = decide(&engine(entry), pod("{}", &image), &OpenWorld::default());
    outcomes(&decision, &[]);
}
