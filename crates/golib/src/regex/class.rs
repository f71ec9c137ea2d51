//! Characters, escapes and bracketed classes.
//!
//! Go reads `[a&&b]`, `[a--b]` and `[[a]` without set operations, so every character
//! is written as itself or by its number.

use std::fmt::Write as _;

/// A class that no character is in.
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

/// An error with the text it is about and where that starts.
#[derive(Clone, Copy)]
pub(super) struct ClassError<'p> {
    pub(super) message: &'static str,
    pub(super) text: &'p str,
    pub(super) at: &'p str,
}

type ClassResult<'p, T> = Result<(T, &'p str), ClassError<'p>>;

/// Returns the character with this number as a pattern. Half of a surrogate pair matches nothing.
pub(super) fn class_literal(code: u32) -> String {
    match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() || !c.is_ascii() => c.to_string(),
        Some(_) => format!(r"\x{{{code:X}}}"),
        None => NOTHING.to_owned(),
    }
}

/// Reads an escape that is valid inside and outside of brackets. `text` starts with its backslash.
pub(super) fn read_class_escape(text: &str) -> ClassResult<'_, String> {
    match read_named_class(text)? {
        Some(class) => Ok(class),
        None => character_escape(text).map(|(code, rest)| (class_literal(code), rest)),
    }
}

/// Reads a bracketed class. `text` starts with its `[`.
pub(super) fn read_bracketed_class(text: &str) -> ClassResult<'_, String> {
    let mut out = String::from("[");
    let mut rest = text.get(1..).unwrap_or_default();
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        rest = read_class_member(rest, text, &mut out)?;
    }
    out.push(']');
    Ok((out, rest.get(1..).unwrap_or_default()))
}

/// Reads one member of the class that starts at `class`.
fn read_class_member<'p>(text: &'p str, class: &'p str, out: &mut String) -> Result<&'p str, ClassError<'p>> {
    if let Some((name, rest)) = posix_class(text)? {
        out.push_str(name);
        return Ok(rest);
    }
    if let Some((name, rest)) = read_named_class(text)? {
        out.push_str(&name);
        return Ok(rest);
    }
    let (low, rest) = read_class_character(text, class)?;
    // `[a-]` ends with a dash, so this is not a range.
    match rest.strip_prefix('-') {
        Some(after) if !after.is_empty() && !after.starts_with(']') => {
            let (high, rest) = read_class_character(after, class)?;
            if high < low {
                let range = text.get(..text.len() - rest.len()).unwrap_or(text);
                return Err(ClassError { message: "invalid character class range", text: range, at: text });
            }
            write_class_range(low, high, out);
            Ok(rest)
        }
        _ => {
            out.push_str(&class_literal(low));
            Ok(rest)
        }
    }
}

/// Writes a range. Its ends may be halves of surrogate pairs, which no text contains.
fn write_class_range(low: u32, high: u32, out: &mut String) {
    let surrogates = 0xD800..=0xDFFF;
    let low = if surrogates.contains(&low) { 0xE000 } else { low };
    let high = if surrogates.contains(&high) { 0xD7FF } else { high };
    if low <= high {
        let _ = write!(out, r"\x{{{low:X}}}-\x{{{high:X}}}");
    } else {
        out.push_str(NOTHING);
    }
}

/// Reads one character inside the class that starts at `class`.
fn read_class_character<'p>(text: &'p str, class: &'p str) -> ClassResult<'p, u32> {
    let mut chars = text.chars();
    match chars.next() {
        None => Err(ClassError { message: "missing closing ]", text: class, at: class }),
        Some('\\') => character_escape(text),
        Some(c) => Ok((u32::from(c), chars.as_str())),
    }
}

/// Reads an escape that means one character.
fn character_escape(text: &str) -> ClassResult<'_, u32> {
    let mut chars = text.get(1..).unwrap_or_default().chars();
    let Some(c) = chars.next() else {
        return Err(ClassError { message: "trailing backslash at end of expression", text: "", at: text });
    };
    let rest = chars.as_str();
    let code = match c {
        // One digit from 1 on would be a back reference, which is not supported.
        '1'..='7' if !rest.starts_with(|c| matches!(c, '0'..='7')) => return Err(invalid_escape(text, rest)),
        '0'..='7' => return Ok(read_octal(u32::from(c) - u32::from('0'), rest)),
        'x' => return read_hexadecimal(text, rest),
        'a' => 0x07,
        'f' => 0x0C,
        'n' => 0x0A,
        'r' => 0x0D,
        't' => 0x09,
        'v' => 0x0B,
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
        _ => return Err(invalid_escape(text, rest)),
    };
    Ok((code, rest))
}

/// Reads up to two more octal digits.
fn read_octal(mut code: u32, mut rest: &str) -> (u32, &str) {
    for _ in 0..2 {
        let mut chars = rest.chars();
        let Some(digit) = chars.next().and_then(|c| c.to_digit(8)) else { break };
        code = code * 8 + digit;
        rest = chars.as_str();
    }
    (code, rest)
}

/// Reads `41` or `{1F600}`.
fn read_hexadecimal<'p>(text: &'p str, rest: &'p str) -> ClassResult<'p, u32> {
    let (digits, after) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}').ok_or_else(|| invalid_escape(text, ""))?,
        None => rest.split_at_checked(2).ok_or_else(|| invalid_escape(text, ""))?,
    };
    let code = if digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    };
    match code {
        Some(code) if code <= 0x0010_FFFF => Ok((code, after)),
        _ => Err(invalid_escape(text, after)),
    }
}

/// Reads `\d` and its like, or a Unicode class such as `\pL` or `\p{Greek}`; `None` for anything else.
fn read_named_class(text: &str) -> Result<Option<(String, &str)>, ClassError<'_>> {
    let Some(escape) = text.strip_prefix('\\') else { return Ok(None) };
    let mut chars = escape.chars();
    let kind = chars.next();
    let rest = chars.as_str();
    let class = match kind {
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        Some('s') => r"[\t\n\f\r ]",
        Some('S') => r"[^\t\n\f\r ]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some('p') => return unicode_class(text, rest, false).map(Some),
        Some('P') => return unicode_class(text, rest, true).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((class.to_owned(), rest)))
}

/// Reads the name of a Unicode class: a letter, or a name in braces that a `^` may negate.
fn unicode_class<'p>(text: &'p str, rest: &'p str, negated: bool) -> ClassResult<'p, String> {
    let unknown = |after: &str| ClassError {
        message: "invalid character class range",
        text: text.get(..text.len() - after.len()).unwrap_or(text),
        at: text,
    };
    let (name, after) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}').ok_or_else(|| unknown(""))?,
        None => {
            let mut chars = rest.chars();
            chars.next().ok_or_else(|| unknown(""))?;
            (rest.get(..rest.len() - chars.as_str().len()).unwrap_or_default(), chars.as_str())
        }
    };
    let (name, negated) = name.strip_prefix('^').map_or((name, negated), |name| (name, !negated));
    let letter = if negated { 'P' } else { 'p' };
    let class = format!(r"\{letter}{{{name}}}");
    let spelled = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphabetic() || c == b'_');
    if spelled && regex_automata::util::syntax::parse(&class).is_ok() {
        Ok((class, after))
    } else {
        Err(unknown(after))
    }
}

/// Reads a class such as `[:alpha:]` or `[:^alpha:]`; `None` when the text does not look like one.
fn posix_class(text: &str) -> Result<Option<(&str, &str)>, ClassError<'_>> {
    let Some(end) = text.strip_prefix("[:").and_then(|inner| inner.find(":]")) else { return Ok(None) };
    let Some((class, rest)) = text.split_at_checked(end + 4) else { return Ok(None) };
    let name = class.trim_start_matches("[:").trim_end_matches(":]");
    if POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        Ok(Some((class, rest)))
    } else {
        Err(ClassError { message: "invalid character class range", text: class, at: text })
    }
}

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

fn invalid_escape<'p>(text: &'p str, rest: &str) -> ClassError<'p> {
    let escape = text.get(..text.len() - rest.len()).unwrap_or(text);
    ClassError { message: "invalid escape sequence", text: escape, at: text }
}
