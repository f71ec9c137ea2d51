//! Signatures of images: whatever a registry sends is read without harm, and nothing that was not signed is proven.

use kubewright_signatures::envelope::{Statement, signed_statements};
use kubewright_signatures::notation::{JWS_TYPE, NOTATION_ARTIFACT_TYPE, notation_signatures};
use kubewright_signatures::payload::image_signatures;
use kubewright_signatures::{
    HashFunction, ImageSigner, LogTrust, PublicVerifier, SignatureArtifact, SignatureLayer, SignerCertificate,
};
use kubewright_value::{Budget, Limits, Map, Value};

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "signatures",
    run: fuzz_signatures,
    seeds: &[
        r#"{"critical":{"identity":{"docker-reference":"r/a"},"image":{"docker-manifest-digest":"sha256:aa"},"type":"cosign container image signature"},"optional":{"a":"b"}}"#,
        r#"{"payloadType":"application/vnd.in-toto+json","payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjAuMSIsInN1YmplY3QiOlt7ImRpZ2VzdCI6eyJzaGEyNTYiOiJhYSJ9fV0sInByZWRpY2F0ZVR5cGUiOiJ0IiwicHJlZGljYXRlIjp7fX0=","signatures":[{"sig":"MEUCIQ=="}]}"#,
        r#"{"payload":"e30","protected":"eyJhbGciOiJFUzI1NiIsImN0eSI6ImFwcGxpY2F0aW9uL3ZuZC5jbmNmLm5vdGFyeS5wYXlsb2FkLnYxK2pzb24ifQ","header":{"x5c":["MIIB"]},"signature":"AAAA"}"#,
        r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"certificate":{"rawBytes":"MIIB"},"tlogEntries":[{"logIndex":"1","logId":{"keyId":"AAAA"},"integratedTime":"1","inclusionPromise":{"signedEntryTimestamp":"AAAA"},"canonicalizedBody":"e30="}]},"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AAAA"}]}}"#,
        r#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"a","digest":{"sha256":"aa"}}],"predicateType":"t","predicate":{"a":[1]}}"#,
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQ==\n-----END CERTIFICATE-----\n",
    ],
    dictionaries: &[],
    words: &["\"payload\":", "\"signatures\":", "\"sig\":", "\"x5c\":", "\"digest\":", "sha256:", "MIIB"],
};

const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyQfmL5YwHbn9xrrgG3vgbU0KJxMY\nBibYLJ5L4VSMvGxeMLnBGdM48w5IE//6idUPj3rscigFdHs7GDMH4LLAng==\n-----END PUBLIC KEY-----\n";

fn fuzz_signatures(input: &[u8]) {
    let Some(key) = PublicVerifier::all_of_pem(KEY).ok().and_then(|keys| keys.into_iter().next()) else {
        return;
    };
    let signer = ImageSigner::Key { key, hash: HashFunction::Sha256 };
    let trust = LogTrust { ignores_log: true, ignores_certificate_log: true, ..LogTrust::default() };
    let mut budget = Budget::new(Limits::default());
    let text = String::from_utf8_lossy(input);
    let annotations = Map::from([
        ("dev.cosignproject.cosign/signature", Value::from(text.as_ref())),
        ("dev.sigstore.cosign/certificate", text.as_ref().into()),
        ("dev.sigstore.cosign/bundle", text.as_ref().into()),
    ]);
    let types = [
        "application/vnd.dev.cosign.simplesigning.v1+json",
        "application/vnd.dsse.envelope.v1+json",
        "application/vnd.dev.sigstore.bundle.v0.3+json",
        JWS_TYPE,
    ];
    let layer = |kind: &&str| SignatureLayer {
        media_type: (*kind).into(),
        annotations: annotations.clone().into(),
        content: input.to_vec(),
    };
    let layers = types.iter().map(layer).collect();
    let artifacts = [SignatureArtifact { artifact_type: NOTATION_ARTIFACT_TYPE.into(), layers }];
    for signature in image_signatures(&artifacts).0 {
        let proof = signer.verify(&signature.item, &trust, Some(0), &mut budget);
        assert!(!matches!(proof, Ok(Ok(()))), "an unsigned image is proven");
    }
    for item in signed_statements(&artifacts).0.iter().flat_map(|signed| &signed.items) {
        let proof = signer.verify(item, &trust, Some(0), &mut budget);
        assert!(!matches!(proof, Ok(Ok(()))), "an unsigned statement is proven");
    }
    for signature in notation_signatures(&artifacts).0 {
        assert!(signature.verify(&[], Some(0)).is_err(), "a signature without trust is proven");
    }
    let _ = Statement::read(input);
    let _ = SignerCertificate::of_der(input);
    let _ = SignerCertificate::all_of_pem(&text);
    let _ = PublicVerifier::of_info(input);
}
