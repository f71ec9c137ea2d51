//! Go's string, character and number literals.

use kubewright_golib::utf8::decode_utf8_lossy;

/// A number as written; which Go type it takes depends on who asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    pub text: String,
    pub integer: Option<i64>,
    pub unsigned: Option<u64>,
    pub float: Option<f64>,
    pub is_complex: bool,
}

impl Literal {
    /// Returns whether the literal is a double where no type is required.
    pub(super) fn is_float(&self) -> bool {
        let hexadecimal = self.text.get(..2).is_some_and(|p| p.eq_ignore_ascii_case("0x"))
            && !self.text.contains(['p', 'P']);
        self.float.is_some()
            && !hexadecimal
            && !self.text.starts_with('\'')
            && self.text.contains(['.', 'e', 'E', 'p', 'P'])
    }
}

/// Reads a number literal.
pub(super) fn parse_number_literal(text: &str) -> Result<Literal, String> {
    let mut literal =
        Literal { text: text.to_owned(), integer: None, unsigned: None, float: None, is_complex: false };
    if text.ends_with('i') {
        literal.is_complex = true;
        return Ok(literal);
    }
    literal.unsigned = if text.starts_with(['+', '-']) { None } else { parse_unsigned(text, 0) };
    literal.integer = parse_integer(text, 0);
    if literal.integer == Some(0) {
        literal.unsigned = Some(0);
    }
    if let Some(integer) = literal.integer {
        literal.float = Some(integer as f64);
    } else if let Some(unsigned) = literal.unsigned {
        literal.float = Some(unsigned as f64);
    } else if let Some(float) = parse_float(text) {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {text:?}"));
        }
        literal.float = Some(float);
        literal.integer = (float as i64 as f64 == float).then_some(float as i64);
        literal.unsigned = (float >= 0.0 && float as u64 as f64 == float).then_some(float as u64);
    } else {
        return Err(format!("illegal number syntax: {text:?}"));
    }
    Ok(literal)
}

/// Reads a character literal, quotes included.
pub(super) fn parse_character_literal(text: &str) -> Result<Literal, String> {
    let malformed = || format!("malformed character constant: {text}");
    let inner = text.get(1..).ok_or_else(malformed)?;
    let mut rest = inner.chars();
    let value = match rest.next() {
        Some('\'') | None => return Err("invalid syntax".to_owned()),
        Some('\\') => match read_escape(&mut rest, '\'').ok_or("invalid syntax")? {
            EscapeResult::Byte(byte) => u32::from(byte),
            EscapeResult::Character(c) => u32::from(c),
        },
        Some(c) => u32::from(c),
    };
    if rest.as_str() != "'" {
        return Err(malformed());
    }
    Ok(Literal {
        text: text.to_owned(),
        integer: Some(i64::from(value)),
        unsigned: Some(u64::from(value)),
        float: Some(f64::from(value)),
        is_complex: false,
    })
}

/// Reads a string literal, quotes included; nothing when it is not one.
pub(super) fn unquote(text: &str) -> Option<String> {
    if let Some(raw) = text.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', ""));
    }
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    let mut buffer = [0; 4];
    while let Some(c) = rest.next() {
        let escaped = match c {
            '\\' => read_escape(&mut rest, '"')?,
            c => EscapeResult::Character(c),
        };
        match escaped {
            EscapeResult::Byte(byte) => out.push(byte),
            EscapeResult::Character(c) => out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    Some(decode_utf8_lossy(&out))
}

enum EscapeResult {
    Byte(u8),
    Character(char),
}

fn read_escape(rest: &mut std::str::Chars<'_>, quote: char) -> Option<EscapeResult> {
    let simple = match rest.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        c if c == quote => c,
        'x' => return u8::try_from(read_digits(rest, 2, 16)?).ok().map(EscapeResult::Byte),
        'u' => char::from_u32(read_digits(rest, 4, 16)?)?,
        'U' => char::from_u32(read_digits(rest, 8, 16)?)?,
        first @ '0'..='7' => {
            let high = first.to_digit(8)?;
            return u8::try_from(high * 64 + read_digits(rest, 2, 8)?).ok().map(EscapeResult::Byte);
        }
        _ => return None,
    };
    Some(EscapeResult::Character(simple))
}

fn read_digits(rest: &mut std::str::Chars<'_>, count: usize, base: u32) -> Option<u32> {
    (0..count).try_fold(0_u32, |sum, _| Some(sum.checked_mul(base)? + rest.next()?.to_digit(base)?))
}

/// As Go's `strconv.ParseInt`; base 0 looks at the prefix and allows underscores.
pub(super) fn parse_integer(text: &str, base: u32) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let size = i128::from(parse_unsigned(digits, base)?);
    i64::try_from(if negative { -size } else { size }).ok()
}

/// As Go's `strconv.ParseUint`.
pub(super) fn parse_unsigned(text: &str, base: u32) -> Option<u64> {
    if base != 0 {
        return parse_plain_digits(text, base);
    }
    let prefixed = text.strip_prefix('0').filter(|r| !r.is_empty());
    let (base, digits) = match prefixed.and_then(|r| r.chars().next()) {
        None => (10, text),
        Some('x' | 'X') => (16, text.get(2..)?),
        Some('o' | 'O') => (8, text.get(2..)?),
        Some('b' | 'B') => (2, text.get(2..)?),
        Some(_) => (8, text.get(1..)?),
    };
    if !digits.contains('_') {
        return parse_plain_digits(digits, base);
    }
    let has_prefix = digits.len() < text.len();
    let misplaced =
        (digits.starts_with('_') && !has_prefix) || digits.ends_with('_') || digits.contains("__");
    if misplaced { None } else { parse_plain_digits(&digits.replace('_', ""), base) }
}

fn parse_plain_digits(digits: &str, base: u32) -> Option<u64> {
    if !digits.starts_with(|c: char| c.is_digit(base)) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// As Go's `strconv.ParseFloat`.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let cleaned;
    let text = if text.contains('_') {
        if !separates_digits(text) {
            return None;
        }
        cleaned = text.replace('_', "");
        &cleaned
    } else {
        text
    };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hexadecimal) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let size = parse_hexadecimal(hexadecimal)?;
        return Some(if text.starts_with('-') { -size } else { size });
    }
    let word = unsigned.to_ascii_lowercase();
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || matches!(word.as_str(), "inf" | "infinity")
        || text.eq_ignore_ascii_case("nan");
    let value: f64 = if is_number { text.parse().ok()? } else { return None };
    (value.is_finite() || matches!(word.as_str(), "inf" | "infinity" | "nan")).then_some(value)
}

/// Returns whether every underscore is between digits, or between the prefix of a base and a digit.
fn separates_digits(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_hexadecimal = unsigned.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
    let is_digit = |c: Option<char>| {
        c.is_some_and(|c| if is_hexadecimal { c.is_ascii_hexdigit() } else { c.is_ascii_digit() })
    };
    let characters: Vec<char> = unsigned.chars().collect();
    characters.iter().enumerate().filter(|(_, c)| **c == '_').all(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| characters.get(at)).copied();
        let is_behind_prefix = is_hexadecimal && at == 2;
        (is_digit(before) || is_behind_prefix) && is_digit(characters.get(at + 1).copied())
    })
}

/// Reads `1.8p3`, the form that Go allows after `0x`.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent: i32 = exponent.parse().ok()?;
    let digits = whole
        .chars()
        .chain(fraction.chars())
        .try_fold(0.0, |sum, c| Some(sum * 16.0 + f64::from(c.to_digit(16)?)))?;
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    Some(digits * 2_f64.powi(exponent.checked_sub(places)?)).filter(|value| value.is_finite())
}
