//! Searches that look at eight bytes at once, where most bytes are not what is looked for.
//!
//! Written for a machine word and not for vectors, so that they are as quick in crates that are built for size.

use std::ops::BitOr;

/// A word with each of its bytes set to 1.
const EACH: u64 = u64::MAX / 0xff;

/// Eight bytes of a text; the first one is the lowest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EightBytes(u64);

/// Which of eight bytes were found, as the upper bit of each. Exact up to the first one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundBytes(u64);

impl EightBytes {
    #[inline]
    pub(crate) fn new(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }

    /// Returns those at `at`, if there are as many.
    #[inline]
    pub(crate) fn at(bytes: &[u8], at: usize) -> Option<Self> {
        bytes.get(at..at + 8)?.first_chunk().copied().map(Self::new)
    }

    /// Finds bytes below `limit`, which is at most 0x80.
    #[inline]
    pub(crate) fn below(self, limit: u8) -> FoundBytes {
        // The subtraction borrows from the bytes above the first one that it finds, and not below it.
        FoundBytes(self.0.wrapping_sub(EACH * u64::from(limit)) & !self.0)
    }

    /// Finds bytes that are `byte`.
    #[inline]
    pub(crate) fn equal(self, byte: u8) -> FoundBytes {
        Self(self.0 ^ (EACH * u64::from(byte))).below(1)
    }

    /// Finds bytes that are the first of `pair` and have its second in the same place of `next`.
    #[inline]
    fn equal_pair(self, next: Self, pair: [u8; 2]) -> FoundBytes {
        let [first, second] = pair.map(|byte| EACH * u64::from(byte));
        Self((self.0 ^ first) | (next.0 ^ second)).below(1)
    }

    /// Returns the places of all bytes that are `byte`.
    #[inline]
    pub(crate) fn places_of(self, byte: u8) -> impl Iterator<Item = usize> {
        const LOW_BITS: u64 = EACH * 0x7f;
        let different = self.0 ^ (EACH * u64::from(byte));
        // Nothing is carried from one byte into the next, so that each is exact.
        let mut found = !(((different & LOW_BITS) + LOW_BITS) | different | LOW_BITS);
        std::iter::from_fn(move || {
            let place = FoundBytes(found).first()?;
            found &= found - 1;
            Some(place)
        })
    }
}

impl FoundBytes {
    /// Returns the place of the first one.
    #[inline]
    pub(crate) fn first(self) -> Option<usize> {
        let found = self.0 & (EACH << 7);
        (found != 0).then_some((found.trailing_zeros() / 8) as usize)
    }
}

impl BitOr for FoundBytes {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Returns the place of the first byte that ends the literal part of a JSON string: a quote, a backslash or a control.
#[inline]
pub(crate) fn first_json_special(eight: EightBytes) -> Option<usize> {
    (eight.below(0x20) | eight.equal(b'"') | eight.equal(b'\\')).first()
}

/// Returns whether `text` has nothing but printable ASCII.
#[must_use]
pub fn is_printable_ascii(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    // The upper bit is set in a byte below the space, above ASCII, or at its last character. What a byte borrows from the one
    // above it, or carries there, sets a bit in both.
    let others = words.iter().fold(0, |others, word| {
        let word = u64::from_le_bytes(*word);
        others | word.wrapping_sub(EACH * 0x20) | word | word.wrapping_add(EACH)
    });
    others & (EACH << 7) == 0 && rest.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns whether the two bytes of `pair`, which are ASCII, follow each other in `text`.
#[must_use]
pub fn contains_pair(text: &str, pair: [u8; 2]) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let (Some(eight), Some(next)) = (EightBytes::at(bytes, at), EightBytes::at(bytes, at + 1)) {
        if eight.equal_pair(next, pair).first().is_some() {
            return true;
        }
        at += 8;
    }
    bytes.get(at..).unwrap_or_default().windows(2).any(|two| two == pair)
}

#[cfg(test)]
mod tests {
    use super::{EightBytes, contains_pair, first_json_special, is_printable_ascii};

    /// Every byte at every place, among bytes that differ from it in one bit or are at the ends of the range.
    fn each_word(mut look: impl FnMut([u8; 8])) {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                for other in [b'a', 0, 0x7f, 0x80, 0xff, byte ^ 1, byte ^ 0x80, byte] {
                    let mut word = [other; 8];
                    word[place] = byte;
                    look(word);
                }
            }
        }
    }

    #[test]
    fn places_are_those_of_a_search_byte_by_byte() {
        each_word(|word| {
            let eight = EightBytes::new(word);
            let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            assert_eq!(first_json_special(eight), word.iter().position(is_special), "{word:?}");
            for byte in [b'\n', b':', word[3]] {
                let expected: Vec<usize> = (0..8).filter(|at| word[*at] == byte).collect();
                assert_eq!(eight.places_of(byte).collect::<Vec<_>>(), expected, "{word:?} {byte}");
                assert_eq!(eight.equal(byte).first(), expected.first().copied(), "{word:?} {byte}");
            }
        });
    }

    #[test]
    fn printable_texts_are_those_of_a_search_byte_by_byte() {
        each_word(|word| {
            if let Ok(text) = std::str::from_utf8(&word) {
                let expected = word.iter().all(|byte| matches!(byte, b' '..=b'~'));
                assert_eq!(is_printable_ascii(text), expected, "{word:?}");
                assert_eq!(is_printable_ascii(&format!("{text}abc")), expected, "{word:?}");
            }
        });
    }

    #[test]
    fn pairs_are_those_of_a_search_byte_by_byte() {
        for length in 0..20 {
            for place in 0..length {
                for filling in ["a", ":", " ", "\u{7f}", "!", ";"] {
                    let mut text = filling.repeat(length);
                    text.replace_range(place..=place, ":");
                    for next in [" ", "!", "\u{7f}", "\0"] {
                        let mut text = text.clone();
                        text.insert_str(place + 1, next);
                        for pair in [*b": ", *b" :", *b"::", *b"!:"] {
                            let expected = text.contains(std::str::from_utf8(&pair).unwrap());
                            assert_eq!(contains_pair(&text, pair), expected, "{text:?} {pair:?}");
                        }
                    }
                }
            }
        }
        assert!(!contains_pair("", *b": "));
    }
}
