//! Names for Kubernetes objects, made from several parts and as long as they may be.
//!
//! A name ends in a hash of its parts as they were given, so that parts which are cut or look alike after
//! cleaning still make different names.

use sha2::{Digest as _, Sha256};

use crate::hash::to_hex;

/// The number of digits of the hash at the end of a name.
const DIGITS: usize = 8;

/// The maximum number of characters of the name of most objects.
pub const MAX_SUBDOMAIN_CHARS: usize = 253;

/// The maximum number of characters of the name of a Service, or one part of a host name,.
pub const MAX_LABEL_CHARS: usize = 63;

/// Returns a name of at most `most` characters made of `parts`; nothing when there is no part.
///
/// `extra` goes into the hash and is not shown. Room is shared evenly: of a part that is too long the
/// beginning is kept.
#[must_use]
pub fn hashed_name<T: AsRef<str>>(parts: &[T], extra: &str, most: usize) -> Option<String> {
    let room = most.saturating_sub(DIGITS).saturating_sub(parts.len());
    let (each, over) = (room.checked_div(parts.len())?, room.checked_rem(parts.len())?);
    let mut name = String::new();
    for (index, part) in parts.iter().enumerate() {
        let most = each + usize::from(index < over);
        // Only ASCII is left, so that bytes are characters.
        let clean = clean_name_part(part.as_ref());
        name.push_str(clean.get(..most).unwrap_or(&clean));
        name.push('-');
    }
    name.push_str(&hash_name_parts(parts, extra));
    Some(name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned())
}

/// Returns the FNV-1a hash of 32 bits, as eight hexadecimal digits.
#[must_use]
pub fn fnv1a(text: &str) -> String {
    let mixed = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08x}", text.bytes().fold(0x811c_9dc5, mixed))
}

/// Returns the SHA-256 hash in hexadecimal digits.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    to_hex(&Sha256::digest(text.as_bytes()))
}

/// Returns `part` in lower case, with `-` for what a name may not have and without `-` and `.` at its ends.
fn clean_name_part(part: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let lower = part.chars().flat_map(char::to_lowercase);
    let allowed: String = lower.map(|c| if is_allowed(c) { c } else { '-' }).collect();
    allowed.trim_matches(['-', '.']).to_owned()
}

fn hash_name_parts<T: AsRef<str>>(parts: &[T], extra: &str) -> String {
    let mut hasher = Sha256::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            hasher.update(b"-");
        }
        hasher.update(part.as_ref().as_bytes());
    }
    if !extra.is_empty() {
        hasher.update(b"-");
        hasher.update(extra.as_bytes());
    }
    let mut digits = to_hex(&hasher.finalize());
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests;
