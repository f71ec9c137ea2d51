//! Text that is cut to a limit, with a mark that says so.

use std::borrow::Cow;

/// A limit of a text, and the mark behind a text that was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextLimit {
    /// The first characters of a text, followed by `…`, which does not count.
    Chars(usize),
    /// A number of characters that includes the `…`.
    CharsInAll(usize),
    /// A number of bytes that includes the `…`.
    BytesInAll(usize),
    /// A number of bytes that includes the mark, which is the length of the whole text: `…[4096 bytes]`.
    BytesWithLength(usize),
}

/// Returns `text`, or the characters of it that `limit` allows and a mark. Cuts only between characters.
#[must_use]
pub fn shorten_text(text: &str, limit: TextLimit) -> Cow<'_, str> {
    match limit {
        TextLimit::Chars(max) => match char_offset(text, max) {
            None => Cow::Borrowed(text),
            Some(end) => Cow::Owned(marked(text, end, "…")),
        },
        TextLimit::CharsInAll(max) => {
            match (char_offset(text, max), char_offset(text, max.saturating_sub(1))) {
                (Some(_), Some(end)) => Cow::Owned(marked(text, end, "…")),
                _ => Cow::Borrowed(text),
            }
        }
        TextLimit::BytesInAll(max) | TextLimit::BytesWithLength(max) if text.len() <= max => {
            Cow::Borrowed(text)
        }
        TextLimit::BytesInAll(max) => Cow::Owned(marked(text, max.saturating_sub("…".len()), "…")),
        TextLimit::BytesWithLength(max) => {
            let mark = format!("…[{} bytes]", text.len());
            Cow::Owned(marked(text, max.saturating_sub(mark.len()), &mark))
        }
    }
}

/// Returns the offset of the character with this index, if the text has so many.
fn char_offset(text: &str, index: usize) -> Option<usize> {
    // A text has no more characters than bytes, so most texts need no count.
    if text.len() <= index {
        return None;
    }
    text.char_indices().nth(index).map(|(offset, _)| offset)
}

/// Returns the last offset up to `max_bytes` at which a character begins.
// `str::floor_char_boundary` needs a newer compiler than the workspace promises.
fn floor_boundary(text: &str, max_bytes: usize) -> usize {
    (0..=max_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

/// Returns the whole characters in the first `max_bytes` of `text`, followed by `mark`.
fn marked(text: &str, max_bytes: usize, mark: &str) -> String {
    let head = text.get(..floor_boundary(text, max_bytes)).unwrap_or_default();
    let mut short = String::with_capacity(head.len() + mark.len());
    short.push_str(head);
    short.push_str(mark);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorten_text_keeps_what_fits() {
        for limit in [
            TextLimit::Chars(3),
            TextLimit::CharsInAll(3),
            TextLimit::BytesInAll(6),
            TextLimit::BytesWithLength(6),
        ] {
            assert!(matches!(shorten_text("äöü", limit), Cow::Borrowed("äöü")), "{limit:?}");
        }
    }

    #[test]
    fn shorten_text_cuts_between_characters_and_leaves_a_mark() {
        for (limit, want) in [
            (TextLimit::Chars(2), "äö…"),
            (TextLimit::Chars(0), "…"),
            (TextLimit::CharsInAll(2), "ä…"),
            (TextLimit::CharsInAll(0), "…"),
            (TextLimit::BytesInAll(5), "ä…"),
            (TextLimit::BytesInAll(4), "…"),
        ] {
            assert_eq!(shorten_text("äöü", limit), want, "{limit:?}");
        }
    }

    #[test]
    fn shorten_text_with_length_stays_below_the_limit() {
        let limit = TextLimit::BytesWithLength(20);
        assert_eq!(shorten_text(&"a".repeat(100), limit), "aaaaaa…[100 bytes]");
        assert_eq!(shorten_text(&"ä".repeat(50), limit), "äää…[100 bytes]");
        assert!(shorten_text(&"a".repeat(1 << 20), TextLimit::BytesWithLength(253)).len() <= 253);
    }
}
