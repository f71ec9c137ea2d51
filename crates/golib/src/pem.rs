//! PEM: DER as text between `-----BEGIN CERTIFICATE-----` and `-----END CERTIFICATE-----`.
//!
//! [`first_block`] reads as Go's `pem.Decode` does. [`all_blocks`] is for keys that were pasted into YAML, which have
//! often lost their line ends, and says what is wrong with them.

use base64::Engine as _;

use crate::base64::BASE64;

/// A block of a PEM text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PemBlock<'t> {
    /// What it says it is, such as `PUBLIC KEY`.
    pub label: &'t str,
    /// The decoded content.
    pub bytes: Vec<u8>,
}

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";
/// How many characters a line of a written block has.
const LINE_LENGTH: usize = 64;

/// Returns the block of `der` with the given label, in lines of 64 characters.
#[must_use]
pub fn write_block(label: &str, der: &[u8]) -> String {
    let text = BASE64.encode(der);
    let mut block = format!("{BEGIN}{label}{DASHES}\n");
    for line in text.as_bytes().chunks(LINE_LENGTH) {
        block.extend(line.iter().map(|byte| char::from(*byte)));
        block.push('\n');
    }
    block.push_str(&format!("-----END {label}{DASHES}\n"));
    block
}

/// Returns the first block that is well formed: it begins and ends on a line of its own.
#[must_use]
pub fn first_block(text: &str) -> Option<PemBlock<'_>> {
    let mut rest = text;
    loop {
        let start = rest.find(BEGIN)?;
        let (before, found) = rest.split_at_checked(start)?;
        rest = found.get(BEGIN.len()..)?;
        if (before.is_empty() || before.ends_with('\n'))
            && let Some(block) = block_after_begin(rest)
        {
            return Some(block);
        }
    }
}

/// Reads every block of `text`, whatever its lines; text between blocks is ignored.
///
/// # Errors
/// When a block does not end, is encrypted or is not Base64.
pub fn all_blocks(text: &str) -> Result<Vec<PemBlock<'_>>, String> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(BEGIN) {
        let (label, after) = after.split_once(DASHES).ok_or("a PEM block has no label")?;
        let end = format!("-----END {label}-----");
        let (body, after) =
            after.split_once(end.as_str()).ok_or_else(|| format!("`{label}` has no `{end}` behind it"))?;
        rest = after;
        if body.contains(':') {
            return Err(format!("`{label}` is encrypted"));
        }
        let bytes = decode_body(body).ok_or_else(|| format!("`{label}` is not Base64"))?;
        blocks.push(PemBlock { label, bytes });
    }
    Ok(blocks)
}

fn block_after_begin(text: &str) -> Option<PemBlock<'_>> {
    let (line, rest) = text.split_once('\n')?;
    let label = line.trim_end().strip_suffix(DASHES)?;
    let end = format!("-----END {label}{DASHES}");
    let at = if rest.starts_with(&end) { 0 } else { rest.find(&format!("\n{end}"))? };
    let mut body = rest.get(..at)?;
    // Lines like `key: value` at the beginning are headers.
    while let Some((_, after)) = body.split_once('\n').filter(|(line, _)| line.contains(':')) {
        body = after;
    }
    decode_body(body).map(|bytes| PemBlock { label, bytes })
}

fn decode_body(body: &str) -> Option<Vec<u8>> {
    let digits: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    BASE64.decode(digits).ok()
}

#[cfg(test)]
mod tests;
