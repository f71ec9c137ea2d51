//! Ignores in manifests: comments and annotations that take outcomes of rules out of the count.
//!
//! `# kubewright: ignore RULE until 2027-01-01: why` before an object, or after its last line, is about the whole object.
//! Inside of an object it is about the lines below it that belong together, or about its own line if something else is
//! written there. Nothing here is asked by a webhook: an object must not choose which rules of a cluster apply to it.

use kubewright_engine::RuleId;
use kubewright_value::{Document, Source, Value};
use memchr::memmem;

use crate::suppression::{IGNORE_REASON_ANNOTATION, matches_name};

/// The annotation with the names of the rules that are ignored; `*` and `?` are wildcards.
pub const IGNORED_RULES_ANNOTATION: &str = "kubewright.dev/ignore-rules";
/// The annotation with the last day on which they are.
pub const IGNORE_UNTIL_ANNOTATION: &str = "kubewright.dev/ignore-until";
/// How many names of the annotation are read.
const MAX_IGNORED_RULES: usize = 1_000;

/// What a comment starts with.
const MARK: &str = "kubewright:";

/// What the names of rules start with that were made of a rule about Pods.
const AUTOGEN_PREFIXES: [&str; 2] = ["autogen-cronjob-", "autogen-"];

/// An ignore in a comment of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreComment {
    /// The line that it is in, from 1.
    pub line: u32,
    /// The names of the rules, with `*` and `?` as wildcards.
    pub rules: Vec<String>,
    /// The last day on which it counts, as `2027-01-01`.
    pub until: Option<String>,
    /// Why; may be empty.
    pub reason: String,
    /// Whether there is nothing else in the line.
    is_alone: bool,
}

/// A comment that was meant to be an ignore and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreMistake {
    /// The line that it is in, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// The lines of an object, with the comments around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectLines {
    /// The first line of the comments before the object.
    head: u32,
    first: u32,
    last: u32,
    /// The last line of the comments after it.
    tail: u32,
}

/// Returns the ignores in the comments of `source`, and the mistakes in them.
#[must_use]
pub fn ignore_comments(source: &Source) -> (Vec<IgnoreComment>, Vec<IgnoreMistake>) {
    let (mut comments, mut mistakes) = (Vec::new(), Vec::new());
    // Most files have none, and many are large.
    if source.name.ends_with(".json") || memmem::find(source.text.as_bytes(), MARK.as_bytes()).is_none() {
        return (comments, mistakes);
    }
    for (line, text) in (1..).zip(source.text.lines()) {
        let Some((before, comment)) = comment_of(text) else { continue };
        let Some(words) = comment.trim_start().strip_prefix(MARK) else { continue };
        match read_ignore(words) {
            Ok((rules, until, reason)) => {
                let is_alone = before.trim().is_empty();
                comments.push(IgnoreComment { line, rules, until, reason, is_alone });
            }
            Err(message) => mistakes.push(IgnoreMistake { line, message }),
        }
    }
    (comments, mistakes)
}

impl IgnoreComment {
    /// Returns whether this is about an outcome at `line` of the object.
    #[must_use]
    pub fn covers(&self, line: u32, object: ObjectLines, source: &Source) -> bool {
        if self.line < object.head || self.line > object.tail {
            return false;
        }
        if self.is_alone && (self.line < object.first || self.line > object.last) {
            return true;
        }
        let first = if self.is_alone { next_content_line(source, self.line) } else { Some(self.line) };
        first.is_some_and(|first| first <= line && line <= block_end(source, first))
    }

    /// Returns whether this names the rule.
    #[must_use]
    pub fn names(&self, rule: &RuleId) -> bool {
        self.rules.iter().any(|name| fits_rule(rule, name))
    }
}

impl ObjectLines {
    /// Returns the lines of the object in `document`.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        let source = &document.source;
        let lines = || document.positions.as_slice().iter().map(|position| position.line);
        let (first, last) = (lines().min().unwrap_or(1), lines().max().unwrap_or(1));
        let last = block_end(source, last).max(last);
        let is_comment = |line: u32| source.line(line).is_some_and(is_blank_or_comment);
        let mut head = first;
        while head > 1 && is_comment(head - 1) {
            head -= 1;
        }
        // What is written before the first document of a file is about that document.
        let mut above = head.saturating_sub(1);
        if source.line(above).is_some_and(is_document_start) {
            while above > 1 && is_comment(above - 1) {
                above -= 1;
            }
            head = if above <= 1 { 1 } else { head };
        }
        let mut tail = last;
        while is_comment(tail + 1) {
            tail += 1;
        }
        let ends_document = source.line(tail + 1).is_none_or(is_document_start);
        Self { head, first, last, tail: if ends_document { tail } else { last } }
    }
}

/// Returns whether `name` is that of the rule: its full id, `policy/rule`, `rule` or its policy, with `*` and `?` as wildcards. A
/// rule that was made of another one has the name of that too.
#[must_use]
pub fn fits_rule(rule: &RuleId, name: &str) -> bool {
    let policy = format!("{}/{}", rule.dialect, rule.policy);
    let fits = |form: &str| !form.is_empty() && matches_name(name, form);
    let fits_rule = |rule: &RuleId| fits(&rule.to_string()) || fits(&rule.short()) || fits(&rule.rule);
    let made_of = AUTOGEN_PREFIXES.iter().find_map(|prefix| rule.rule.strip_prefix(prefix));
    let origin = made_of.map(|origin| RuleId { rule: origin.into(), ..rule.clone() });
    fits(&rule.policy) || fits(&policy) || fits_rule(rule) || origin.as_ref().is_some_and(fits_rule)
}

/// Returns what the annotations of `object` say of its rules, at line 0; nothing where they name none.
#[must_use]
pub fn annotated_ignore(object: &Value) -> Option<IgnoreComment> {
    let annotations = object.at(&["metadata", "annotations"])?;
    let names = annotations.get(IGNORED_RULES_ANNOTATION)?.as_str()?;
    let names = names.split(',').take(MAX_IGNORED_RULES).map(str::trim).filter(|name| !name.is_empty());
    let until = annotations.get(IGNORE_UNTIL_ANNOTATION).and_then(Value::as_str);
    Some(IgnoreComment {
        line: 0,
        rules: names.map(str::to_owned).collect(),
        until: until.map(str::to_owned),
        reason: annotations.str_at(&[IGNORE_REASON_ANNOTATION]).to_owned(),
        is_alone: true,
    })
}

/// Splits a line at its comment.
fn comment_of(line: &str) -> Option<(&str, &str)> {
    let mark = line.match_indices('#').find(|(at, _)| {
        line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']))
    })?;
    Some((line.get(..mark.0)?, line.get(mark.0 + 1..)?))
}

/// Reads `ignore RULE[, RULE] [until DATE][: REASON]`.
fn read_ignore(words: &str) -> Result<(Vec<String>, Option<String>, String), String> {
    let words = words.trim();
    let Some(rest) = words.strip_prefix("ignore").filter(|rest| rest.is_empty() || rest.starts_with(' '))
    else {
        let word = words.split_whitespace().next().unwrap_or_default();
        return Err(format!("unknown word `{word}` after `kubewright:`; the one that is known is `ignore`"));
    };
    let (head, reason) = match rest.split_once(": ") {
        Some((head, reason)) => (head, reason.trim()),
        None => (rest.strip_suffix(':').unwrap_or(rest), ""),
    };
    let mut names = head.split([' ', ',']).filter(|name| !name.is_empty());
    let rules: Vec<String> = names.by_ref().take_while(|name| *name != "until").map(str::to_owned).collect();
    if rules.is_empty() {
        return Err("this ignore names no rule".to_owned());
    }
    let until = match (head.contains(" until"), names.next()) {
        (_, Some(date)) if is_date(date) => Some(date.to_owned()),
        (_, Some(date)) => return Err(format!("`{date}` is not a date such as 2027-01-31")),
        (true, None) => return Err("`until` has no date".to_owned()),
        (false, None) => None,
    };
    Ok((rules, until, reason.to_owned()))
}

/// Returns whether `text` is a date as `2027-01-31`. Such texts sort as their dates do.
#[must_use]
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &str, length, range: std::ops::RangeInclusive<u32>| {
        part.len() == length && part.parse().is_ok_and(|number| range.contains(&number))
    };
    let [year, month, day] = parts.as_slice() else { return false };
    is_number(year, 4, 1970..=9999) && is_number(month, 2, 1..=12) && is_number(day, 2, 1..=31)
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

fn is_document_start(line: &str) -> bool {
    ["---", "..."]
        .iter()
        .any(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

fn next_content_line(source: &Source, line: u32) -> Option<u32> {
    let mut next = line + 1;
    while source.line(next).is_some_and(is_blank_or_comment) {
        next += 1;
    }
    source.line(next).map(|_| next)
}

/// Returns the last line of what begins at `first`: all that is indented deeper, and the items of a list below its key.
fn block_end(source: &Source, first: u32) -> u32 {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(start) = source.line(first) else { return first };
    let (own, is_item) = (indent(start), start.trim_start().starts_with('-'));
    let (mut end, mut line) = (first, first + 1);
    while let Some(text) = source.line(line) {
        let is_item_below = !is_item && indent(text) == own && text.trim_start().starts_with("- ");
        if is_document_start(text) {
            break;
        }
        if !is_blank_or_comment(text) {
            if indent(text) <= own && !is_item_below {
                break;
            }
            end = line;
        }
        line += 1;
    }
    end
}

#[cfg(test)]
mod tests;
