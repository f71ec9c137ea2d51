//! The status of an answer, which is the first of its fields.

/// The statuses that have a number of their own, from this one on.
const FIRST_KNOWN: u8 = 0x88;
const KNOWN: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];

/// Returns the status in `block`, the fields of an answer as HPACK writes them; nothing if it cannot be read. It needs no
/// table of earlier fields, because the server was told to have none.
pub(super) fn read_status(block: &[u8]) -> Option<u16> {
    let (first, rest) = block.split_first()?;
    match *first {
        // The server says that its table is empty, and goes on.
        0x20..=0x3e => read_status(rest),
        first @ 0x88..=0x8e => KNOWN.get(usize::from(first - FIRST_KNOWN)).copied(),
        // `:status` and any text, whether or not it is to be remembered.
        0x08 | 0x18 | 0x48 => read_digits(rest),
        _ => None,
    }
}

fn read_digits(text: &[u8]) -> Option<u16> {
    let (head, rest) = text.split_first()?;
    let text = rest.get(..usize::from(head & 0x7f))?;
    if head & 0x80 != 0 {
        return read_huffman_digits(text);
    }
    str::from_utf8(text).ok().filter(|text| text.len() == 3)?.parse().ok()
}

/// Reads three digits in the code of HPACK: those up to 2 have five bits, the others six.
fn read_huffman_digits(text: &[u8]) -> Option<u16> {
    let mut bits = text.iter().take(4).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    bits <<= 8 * (4_usize.checked_sub(text.len()).filter(|left| *left < 4)?);
    let mut status = 0;
    for _ in 0..3 {
        let (digit, length) = match (bits >> 27, bits >> 26) {
            (digit @ 0..=2, _) => (digit, 5),
            (_, code @ 25..=31) => (code - 22, 6),
            _ => return None,
        };
        status = status * 10 + u16::try_from(digit).ok()?;
        bits <<= length;
    }
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_however_it_is_written() {
        for (block, want) in [
            (&[0x88][..], Some(200)),
            (&[0x20, 0x8c, 0x5f], Some(400)),
            (b"\x08\x03429", Some(429)),
            (b"\x48\x03503\x0f", Some(503)),
            // 429 is 011010 00010 011111, 307 is 011001 00000 011101, and ones follow.
            (&[0x48, 0x83, 0x68, 0x4f, 0xff], Some(429)),
            (&[0x18, 0x83, 0x64, 0x0e, 0xff], Some(307)),
            (&[], None),
            (&[0x48], None),
            (b"\x48\x0342", None),
            (b"\x48\x0242", None),
            (&[0x48, 0x80], None),
            (&[0x48, 0x81, 0xff], None),
            (&[0xbe], None),
        ] {
            assert_eq!(read_status(block), want, "{block:x?}");
        }
    }
}
