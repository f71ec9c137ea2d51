//! Annotations crafted by an attacker. None of them may pass, and none may cost much.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Returns an object with this message, and a signature by the right key where `is_signed`.
fn with_message(message: &[u8], is_signed: bool) -> Value {
    let key = ManifestSigningKey::from_pem(&private('a')).unwrap();
    let mut object = yaml::parse(CONFIG).unwrap();
    annotate(&mut object, "cosign.sigstore.dev/message", STANDARD.encode(message).into());
    let signature = if is_signed { key.sign(message) } else { "MEUCIQ==".to_owned() };
    annotate(&mut object, "cosign.sigstore.dev/signature", signature.into());
    object
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[track_caller]
fn errs(object: Value, words: &str) {
    let (status, message) = judged(ONE, object);
    assert!(status == RuleStatus::Error && message.contains(words), "{status} {message}");
}

#[test]
fn bombs_end_at_a_limit() {
    errs(with_message(&gzip(&vec![b' '; 5 << 20]), false), "more than 4194304 bytes");
    errs(with_message(&gzip(&gzip(&vec![0; 5 << 20])), false), "more than 4194304 bytes");
    errs(with_message(&vec![b'x'; 1 << 20], false), "more than 1048576 bytes");
}

#[test]
fn what_is_deep_or_multiplies_ends_at_a_limit() {
    errs(with_message("[".repeat(100_000).as_bytes(), true), "failed to read YAMLs");
    let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
                  g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n";
    errs(with_message(laughs.as_bytes(), true), "failed to read YAMLs");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let mut object = signed(CONFIG, "a");
    annotate(&mut object, "cosign.sigstore.dev/message", "%%%".into());
    errs(object, "illegal base64");
    let mut cut = gzip(CONFIG.as_bytes());
    cut.truncate(20);
    errs(with_message(&cut, true), "failed to read YAMLs");
    errs(with_message(&gzip(&gzip(b"no archive")), true), "archive is not complete");
    errs(with_message(b"", true), "no object");
    errs(with_message(b"just text", true), "no object");
    errs(with_message(&[0xff, 0xfe, 0xfd], true), "not UTF-8");
    let mut object = signed(CONFIG, "a");
    annotate(&mut object, "cosign.sigstore.dev/signature", "not base64!".into());
    errs(object, "base64 decoding signature");
    let mut object = signed(CONFIG, "a");
    annotate(&mut object, "cosign.sigstore.dev/signature", "AAAA".repeat(1 << 20).into());
    errs(object, "base64 decoding signature");
    errs(with_message(CONFIG.as_bytes(), false), "invalid signature");
}

#[test]
fn many_signatures_cost_only_so_much() {
    let mut object = signed(CONFIG, "b");
    let wrong = object.at(&["metadata", "annotations", "cosign.sigstore.dev/signature"]).cloned().unwrap();
    for i in 1..3000 {
        annotate(&mut object, &format!("cosign.sigstore.dev/signature_{i}"), wrong.clone());
    }
    errs(object.clone(), "verification failed for 64 signature");
    let keys: String = ('c'..='z').collect();
    let many = format!("{{attestors: [{{count: 1, entries: [{{keys: {{publicKeys: <{keys}>}}}}]}}]}}");
    let (status, message) = judged(&many, object);
    assert!(status == RuleStatus::Error && message.contains("budget"), "{message}");
}

#[test]
fn a_message_of_many_objects_costs_only_so_much() {
    let one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}\n---\n";
    let object = with_message(&gzip(one.repeat(10_000).as_bytes()), false);
    let (status, _) = judged(ONE, object);
    assert_eq!(status, RuleStatus::Error);
}

#[test]
fn a_key_that_looks_like_an_ignored_path_is_not_ignored() {
    let config =
        |data: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{{data}}}}}");
    let with =
        |data: &str, want: &[&str]| differs(&config("a: '1'"), &config(&format!("a: '1', {data}")), want);
    with("metadata.uid: x", &["data.metadata.uid"]);
    with("metadata.uid.conf: x", &["data.metadata.uid.conf"]);
    with("spec.dnsPolicy: x", &["data.spec.dnsPolicy"]);
    with("x.metadata.managedFields.: x", &["data.x.metadata.managedFields."]);
    with("status: x", &["data.status"]);
    let ignoring = "{attestors: [{entries: [{keys: {publicKeys: <a>}}]}], ignoreFields: [{fields: [data.a, 'data.b*', x.*.y, data]}]}";
    let after = |data: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c, labels: {{{data}}}}}}}")
    };
    differs_with(ignoring, &after(""), &after("data: x"), &["metadata.labels.data"]);
    let ignoring = ignoring.replace(", data]", "]");
    let with = |data: &str, want: &[&str]| {
        differs_with(&ignoring, &config("c: '1'"), &config(&format!("c: '1', {data}")), want);
    };
    with("a: x, bcd: x", &[]);
    with("ab: x, a.b: x, x.c.y: z", &["data.a.b", "data.ab", "data.x.c.y"]);
}

#[test]
fn unsigned_service_account_is_a_difference() {
    let pod = |spec: &str| format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec}}}}}");
    let check = |before: &str, after: &str, want: &[&str]| differs(&pod(before), &pod(after), want);
    check("hostname: h", "hostname: h, serviceAccountName: default, serviceAccount: default", &[]);
    check("serviceAccountName: a", "serviceAccountName: a, serviceAccount: a", &[]);
    check("hostname: h", "hostname: h, serviceAccountName: admin", &["spec.serviceAccountName"]);
    check("hostname: h", "hostname: h, serviceAccount: admin", &["spec.serviceAccount"]);
    check("serviceAccountName: a", "serviceAccountName: b, serviceAccount: b", &["spec.serviceAccountName"]);
    check(
        "serviceAccount: a",
        "serviceAccount: a, serviceAccountName: default",
        &["spec.serviceAccountName"],
    );
    check("priority: 1", "priority: 2, priorityClassName: system-node-critical", &["spec.priorityClassName"]);
}

#[test]
fn an_image_of_another_registry_is_a_difference() {
    let pod = |image: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
        )
    };
    differs(&pod("shop/web"), &pod("docker.io/shop/web"), &[]);
    for image in ["localhost/web", "registry.example/web", "registry:5000/web"] {
        differs(&pod(image), &pod(&format!("docker.io/{image}")), &["spec.containers.0.image"]);
    }
}
