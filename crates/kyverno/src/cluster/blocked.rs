//! The message for the requester of a refused request: policies, their rules and reasons, as Kyverno writes it.
//!
//! Programs read it, so it is the same byte for byte: YAML as Go's `yaml.v3` writes a map of maps of texts.

use std::cmp::Ordering;
use std::fmt::Write as _;

use kubewright_engine::RuleOutcome;
use kubewright_k8s::AdmissionRequest;
use kubewright_value::text::{contains_pair, is_printable_ascii};
use kubewright_value::{CompactSort as _, Value, yaml};

use super::policy_of;

/// Returns why `request` is refused; nothing where it is not.
pub(super) fn blocked_message(request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> String {
    let refusals = outcomes.iter().filter(|outcome| outcome.is_refusal);
    let mut failures: Vec<BlockedRule<'_>> = refusals.map(|outcome| BlockedRule::of(outcome)).collect();
    if failures.is_empty() {
        return String::new();
    }
    let room = failures.iter().map(|failure| failure.why.len() + 100).sum::<usize>() + 150;
    let mut message = String::with_capacity(room);
    message.push_str("\n\nresource ");
    for (place, path) in [&["kind"][..], &["metadata", "namespace"], &["metadata", "name"]].iter().enumerate()
    {
        message.push_str(if place > 0 { "/" } else { "" });
        message.push_str(request.object.str_at(path));
    }
    message.push_str(" was blocked due to the following policies \n\n");
    // The natural order is none for all texts, so the result depends on the order before it. Of two outcomes of a rule the
    // last one counts.
    failures.reverse();
    failures.sort_by(|one, other| (one.policy, one.rule).cmp(&(other.policy, other.rule)));
    failures.dedup_by(|one, other| (one.policy, one.rule) == (other.policy, other.rule));
    let mut policies: Vec<&mut [BlockedRule<'_>]> =
        failures.chunk_by_mut(|one, other| one.policy == other.policy).collect();
    policies.compact_sort_by(|one, other| compare_naturally(policy_name(one), policy_name(other)));
    for rules in policies {
        write_yaml_key(&mut message, policy_name(rules));
        message.push('\n');
        rules.compact_sort_by(|one, other| compare_naturally(one.rule, other.rule));
        for BlockedRule { rule, why, .. } in rules {
            message.push_str("  ");
            write_yaml_key(&mut message, rule);
            message.push(' ');
            write_yaml_value(&mut message, why);
        }
    }
    message
}

/// A rule that refuses, and why.
struct BlockedRule<'o> {
    policy: &'o str,
    rule: &'o str,
    why: &'o str,
}

impl<'o> BlockedRule<'o> {
    fn of(outcome: &'o RuleOutcome) -> Self {
        Self { policy: policy_of(outcome), rule: &outcome.rule.rule, why: &outcome.message }
    }
}

/// Returns the policy of `rules`, which all have the same.
fn policy_name<'o>(rules: &[BlockedRule<'o>]) -> &'o str {
    rules.first().map_or("", |rule| rule.policy)
}

/// Compares keys as people do: numbers in them by their size, letters behind everything else.
fn compare_naturally(one: &str, other: &str) -> Ordering {
    let places = one.char_indices().zip(other.chars());
    let Some(place) = places.into_iter().find(|((_, one), other)| one != other).map(|((place, _), _)| place)
    else {
        // One begins with the other, so the longer one has more characters.
        return one.len().cmp(&other.len());
    };
    let (before, first) = one.split_at(place);
    let second = other.get(place..).unwrap_or_default();
    let (Some(a), Some(b)) = (first.chars().next(), second.chars().next()) else { return Ordering::Equal };
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => return a.cmp(&b),
        (is_letter, other) if is_letter != other => {
            let is_in_number = before.chars().next_back().is_some_and(char::is_numeric);
            return if is_letter == is_in_number { Ordering::Less } else { Ordering::Greater };
        }
        _ => {}
    }
    // A zero counts only after a digit other than zero.
    let mut digits_before = before.bytes().rev().take_while(u8::is_ascii_digit);
    let starts = (a == '0' || b == '0') && digits_before.any(|digit| digit != b'0');
    let number = |text: &str| {
        let digits = text.chars().map_while(|digit| digit.to_digit(10));
        let start = (i64::from(starts), 0);
        digits.fold(start, |(number, count): (i64, usize), digit| {
            (number.wrapping_mul(10).wrapping_add(i64::from(digit)), count + 1)
        })
    };
    number(first).cmp(&number(second)).then(a.cmp(&b))
}

fn write_yaml_key(out: &mut String, text: &str) {
    let is_long = text.len() > 128;
    out.push_str(if is_long { "? " } else { "" });
    write_folded_line(out, text);
    out.push_str(if is_long { "\n:" } else { ":" });
}

/// Writes a value of the second level and ends its line.
fn write_yaml_value(out: &mut String, text: &str) {
    if text.contains('\n') && fits_literal_block(text) {
        write_literal_block(out, text);
    } else {
        write_folded_line(out, text);
        out.push('\n');
    }
}

fn write_folded_line(out: &mut String, text: &str) {
    // Printable ASCII has no line breaks.
    let is_one_line =
        is_printable_ascii(text) || !text.contains(is_break) && text.chars().all(is_printable_in_yaml);
    let is_plain = is_one_line && is_plain_yaml(text);
    if !is_one_line || has_other_meaning(text, is_plain) {
        write_double_quoted(out, text);
    } else if is_plain {
        out.push_str(text);
    } else {
        out.push('\'');
        match text.contains('\'') {
            true => out.push_str(&text.replace('\'', "''")),
            false => out.push_str(text),
        }
        out.push('\'');
    }
}

/// Returns whether `text` has a pair of characters that ends a text without quotes.
fn has_yaml_pair(text: &str) -> bool {
    contains_pair(text, *b": ") || contains_pair(text, *b" #")
}

/// The length of `false`: all longer texts that begin with a letter are texts.
const LONGEST_YAML_WORD: usize = 5;

/// Returns whether a text without quotes would be read as something else than a text.
fn has_other_meaning(text: &str, is_plain: bool) -> bool {
    if text.is_empty() {
        return true;
    }
    if text == "<<" || text == "=" || !is_plain {
        return false;
    }
    // Names and messages, which need not be read to know it.
    if text.len() > LONGEST_YAML_WORD && text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return false;
    }
    let is_date = || {
        let parts: Vec<&str> = text.split('-').collect();
        let is_number = |part: &&str, least: usize, most: usize| {
            (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        matches!(parts.as_slice(), [year, month, day]
            if is_number(year, 4, 4) && is_number(month, 1, 2) && is_number(day, 1, 2))
    };
    // Numbers to the base of sixty, as in `12:30:45`.
    let is_sixty = || {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
        let mut parts = whole.split(':');
        let starts_well = parts
            .next()
            .is_some_and(|first| first.starts_with(|c: char| c.is_ascii_digit()) && is_digits(first));
        let is_small = |part: &str| part.len() <= 2 && part.parse::<u8>().is_ok_and(|number| number < 60);
        whole.contains(':') && starts_well && parts.all(is_small) && is_digits(fraction)
    };
    let is_old_word = matches!(text, "y" | "Y" | "n" | "N");
    is_old_word || !matches!(yaml::parse(text), Ok(Value::String(_))) || is_date() || is_sixty()
}

fn is_plain_yaml(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next();
    let is_followed_by_space = characters.next().is_none_or(|next| next == ' ');
    let starts_well = match first {
        None => false,
        Some('-' | '?' | ':') => !is_followed_by_space,
        Some(first) => !" ,[]{}#&*!|>'\"%@`".contains(first),
    };
    starts_well
        && !text.ends_with([' ', ':'])
        && !has_yaml_pair(text)
        && !text.starts_with("---")
        && !text.starts_with("...")
}

fn is_printable_in_yaml(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && !matches!(character, '\u{feff}')
}

fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn fits_literal_block(text: &str) -> bool {
    text.chars().all(|character| is_printable_in_yaml(character) || matches!(character, '\n' | '\t'))
        && !text.ends_with(' ')
        && !text.contains(" \n")
        && !text.contains(['\u{2028}', '\u{2029}'])
}

fn write_literal_block(out: &mut String, text: &str) {
    out.push('|');
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    let body = text.strip_suffix('\n');
    out.push_str(match body {
        None => "-",
        Some(body) if body.is_empty() || body.ends_with('\n') => "+",
        Some(_) => "",
    });
    for line in body.unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str("    ");
            out.push_str(line);
        }
    }
    out.push('\n');
}

fn write_double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        let short = match character {
            '\0' => "\\0",
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{b}' => "\\v",
            '\u{c}' => "\\f",
            '\r' => "\\r",
            '\u{1b}' => "\\e",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{85}' => "\\N",
            '\u{2028}' => "\\L",
            '\u{2029}' => "\\P",
            plain if is_printable_in_yaml(plain) => {
                out.push(plain);
                continue;
            }
            _ => "",
        };
        out.push_str(short);
        if short.is_empty() {
            // Writing to a text cannot fail.
            let _ = match u32::from(character) {
                code @ ..=0xff => write!(out, "\\x{code:02X}"),
                code @ ..=0xffff => write!(out, "\\u{code:04X}"),
                code => write!(out, "\\U{code:08X}"),
            };
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests;
