//! Text in XML and HTML.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_entity_knows_all_markup() {
        let marked: Vec<char> = (' '..='~').filter(|character| xml_entity(*character).is_some()).collect();
        assert_eq!(marked, ['"', '&', '\'', '<', '>']);
    }
}
