//! Cleanup policies and rules that verify images: what replaces them, and what cannot be replaced.

use kubewright_engine::{ClosedWorld, DecisionSettings, Engine, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Value, json};

use super::{Dice, document_of, rules};
use crate::{Conversion, ConversionTarget, SuccessorKind, convert_policy};

const CONDITIONS: [&str; 6] = [
    r#""match": {"any": [{"resources": {"kinds": ["Pod"]}}]}"#,
    r#""match": {"any": [{"resources": {"kinds": ["Pod", "ConfigMap"], "names": ["old-*"]}}]}"#,
    r#""match": {"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["shop", "test-*"]}}]}, "exclude": {"any": [{"resources": {"names": ["keep"]}}]}"#,
    r#""match": {"any": [{"resources": {"kinds": ["Pod"], "selector": {"matchLabels": {"tmp": "yes"}}}}]}"#,
    r#""match": {"any": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"kinds": ["ConfigMap"], "names": ["old-*"]}}]}"#,
    r#""match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "conditions": {"all": [{"key": "{{ target.metadata.labels.tmp || 'no' }}", "operator": "Equals", "value": "yes"}]}"#,
];

#[test]
fn a_deleting_policy_deletes_what_its_source_deletes() {
    let (mut deleted, mut kept) = (0, 0);
    for (number, spec) in CONDITIONS.iter().enumerate() {
        for kind in ["ClusterCleanupPolicy", "CleanupPolicy"] {
            if kind == "CleanupPolicy" && spec.contains("namespaces") {
                continue; // It names none but its own.
            }
            let source = cleanup(kind, spec);
            let conversion = converted(&source);
            assert!(conversion.refused.is_empty(), "{spec}: {:?}", conversion.refused);
            let written = conversion.written.iter().flat_map(|written| &written.documents);
            let written: Vec<_> = written.map(|document| document_of(&json::to_string(document))).collect();
            let (before, after) = (Engine::new(rules(&[document_of(&source)])), Engine::new(rules(&written)));
            let mut dice = Dice(number as u64 + 7);
            for _ in 0..60 {
                let request =
                    AdmissionRequest::for_object(stored_object(&mut dice), Operation::Create, "shop");
                let [one, other] = [&before, &after].map(|engine| is_deleted(engine, &request));
                assert_eq!(one, other, "{spec}\n{}", json::to_pretty(&request.object));
                deleted += usize::from(one == Some(true));
                kept += usize::from(one != Some(true));
            }
        }
    }
    assert!(deleted > 50 && kept > 50, "{deleted} {kept}");
}

/// Returns whether the object is deleted; nothing where that ends in an error.
fn is_deleted(engine: &Engine, request: &AdmissionRequest) -> Option<bool> {
    let decision = engine.decide(request, &ClosedWorld::default(), &DecisionSettings::default());
    let has_failed = decision.outcomes.iter().any(|outcome| outcome.status == RuleStatus::Error);
    (!has_failed).then(|| decision.outcomes.iter().any(|outcome| !outcome.writes.is_empty()))
}

fn stored_object(dice: &mut Dice) -> Value {
    let kind = dice.one(&["Pod", "ConfigMap", "Service"]);
    let name = dice.one(&["old-1", "new", "keep"]);
    let namespace = dice.one(&["shop", "test-1", "default"]);
    let labels = dice.one(&["", r#", "labels": {"tmp": "yes"}"#, r#", "labels": {"tmp": "no"}"#]);
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "{kind}", "metadata": {{"name": "{name}", "namespace": "{namespace}"{labels}}}}}"#
    );
    json::parse(&text).expect("JSON")
}

fn cleanup(kind: &str, spec: &str) -> String {
    format!(
        r#"{{"apiVersion": "kyverno.io/v2", "kind": "{kind}", "metadata": {{"name": "p", "namespace": "shop"}}, "spec": {{"schedule": "0 1 * * *", {spec}}}}}"#
    )
}

fn converted(text: &str) -> Conversion {
    convert_policy(&document_of(text), ConversionTarget::Successor(None), &[], Default::default())
        .expect("a policy")
}

#[track_caller]
fn refuses(text: &str, want: &str) {
    let conversion = converted(text);
    let whys: Vec<&str> = conversion.refused.iter().map(|refused| refused.why.as_str()).collect();
    assert_eq!(whys, [want], "{text}");
    assert!(conversion.written.is_empty());
}

#[test]
fn what_a_cleanup_policy_looks_up_has_no_equivalent() {
    let matching = r#""match": {"any": [{"resources": {"kinds": ["Pod"]}}]}"#;
    let call = r#""context": [{"name": "a", "apiCall": {"urlPath": "/api/v1/nodes"}}], "conditions": {"all": [{"key": "{{ a.x }}", "operator": "Equals", "value": "1"}]}"#;
    let text = cleanup("ClusterCleanupPolicy", &format!("{matching}, {call}"));
    refuses(&text, "the rule calls the API server or a service");
    refuses(
        &cleanup(
            "ClusterCleanupPolicy",
            &format!(
                r#"{matching}, "conditions": {{"all": [{{"key": "{{{{ time_since('', '{{{{ target.metadata.creationTimestamp }}}}', '') }}}}", "operator": "GreaterThan", "value": "24h"}}]}}"#
            ),
        ),
        "`{{ time_since('', '{{ request.object.metadata.creationTimestamp }}', '') }}` is more than a path in the request",
    );
}

#[test]
fn a_cleanup_policy_has_one_kind_of_successor() {
    let text = cleanup("CleanupPolicy", r#""match": {"any": [{"resources": {"kinds": ["Pod"]}}]}"#);
    let convert = |target| convert_policy(&document_of(&text), target, &[], Default::default());
    let made = convert(ConversionTarget::Successor(Some(SuccessorKind::DeletingPolicy))).expect("a policy");
    let kinds: Vec<&str> =
        made.written.iter().flat_map(|one| &one.documents).map(|one| one.str_at(&["kind"])).collect();
    assert_eq!(kinds, ["NamespacedDeletingPolicy"]);
    assert!(convert(ConversionTarget::Successor(Some(SuccessorKind::ValidatingPolicy))).is_none());
    assert!(convert(ConversionTarget::ValidatingAdmissionPolicy { has_autogen: true }).is_none());
}

/// A rule with one entry of `verifyImages`.
fn images(entry: &str) -> String {
    format!(
        r#"{{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {{"name": "p"}}, "spec": {{"rules": [{{
            "name": "r", "match": {{"any": [{{"resources": {{"kinds": ["Pod"]}}}}]}}, "verifyImages": [{{"mutateDigest": false, {entry}}}]}}]}}}}"#
    )
}

const KEY: &str = "-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEX9foOuowdHUXtKCvyLoB6rzOSzY3\\nRdsFKgs/HcnwZcY6QUYIPgcvv9PVdtrOsvsj3Ucres/z0qMBHnEp6h6SpA==\\n-----END PUBLIC KEY-----";

#[test]
fn signers_become_attestors_that_are_counted() {
    let entry = format!(
        r#""imageReferences": ["ghcr.io/*"], "required": false, "failureAction": "Enforce", "attestors": [
            {{"count": 1, "entries": [{{"keys": {{"publicKeys": "{KEY}\n{KEY}", "rekor": {{"ignoreTlog": true}}}}}}]}},
            {{"entries": [{{"keyless": {{"issuer": "https://a", "subject": "b", "roots": "R"}}}}]}}]"#
    );
    let conversion = converted(&images(&entry));
    assert!(conversion.refused.is_empty(), "{:?}", conversion.refused);
    let documents: Vec<&Value> = conversion.written.iter().flat_map(|one| &one.documents).collect();
    assert_eq!(documents.len(), 3, "for Pods, for controllers and for CronJobs");
    for document in documents {
        assert_eq!(document.str_at(&["kind"]), "ImageValidatingPolicy");
        let attestors = document.at(&["spec", "attestors"]).and_then(Value::as_array).expect("attestors");
        assert_eq!(attestors.len(), 3, "two keys and an identity");
        let validations =
            document.at(&["spec", "validations"]).and_then(Value::as_array).expect("validations");
        let expression = validations.first().map(|one| one.str_at(&["expression"])).unwrap_or_default();
        assert!(
            expression.ends_with(
                "verifyImageSignatures(image, [attestors.signer1, attestors.signer2]) >= 1 && \
                 verifyImageSignatures(image, [attestors.signer3]) >= 1)"
            ),
            "{expression}"
        );
    }
}

#[test]
fn what_an_image_policy_cannot_say_is_named() {
    let keys = format!(r#""attestors": [{{"entries": [{{"keys": {{"publicKeys": "{KEY}"}}}}]}}]"#);
    for (entry, want) in [
        (format!(r#""imageReferences": ["nginx*"], {keys}"#), "a glob that depends on how an image is written"),
        (r#""imageReferences": ["*"]"#.to_owned(), "a rule without attestors needs no registry, which an ImageValidatingPolicy always asks"),
        (format!(r#""imageReferences": ["*"], "skipImageReferences": ["a.io/*"], {keys}"#), "`skipImageReferences` of an image has no equivalent"),
        (format!(r#""imageReferences": ["*"], "type": "SigstoreBundle", {keys}"#), "signatures of another type than Cosign"),
        (r#""imageReferences": ["*"], "attestors": [{"entries": [{"keyless": {"issuer": "https://*", "subject": "b", "roots": "R"}}]}]"#.to_owned(), "an identity with wildcards"),
        (r#""imageReferences": ["*"], "attestors": [{"entries": [{"keys": {"secret": {"name": "a", "namespace": "b"}}}]}]"#.to_owned(), "`secret` of an image has no equivalent"),
    ] {
        refuses(&images(&entry), want);
    }
}
