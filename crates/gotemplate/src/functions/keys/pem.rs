//! Writing PEM: DER as text between two lines that say what it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How many characters a line has.
const LINE_LENGTH: usize = 64;

/// Returns `der` as text of the given type.
pub(super) fn write_pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut out = format!("-----BEGIN {kind}-----\n");
    for line in text.as_bytes().chunks(LINE_LENGTH) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out.push_str(&format!("-----END {kind}-----\n"));
    out
}
