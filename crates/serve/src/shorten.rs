//! Text from outside, short enough for a log line or a metric label.

use std::borrow::Cow;

use kubewright_value::text::{self, TextLimit};

/// Returns `text`, or its beginning and how long it was, in about `max_bytes` bytes.
pub(crate) fn shorten_text(text: &str, max_bytes: usize) -> Cow<'_, str> {
    text::shorten_text(text, TextLimit::BytesWithLength(max_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_off_is_said() {
        assert_eq!(shorten_text("short", 20), "short");
        assert_eq!(shorten_text(&"a".repeat(100), 20), "aaaaaa…[100 bytes]");
        assert_eq!(shorten_text(&"ä".repeat(50), 20), "äää…[100 bytes]");
        assert!(shorten_text(&"a".repeat(1 << 20), 253).len() <= 253);
    }
}
