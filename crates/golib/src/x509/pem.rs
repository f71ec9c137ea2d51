//! The text around what is encoded: `-----BEGIN CERTIFICATE-----` and so on.

use base64::Engine as _;

use crate::base64::BASE64;

/// A block of a PEM text.
pub(super) struct PemSection<'t> {
    pub(super) kind: &'t str,
    pub(super) bytes: Vec<u8>,
}

const DASHES: &str = "-----";

/// Returns the first block that is well formed.
pub(super) fn first_pem_block(text: &str) -> Option<PemSection<'_>> {
    let mut rest = text;
    loop {
        let start = rest.find("-----BEGIN ")?;
        let (before, found) = rest.split_at_checked(start)?;
        rest = found.get("-----BEGIN ".len()..)?;
        if (before.is_empty() || before.ends_with('\n'))
            && let Some(block) = parse_pem_block(rest)
        {
            return Some(block);
        }
    }
}

fn parse_pem_block(text: &str) -> Option<PemSection<'_>> {
    let (line, rest) = text.split_once('\n')?;
    let kind = line.trim_end().strip_suffix(DASHES)?;
    let end = format!("-----END {kind}{DASHES}");
    let at = if rest.starts_with(&end) { 0 } else { rest.find(&format!("\n{end}"))? };
    let mut body = rest.get(..at)?;
    // Lines like `key: value` before an empty line are headers.
    while let Some((line, after)) = body.split_once('\n').filter(|(line, _)| line.contains(':')) {
        let _ = line;
        body = after;
    }
    let plain: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Some(PemSection { kind, bytes: BASE64.decode(plain).ok()? })
}
