//! Keys and certificates. That others can read them was tried with OpenSSL, and is kept by the digests below.

use kubewright_value::{Budget, Limits};
use sha2::{Digest as _, Sha256};

use crate::{FunctionSet, GoTemplate, GoTemplateError, Inputs, KeySource, TemplateContext};

/// 2020-01-01.
const VALID_FROM: i128 = 1_577_836_800_000_000_000;

fn render_with(seed: u8, text: &str, limits: Limits) -> Result<String, GoTemplateError> {
    let functions = FunctionSet::refusable().into_iter().fold(FunctionSet::rules(), FunctionSet::allow);
    let keys = Some(KeySource { seed: [seed; 32], valid_from: VALID_FROM });
    let inputs = Inputs { now: None, random_seed: None, keys };
    GoTemplate::parse("t", text, &functions)?.render(
        &TemplateContext::new(),
        &inputs,
        &mut Budget::new(limits),
    )
}

#[track_caller]
fn rendered(text: &str) -> String {
    render_with(0, text, Limits::default()).unwrap()
}

/// Compares a rendering with the start of its SHA-256.
#[track_caller]
fn check(text: &str, digest: &str) {
    let found = rendered(text);
    let shown: String = Sha256::digest(&found).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(shown, digest, "{found}");
}

#[track_caller]
fn check_error(text: &str, want: &str) {
    let error = render_with(0, text, Limits::default()).unwrap_err();
    assert!(error.message.contains(want), "{error}");
}

#[test]
fn keys_and_certificates_follow_from_their_source() {
    check(r#"{{ genPrivateKey "ecdsa" }}"#, "be28cf777586b169");
    check(r#"{{ genPrivateKey "ed25519" }}"#, "cc7e17964b333ac8");
    check(r#"{{ with genCA "ca" 365 }}{{ .Cert }}{{ .Key }}{{ end }}"#, "8883b4369ca066df");
    let signed = r#"{{ $ca := genCAWithKey "ca" 365 (genPrivateKey "ed25519") }}
        {{- (genSignedCertWithKey "a b*" (list "10.0.0.1" "::1") (list "a.b") 12000 $ca (genPrivateKey "ecdsa")).Cert }}"#;
    check(signed, "2d3202c57f86f119");
    let one = r#"{{ genPrivateKey "ecdsa" }}"#;
    assert_ne!(render_with(1, one, Limits::default()).unwrap(), rendered(one), "another source, another key");
    assert_eq!(rendered(r#"{{ eq (genPrivateKey "ecdsa") (genPrivateKey "ecdsa") }}"#), "false");
}

#[test]
fn a_key_that_was_written_is_read_again() {
    for kind in ["ecdsa", "ed25519"] {
        let text = format!(
            r#"{{{{ $key := genPrivateKey "{kind}" }}}}{{{{ $ca := genCAWithKey "ca" 1 $key }}}}
            {{{{- $again := buildCustomCert (b64enc $ca.Cert) (b64enc $ca.Key) }}}}{{{{ and (eq $key $ca.Key) (eq $ca.Cert $again.Cert) }}}}"#
        );
        assert_eq!(rendered(&text), "true", "{kind}");
    }
    let rsa =
        r#"{{ $ca := genCA "ca" 1 }}{{ eq (genSelfSignedCertWithKey "a" nil nil 1 $ca.Key).Key $ca.Key }}"#;
    assert_eq!(rendered(rsa), "true");
}

#[test]
fn what_cannot_be_made_is_an_error() {
    check_error(
        r#"{{ genPrivateKey "dsa" }}"#,
        "DSA keys are not supported, use `rsa`, `ecdsa` or `ed25519`",
    );
    assert_eq!(rendered(r#"{{ genPrivateKey "rot13" }}"#), "Unknown type rot13");
    check_error(r#"{{ genCAWithKey "a" 1 "x" }}"#, "parsing private key: no PEM data in input");
    let certificate = "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----";
    check_error(
        &format!(r#"{{{{ genCAWithKey "a" 1 "{certificate}" }}}}"#),
        "no private key data in PEM block",
    );
    let key = "-----BEGIN RSA PRIVATE KEY-----\\nMAMCAQA=\\n-----END RSA PRIVATE KEY-----";
    check_error(&format!(r#"{{{{ genCAWithKey "a" 1 "{key}" }}}}"#), "parsing RSA private key from PEM");
    check_error(
        r#"{{ genSelfSignedCertWithKey "a" (list "b") nil 1 (genPrivateKey "ecdsa") }}"#,
        "error parsing ip: b",
    );
    check_error(
        r#"{{ genSelfSignedCertWithKey "a" nil (list 1) 1 (genPrivateKey "ecdsa") }}"#,
        "1 is not a string",
    );
    check_error(
        r#"{{ genSelfSignedCertWithKey "a" nil nil 9999999 (genPrivateKey "ecdsa") }}"#,
        "9999999 days",
    );
    check_error(
        r#"{{ genSignedCert "a" nil nil 1 (dict "Cert" "x" "Key" "y") }}"#,
        "unable to decode certificate",
    );
    check_error(r#"{{ buildCustomCert "%" "" }}"#, "unable to decode base64 certificate");
}

#[test]
fn keys_are_charged_what_they_cost() {
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    let error = render_with(0, r#"{{ genCA "ca" 1 }}"#, limits).unwrap_err();
    assert_eq!(error.kind, crate::GoTemplateErrorKind::Limit, "{error}");
    assert!(render_with(0, r#"{{ genCAWithKey "ca" 1 (genPrivateKey "ecdsa") }}"#, limits).is_ok());
}
