//! Literals, keys and names of CEL.

use kubewright_cel::RESERVED_WORDS;

/// Returns `text` as a literal.
pub(crate) fn string_literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other if other.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a double as a literal that is a whole number where it is one.
pub(super) fn double_literal(number: f64) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return format!("{number:.0}").replace("-0", "0");
    }
    format!("{number:?}")
}

/// A key of a map that an expression leads to.
pub(super) struct MapField<'f> {
    pub(super) parent: &'f str,
    pub(super) key: &'f str,
}

impl MapField<'_> {
    /// `parent.key`
    pub(super) fn value(&self) -> String {
        match is_selectable_key(self.key) {
            true => format!("{}.{}", self.parent, self.key),
            false => format!("{}[{}]", self.parent, string_literal(self.key)),
        }
    }

    /// `parent.?key`
    pub(super) fn optional(&self) -> String {
        match is_selectable_key(self.key) {
            true => format!("{}.?{}", self.parent, self.key),
            false => format!("{}[?{}]", self.parent, string_literal(self.key)),
        }
    }

    /// `has(parent.key)`
    pub(super) fn presence(&self) -> super::formula::Formula {
        match is_selectable_key(self.key) {
            true => super::formula::Formula::call(format!("has({}.{})", self.parent, self.key)),
            false => super::formula::Formula::compare(&string_literal(self.key), "in", self.parent),
        }
    }
}

/// Returns whether `key` can be written behind a point.
fn is_selectable_key(key: &str) -> bool {
    let starts_well = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !["true", "false", "null", "in"].contains(&key)
}

/// Returns a variable name for an element of the list `key`, other than `taken` names.
pub(super) fn element_name(key: &str, taken: &[String]) -> String {
    let word_start = key.rfind(|c: char| c.is_ascii_uppercase()).unwrap_or(0);
    let word = key.get(word_start..).unwrap_or_default().to_ascii_lowercase();
    let singular = match word.strip_suffix('s') {
        Some(singular) if singular.len() > 1 && !singular.ends_with('s') => singular,
        _ => "item",
    };
    let is_fine = is_selectable_key(singular)
        && !RESERVED_WORDS.contains(&singular)
        && !RESERVED_NAMES.contains(&singular);
    let name = if is_fine { singular } else { "item" };
    if !taken.iter().any(|taken| taken == name) {
        return name.to_owned();
    }
    (2..).map(|number| format!("{name}{number}")).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Further names that an element must not have, because they mean something else.
const RESERVED_NAMES: &[&str] = &[
    "object",
    "request",
    "param",
    "variable",
    "type",
    "list",
    "map",
    "int",
    "uint",
    "bool",
    "double",
    "string",
    "bytes",
    "duration",
    "timestamp",
    "dyn",
    "size",
    "has",
    "quantity",
    "url",
    "authorizer",
    "optional",
    "math",
    "set",
    "ip",
    "cidr",
    "format",
    "in",
    "image",
];
