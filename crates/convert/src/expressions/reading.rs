//! Parses expressions in `{{ }}` that are simple enough for CEL: a path, optionally with a default.

use kubewright_value::{Value, json};

use kubewright_cel_rules::unknown_variable_field;

/// How long the text of a path may be, and how many steps it may have.
const MAX_PATH_TEXT_BYTES: usize = 4096;
const MAX_PATH_STEPS: usize = 64;

/// `request.object.spec.containers[].image || 'none' | length(@)`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathExpression {
    pub(super) root: PathRoot,
    pub(super) steps: Vec<PathExpressionStep>,
    /// The default for a missing or empty value.
    pub(super) default: Option<Value>,
    /// The question about the value; `None` for the value itself.
    pub(super) asked: Option<ValueQuestion>,
}

/// A question about a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ValueQuestion {
    /// `| length(@)`
    Length,
    /// `contains(…, 'text')`
    Contains(String),
    /// `regex_match('expression', …)`
    Matches(String),
}

/// The root of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathRoot {
    Object,
    OldObject,
    Request,
    Element,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathExpressionStep {
    Key(String),
    /// `[]`
    Flatten,
    /// `.[a, b]`
    Several(Vec<String>),
}

/// Reads `text`; returns nothing for other expressions.
pub(super) fn parse_path_expression(text: &str) -> Option<PathExpression> {
    let text = text.trim();
    if let Some(arguments) = call_arguments(text, "contains") {
        let (path, wanted) = arguments.rsplit_once(',')?;
        let mut cursor = PathCursor { rest: wanted };
        let wanted = cursor.literal()?.as_str()?.to_owned();
        let reading = parse_plain_path(path).filter(|_| cursor.rest.trim().is_empty())?;
        return Some(PathExpression { asked: Some(ValueQuestion::Contains(wanted)), ..reading });
    }
    if let Some(arguments) = call_arguments(text, "regex_match") {
        let mut cursor = PathCursor { rest: arguments };
        let expression = cursor.raw_literal()?;
        cursor.takes(",").then_some(())?;
        let path = cursor.rest.trim();
        let quoted = path.strip_prefix("'{{").and_then(|path| path.strip_suffix("}}'"));
        return Some(PathExpression {
            asked: Some(ValueQuestion::Matches(expression)),
            ..parse_plain_path(quoted.unwrap_or(path))?
        });
    }
    parse_plain_path(text)
}

/// Returns the arguments, if `text` is a call of `function`.
fn call_arguments<'t>(text: &'t str, function: &str) -> Option<&'t str> {
    text.strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')')
}

fn parse_plain_path(text: &str) -> Option<PathExpression> {
    if text.len() > MAX_PATH_TEXT_BYTES {
        return None;
    }
    let mut cursor = PathCursor { rest: text.trim() };
    let mut steps = Vec::new();
    steps.push(PathExpressionStep::Key(cursor.key()?));
    while let Some(step) = cursor.step()? {
        steps.push(step);
    }
    // Every step is written out together with all that lead to it.
    if steps.len() > MAX_PATH_STEPS {
        return None;
    }
    let mut reading = with_root(steps)?;
    if cursor.takes("||") {
        reading.default = Some(cursor.literal()?);
    }
    if cursor.takes("|") {
        cursor.takes("length(@)").then_some(())?;
        reading.asked = Some(ValueQuestion::Length);
    }
    cursor.rest.is_empty().then_some(reading)
}

fn with_root(steps: Vec<PathExpressionStep>) -> Option<PathExpression> {
    let key = |index: usize| match steps.get(index) {
        Some(PathExpressionStep::Key(key)) => Some(key.as_str()),
        _ => None,
    };
    let (root, used) = match (key(0)?, key(1)) {
        ("request", Some("object")) => (PathRoot::Object, 2),
        ("request", Some("oldObject")) => (PathRoot::OldObject, 2),
        // The API server refuses expressions that read unknown fields of the request.
        ("request", Some(field)) if unknown_variable_field("request", &[field.into()]).is_none() => {
            (PathRoot::Request, 1)
        }
        ("element", _) => (PathRoot::Element, 1),
        _ => return None,
    };
    let steps = steps.into_iter().skip(used).collect();
    Some(PathExpression { root, steps, default: None, asked: None })
}

struct PathCursor<'t> {
    rest: &'t str,
}

impl<'t> PathCursor<'t> {
    /// Takes `token`, and blanks before it, if it is next.
    fn takes(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a name, with quotes or without.
    fn key(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('"') {
            let end = self.quoted_end('"')?;
            let (quoted, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest;
            return json::parse(quoted).ok()?.as_str().map(str::to_owned);
        }
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let end = self.rest.find(|c: char| !(is_first(c) || c.is_ascii_digit())).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        name.starts_with(is_first).then(|| name.to_owned())
    }

    /// Takes the next step; `Some(None)` at the end of the path, `None` when it is not a path.
    #[expect(clippy::option_option, reason = "the end of a path is not the same as something else")]
    fn step(&mut self) -> Option<Option<PathExpressionStep>> {
        if self.rest.starts_with("[]") {
            self.rest = self.rest.get(2..)?;
            return Some(Some(PathExpressionStep::Flatten));
        }
        let Some(rest) = self.rest.strip_prefix('.') else {
            let ends = self.rest.trim_start();
            return (ends.is_empty() || ends.starts_with('|')).then_some(None);
        };
        self.rest = rest;
        if !self.takes("[") {
            let key = self.key()?;
            return (!self.rest.starts_with('(')).then_some(Some(PathExpressionStep::Key(key)));
        }
        let mut keys = vec![self.key()?];
        while self.takes(",") {
            keys.push(self.key()?);
        }
        self.takes("]").then_some(Some(PathExpressionStep::Several(keys)))
    }

    /// Takes a text in which a backslash is an ordinary character.
    fn raw_literal(&mut self) -> Option<String> {
        let (text, rest) = self.rest.trim_start().strip_prefix('\'')?.split_once('\'')?;
        self.rest = rest;
        (!text.ends_with('\\') && !text.contains("{{")).then(|| text.to_owned())
    }

    fn literal(&mut self) -> Option<Value> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '\'' | '`'))?;
        let end = self.quoted_end(quote)?;
        let inner = self.rest.get(1..end.checked_sub(1)?)?;
        self.rest = self.rest.get(end..)?;
        match quote {
            '\'' => (!inner.contains('\\')).then(|| Value::from(inner)),
            _ => json::parse(inner).ok(),
        }
    }

    /// Returns where the text behind a quoted text starts.
    fn quoted_end(&self, quote: char) -> Option<usize> {
        let mut is_escaped = false;
        for (at, character) in self.rest.char_indices().skip(1) {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                _ if character == quote => return Some(at + character.len_utf8()),
                _ => {}
            }
        }
        None
    }
}
