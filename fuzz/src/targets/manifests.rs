//! Signed manifests: no annotation does harm or passes unsigned, and every object passes as it was signed.

use std::sync::{LazyLock, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_kyverno::signing::{self, Earlier, ManifestSigningKey};
use kubewright_value::{Map, Source, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::{FuzzTarget, load_rules};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "manifests",
    run: fuzz_manifests,
    seeds: &[
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {a: b}}\nspec: {ports: [{port: 80}], selector: {app: x}, list: ['', {}, [], null, 1.5, 1e3]}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: '1', b: \"x\\ny\"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n",
        "kind: Pod\napiVersion: v1\nmetadata: {annotations: {cosign.sigstore.dev/message: YTogYg==, cosign.sigstore.dev/signature: MEUCIQ==, cosign.sigstore.dev/signature_1: ''}}\n",
        "\u{1f}\u{8b}\u{8}",
    ],
    dictionaries: &[FuzzDictionary::Yaml],
    words: &[
        "cosign.sigstore.dev/message",
        "cosign.sigstore.dev/signature_1",
        "metadata:",
        "annotations:",
        "kind:",
        "apiVersion:",
        "---\n",
        "null",
        "{}",
        "[]",
        "''",
        "podSelector: {}",
        "status:",
    ],
};

/// A key that is not secret: 32 times the letter `a`.
const KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nMDECAQEEIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhoAoGCCqGSM49AwEH\n-----END EC PRIVATE KEY-----";
const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {background: false, rules: [{name: r, \
    match: {any: [{resources: {kinds: ['*']}}]}, validate: {manifests: {attestors: [{entries: [{keys: {publicKeys: \
    \"-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEmi+feZen+rJFPAAri9wI/kyLYiHOaJ93HA7pBn4OA5Mm9aoYvj5zZbjVzAAxTGjYmJLqXsqB5W/v4MWaovEybg==\\n-----END PUBLIC KEY-----\"}}]}]}}}]}}";

static SIGNING_KEY: LazyLock<Option<ManifestSigningKey>> =
    LazyLock::new(|| ManifestSigningKey::from_pem(KEY).ok());

fn fuzz_manifests(data: &[u8]) {
    for message in [STANDARD.encode(data), String::from_utf8_lossy(data).into_owned()] {
        let annotations = Map::from([
            ("cosign.sigstore.dev/message", Value::from(message)),
            ("cosign.sigstore.dev/signature", Value::from("MEUCIQ==")),
        ]);
        let metadata = Map::from([("name", Value::from("s")), ("annotations", annotations.into())]);
        let object = Map::from([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("Service")),
            ("metadata", metadata.into()),
        ]);
        let status = judged(object.into());
        assert!(status != Some(RuleStatus::Pass), "it is not signed");
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(key) = SIGNING_KEY.as_ref() else { return };
    for document in yaml::read(&Source::new("object.yaml", text)).documents {
        let mut object = document.value;
        if object.depth() > 100 || signing::sign_manifest(&mut object, key, "", Earlier::Replace).is_err() {
            continue;
        }
        let status = judged(object.clone());
        assert!(matches!(status, None | Some(RuleStatus::Pass)), "it is as it was signed: {object}");
    }
}

/// Returns the rule's outcome; `None` if it does not match the object.
fn judged(object: Value) -> Option<RuleStatus> {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        let documents = yaml::read(&Source::new("policy.yaml", POLICY)).documents;
        Engine::new(load_rules(&documents))
    });
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    decision.outcomes.first().map(|outcome| outcome.status)
}
