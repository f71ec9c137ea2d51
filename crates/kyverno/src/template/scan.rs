//! Finds the variables in a text.
//!
//! A variable ends where its expression ends: braces in it are counted, and those in quotes do not count.
//! `{{` inside a variable starts another one, whose value becomes part of the outer expression.

use std::collections::HashMap;
use std::ops::Range;

/// The deepest nesting of variables.
const MAX_DEPTH: u32 = 16;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextSpan {
    /// Text; `\{{` in it is `{{`.
    Text(String),
    /// A variable, braces included.
    Variable(Range<usize>),
}

/// Splits `text` into its variables and the texts between them.
pub(super) fn spans(text: &str) -> Vec<TextSpan> {
    let mut scanner = VariableScanner::new(text);
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(next) = rest.find(['{', '\\']) else {
            plain.push_str(rest);
            break;
        };
        plain.push_str(rest.get(..next).unwrap_or_default());
        at += next;
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("\\{{") {
            plain.push_str("{{");
            at += 3;
        } else if let Some(end) = rest.starts_with("{{").then(|| scanner.outer_end(at)).flatten() {
            if !plain.is_empty() {
                spans.push(TextSpan::Text(std::mem::take(&mut plain)));
            }
            spans.push(TextSpan::Variable(at..end));
            at = end;
        } else {
            plain.push_str(rest.get(..1).unwrap_or_default());
            at += 1;
        }
    }
    if !plain.is_empty() {
        spans.push(TextSpan::Text(plain));
    }
    spans
}

/// The position of a variable inside another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// `'…'`
    Raw,
    /// `"…"`
    Name,
    /// `` `…` ``
    Literal,
}

impl Quote {
    /// Returns the character that it is written as.
    pub(super) fn mark(self) -> char {
        match self {
            Self::Raw => '\'',
            Self::Name => '"',
            Self::Literal => '`',
        }
    }
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryPart {
    /// As it is written.
    Text(Range<usize>),
    /// A variable, braces included.
    Variable(Range<usize>),
    /// A quoted text with variables, without its quotes.
    Quoted(Quote, Vec<QueryPart>),
}

/// Splits an expression into its variables and the texts between them; one text if there are none.
pub(super) fn split_variables(text: &str) -> Vec<QueryPart> {
    let mut scanner = VariableScanner::new(text);
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        let (part, end) = match byte {
            b'{' => match scanner.is_double(at).then(|| scanner.end(at, 1)).flatten() {
                Some(end) => (Some(QueryPart::Variable(at..end)), end),
                None => (None, at + 1),
            },
            b'\'' | b'"' | b'`' => scanner.quoted(at),
            _ => (None, at + 1),
        };
        if let Some(part) = part {
            parts.extend((start < at).then_some(QueryPart::Text(start..at)));
            parts.push(part);
            start = end;
        }
        at = end;
    }
    parts.extend((start < text.len()).then_some(QueryPart::Text(start..text.len())));
    parts
}

struct VariableScanner<'t> {
    text: &'t [u8],
    /// Where the variable that starts there ends, once that is known.
    known: HashMap<usize, Option<usize>>,
    /// How many bytes may still be looked at. Only a text full of unclosed quotes and braces uses it up.
    fuel: usize,
}

impl<'t> VariableScanner<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            known: HashMap::new(),
            fuel: text.len().saturating_mul(32).saturating_add(100_000),
        }
    }

    fn is_double(&self, at: usize) -> bool {
        self.text.get(at..).is_some_and(|rest| rest.starts_with(b"{{"))
    }

    /// Returns where the variable at `start` ends, be its quotes closed or not.
    fn outer_end(&mut self, start: usize) -> Option<usize> {
        self.end(start, 0).or_else(|| self.careless_end(start))
    }

    /// Returns where the variable at `start` ends.
    fn end(&mut self, start: usize, depth: u32) -> Option<usize> {
        if let Some(known) = self.known.get(&start) {
            return *known;
        }
        let end = if depth < MAX_DEPTH { self.look_for_end(start, depth) } else { None };
        self.known.insert(start, end);
        end
    }

    fn look_for_end(&mut self, start: usize, depth: u32) -> Option<usize> {
        let mut at = start + 2;
        let mut braces = 0_u32;
        loop {
            self.fuel = self.fuel.checked_sub(1)?;
            match self.text.get(at)? {
                b'{' if self.is_double(at) => at = self.end(at, depth + 1)?,
                b'{' => {
                    braces += 1;
                    at += 1;
                }
                b'}' if braces > 0 => {
                    braces -= 1;
                    at += 1;
                }
                b'}' => return (self.text.get(at + 1) == Some(&b'}')).then_some(at + 2),
                quote @ (b'\'' | b'"' | b'`') => at = self.quote_end(at, *quote, depth)?,
                _ => at += 1,
            }
        }
    }

    /// Returns where the quoted text at `start` ends.
    fn quote_end(&mut self, start: usize, quote: u8, depth: u32) -> Option<usize> {
        let mut at = start + 1;
        loop {
            self.fuel = self.fuel.checked_sub(1)?;
            match *self.text.get(at)? {
                b'\\' => at += 2,
                byte if byte == quote => return Some(at + 1),
                b'{' if self.is_double(at) => at = self.end(at, depth + 1).unwrap_or(at + 1),
                _ => at += 1,
            }
        }
    }

    /// Returns where the variable at `start` ends if quotes mean nothing.
    fn careless_end(&mut self, start: usize) -> Option<usize> {
        let mut at = start + 2;
        let mut is_in_braces = false;
        loop {
            self.fuel = self.fuel.checked_sub(1)?;
            match self.text.get(at)? {
                b'{' if is_in_braces => return None,
                b'{' => is_in_braces = true,
                b'}' if is_in_braces => is_in_braces = false,
                b'}' => return (self.text.get(at + 1) == Some(&b'}')).then_some(at + 2),
                _ => {}
            }
            at += 1;
        }
    }

    /// Returns the quoted text at `start` if it has variables, and its end.
    fn quoted(&mut self, start: usize) -> (Option<QueryPart>, usize) {
        let (kind, quote) = match self.text.get(start) {
            Some(b'\'') => (Quote::Raw, b'\''),
            Some(b'"') => (Quote::Name, b'"'),
            _ => (Quote::Literal, b'`'),
        };
        let Some(end) = self.quote_end(start, quote, 0) else { return (None, start + 1) };
        let mut parts = Vec::new();
        let (mut from, mut at) = (start + 1, start + 1);
        while at < end - 1 {
            let variable_end = match self.text.get(at) {
                Some(b'\\') => {
                    at += 2;
                    continue;
                }
                Some(b'{') if self.is_double(at) => self.end(at, 1),
                _ => None,
            };
            match variable_end {
                Some(variable_end) => {
                    parts.extend((from < at).then_some(QueryPart::Text(from..at)));
                    parts.push(QueryPart::Variable(at..variable_end));
                    (from, at) = (variable_end, variable_end);
                }
                None => at += 1,
            }
        }
        if parts.is_empty() {
            return (None, end);
        }
        parts.extend((from < end - 1).then_some(QueryPart::Text(from..end - 1)));
        (Some(QueryPart::Quoted(kind, parts)), end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn splits(text: &str, want: &[&str]) {
        let spans = spans(text);
        let shown: Vec<String> = spans
            .iter()
            .map(|span| match span {
                TextSpan::Text(text) => text.clone(),
                TextSpan::Variable(range) => format!("<{}>", &text[range.clone()]),
            })
            .collect();
        assert_eq!(shown, want, "{text}");
    }

    #[test]
    fn variables_end_where_their_expressions_end() {
        splits("a {{ b }} c{{d}}{{e}}", &["a ", "<{{ b }}>", " c", "<{{d}}>", "<{{e}}>"]);
        splits("{{ x.{a: b} }}", &["<{{ x.{a: b} }}>"]);
        splits("{{x.{a: b}}}", &["<{{x.{a: b}}}>"]);
        splits("{{ merge(@, `{\"a\":{\"b\":1}}`) }}]", &["<{{ merge(@, `{\"a\":{\"b\":1}}`) }}>", "]"]);
        splits("{{ split(x, '}}') }}!", &["<{{ split(x, '}}') }}>", "!"]);
        splits("{{ a.{{b}} }} {{c", &["<{{ a.{{b}} }}>", " {{c"]);
        splits("{{ a.'{{ b }}' }}", &["<{{ a.'{{ b }}' }}>"]);
        splits("{{ replace_all(x, '{{', '') }}", &["<{{ replace_all(x, '{{', '') }}>"]);
        splits("{{{ a }}", &["{", "<{{ a }}>"]);
        splits("it's {{ it's }} it's", &["it's ", "<{{ it's }}>", " it's"]);
        splits("{{ a } }}", &["{{ a } }}"]);
    }

    #[test]
    fn a_backslash_makes_text_of_a_variable() {
        splits(r"\{{ a }} {{ b }}", &["{{ a }} ", "<{{ b }}>"]);
        splits(r"a\b { \{ c", &[r"a\b { \{ c"]);
        splits("ü{{ü}}ü", &["ü", "<{{ü}}>", "ü"]);
    }

    #[test]
    fn hostile_texts_are_read_in_bounded_time() {
        for text in ["{{'", "{{", "'{{", "{{{", "`{{\"", "}}{{'{{"] {
            let text = format!("{{{{{}", text.repeat(20_000));
            assert!(!spans(&text).is_empty());
            assert!(!split_variables(&text).is_empty());
        }
    }

    #[test]
    fn parts_of_an_expression_know_their_quotes() {
        let shape = |text: &str| {
            let show = |part: &QueryPart| match part {
                QueryPart::Text(range) => text[range.clone()].to_owned(),
                QueryPart::Variable(range) => format!("<{}>", &text[range.clone()]),
                QueryPart::Quoted(quote, parts) => format!("{quote:?}{}", parts.len()),
            };
            split_variables(text).iter().map(show).collect::<Vec<_>>().join("|")
        };
        assert_eq!(shape("a.{{b}}.c"), "a.|<{{b}}>|.c");
        assert_eq!(shape("f('x {{b}}', \"{{c}}\", 'y')"), "f(|Raw2|, |Name1|, 'y')");
        assert_eq!(shape("`[\"{{b}}\", {{c}}]`"), "Literal5");
        assert_eq!(shape("a.b"), "a.b");
    }
}
