//! Text in XML and HTML.

use std::borrow::Cow;

/// Returns the entity for a character that is markup in XML or HTML, in content or in a quoted attribute.
#[must_use]
pub const fn xml_entity(character: char) -> Option<&'static str> {
    match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        // HTML 4 does not know `&apos;`.
        '\'' => Some("&#39;"),
        _ => None,
    }
}

/// Returns `text` with entities for all markup. Other characters stay, also those that XML cannot hold.
#[must_use]
pub fn escape_xml(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| xml_entity(character).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match xml_entity(character) {
            Some(entity) => out.push_str(entity),
            None => out.push(character),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_xml_leaves_no_markup() {
        assert_eq!(
            escape_xml("a<b c='d' e=\"f\">&amp;"),
            "a&lt;b c=&#39;d&#39; e=&quot;f&quot;&gt;&amp;amp;"
        );
    }

    #[test]
    fn escape_xml_borrows_text_without_markup() {
        assert!(matches!(escape_xml("äöü 1"), Cow::Borrowed("äöü 1")));
    }
}
