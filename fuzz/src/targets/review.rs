//! Admission reviews, from the bytes that the API server sends to those that it gets: an answer is about the request,
//! the same every time, and its patch leaves alone by what the cluster knows the object.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_dialects::DialectOptions;
use kubewright_patch as patch;
use kubewright_serve::Snapshot;
use kubewright_serve::review::{AdmissionReview, decide_offline};
use kubewright_value::{Budget, Source, Value, json, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "review",
    run: fuzz_review,
    seeds: &[
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Pod"},"name":"p","namespace":"shop","operation":"CREATE","userInfo":{"username":"ada","groups":["dev"]},"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop","labels":{"team":"a"}},"spec":{"containers":[{"name":"a","image":"b","securityContext":{"privileged":true}}]}},"oldObject":null,"dryRun":false}}"#,
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Secret"},"name":"s","namespace":"shop","operation":"UPDATE","object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","uid":"x","resourceVersion":"1","managedFields":[{"manager":"m"}]},"data":{"password":"c2VjcmV0"}},"oldObject":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{}}}}"#,
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Pod"},"operation":"DELETE","object":null,"oldObject":{"metadata":{"name":"p","namespace":"shop"}}}}"#,
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"PodExecOptions"},"subResource":"exec","name":"p","namespace":"shop","operation":"CONNECT","object":{"kind":"PodExecOptions","command":["sh"]}}}"#,
    ],
    dictionaries: &[FuzzDictionary::Json],
    words: &[
        "\"uid\"",
        "\"kind\"",
        "\"Pod\"",
        "\"Secret\"",
        "\"metadata\"",
        "\"labels\"",
        "\"name\"",
        "\"namespace\"",
        "\"shop\"",
        "\"object\":",
        "\"oldObject\":",
        "\"operation\":\"UPDATE\"",
        "\"subResource\":\"status\"",
        "\"spec\":{\"containers\":[",
        "\"syntheticRefs\":{}",
        "null",
        "{}",
        "[]",
        "\"rename\":\"now\"",
    ],
};

const RULES: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: label, namespace: shop}
spec:
  type: Patch
  match: [{select: '$.kind', matchValues: [Pod, Secret]}]
  patch:
  - {op: add, path: /metadata/labels/added, value: '{{ .Target.syntheticRefs.namespace | toJson }}'}
  - {op: add, path: '/spec/containers/#0/image', select: '$.spec.containers[*].image', value: 'x'}
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: rename, namespace: shop}
spec:
  type: Patch
  match: [{select: '$.metadata.labels.rename', matchValue: now}]
  patch: [{op: replace, path: /metadata/name, value: '\"other\"'}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need}
spec:
  validationFailureAction: Enforce
  emitWarning: true
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod, Secret]}}]}
    validate: {message: 'no {{ request.object.data.password || request.object.metadata.labels }}', pattern: {metadata: {labels: {team: '?*'}}}}
  - name: baseline
    match: {any: [{resources: {kinds: ['*/*']}}]}
    validate: {podSecurity: {level: baseline, version: latest}}
";

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    let documents = yaml::read(&Source::new("rules.yaml", RULES)).documents;
    Snapshot::of(&DialectOptions::default(), &[], &documents, 1)
});

fn fuzz_review(data: &[u8]) {
    let Ok(review) = AdmissionReview::read(data) else {
        assert!(decide_offline(&SNAPSHOT, "mutate", data).is_err(), "what cannot be read is not answered");
        return;
    };
    for hook in ["mutate", "validate"] {
        let decide = || decide_offline(&SNAPSHOT, hook, data).ok().flatten();
        let Some(answer) = decide() else { continue };
        assert_eq!(Some(&answer), decide().as_ref(), "decided twice");
        check_review_answer(&review, &answer);
    }
}

fn check_review_answer(review: &AdmissionReview, answer: &str) {
    let Ok(answer) = json::parse(answer) else { return assert_eq!(answer, "JSON") };
    let response = answer.get("response").cloned().unwrap_or_default();
    assert_eq!(response.get("uid").and_then(Value::as_str), Some(review.request.uid.as_str()));
    let is_allowed = response.get("allowed").and_then(Value::as_bool);
    assert!(is_allowed.is_some());
    let Some(encoded) = response.get("patch").and_then(Value::as_str) else { return };
    assert_eq!(is_allowed, Some(true), "what is refused is not changed");
    let text =
        STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let operations = json::parse(&text).ok().and_then(|list| patch::JsonPatchOperation::list(&list).ok());
    let Some(operations) = operations else { return assert_eq!(text, "a patch") };
    let before = &review.request.object;
    let mut after = before.clone();
    let applied =
        patch::apply_patch(&mut after, &operations, &patch::PatchOptions::rfc6902(), &mut Budget::default());
    assert!(applied.is_ok(), "{applied:?}: {text} on {before}");
    for path in [&["kind"][..], &["metadata", "name"], &["metadata", "uid"], &["metadata", "managedFields"]] {
        assert_eq!(before.at(path), after.at(path), "{text}");
    }
    assert_eq!(before.get("syntheticRefs"), after.get("syntheticRefs"), "{text}");
}
