//! Text of unknown origin, measured, shortened and escaped.

use kubewright_value::display::is_hidden;
use kubewright_value::text::xml_entity;

/// Longer texts are cut before anything else is done with them.
const MAX_TEXT_CHARACTERS: usize = 400;

/// Replaces what is not seen as itself, with which a name could pretend to be another.
pub(super) fn clean_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_TEXT_CHARACTERS));
    for (count, character) in text.chars().enumerate() {
        if count == MAX_TEXT_CHARACTERS {
            out.push('…');
            break;
        }
        out.push(match character {
            '\t' | '\n' | '\r' => ' ',
            hidden if is_hidden(hidden) => '\u{fffd}',
            other => other,
        });
    }
    out
}

/// Adds `text` so that it is only text in XML and HTML, in content and in quoted attributes.
pub(super) fn push_xml(out: &mut String, text: &str) {
    for character in clean_text(text).chars() {
        match xml_entity(character) {
            Some(entity) => out.push_str(entity),
            None => out.push(character),
        }
    }
}

pub(super) fn xml_text(text: &str) -> String {
    let mut out = String::new();
    push_xml(&mut out, text);
    out
}

/// Returns about how wide `text` is at the font size `size`, rather too wide than too narrow.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|character| character_width(character) * size).sum()
}

/// Shortens `text` to `room` by a `…` in the middle, because names differ at both ends.
pub(super) fn fit_text(text: &str, size: f64, room: f64) -> String {
    let text = clean_text(text);
    if text_width(&text, size) <= room {
        return text;
    }
    let characters: Vec<char> = text.chars().collect();
    let (mut head, mut tail) = (String::new(), Vec::new());
    let mut used = character_width('…') * size;
    let (mut front, mut back) = (characters.iter(), characters.iter().rev());
    // Three from the front for two from the back.
    for turn in 0..characters.len() {
        let Some(&next) = (if turn % 5 < 3 { front.next() } else { back.next() }) else { break };
        used += character_width(next) * size;
        if used > room {
            break;
        }
        if turn % 5 < 3 {
            head.push(next);
        } else {
            tail.push(next);
        }
    }
    head.push('…');
    head.extend(tail.into_iter().rev());
    head
}

/// Widths in em of a common bold sans serif.
fn character_width(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.32,
        'f' | 't' | 'r' | ' ' | '-' | '/' | '(' | ')' | '[' | ']' => 0.40,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        'A'..='Z' | '_' | '+' => 0.72,
        '…' => 0.95,
        '\u{0}'..='\u{24f}' => 0.61,
        '\u{300}'..='\u{36f}' => 0.0,
        '\u{1100}'.. => 1.05,
        _ => 0.70,
    }
}
