//! PEM: DER as text between two lines that say what it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::encoding::decode_go_base64;

/// The number of characters in a line.
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

/// Returns the type and the content of the first block in `text`.
pub(super) fn read_pem(text: &str) -> Option<(&str, Vec<u8>)> {
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (kind, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once(&format!("-----END {kind}-----"))?;
    // Headers, of which old encrypted keys have some, are no Base64, and such keys cannot be used.
    let digits: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Some((kind, decode_go_base64(&digits).ok()?))
}
