//! Certificates and requests: broken ones are errors, and what is read takes no more than was promised.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_golib::pem::{all_blocks, first_block};
use kubewright_golib::x509::{MAX_BYTES_PER_BYTE, decode_pem};
use kubewright_value::json;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "certificates",
    run: fuzz_certificates,
    seeds: &[
        include_str!("../../../crates/golib/src/x509/fixtures/certificate.pem"),
        include_str!("../../../crates/golib/src/x509/fixtures/request.pem"),
        // A certificate that has only a subject alternative name, and one whose length has four bytes.
        "-----BEGIN CERTIFICATE-----\nMBIwEAYDVR0RBAkwB4IFYS5iLmM=\n-----END CERTIFICATE-----",
        "0\u{10}0\u{e}\u{2}\u{1}\u{1}0\u{3}\u{6}\u{1}*",
    ],
    dictionaries: &[],
    words: &[
        "-----BEGIN CERTIFICATE-----\n",
        "-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE REQUEST-----\n",
        "Proc-Type: 4,ENCRYPTED\n\n",
        "MII",
        "MIID",
        "MIAA",
        "MA0G",
        "AwIB",
        "gICA",
        "0\u{3}\u{2}\u{1}\u{1}",
        "\u{6}\u{3}U\u{1d}\u{11}",
        "=",
    ],
};

fn fuzz_certificates(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let (Some(first), Ok(all)) = (first_block(&text), all_blocks(&text)) {
        assert!(!all.is_empty(), "`{}` is a block for one reader and none for the other", first.label);
    }
    check_decoded_size(&text);
    // The input as the bytes of a certificate.
    for label in ["CERTIFICATE", "CERTIFICATE REQUEST"] {
        check_decoded_size(&format!(
            "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
            STANDARD.encode(data)
        ));
    }
}

fn check_decoded_size(text: &str) {
    if let Ok(value) = decode_pem(text) {
        assert!(json::to_string(&value).len() <= text.len() * MAX_BYTES_PER_BYTE, "more than was promised");
    }
}
