//! Bytes to text.

/// Returns `bytes` as text; every byte that is not UTF-8 becomes one replacement character, as in Go.
#[must_use]
pub fn decode_utf8_lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                return out;
            }
            Err(error) => {
                let (valid, tail) = rest.split_at(error.valid_up_to());
                out.push_str(std::str::from_utf8(valid).unwrap_or_default());
                out.push('\u{fffd}');
                rest = tail.get(1..).unwrap_or_default();
            }
        }
    }
}
