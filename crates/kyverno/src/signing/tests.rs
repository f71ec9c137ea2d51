//! Tests of signing objects.

use kubewright_value::{Value, yaml};

use super::super::manifests::tests::{pem, private};
use super::*;

const OBJECT: &str =
    "{kind: Service, apiVersion: v1, metadata: {name: s, annotations: {team: shop}}, spec: {b: 1, a: 2}}";

fn key(letter: char) -> ManifestSigningKey {
    ManifestSigningKey::from_pem(&private(letter)).unwrap()
}

fn signed(text: &str, letters: &str) -> (Value, Vec<Signed>) {
    let mut object = yaml::parse(text).unwrap();
    let results = letters
        .chars()
        .map(|letter| sign_manifest(&mut object, &key(letter), "", Earlier::Keep).unwrap())
        .collect();
    (object, results)
}

fn annotations(object: &Value) -> Vec<&str> {
    let map = object.at(&["metadata", "annotations"]).and_then(Value::as_object).unwrap();
    map.keys().map(|key| key.strip_prefix("cosign.sigstore.dev/").unwrap_or(key)).collect()
}

#[test]
fn signing_again_with_the_same_key_changes_nothing_and_with_another_one_adds() {
    let (object, results) = signed(OBJECT, "abba");
    assert_eq!(results, [Signed::First, Signed::Added, Signed::Already, Signed::Already]);
    assert_eq!(annotations(&object), ["team", "message", "signature", "signature_1"]);
    assert_eq!(object, signed(OBJECT, "ab").0, "a signature is the same every time");
}

#[test]
fn what_is_signed_is_the_object_with_its_keys_in_order() {
    let (object, _) = signed(OBJECT, "a");
    let message =
        SignedMessage::of(&object, &SignatureAnnotations::new(""), &mut Budget::new(Limits::default()))
            .ok()
            .unwrap();
    let text = String::from_utf8(message.signed).unwrap();
    let want = "apiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n    team: shop\n  name: s\nspec:\n  a: 2\n  b: 1\n";
    assert_eq!(text, want);
}

#[test]
fn a_changed_object_keeps_no_signatures() {
    let (mut object, _) = signed(OBJECT, "a");
    object.as_object_mut().unwrap().insert("spec".into(), Value::Null);
    let wrong = sign_manifest(&mut object.clone(), &key('b'), "", Earlier::Keep).unwrap_err();
    assert_eq!(wrong.message, "it was changed since it was signed");
    assert_eq!(sign_manifest(&mut object, &key('b'), "", Earlier::Replace), Ok(Signed::First));
    assert_eq!(annotations(&object), ["team", "message", "signature"]);
}

const NO_ANNOTATIONS: &str = "{apiVersion: v1, kind: Pod, metadata: {annotations: [a]}}";

#[test]
fn only_objects_are_signed() {
    for text in ["[]", "{kind: Pod}", "{apiVersion: v1, kind: Pod, metadata: x}", NO_ANNOTATIONS] {
        assert!(
            sign_manifest(&mut yaml::parse(text).unwrap(), &key('a'), "", Earlier::Keep).is_err(),
            "{text}"
        );
    }
    assert_eq!(signed("{apiVersion: v1, kind: Pod}", "a").1, [Signed::First]);
}

#[test]
fn keys_are_read_in_both_forms() {
    let mut der =
        vec![0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    der.extend([
        0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01,
    ]);
    der.extend([0x04, 0x20]);
    der.extend([b'a'; 32]);
    let other = ManifestSigningKey::from_pem(&pem("PRIVATE KEY", &der)).unwrap();
    assert_eq!(other.sign(b"x"), key('a').sign(b"x"));
    let with_parameters = format!("{}{}", pem("EC PARAMETERS", &[6, 0]), private('a'));
    assert_eq!(ManifestSigningKey::from_pem(&with_parameters).unwrap().sign(b"x"), key('a').sign(b"x"));
}

#[test]
fn a_key_of_another_sort_is_named_and_never_shown() {
    let wrong = |text: &str| ManifestSigningKey::from_pem(text).unwrap_err().message;
    assert_eq!(wrong("nothing"), "there is no PEM block in it");
    assert_eq!(wrong(&pem("PUBLIC KEY", &[1])), "this is a public key, which cannot sign");
    assert_eq!(wrong(&pem("ENCRYPTED PRIVATE KEY", &[1])), "the key is encrypted, which is not supported");
    let encrypted = pem("ENCRYPTED SIGSTORE PRIVATE KEY", b"secret");
    assert_eq!(wrong(&encrypted), "`ENCRYPTED SIGSTORE PRIVATE KEY` is encrypted, which is not supported");
    let ed25519 = pem("PRIVATE KEY", &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70]);
    assert_eq!(wrong(&ed25519), "this is an Ed25519 key, and manifests are signed with ECDSA P-256");
    assert_eq!(format!("{:?}", key('a')), "PrivateKey");
}
