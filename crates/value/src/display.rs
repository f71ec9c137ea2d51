//! Characters that show as something else than what they are, and text without them.
//!
//! A name with such a character in it can steer a terminal, turn a line round or look like another name. Every output asks the
//! same question, [`is_hidden`]; what it writes instead depends on the format.

use std::borrow::Cow;

/// Returns whether `character` is not seen as itself: control characters (C0, DEL, C1), characters without width, separators
/// of lines, marks that turn the direction of writing, and tags.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns `text`, which is JSON, with an escape in place of every hidden character: the same value.
/// Line breaks between the parts stay.
#[must_use]
pub fn escape_json(text: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| is_hidden(character) && !matches!(character, '\n' | '\t' | '\r');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut units = [0; 2];
    for character in text.chars() {
        if !is_escaped(character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn json_keeps_its_value_and_shows_no_hidden_character() {
        let hidden = "a\u{7f}\u{9b}\u{200b}\u{200d}\u{2028}\u{202e}\u{feff}\u{e0041}b";
        let text = json::to_pretty(&crate::Map::from([(hidden, crate::Value::from(hidden))]).into());
        let safe = escape_json(&text);
        assert!(!safe.chars().any(|c| is_hidden(c) && c != '\n'), "{safe}");
        assert!(safe.contains("\\udb40\\udc41"), "{safe}");
        assert_eq!(json::parse(&safe).unwrap(), json::parse(&text).unwrap());
    }

    #[test]
    fn letters_of_all_scripts_are_seen() {
        assert!(!"✓ äöü 漢字 🙂 -_./:".chars().any(is_hidden));
    }
}
