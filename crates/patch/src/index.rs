//! Which item of a list a segment names.

use super::PatchOptions;

/// Returns the number that `token` is, if the options let it be an index.
///
/// A number beyond any list is not an index, so that it does not wrap.
pub(super) fn parse_index(token: &str, options: &PatchOptions) -> Option<i64> {
    // Most lists are short.
    if let [digit @ b'0'..=b'9'] = token.as_bytes() {
        return Some(i64::from(digit - b'0'));
    }
    let (sign, digits) = match token.as_bytes().first()? {
        b'-' => (Some('-'), token.get(1..)?),
        b'+' => (Some('+'), token.get(1..)?),
        _ => (None, token),
    };
    let signed = match sign {
        Some('-') => options.negative_indices || options.loose_indices,
        Some(_) => options.loose_indices,
        None => true,
    };
    let padded = digits.len() > 1 && digits.starts_with('0') || sign.is_some() && digits == "0";
    if !signed || padded && !options.loose_indices || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size: i64 = digits.parse().ok()?;
    Some(if sign == Some('-') { -size } else { size })
}

/// Returns the place in a list of `len` items that `index` names, if it is there.
pub(super) fn existing_index(index: i64, len: usize, options: &PatchOptions) -> Option<usize> {
    let place = if index < 0 { index_from_end(index, len, options)? } else { usize::try_from(index).ok()? };
    (place < len).then_some(place)
}

/// Returns the place in a list of `len` items where `index` inserts, at most behind the last.
pub(super) fn insertion_index(index: i64, len: usize, options: &PatchOptions) -> Option<usize> {
    let end = if options.minus_one_appends { len + 1 } else { len };
    let place = if index < 0 { index_from_end(index, end, options)? } else { usize::try_from(index).ok()? };
    (place <= len).then_some(place)
}

fn index_from_end(index: i64, end: usize, options: &PatchOptions) -> Option<usize> {
    let back = usize::try_from(index.unsigned_abs()).ok()?;
    options.negative_indices.then(|| end.checked_sub(back))?
}
