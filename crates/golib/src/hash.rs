//! Checksums.

use std::sync::LazyLock;

/// Returns the MD5 digest (RFC 1321) of `bytes`, as a checksum: it protects nothing.
#[must_use]
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut state = START;
    let (whole, rest) = bytes.as_chunks::<64>();
    for block in whole {
        state = mix_block(state, block);
    }
    // The end is marked, and the length in bits put behind it, in one more block or two.
    let mut padded = rest.to_vec();
    padded.push(0x80);
    padded.resize(if rest.len() < 56 { 56 } else { 120 }, 0);
    padded.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in padded.as_chunks::<64>().0 {
        state = mix_block(state, block);
    }
    let mut digest = [0; 16];
    let parts = state.iter().flat_map(|part| part.to_le_bytes());
    digest.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    digest
}

/// Returns `bytes` in hexadecimal digits.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The distance by which each step rotates: four amounts a round, again and again.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

fn mix_block(state: [u32; 4], block: &[u8; 64]) -> [u32; 4] {
    let word = |index: u32| {
        let bytes = block.as_chunks::<4>().0.get(index as usize % 16);
        bytes.copied().map_or(0, u32::from_le_bytes)
    };
    let sines = &*SINES;
    let [mut a, mut b, mut c, mut d] = state;
    for step in 0..64_u32 {
        let (chosen, index) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), step * 5 + 1),
            2 => (b ^ c ^ d, step * 3 + 5),
            _ => (c ^ (b | !d), step * 7),
        };
        let turns = TURNS.get(step as usize / 16).and_then(|turns| turns.get(step as usize % 4));
        let sum = a
            .wrapping_add(chosen)
            .wrapping_add(sines.get(step as usize).copied().unwrap_or(0))
            .wrapping_add(word(index));
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(turns.copied().unwrap_or(0)));
    }
    let [s, t, u, v] = state;
    [s.wrapping_add(a), t.wrapping_add(b), u.wrapping_add(c), v.wrapping_add(d)]
}

/// The first 32 bits behind the point of |sin(1)|, |sin(2)|, …
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they are below 2^32")]
static SINES: LazyLock<[u32; 64]> =
    LazyLock::new(|| std::array::from_fn(|step| ((step as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32));
