//! Diagnostics of signature rules.

use super::*;

/// Compares the diagnostic codes of a rule with these `manifests`.
#[track_caller]
fn says(manifests: &str, want: &[&str]) {
    let loaded = loaded(manifests);
    let found: Vec<&str> = loaded.diagnostics.iter().map(|found| found.code.id).collect();
    assert_eq!(found, want, "{:?}", loaded.diagnostics);
}

fn entry(entry: &str) -> String {
    format!("{{attestors: [{{entries: [{entry}]}}]}}")
}

#[test]
fn a_good_rule_has_nothing_said_about_it() {
    says(ONE, &[]);
    says(&entry("{keys: {publicKeys: <abc>, signatureAlgorithm: sha256}}"), &[]);
    says(&entry("{attestor: {count: 1, entries: [{keys: {publicKeys: <a>}}]}}"), &[]);
    says(&entry("{keys: {publicKeys: 'k8s://ns/name'}, annotations: {a: b}}"), &[]);
}

#[test]
fn rule_without_signer_is_an_error() {
    says("{}", &["KW-K080"]);
    says("{attestors: []}", &["KW-K080"]);
    says("{attestors: [{entries: []}]}", &["KW-K080"]);
    says(&entry("{}"), &["KW-K080"]);
    says(&entry("{keys: {}}"), &["KW-K080"]);
    says(&entry("{keys: {publicKeys: <a>, kms: 'awskms:///x'}}"), &["KW-K080"]);
    says(&entry("{keys: {publicKeys: <a>}, keyless: {issuer: i}}"), &["KW-K080"]);
}

#[test]
fn a_key_must_be_one() {
    for text in [
        "''",
        "not a key",
        "'{{ keys }}'",
        "k8s://onlyname",
        "\"-----BEGIN PUBLIC KEY-----\\nAAAA\\n\"",
        "\"-----BEGIN PUBLIC KEY-----\\nAAAA\\n-----END PUBLIC KEY-----\"",
        "\"-----BEGIN PUBLIC KEY-----\\n!!!!\\n-----END PUBLIC KEY-----\"",
        "\"-----BEGIN PGP PUBLIC KEY BLOCK-----\\nAAAA\\n-----END PGP PUBLIC KEY BLOCK-----\"",
    ] {
        says(&entry(&format!("{{keys: {{publicKeys: {text}}}}}")), &["KW-K081"]);
    }
}

#[test]
fn another_sort_of_key_is_named() {
    let rsa = "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAA";
    let text = format!("\"-----BEGIN PUBLIC KEY-----\\n{rsa}==\\n-----END PUBLIC KEY-----\"");
    let loaded = loaded(&entry(&format!("{{keys: {{publicKeys: {text}}}}}")));
    let message = &loaded.diagnostics.first().unwrap().message;
    assert!(message.starts_with("this is an RSA key"), "{message}");
}

#[test]
fn a_count_must_be_possible() {
    for count in ["0", "-1", "3", "99999999999"] {
        says(
            &format!("{{attestors: [{{count: {count}, entries: [{{keys: {{publicKeys: <ab>}}}}]}}]}}"),
            &["KW-K082"],
        );
    }
    says("{attestors: [{count: two, entries: [{keys: {publicKeys: <a>}}]}]}", &["KW-K002"]);
    says("{attestors: [{count: 2, entries: [{keys: {publicKeys: <ab>}}]}]}", &[]);
}

#[test]
fn what_is_out_of_reach_is_said_to_be() {
    says(&entry("{keyless: {issuer: i, subject: s}}"), &["KW-K083"]);
    says(&entry("{certificates: {cert: c}}"), &["KW-K083"]);
    says(&entry("{keys: {kms: 'awskms:///x'}}"), &["KW-K083"]);
    says(&entry("{keys: {publicKeys: 'gcpkms://x'}}"), &["KW-K083"]);
    says(&entry("{keys: {publicKeys: <a>}, repository: ghcr.io/x}"), &["KW-K083"]);
    says(&ONE.replace("{attestors", "{repository: ghcr.io/x, attestors"), &["KW-K083"]);
}

#[test]
fn ignored_fields_must_fit_something_and_not_everything() {
    let ignoring = |text: &str| ONE.replace("{attestors", &format!("{{ignoreFields: [{text}], attestors"));
    says(&ignoring("{fields: ['']}"), &["KW-K084"]);
    says(&ignoring("{fields: ['spec.containers[0].image']}"), &["KW-K084"]);
    says(&ignoring("{objects: [{kind: Pod}]}"), &["KW-K084"]);
    says(&ignoring("{objects: [{kind: Pod, label: x}], fields: [spec]}"), &["KW-K001"]);
}

#[test]
fn settings_without_effect_are_said_to_have_none() {
    says(
        &entry("{keys: {publicKeys: <a>, rekor: {url: u}, ctlog: {ignoreSCT: true}}}"),
        &["KW-K056", "KW-K056"],
    );
    says(&entry("{keys: {publicKeys: <a>, signatureAlgorithm: sha512}}"), &["KW-K056"]);
    says(&entry("{keys: {publicKeys: <a>, signatureAlgorithm: md5}}"), &["KW-K004"]);
    says(&entry("{keys: {publicKey: <a>}}"), &["KW-K080", "KW-K001"]);
}
