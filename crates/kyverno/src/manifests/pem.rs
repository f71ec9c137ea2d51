//! Keys between `-----BEGIN` and `-----END` lines.
//!
//! Lines may have any length and any end, because a key that was pasted into YAML has often lost its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One block.
pub(crate) struct PemBlock {
    /// The label of the block, such as `PUBLIC KEY`.
    pub(crate) label: String,
    pub(crate) bytes: Vec<u8>,
}

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";

impl PemBlock {
    /// Reads every block of `text`; the text between them is ignored.
    ///
    /// # Errors
    /// When a block does not end, or is not Base64.
    pub(crate) fn all(text: &str) -> Result<Vec<Self>, String> {
        let mut blocks = Vec::new();
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(BEGIN) {
            let (label, after) = after.split_once(DASHES).ok_or("a PEM block has no label")?;
            let end = format!("-----END {label}-----");
            let (body, after) = after
                .split_once(end.as_str())
                .ok_or_else(|| format!("`{label}` has no `{end}` behind it"))?;
            rest = after;
            if body.contains(':') {
                return Err(format!("`{label}` is encrypted"));
            }
            let digits: String = body.split_whitespace().collect();
            let bytes = STANDARD.decode(digits).map_err(|_| format!("`{label}` is not Base64"))?;
            blocks.push(Self { label: label.to_owned(), bytes });
        }
        Ok(blocks)
    }
}
