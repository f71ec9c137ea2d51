//! Sprig's functions that change upper and lower case.
//!
//! Go maps characters one by one, so `ß` stays as it is.

use super::super::call::{CallResult, FunctionCall};
use super::super::item::TemplateItem;
use super::arguments::text_argument;
use super::{ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("upper", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(match text_argument(a, 0) {
            text if text.is_ascii() => text.to_ascii_uppercase(),
            text => text.chars().map(upper_char).collect(),
        }))
    }),
    fixed_function("lower", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(match text_argument(a, 0) {
            text if text.is_ascii() => text.to_ascii_lowercase(),
            text => text.chars().map(lower_char).collect(),
        }))
    }),
    fixed_function("title", &[ParameterType::Text], sprig_title),
    fixed_function("untitle", &[ParameterType::Text], untitle),
    fixed_function("swapcase", &[ParameterType::Text], swapcase),
    fixed_function("camelcase", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(camel(text_argument(a, 0))))
    }),
    fixed_function("snakecase", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(join_words_with(text_argument(a, 0), '_')))
    }),
    fixed_function("kebabcase", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(join_words_with(text_argument(a, 0), '-')))
    }),
];

fn upper_char(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

fn lower_char(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn sprig_title(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut previous = ' ';
    let titled = text_argument(arguments, 0).chars().map(|c| {
        let starts = is_title_separator(previous);
        previous = c;
        if starts { upper_char(c) } else { c }
    });
    Ok(TemplateItem::text(titled.collect::<String>()))
}

fn is_title_separator(c: char) -> bool {
    if c.is_ascii() { !(c.is_ascii_alphanumeric() || c == '_') } else { c.is_whitespace() }
}

fn untitle(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut at_start = true;
    let changed = text_argument(arguments, 0).chars().map(|c| {
        let starts = at_start && !c.is_whitespace();
        at_start = c.is_whitespace() || (at_start && !starts);
        if starts { lower_char(c) } else { c }
    });
    Ok(TemplateItem::text(changed.collect::<String>()))
}

fn swapcase(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let swapped = text_argument(arguments, 0).chars().map(|c| {
        if c.is_uppercase() {
            lower_char(c)
        } else if c.is_lowercase() {
            upper_char(c)
        } else {
            c
        }
    });
    Ok(TemplateItem::text(swapped.collect::<String>()))
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || c.is_whitespace()
}

/// Connectors at the start stay; each other run of them makes the next character upper case.
fn camel(whole: &str) -> String {
    let mut out = String::with_capacity(whole.len());
    let mut rest = whole.chars();
    let mut current = None;
    for c in rest.by_ref() {
        if !is_connector(c) {
            current = Some(upper_char(c));
            break;
        }
        out.push(c);
        current = Some(c);
    }
    let Some(mut current) = current else {
        return out;
    };
    if rest.as_str().is_empty() {
        // The only character, or the last of a run of connectors, is written twice for the latter.
        out.push(current);
        return out;
    }
    for c in rest {
        let previous = current;
        current = c;
        if is_connector(c) && is_connector(previous) {
            out.push(previous);
        } else if is_connector(previous) {
            current = upper_char(c);
        } else {
            current = lower_char(c);
            out.push(previous);
        }
    }
    out.push(current);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordCase {
    None,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// Splits into words at changes of case and kind and joins them with `connector`.
fn join_words_with(whole: &str, connector: char) -> String {
    let mut out = String::with_capacity(whole.len() + 8);
    let (mut kind, mut word, mut rest) = next_word(whole);
    while !rest.is_empty() {
        if kind != WordCase::Connector {
            push_lower(&mut out, kind, word, connector);
        }
        let (previous, last) = (kind, word);
        (kind, word, rest) = next_word(rest);
        match previous {
            WordCase::Number => {
                while matches!(kind, WordCase::Alphabet | WordCase::Number) {
                    push_lower(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, WordCase::None | WordCase::Punctuation) {
                    out.push(connector);
                }
            }
            WordCase::Connector => push_lower(&mut out, previous, last, connector),
            WordCase::Punctuation => {}
            _ if kind != WordCase::Number => {
                if !matches!(kind, WordCase::Connector | WordCase::Punctuation) {
                    out.push(connector);
                }
            }
            _ if rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word, rest) = next_word(rest);
                if kind != WordCase::Alphabet {
                    // The number belongs to the word before it: `Bld4Floor` is `bld4_floor`.
                    push_lower(&mut out, WordCase::Number, number, connector);
                    if !matches!(kind, WordCase::Connector | WordCase::Punctuation) {
                        out.push(connector);
                    }
                    continue;
                }
                out.push(connector);
                push_lower(&mut out, WordCase::Number, number, connector);
                while matches!(kind, WordCase::Alphabet | WordCase::Number) {
                    push_lower(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, WordCase::None | WordCase::Connector | WordCase::Punctuation) {
                    out.push(connector);
                }
            }
        }
    }
    push_lower(&mut out, kind, word, connector);
    out
}

fn push_lower(out: &mut String, kind: WordCase, word: &str, connector: char) {
    if !matches!(kind, WordCase::Upper | WordCase::Connector) {
        out.push_str(word);
        return;
    }
    out.extend(word.chars().map(|c| match c {
        c if is_connector(c) => connector,
        c if c.is_uppercase() => lower_char(c),
        c => c,
    }));
}

/// Takes the first word: its kind, its text, and what follows.
fn next_word(text: &str) -> (WordCase, &str, &str) {
    let Some(first) = text.chars().next() else {
        return (WordCase::None, "", "");
    };
    let while_true = |matches: &dyn Fn(char) -> bool| text.find(|c| !matches(c)).unwrap_or(text.len());
    let small = |c: char| c.is_alphabetic() && !c.is_uppercase();
    let (kind, end) = if is_connector(first) {
        (WordCase::Connector, while_true(&is_connector))
    } else if is_punctuation(first) {
        (WordCase::Punctuation, while_true(&is_punctuation))
    } else if first.is_uppercase() {
        (WordCase::Upper, upper_word(text, first))
    } else if first.is_alphabetic() {
        (WordCase::Alphabet, while_true(&small))
    } else if first.is_numeric() {
        (WordCase::Number, while_true(&char::is_numeric))
    } else {
        let other = |c: char| !(is_connector(c) || c.is_alphabetic() || c.is_numeric() || is_punctuation(c));
        (WordCase::Other, while_true(&other))
    };
    let (word, rest) = text.split_at(end);
    (kind, word, rest)
}

/// Ends a word that starts in upper case: `HTTPServer` is `HTTP` and `Server`.
fn upper_word(text: &str, first: char) -> usize {
    let after_first = first.len_utf8();
    let tail = text.get(after_first..).unwrap_or_default();
    let small = |c: char| c.is_alphabetic() && !c.is_uppercase();
    match tail.chars().next() {
        Some(second) if second.is_uppercase() => {
            let end = text.find(|c: char| !c.is_uppercase()).unwrap_or(text.len());
            let next = text.get(end..).and_then(|rest| rest.chars().next());
            let last = text.get(..end).and_then(|run| run.chars().next_back()).map_or(0, char::len_utf8);
            if next.is_some_and(char::is_alphabetic) { end - last } else { end }
        }
        Some(second) if small(second) => tail.find(|c| !small(c)).map_or(text.len(), |at| at + after_first),
        _ => after_first,
    }
}

fn is_punctuation(c: char) -> bool {
    // Go's category P leaves out the ASCII symbols.
    if c.is_ascii() {
        c.is_ascii_punctuation() && !matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
    } else {
        matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}')
    }
}
