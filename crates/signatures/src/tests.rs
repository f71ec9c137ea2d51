//! Tests of formats and of trust. The fixtures were made with OpenSSL; their certificates are valid for a hundred years.

use kubewright_value::{Budget, Limits, Map, Text, Value};

use crate::identity::WantedIdentity;
use crate::key::{HashFunction, PublicVerifier};
use crate::material::{SignatureArtifact, SignatureLayer, read_material};
use crate::notation::{JWS_TYPE, NOTATION_ARTIFACT_TYPE, notation_signatures};
use crate::payload::{SIGNATURE_ANNOTATION, SIMPLE_SIGNING_TYPE, image_signatures};
use crate::sign::{ImageSigningKey, attest_image, sign_image};
use crate::{ImageSigner, LogTrust, SignedItem, SignerCertificate, decode_base64, envelope};

const PAYLOAD: &[u8] = include_bytes!("tests/fixtures/payload.json");
const ROOT: &str = include_str!("tests/fixtures/root.pem");
const LEAF: &str = include_str!("tests/fixtures/leaf.pem");
const LEAF_SIGNATURE: &str = include_str!("tests/fixtures/leaf.sig");
const LOG: &str = include_str!("tests/fixtures/log.json");
const LOG_KEY: &str = include_str!("tests/fixtures/p384.pub");
const NOTATION: &[u8] = include_bytes!("tests/fixtures/notation.json");
const SIGNING_KEY: &str = include_str!("tests/fixtures/signing-key.pem");
const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// 2030-01-01
const NOW: Option<i64> = Some(1_893_456_000);

fn key(pem: &str) -> PublicVerifier {
    PublicVerifier::all_of_pem(pem).expect("a key").remove(0)
}

fn certificates(pem: &str) -> Vec<SignerCertificate> {
    SignerCertificate::all_of_pem(pem).expect("certificates")
}

fn no_logs() -> LogTrust {
    LogTrust { ignores_log: true, ignores_certificate_log: true, ..LogTrust::default() }
}

fn leaf_item(log: &str) -> SignedItem {
    let annotations = Map::from([
        (SIGNATURE_ANNOTATION, Value::from(LEAF_SIGNATURE)),
        ("dev.sigstore.cosign/certificate", LEAF.into()),
        ("dev.sigstore.cosign/bundle", log.into()),
    ]);
    let layer = SignatureLayer {
        media_type: SIMPLE_SIGNING_TYPE.into(),
        annotations: annotations.into(),
        content: PAYLOAD.to_vec(),
    };
    let artifact = SignatureArtifact { layers: vec![layer], ..SignatureArtifact::default() };
    let (mut found, problems) = image_signatures(&[artifact]);
    assert!(problems.is_empty(), "{problems:?}");
    let signature = found.pop().expect("a signature");
    assert_eq!(signature.digest, DIGEST);
    signature.item
}

fn keyless(subject: &str, roots: &str) -> ImageSigner {
    let identity = WantedIdentity {
        issuer: "https://token.actions.example.com".into(),
        subject: subject.into(),
        is_glob: true,
        ..WantedIdentity::default()
    };
    let roots = if roots.is_empty() { Vec::new() } else { certificates(roots) };
    ImageSigner::Keyless { identities: vec![identity], roots, extensions: Vec::new() }
}

/// Verifies `item`; an empty text is success.
#[track_caller]
fn check(signer: &ImageSigner, item: &SignedItem, trust: &LogTrust, now: Option<i64>, want: &str) {
    let proof = signer.verify(item, trust, now, &mut Budget::new(Limits::default())).expect("a budget");
    let found = proof.err().unwrap_or_default();
    assert!(if want.is_empty() { found.is_empty() } else { found.contains(want) }, "found: {found}");
}

#[test]
fn every_kind_of_key_verifies_its_signature_and_no_other() {
    for (pem, signature) in [
        (include_str!("tests/fixtures/p384.pub"), include_str!("tests/fixtures/p384.sig")),
        (include_str!("tests/fixtures/rsa.pub"), include_str!("tests/fixtures/rsa.sig")),
        (include_str!("tests/fixtures/ed25519.pub"), include_str!("tests/fixtures/ed25519.sig")),
    ] {
        let (key, mut signature) = (key(pem), decode_base64(signature).expect("Base64"));
        assert!(key.has_signed(PAYLOAD, &signature, HashFunction::Sha256), "{key}");
        assert!(!key.has_signed(b"other", &signature, HashFunction::Sha256), "{key}");
        if let Some(byte) = signature.last_mut() {
            *byte ^= 1;
        }
        assert!(!key.has_signed(PAYLOAD, &signature, HashFunction::Sha256), "{key}");
    }
    let signature = decode_base64(include_str!("tests/fixtures/rsa-pss.sig")).expect("Base64");
    let rsa = key(include_str!("tests/fixtures/rsa.pub"));
    assert!(rsa.has_signed_pss(PAYLOAD, &signature, HashFunction::Sha512));
    assert!(!rsa.has_signed_pss(PAYLOAD, &signature, HashFunction::Sha256));
    assert!(!rsa.has_signed(PAYLOAD, &signature, HashFunction::Sha512));
}

#[test]
fn an_identity_needs_the_certificate_of_a_trusted_authority() {
    let item = leaf_item("");
    let subject = "https://github.com/org/app/*";
    check(&keyless(subject, ROOT), &item, &no_logs(), NOW, "");
    check(&keyless("https://github.com/other/*", ROOT), &item, &no_logs(), NOW, "subject mismatch");
    check(&keyless(subject, ""), &item, &no_logs(), NOW, "no certificate authority");
    check(&keyless(subject, ROOT), &item, &no_logs(), None, "time of signing is not known");
    check(&keyless(subject, ROOT), &item, &no_logs(), Some(0), "not valid at the time");
    check(&keyless(subject, ROOT), &item, &LogTrust::default(), NOW, "no key of one is given");
    let without_sct =
        LogTrust { ignores_log: true, certificate_log_keys: vec![key(LOG_KEY)], ..LogTrust::default() };
    check(&keyless(subject, ROOT), &item, &without_sct, NOW, "required embedded SCT");
}

#[test]
fn a_log_must_promise_the_very_signature() {
    let trust =
        LogTrust { log_keys: vec![key(LOG_KEY)], ignores_certificate_log: true, ..LogTrust::default() };
    let subject = "https://github.com/org/app/*";
    check(&keyless(subject, ROOT), &leaf_item(LOG), &trust, None, "");
    check(&keyless(subject, ROOT), &leaf_item(""), &trust, NOW, "in no transparency log");
    let later = LOG.replace("\"logIndex\": 7", "\"logIndex\": 8");
    check(&keyless(subject, ROOT), &leaf_item(&later), &trust, NOW, "not signed by its key");
    let other = SignedItem { message: b"other".to_vec(), ..leaf_item(LOG) };
    check(&keyless(subject, ROOT), &other, &trust, NOW, "invalid signature");
    let stranger = LogTrust { log_keys: vec![key(include_str!("tests/fixtures/rsa.pub"))], ..trust };
    check(&keyless(subject, ROOT), &leaf_item(LOG), &stranger, NOW, "whose key is not given");
}

#[test]
fn a_certificate_is_trusted_by_itself_or_by_its_chain() {
    let item = leaf_item("");
    let own = || certificates(LEAF).pop();
    check(&ImageSigner::Certificate { certificate: own(), chain: Vec::new() }, &item, &no_logs(), None, "");
    check(
        &ImageSigner::Certificate { certificate: None, chain: certificates(ROOT) },
        &item,
        &no_logs(),
        NOW,
        "",
    );
    let other = certificates(ROOT).pop();
    let signer = ImageSigner::Certificate { certificate: other, chain: Vec::new() };
    check(&signer, &item, &no_logs(), NOW, "invalid signature");
    let signer = ImageSigner::Certificate { certificate: None, chain: Vec::new() };
    check(&signer, &item, &no_logs(), NOW, "no certificate that the rule trusts");
    // The signer itself is no authority.
    let signer = ImageSigner::Certificate { certificate: own(), chain: certificates(LEAF) };
    check(&signer, &item, &no_logs(), Some(0), "not valid at the time");
}

#[test]
fn notary_envelopes_are_verified_with_their_certificates() {
    let layer =
        SignatureLayer { media_type: JWS_TYPE.into(), annotations: Value::Null, content: NOTATION.to_vec() };
    let artifact = |layer: SignatureLayer| SignatureArtifact {
        artifact_type: NOTATION_ARTIFACT_TYPE.into(),
        layers: vec![layer],
    };
    let (found, problems) = notation_signatures(&[artifact(layer.clone())]);
    assert!(problems.is_empty(), "{problems:?}");
    let signature = found.first().expect("a signature");
    assert_eq!(signature.digest, DIGEST);
    assert_eq!(signature.verify(&certificates(ROOT), NOW), Ok(()));
    assert!(signature.verify(&certificates(ROOT), None).is_err());
    assert!(signature.verify(&[], NOW).is_err());
    let cose = SignatureLayer { media_type: "application/cose".into(), ..layer };
    assert_eq!(notation_signatures(&[artifact(cose)]).1.len(), 1);
}

#[test]
fn what_is_signed_here_is_verified_here() {
    let signing = ImageSigningKey::from_pem(SIGNING_KEY).expect("a key");
    let signer = ImageSigner::Key { key: key(&signing.public_pem()), hash: HashFunction::Sha256 };
    let annotations = [(Text::new_static("env"), Text::new_static("prod"))];
    let layer = sign_image(&signing, "r.io/app", DIGEST, &annotations);
    let statement = attest_image(&signing, ("r.io/app", DIGEST), "https://example.com/t", Value::from(true));
    let artifact = SignatureArtifact { layers: vec![layer, statement], ..SignatureArtifact::default() };
    let answer = Map::from([("artifacts", Value::array(vec![artifact.to_value()]))]).into();
    let artifacts = read_material(&answer).expect("artifacts");
    let (signatures, _) = image_signatures(&artifacts);
    let signature = signatures.first().expect("a signature");
    assert_eq!(signature.annotations.str_at(&["env"]), "prod");
    check(&signer, &signature.item, &no_logs(), None, "");
    let (statements, problems) = envelope::signed_statements(&artifacts);
    assert!(problems.is_empty(), "{problems:?}");
    let signed = statements.first().expect("a statement");
    assert!(signed.statement.is_about(DIGEST) && !signed.statement.is_about("sha256:b"));
    assert_eq!(signed.statement.predicate_type, "https://example.com/t");
    check(&signer, signed.items.first().expect("a signature"), &no_logs(), None, "");
}
