//! Tests of signature rules on objects that were signed, changed, or crafted by an attacker.

mod hostile;
mod reading;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_engine::{
    ApiCall, ClosedWorld, CompiledPolicy, DecisionSettings, Dialect as _, Engine, OpenWorld, Query,
    QueryAnswer, RuleOutcome, RuleStatus, World,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Map, Source, Value, json, yaml};
use p256::ecdsa::SigningKey;

use crate::Kyverno;
use crate::signing::{self, Earlier, ManifestSigningKey};

/// Returns the private key for `letter`, in PEM.
pub(crate) fn private(letter: char) -> String {
    let mut der = vec![0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
    der.extend([letter as u8; 32]);
    der.extend([0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]);
    pem("EC PRIVATE KEY", &der)
}

/// Returns the public key for `letter`, in PEM.
fn public(letter: char) -> String {
    let key = SigningKey::from_slice(&[letter as u8; 32]).unwrap();
    let mut der = vec![0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    der.extend([0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00]);
    der.extend(key.verifying_key().to_sec1_point(false).as_bytes());
    pem("PUBLIC KEY", &der)
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

/// Returns an object with signatures by the keys of `letters`.
fn signed(object: &str, letters: &str) -> Value {
    signed_in(object, letters, signing::DEFAULT_DOMAIN)
}

fn signed_in(object: &str, letters: &str, domain: &str) -> Value {
    let mut object = yaml::parse(object).unwrap();
    for letter in letters.chars() {
        let key = ManifestSigningKey::from_pem(&private(letter)).unwrap();
        signing::sign_manifest(&mut object, &key, domain, Earlier::Keep).unwrap();
    }
    object
}

/// Returns a policy with these `manifests`, in which `<abc>` is replaced by the keys of these letters.
fn policy(manifests: &str) -> Document {
    let mut text = String::new();
    for part in manifests.split_inclusive(['<', '>']) {
        match part.strip_suffix('>') {
            Some(letters) => {
                text.pop();
                text.push_str(&json::quote(&letters.chars().map(public).collect::<String>()));
            }
            None => text.push_str(part),
        }
    }
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, rules: \
         [{{name: r, match: {{any: [{{resources: {{kinds: ['*']}}}}]}}, \
         validate: {{failureAction: Enforce, manifests: {text}}}}}]}}}}"
    );
    let mut reading = yaml::read(&Source::new("policy.yaml", policy));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.remove(0)
}

fn loaded(manifests: &str) -> CompiledPolicy {
    Kyverno::new(&[], Default::default()).compile(&policy(manifests), &[])
}

fn outcomes(manifests: &str, request: &AdmissionRequest, world: &dyn World) -> Vec<RuleOutcome> {
    Engine::new(loaded(manifests).rules).decide(request, world, &DecisionSettings::default()).outcomes
}

/// Returns the outcome of `manifests` for `object`.
fn judged_in(world: &dyn World, manifests: &str, object: Value) -> (RuleStatus, String) {
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let outcomes = outcomes(manifests, &request, world);
    let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    (outcome.status, outcome.message.to_string())
}

fn judged(manifests: &str, object: Value) -> (RuleStatus, String) {
    judged_in(&ClosedWorld::default(), manifests, object)
}

#[track_caller]
fn check(manifests: &str, object: Value, status: RuleStatus, message: &str) {
    assert_eq!(judged(manifests, object), (status, message.to_owned()));
}

/// Signs `before`, and compares the keys that differ from it in `after` with `want`.
#[track_caller]
fn differs(before: &str, after: &str, want: &[&str]) {
    differs_with(ONE, before, after, want);
}

#[track_caller]
fn differs_with(manifests: &str, before: &str, after: &str, want: &[&str]) {
    let signed = signed(before, "a");
    let mut changed = yaml::parse(after).unwrap();
    let annotations = signed.at(&["metadata", "annotations"]).and_then(Value::as_object).unwrap();
    for (name, value) in annotations.iter().filter(|(name, _)| name.starts_with("cosign")) {
        annotate(&mut changed, name, value.clone());
    }
    let (status, message) = judged(manifests, changed);
    let found: Vec<&str> =
        message.split("\"key\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(found, want, "{message}");
    assert_eq!(status, if want.is_empty() { RuleStatus::Pass } else { RuleStatus::Fail }, "{message}");
}

fn annotate(object: &mut Value, name: &str, value: Value) {
    let metadata =
        object.as_object_mut().unwrap().get_mut("metadata").and_then(Value::as_object_mut).unwrap();
    if metadata.get("annotations").is_none() {
        metadata.insert("annotations".into(), Map::new().into());
    }
    metadata.get_mut("annotations").and_then(Value::as_object_mut).unwrap().insert(name.into(), value);
}

const ONE: &str = "{attestors: [{entries: [{keys: {publicKeys: <a>}}]}]}";
const CONFIG: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: shop}}, data: {a: '1', b: '2'}}";
const PASSED: &str = "verified manifest signatures; manifest verification succeeded; verifiedCount 1; requiredCount 1; \
                      message singed by a valid signer: ";

#[test]
fn an_object_as_it_was_signed_passes() {
    check(ONE, signed(CONFIG, "a"), RuleStatus::Pass, PASSED);
}

#[test]
fn a_change_is_a_failure_that_names_the_field() {
    let mut object = signed(CONFIG, "a");
    object
        .as_object_mut()
        .unwrap()
        .insert("data".into(), Map::from([("a", Value::from("x")), ("b", "2".into())]).into());
    check(
        ONE,
        object,
        RuleStatus::Fail,
        "manifest verification failed; verifiedCount 0; requiredCount 1; message .attestors[0].entries[0].keys: failed to \
         verify signature. diff found; {\"items\":[{\"key\":\"data.a\",\"values\":{\"after\":\"x\",\"before\":\"1\"}}]}",
    );
}

#[test]
fn an_object_without_a_signature_is_a_failure() {
    let none = "manifest verification failed; verifiedCount 0; requiredCount 1; message .attestors[0].entries[0].keys: ";
    let object = || yaml::parse(CONFIG).unwrap();
    let want = format!("{none}YAML manifest not found for this resource: message not found");
    check(ONE, object(), RuleStatus::Fail, &want);
    let mut message = signed(CONFIG, "a");
    annotate(&mut message, "cosign.sigstore.dev/signature", Value::Null);
    check(ONE, message, RuleStatus::Fail, &format!("{none}failed to verify signature: signature not found"));
    let mut other = signed(CONFIG, "a");
    other.as_object_mut().unwrap().insert("kind".into(), "Secret".into());
    let want =
        "YAML manifest not found for this resource: failed to find a YAML manifest in the gzipped message";
    check(ONE, other, RuleStatus::Fail, &format!("{none}{want}"));
}

#[test]
fn a_signature_by_another_key_is_an_error() {
    check(
        ONE,
        signed(CONFIG, "b"),
        RuleStatus::Error,
        "error occurred during manifest verification: .attestors[0].entries[0].keys: failed to verify signature: \
         verification failed for 1 signature. all trials: [\"[publickey 1/1] [signature 1/1] error: \
         cosign.VerifyBlobCmd.Exec() returned an error: invalid signature when validating ASN.1 encoded signature\"]",
    );
}

#[test]
fn enough_signers_of_a_set_are_enough() {
    let two = "{attestors: [{count: 2, entries: [{keys: {publicKeys: <a>}}, {keys: {publicKeys: <b>}}, {keys: {publicKeys: <c>}}]}]}";
    for (letters, status) in [
        ("ab", RuleStatus::Pass),
        ("ca", RuleStatus::Pass),
        ("bc", RuleStatus::Pass),
        ("a", RuleStatus::Error),
        ("bd", RuleStatus::Error),
    ] {
        assert_eq!(judged(two, signed(CONFIG, letters)).0, status, "{letters}");
    }
    // Several keys in one text are several signers, and all of them are wanted without a count.
    assert_eq!(
        judged("{attestors: [{entries: [{keys: {publicKeys: <abc>}}]}]}", signed(CONFIG, "ab")).0,
        RuleStatus::Error
    );
    assert_eq!(
        judged("{attestors: [{entries: [{keys: {publicKeys: <abc>}}]}]}", signed(CONFIG, "cba")).0,
        RuleStatus::Pass
    );
    // One signature is not two.
    let twice = "{attestors: [{count: 2, entries: [{keys: {publicKeys: <a>}}, {keys: {publicKeys: <b>}}]}]}";
    let mut object = signed(CONFIG, "a");
    let first = object.at(&["metadata", "annotations", "cosign.sigstore.dev/signature"]).cloned().unwrap();
    annotate(&mut object, "cosign.sigstore.dev/signature_1", first);
    assert_eq!(judged(twice, object).0, RuleStatus::Error);
}

#[test]
fn every_set_must_be_satisfied() {
    let both =
        "{attestors: [{entries: [{keys: {publicKeys: <a>}}]}, {entries: [{keys: {publicKeys: <b>}}]}]}";
    for (letters, status) in [("ab", RuleStatus::Pass), ("a", RuleStatus::Error), ("b", RuleStatus::Error)] {
        assert_eq!(judged(both, signed(CONFIG, letters)).0, status, "{letters}");
    }
}

#[test]
fn a_set_in_a_set_counts_as_one_signer() {
    let nested = "{attestors: [{entries: [{keys: {publicKeys: <a>}}, \
                  {attestor: {count: 1, entries: [{keys: {publicKeys: <b>}}, {keys: {publicKeys: <c>}}]}}]}]}";
    for (letters, status) in [
        ("ab", RuleStatus::Pass),
        ("ac", RuleStatus::Pass),
        ("a", RuleStatus::Error),
        ("bc", RuleStatus::Error),
    ] {
        assert_eq!(judged(nested, signed(CONFIG, letters)).0, status, "{letters}");
    }
    let (_, message) = judged(nested, yaml::parse(CONFIG).unwrap());
    assert!(
        message.contains(".attestors[0].entries[1].attestor.entries[0].keys: YAML manifest not found"),
        "{message}"
    );
}

#[test]
fn annotations_of_an_entry_must_be_there_too() {
    let wanted = "{attestors: [{entries: [{annotations: {team: shop}, keys: {publicKeys: <a>}}]}]}";
    let named = CONFIG.replace("name: c,", "name: c, annotations: {team: shop},");
    assert_eq!(judged(wanted, signed(&named, "a")).0, RuleStatus::Pass);
    let want = "error occurred during manifest verification: annotations mismatch:  does not match expected value shop for key team";
    check(wanted, signed(CONFIG, "a"), RuleStatus::Error, want);
}

#[test]
fn annotations_can_start_otherwise() {
    let here = "{annotationDomain: sign.example.com, attestors: [{entries: [{keys: {publicKeys: <a>}}]}]}";
    assert_eq!(judged(here, signed_in(CONFIG, "a", "sign.example.com")).0, RuleStatus::Pass);
    assert_eq!(judged(here, signed(CONFIG, "a")).0, RuleStatus::Fail);
}

#[test]
fn extra_missing_and_moved_fields_are_changes() {
    let list =
        |items: &str| format!("{{apiVersion: v1, kind: W, metadata: {{name: w}}, spec: {{l: {items}}}}}");
    differs(CONFIG, &CONFIG.replace("b: '2'", "b: '2', c: '3'"), &["data.c"]);
    differs(CONFIG, &CONFIG.replace(", b: '2'", ""), &["data.b"]);
    differs(CONFIG, &CONFIG.replace("'1'", "1"), &["data.a"]);
    differs(
        &list("[{a: 1}, {b: 2}]"),
        &list("[{b: 2}, {a: 1}]"),
        &["spec.l.0.a", "spec.l.0.b", "spec.l.1.a", "spec.l.1.b"],
    );
    differs(&list("[1]"), &list("{'0': 1}"), &["spec.l.0", "spec.l.0"]);
    differs(&list("[1.0, 9007199254740993]"), &list("[1, 9007199254740992]"), &["spec.l.1"]);
}

#[test]
fn what_kubernetes_adds_and_drops_when_it_is_empty_is_no_change() {
    let spec =
        |text: &str| format!("{{apiVersion: v1, kind: W, metadata: {{name: w}}, spec: {{a: 1, {text}}}}}");
    differs(&spec("b: null"), &spec("resources: {}"), &[]);
    differs(&spec("nodeSelector: {}, text: ''"), &spec("b: []"), &[]);
    // A field signed as missing is missing.
    differs(&spec("b: null"), &spec("text: ''"), &["spec.text"]);
    differs(&spec("b: {c: [], d: {e: {}}}"), &spec("x: 1"), &["spec.x"]);
    // A false and a zero are something.
    differs(&spec("b: false"), &spec("c: 0"), &["spec.b", "spec.c"]);
}

#[test]
fn items_of_lists_and_selectors_are_something_even_when_they_are_empty() {
    let policy = |text: &str| {
        format!(
            "{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: n}}, spec: {{{text}}}}}"
        )
    };
    differs(&policy("ingress: []"), &policy("ingress: [{}]"), &["spec.ingress.0"]);
    differs(&policy("verbs: [get]"), &policy("verbs: [get, '']"), &["spec.verbs.1"]);
    differs(
        &policy("ingress: [{from: [{podSelector: {}}]}]"),
        &policy("ingress: [{from: [{namespaceSelector: {}}]}]"),
        &["spec.ingress.0.from.0.namespaceSelector", "spec.ingress.0.from.0.podSelector"],
    );
    let from = |text: &str| {
        policy(&format!("ingress: [{{from: [{{podSelector: {{matchLabels: {{a: b}}}}{text}}}]}}]"))
    };
    differs(&from(""), &from(", namespaceSelector: {}"), &["spec.ingress.0.from.0.namespaceSelector"]);
}

#[test]
fn empty_entry_of_a_free_key_map_is_a_difference() {
    let policy = |labels: &str| {
        format!(
            "{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: n}}, \
             spec: {{podSelector: {{matchLabels: {labels}}}}}}}"
        )
    };
    let place = "spec.podSelector.matchLabels.nobody";
    differs(&policy("{app: web}"), &policy("{app: web, nobody: ''}"), &[place]);
    differs(&policy("{app: web}"), &policy("{app: web, nobody: null}"), &[place]);
    differs(&policy("{app: web, nobody: ''}"), &policy("{app: web}"), &[place]);
    let service = |selector: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: s}}, spec: {{selector: {selector}, ports: [{{port: 1}}]}}}}"
        )
    };
    differs(&service("{app: web}"), &service("{app: web, nobody: ''}"), &["spec.selector.nobody"]);
    differs(&service("{app: web, a: ''}"), &service("{app: web}"), &["spec.selector.a"]);
    differs(&service("{}"), &service("null"), &[]);
    let pod = |nodes: &str, labels: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, labels: {labels}}}, \
             spec: {{nodeSelector: {nodes}, containers: [{{name: c, image: i}}]}}}}"
        )
    };
    let plain = pod("{a: b}", "{a: b}");
    differs(&plain, &pod("{a: b, c: ''}", "{a: b}"), &["spec.nodeSelector.c"]);
    differs(&plain, &pod("{a: b}", "{a: b, c: ''}"), &["metadata.labels.c"]);
    let config =
        |data: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {data}}}");
    differs(&config("{a: b}"), &config("{a: b, c: ''}"), &["data.c"]);
    differs(&config("{a: b, c: ''}"), &config("{a: b}"), &["data.c"]);
}

#[test]
fn an_empty_selector_of_a_budget_is_something() {
    let budget = |text: &str| {
        format!(
            "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b}}, spec: {{minAvailable: 1{text}}}}}"
        )
    };
    differs(&budget(""), &budget(", selector: {}"), &["spec.selector"]);
    differs(
        &budget(", selector: {matchLabels: {a: b}}"),
        &budget(", selector: {matchLabels: {a: b}, matchExpressions: []}"),
        &[],
    );
}

#[test]
fn of_kinds_that_the_api_server_does_not_know_everything_counts() {
    let widget = |text: &str| {
        format!("{{apiVersion: example.com/v1, kind: W, metadata: {{name: w}}, spec: {{a: 1{text}}}}}")
    };
    for (text, place) in [(", b: ''", "spec.b"), (", b: []", "spec.b"), (", b: {c: {}}", "spec.b.c")] {
        differs(&widget(""), &widget(text), &[place]);
        differs(&widget(text), &widget(""), &[place]);
    }
    differs(&widget(""), &widget(", b: null"), &[]);
}

#[test]
fn selectors_of_webhooks_are_written_out_by_the_api_server() {
    let webhook = |text: &str| {
        format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {{name: n}}, \
             webhooks: [{{name: w{text}}}]}}"
        )
    };
    differs(&webhook(""), &webhook(", namespaceSelector: {}, objectSelector: {}"), &[]);
}

#[test]
fn images_may_be_written_out() {
    let pod = |image: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
        )
    };
    differs(&pod("nginx:1"), &pod("docker.io/nginx:1"), &[]);
    differs(&pod("nginx"), &pod("nginx:latest"), &[]);
    differs(&pod("nginx"), &pod("docker.io/evil/nginx"), &["spec.containers.0.image"]);
    differs(&pod("docker.io/nginx:1"), &pod("nginx:1"), &["spec.containers.0.image"]);
}

#[test]
fn what_the_cluster_writes_is_ignored_and_nothing_like_it() {
    let more = "{name: c, namespace: prod, uid: u, generation: 5, finalizers: [x], labels: {app: shop}}";
    let stored =
        CONFIG.replace("{name: c, labels: {app: shop}}", more).replace(", data:", ", status: {x: 1}, data:");
    differs(CONFIG, &stored, &[]);
    let status = |text: &str| CONFIG.replace("b: '2'", &format!("status: {text}"));
    differs(&status("up"), &status("down"), &["data.status"]);
    let deployment = |spec: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {{template: {{spec: {spec}}}}}}}"
        )
    };
    differs(
        &deployment("{containers: [{name: c}]}"),
        &deployment(
            "{containers: [{name: c, imagePullPolicy: Always}], dnsPolicy: ClusterFirst, hostPID: true}",
        ),
        &["spec.template.spec.hostPID"],
    );
}

#[test]
fn a_rule_ignores_fields_of_the_objects_it_names() {
    let ignoring = |text: &str| ONE.replace("{attestors", &format!("{{ignoreFields: [{text}], attestors"));
    let changed = CONFIG.replace("'1'", "x").replace("'2'", "y");
    let both = ["data.a", "data.b"];
    let cases: [(&str, &[&str]); 7] = [
        ("{objects: [{kind: ConfigMap}], fields: [data.a]}", &["data.b"]),
        ("{objects: [{kind: Secret}], fields: [data.a]}", &both),
        ("{objects: [{kind: ConfigMap, name: other}], fields: [data]}", &both),
        ("{objects: [{kind: Secret}, {name: 'c*', version: v1, group: '-'}], fields: ['data.*']}", &[]),
        ("{objects: [{kind: 'Secret, ConfigMap'}], fields: [data]}", &[]),
        ("{fields: [data.b]}", &["data.a"]),
        ("{objects: [{namespace: prod}], fields: [data]}", &both),
    ];
    for (ignored, want) in cases {
        differs_with(&ignoring(ignored), CONFIG, &changed, want);
    }
}

#[test]
fn a_text_with_several_objects_has_the_right_one_found() {
    let message = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '9'}}\n---\n\
                   {apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: shop}}, data: {a: '1', b: '2'}}\n";
    let key = ManifestSigningKey::from_pem(&private('a')).unwrap();
    let object = |name: &str| {
        let mut object = yaml::parse(&CONFIG.replace("name: c", &format!("name: {name}"))).unwrap();
        annotate(&mut object, "cosign.sigstore.dev/message", STANDARD.encode(message).into());
        annotate(&mut object, "cosign.sigstore.dev/signature", key.sign(message.as_bytes()).into());
        object
    };
    assert_eq!(judged(ONE, object("c")), (RuleStatus::Pass, PASSED.to_owned()));
    // The nearest one is reported.
    let (_, said) = judged(ONE, object("other"));
    assert!(
        said.ends_with(r#"{"items":[{"key":"metadata.name","values":{"after":"other","before":"c"}}]}"#),
        "{said}"
    );
}

#[test]
fn deletions_and_dry_runs_are_not_checked() {
    let mut request =
        AdmissionRequest::for_object(yaml::parse(CONFIG).unwrap(), Operation::Delete, "default");
    request.old_object = request.object.clone();
    let world = ClosedWorld::default();
    assert!(outcomes(ONE, &request, &world).is_empty());
    let mut request =
        AdmissionRequest::for_object(yaml::parse(CONFIG).unwrap(), Operation::Create, "default");
    request.is_dry_run = true;
    let [outcome] = &outcomes(ONE, &request, &world)[..] else { panic!("one outcome") };
    assert_eq!(
        (outcome.status, outcome.message.as_str()),
        (RuleStatus::Pass, "allowed because of DryRun request")
    );
}

#[test]
fn an_update_of_what_was_never_signed_is_not_forgiven() {
    let mut request =
        AdmissionRequest::for_object(yaml::parse(CONFIG).unwrap(), Operation::Update, "default");
    request.old_object = request.object.clone();
    let [outcome] = &outcomes(ONE, &request, &ClosedWorld::default())[..] else { panic!("one outcome") };
    assert_eq!((outcome.status, outcome.is_refusal), (RuleStatus::Fail, true));
}

#[test]
fn a_key_may_be_in_a_secret() {
    let secret = format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: k, namespace: keys}}, data: {{cosign.pub: {}}}}}",
        STANDARD.encode(public('a'))
    );
    let world = ClosedWorld::new([yaml::parse(&secret).unwrap()]);
    for keys in ["{publicKeys: 'k8s://keys/k'}", "{secret: {name: k, namespace: keys}}"] {
        let manifests = format!("{{attestors: [{{entries: [{{keys: {keys}}}]}}]}}");
        assert_eq!(judged_in(&world, &manifests, signed(CONFIG, "a")).0, RuleStatus::Pass, "{keys}");
        assert_eq!(judged_in(&world, &manifests, signed(CONFIG, "b")).0, RuleStatus::Error, "{keys}");
        assert_eq!(judged(&manifests, signed(CONFIG, "a")).0, RuleStatus::Error, "without the Secret");
        let (status, message) = judged_in(&OpenWorld::default(), &manifests, signed(CONFIG, "a"));
        assert!(
            status == RuleStatus::Error && message.ends_with("Secret `keys/k` is not known here"),
            "{message}"
        );
    }
}

/// A world that stores its input, with a default filled in.
struct Defaulting;

impl World for Defaulting {
    fn get(&self, query: &Query) -> QueryAnswer {
        match query {
            Query::Api(ApiCall { method, url, data, .. }) if method == "POST" => {
                assert_eq!(url, "/api/v1/namespaces/tries/configmaps?dryRun=All");
                assert!(!data.contains("namespace"), "{data}");
                QueryAnswer::Found(
                    json::parse(&data.replace("\"a\":\"1\"", "\"a\":\"1\",\"default\":\"d\"")).unwrap(),
                )
            }
            _ => QueryAnswer::Absent,
        }
    }
}

#[test]
fn the_api_server_can_be_asked_for_its_defaults() {
    let dry = ONE.replace("{attestors", "{dryRun: {enable: true, namespace: tries}, attestors");
    let stored = |data: &str| {
        let mut object = signed(&CONFIG.replace("name: c,", "name: c, namespace: prod,"), "a");
        object.as_object_mut().unwrap().insert("data".into(), yaml::parse(data).unwrap());
        object
    };
    assert_eq!(judged_in(&Defaulting, &dry, stored("{a: '1', b: '2', default: d}")).0, RuleStatus::Pass);
    assert_eq!(judged_in(&Defaulting, &dry, stored("{a: '1', b: '2', default: x}")).0, RuleStatus::Fail);
    assert_eq!(judged(ONE, stored("{a: '1', b: '2', default: d}")).0, RuleStatus::Fail);
    // Without an answer the object is not refused.
    assert_eq!(
        judged_in(&OpenWorld::default(), &dry, stored("{a: '1', b: '2', default: d}")).0,
        RuleStatus::Error
    );
}

#[test]
fn what_is_out_of_reach_never_counts_and_spoils_nothing() {
    let keyless = "{keyless: {issuer: i, subject: s, rekor: {url: 'https://rekor.sigstore.dev'}}}";
    let alone = format!("{{attestors: [{{entries: [{keyless}]}}]}}");
    let want = "error occurred during manifest verification: .attestors[0].entries[0].keyless: `keyless` is out of reach offline";
    check(&alone, signed(CONFIG, "a"), RuleStatus::Error, want);
    check(&alone, yaml::parse(CONFIG).unwrap(), RuleStatus::Error, want);
    let either =
        format!("{{attestors: [{{count: 1, entries: [{keyless}, {{keys: {{publicKeys: <a>}}}}]}}]}}");
    assert_eq!(judged(&either, signed(CONFIG, "a")).0, RuleStatus::Pass);
    let bundle = ONE.replace("{attestors", "{repository: ghcr.io/shop/manifests, attestors");
    assert_eq!(judged(&bundle, signed(CONFIG, "a")).0, RuleStatus::Error);
    let mut referring = signed(CONFIG, "a");
    annotate(&mut referring, "cosign.sigstore.dev/resourceBundleRef", "ghcr.io/x".into());
    assert_eq!(judged(ONE, referring).0, RuleStatus::Error);
}

#[test]
fn a_trace_says_which_key_and_which_field() {
    let mut object = signed(CONFIG, "a");
    object.as_object_mut().unwrap().remove("data");
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
    let engine = Engine::new(loaded(ONE).rules);
    let decision = engine.decide(&request, &ClosedWorld::default(), &settings);
    let trace = format!("{:?}", decision.outcomes.first().unwrap().trace);
    let ending = public('a').lines().nth(1).map(|line| line[line.len() - 12..].to_owned()).unwrap();
    for wanted in ["the object is as it was signed", "data.a", &format!("signed with key …{ending}")] {
        assert!(trace.contains(wanted), "{wanted}: {trace}");
    }
}
