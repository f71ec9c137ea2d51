//! Certificates, whole and broken.

use kubewright_value::{Value, json};

use super::*;

const CERTIFICATE: &str = include_str!("fixtures/certificate.pem");
const REQUEST: &str = include_str!("fixtures/request.pem");

/// Decodes `text` and compares what stands at `path`, with dots, with the JSON `want`.
#[track_caller]
fn check(text: &str, path: &str, want: &str) {
    let decoded = decode_pem(text).expect("a certificate");
    let keys: Vec<&str> = path.split('.').collect();
    assert_eq!(decoded.at(&keys).map(json::to_string).as_deref(), Some(want), "{path}");
}

#[test]
fn a_certificate_says_who_and_until_when() {
    check(CERTIFICATE, "Version", "3");
    check(CERTIFICATE, "SerialNumber", "77");
    check(CERTIFICATE, "NotBefore", r#""2026-11-15T14:21:50Z""#);
    check(CERTIFICATE, "NotAfter", r#""2036-11-12T14:21:50Z""#);
    check(CERTIFICATE, "Subject.CommonName", r#""shop.example""#);
    check(CERTIFICATE, "Issuer.Organization", r#"["Shop"]"#);
    check(CERTIFICATE, "Issuer.Country", "null");
    check(CERTIFICATE, "SignatureAlgorithm", "4");
    check(CERTIFICATE, "PublicKey.E", "65537");
    check(
        CERTIFICATE,
        "PublicKey.N",
        concat!(
            r#""148241116348292579680581325042006638600062850861450638666711731598155676492485522520789454647"#,
            "720734235229455696722688474395030580283414381260229727590964425980026041120646454550239546313501",
            "165562497915618970714572151329766203074433420254716941072699716125968395689822822713781128701563",
            r#"893046623420085611759539""#
        ),
    );
}

#[test]
fn its_extensions_are_fields() {
    check(CERTIFICATE, "KeyUsage", "33");
    check(CERTIFICATE, "ExtKeyUsage", "[1]");
    check(CERTIFICATE, "IsCA", "true");
    check(CERTIFICATE, "MaxPathLen", "-1");
    check(CERTIFICATE, "DNSNames", r#"["shop.example"]"#);
    check(CERTIFICATE, "IPAddresses", r#"["10.0.0.1"]"#);
    check(CERTIFICATE, "EmailAddresses", "null");
    check(CERTIFICATE, "UnhandledCriticalExtensions", "null");
    let uri =
        decode_pem(CERTIFICATE).expect("a certificate").at(&["URIs"]).and_then(|uris| uris.item(0)).cloned();
    assert_eq!(uri.as_ref().and_then(|uri| uri.get("Host")), Some(&Value::from("shop")));
}

#[test]
fn a_request_has_names_too() {
    check(REQUEST, "Subject.CommonName", r#""web""#);
    check(REQUEST, "DNSNames", r#"["web.example"]"#);
    check(REQUEST, "Version", "0");
    check(REQUEST, "PublicKey.E", "65537");
}

#[test]
fn text_around_a_block_does_not_matter() {
    check(&format!("subject: x\n{CERTIFICATE}trailing"), "SerialNumber", "77");
    check(&CERTIFICATE.replace('\n', "\r\n"), "SerialNumber", "77");
    check(
        &format!("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n{CERTIFICATE}"),
        "SerialNumber",
        "77",
    );
}

#[test]
fn what_is_no_certificate_is_said() {
    let refused = |text: &str| decode_pem(text).expect_err(text);
    assert_eq!(refused(""), "failed to decode PEM block");
    assert_eq!(refused("-----BEGIN CERTIFICATE-----\nYQ==\n-----END X-----"), "failed to decode PEM block");
    let other = "-----BEGIN KEY-----\nYQ==\n-----END KEY-----";
    assert_eq!(refused(other), "PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST");
    let short = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----";
    assert_eq!(refused(short), "x509: malformed certificate");
}

#[test]
fn no_broken_certificate_is_more_than_an_error() {
    for text in [CERTIFICATE, REQUEST] {
        let whole = pem::first_block(text).expect("a block").bytes;
        let read = |bytes: &[u8]| {
            (certificate::decode_certificate(bytes).is_ok(), request::decode_request(bytes).is_ok())
        };
        for at in 0..whole.len() {
            read(&whole[..at]);
            for change in [0, 0x30, 0x84] {
                let mut broken = whole.clone();
                broken[at] = change;
                read(&broken);
            }
        }
    }
}

#[test]
fn numbers_of_any_size_are_decimals() {
    assert_eq!(key::number_of_bytes(&[]).map(|n| n.to_string()), Ok("0".to_owned()));
    assert_eq!(key::number_of_bytes(&[1, 0]).map(|n| n.to_string()), Ok("256".to_owned()));
    assert_eq!(
        key::number_of_bytes(&[0xff; 8]).map(|n| n.to_string()),
        Ok("18446744073709551615".to_owned())
    );
    assert_eq!(key::number_of_bytes(&[1; 20]).map(|n| n.to_string()), Ok("5.73137896992511e+45".to_owned()));
    assert!(key::number_of_bytes(&[1; 4000]).is_err());
}
