//! One variable: an expression, compiled when it is read if it can be.
//!
//! An expression with variables in it is only known when these are. What they stand for is put in according
//! to the place it stands in, as text of a string or as a key, so that it never becomes syntax; what the
//! author of the policy wrote elsewhere is put in as it is.

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_engine::EvalError;
use kubewright_lang::jmespath::{Change, Expression, Functions, Language, ParseError, ParseErrorKind, Roots};
use kubewright_value::{Position, Text, Value, json};

use super::super::context::{Context, Sourced, Unresolved};
use super::super::source::Workload;
use super::compact::text_of;
use super::place::Place;
use super::scan::{self, Quote};

/// A `{{ … }}`, or an expression that stands without braces.
#[derive(Debug, Clone)]
pub(in super::super) struct Variable {
    /// The expression, as messages show it.
    text: Text,
    place: Place,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Fixed(Arc<Compiled>),
    Composed(Arc<Composed>),
    /// Not an expression, and why.
    Broken(Text),
}

/// An expression and what it needs.
#[derive(Debug)]
pub(in super::super) struct Compiled {
    usual: Choice,
    /// What it is on a deletion, where that is not the same: `request.object` is `request.oldObject`.
    on_deletion: Option<Choice>,
    pub(in super::super) roots: Roots,
}

/// An expression, and its alternatives apart where the last ones are constant.
#[derive(Debug)]
pub(in super::super) struct Choice {
    pub(in super::super) whole: Expression,
    /// What reads something, and what counts if that is not true: `a` and `'x'` of `a || 'x'`.
    pub(in super::super) split: Option<(Expression, Expression)>,
}

/// An expression with variables in it.
#[derive(Debug)]
struct Composed {
    parts: Vec<Part>,
    /// What it reads, as far as that does not depend on the variables.
    roots: Roots,
    functions: Functions,
    to: Workload,
}

#[derive(Debug, Clone)]
enum Part {
    Text(Text),
    Variable(Variable),
    Quoted(Quote, Vec<Part>),
}

/// What is wrong with an expression.
#[derive(Debug, Clone)]
pub(super) struct BadExpression {
    pub(super) error: ParseError,
    /// Where the expression starts in the text that was read, in bytes.
    pub(super) at: usize,
}

impl Variable {
    /// Reads the expression in `text`, which stands at `place`; `at` is where `text` starts in what is read.
    pub(super) fn parse(
        text: &str,
        at: usize,
        place: &Place,
        functions: &Functions,
        problems: &mut Vec<BadExpression>,
    ) -> Self {
        let trimmed = text.trim();
        let at = at + (text.len() - text.trim_start().len());
        let parts = scan::parts(trimmed);
        let mut variable =
            Self { text: trimmed.into(), place: place.clone(), body: Body::Broken(Text::default()) };
        let is_fixed = parts.iter().all(|part| matches!(part, scan::Part::Text(_)));
        variable.body = if trimmed.is_empty() {
            problems.push(BadExpression { error: nothing(), at });
            Body::Broken("invalid query (nil)".into())
        } else if is_fixed {
            match Compiled::parse(trimmed, functions, Workload::Pod) {
                Ok(compiled) => Body::Fixed(Arc::new(compiled)),
                Err(error) => {
                    let reason = format!("incorrect query {trimmed}: {}", error.message);
                    problems.push(BadExpression { error, at });
                    Body::Broken(reason.into())
                }
            }
        } else {
            let parts = read_parts(trimmed, at, &parts, place, functions, problems);
            let roots = presumed_roots(&parts, functions);
            Body::Composed(Arc::new(Composed {
                parts,
                roots,
                functions: functions.clone(),
                to: Workload::Pod,
            }))
        };
        variable
    }

    /// Reads a `{{ … }}`, braces included.
    pub(super) fn parse_braced(
        text: &str,
        at: usize,
        place: &Place,
        functions: &Functions,
        problems: &mut Vec<BadExpression>,
    ) -> Self {
        let inner = text.get(2..text.len().saturating_sub(2)).unwrap_or_default();
        let trimmed = inner.trim_start();
        // `{{-` once meant that the value is not read again, which it never is.
        let inner = trimmed.strip_prefix('-').unwrap_or(trimmed);
        Self::parse(inner, at + text.len() - 2 - inner.len(), place, functions, problems)
    }

    /// Returns the expression, as its author wrote it.
    pub(in super::super) fn text(&self) -> &Text {
        &self.text
    }

    /// Returns where it stands.
    pub(in super::super) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns what it reads; what depends on variables in it is not known.
    pub(in super::super) fn roots(&self) -> Option<&Roots> {
        match &self.body {
            Body::Fixed(compiled) => Some(&compiled.roots),
            Body::Composed(composed) => Some(&composed.roots),
            Body::Broken(_) => None,
        }
    }

    /// Returns the compiled expression, unless variables stand in it.
    pub(in super::super) fn expression(&self) -> Option<&Expression> {
        match &self.body {
            Body::Fixed(compiled) => Some(&compiled.usual.whole),
            Body::Composed(_) | Body::Broken(_) => None,
        }
    }

    /// Adds this variable and those in it to `all`.
    pub(super) fn collect<'v>(&'v self, all: &mut Vec<&'v Variable>) {
        if let Body::Composed(composed) = &self.body {
            collect_parts(&composed.parts, all);
        }
        all.push(self);
    }

    /// Returns the same variable for the objects that make Pods. An author who writes `request."object"` means the
    /// object itself.
    pub(super) fn rebased(&self, to: Workload, below: &str) -> Self {
        let body = match &self.body {
            Body::Fixed(_) if QUOTED.iter().any(|quoted| self.text.contains(quoted)) => self.body.clone(),
            Body::Fixed(compiled) => match compiled.usual.whole.rewritten(&|keys| rebased_path(keys, to)) {
                Some(expression) => Body::Fixed(Arc::new(Compiled::new(expression))),
                None => self.body.clone(),
            },
            Body::Composed(composed) => Body::Composed(Arc::new(Composed {
                parts: rebased_parts(&composed.parts, to, below),
                roots: composed.roots.clone(),
                functions: composed.functions.clone(),
                to,
            })),
            Body::Broken(_) => self.body.clone(),
        };
        let place = Place { text: format!("{below}{}", self.place.text).into(), ..self.place.clone() };
        Self { text: rebased_text(&self.text, to).into(), place, body }
    }

    /// Returns what it stands for.
    pub(super) fn resolve(&self, context: &mut Context<'_>) -> Result<Sourced, Unresolved> {
        let is_deletion = context.is_deletion();
        let (text, found) = match &self.body {
            Body::Fixed(compiled) => (Cow::Borrowed(&self.text), context.search(compiled, is_deletion)),
            Body::Broken(reason) => {
                (Cow::Borrowed(&self.text), Err(Unresolved::Error(EvalError::new(reason.as_str()))))
            }
            Body::Composed(composed) => {
                let (text, found) = composed.search(context, is_deletion)?;
                (Cow::Owned(text), found)
            }
        };
        found.map_err(|unresolved| {
            let text = if is_deletion { on_deletion(&text) } else { Cow::Borrowed(text.as_str()) };
            unresolved.within(&format!("failed to resolve {text} at path {}: ", self.place.text))
        })
    }

    /// Returns what an expression without braces finds.
    pub(super) fn find(&self, context: &mut Context<'_>) -> Result<Sourced, Unresolved> {
        match &self.body {
            Body::Fixed(compiled) => context.search(compiled, false),
            Body::Broken(reason) => Err(Unresolved::Error(EvalError::new(reason.as_str()))),
            Body::Composed(composed) => composed.search(context, false)?.1,
        }
    }

    /// Returns what an expression without braces finds in `value`; variables in it are those of `context`.
    pub(super) fn find_in(&self, value: &Sourced, context: &mut Context<'_>) -> Result<Sourced, Unresolved> {
        match &self.body {
            Body::Fixed(compiled) => context.search_in(&compiled.usual.whole, value),
            Body::Broken(reason) => Err(Unresolved::Error(EvalError::new(reason.as_str()))),
            Body::Composed(composed) => {
                let rendered = composed.render(context)?.1?;
                let found = context.search_in(&rendered.compiled.usual.whole, value)?;
                Ok(found.tainted(rendered.is_tainted))
            }
        }
    }
}

impl Compiled {
    fn new(expression: Expression) -> Self {
        let on_deletion = expression.rewritten(&|keys| match keys {
            ["request", "object", ..] => Some((2, ["request", "oldObject"].map(Text::new_static).into())),
            _ => None,
        });
        Self {
            roots: expression.roots(),
            on_deletion: on_deletion.map(Choice::new),
            usual: Choice::new(expression),
        }
    }

    /// Returns the expression for the request at hand.
    pub(in super::super) fn choice(&self, is_deletion: bool) -> &Choice {
        self.on_deletion.as_ref().filter(|_| is_deletion).unwrap_or(&self.usual)
    }

    fn parse(text: &str, functions: &Functions, to: Workload) -> Result<Self, ParseError> {
        let expression = Expression::parse_as(text, functions, Language::Forgiving)?;
        Ok(Self::new(expression.rewritten(&|keys| rebased_path(keys, to)).unwrap_or(expression)))
    }
}

impl Choice {
    fn new(whole: Expression) -> Self {
        Self { split: whole.split_default(), whole }
    }
}

/// A composed expression after its variables were put in.
struct Rendered {
    compiled: Compiled,
    /// Whether something that is not the author's can be in the result, whatever it reads.
    is_tainted: bool,
}

impl Composed {
    /// Returns the expression that it turned out to be, and what that finds.
    fn search(
        &self,
        context: &mut Context<'_>,
        is_deletion: bool,
    ) -> Result<(Text, Result<Sourced, Unresolved>), Unresolved> {
        let (text, rendered) = self.render(context)?;
        let found = rendered.and_then(|rendered| {
            let found = context.search(&rendered.compiled, is_deletion)?;
            Ok(found.tainted(rendered.is_tainted))
        });
        Ok((text, found))
    }

    /// Returns the expression that it turned out to be.
    fn render(&self, context: &mut Context<'_>) -> Result<(Text, Result<Rendered, Unresolved>), Unresolved> {
        let mut writer = Writer::default();
        writer.parts(&self.parts, context)?;
        context.charge(writer.out.len())?;
        let rendered = Compiled::parse(&writer.out, &self.functions, self.to)
            .map(|compiled| Rendered { compiled, is_tainted: writer.is_tainted })
            .map_err(|error| {
                let message = format!("incorrect query {}: {}", writer.out, error.message);
                Unresolved::Error(EvalError::new(message))
            });
        Ok((writer.out.into(), rendered))
    }
}

/// Writes an expression with the values of its variables in it.
#[derive(Default)]
struct Writer {
    out: String,
    is_tainted: bool,
}

impl Writer {
    fn parts(&mut self, parts: &[Part], context: &mut Context<'_>) -> Result<(), Unresolved> {
        let mut parts = parts.iter().peekable();
        let mut skip = 0;
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => {
                    self.out.push_str(text.get(std::mem::take(&mut skip)..).unwrap_or_default());
                }
                Part::Variable(variable) => {
                    let value = variable.resolve(context)?;
                    let after = match parts.peek() {
                        Some(Part::Text(text)) => text.as_str(),
                        _ => "",
                    };
                    skip = self.bare(&value, after);
                }
                Part::Quoted(quote, inner) => self.quoted(*quote, inner, context)?,
            }
        }
        Ok(())
    }

    /// Writes a value that stands outside of quotes, and returns how much of the text `after` it was used.
    fn bare(&mut self, value: &Sourced, after: &str) -> usize {
        if !value.is_foreign {
            self.out.push_str(&text_of(&value.value));
            return 0;
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let index = match &value.value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match (index, &value.value) {
            (Some(index), _) if self.out.trim_end().ends_with('[') && after.trim_start().starts_with(']') => {
                self.out.push_str(&index.to_string());
                0
            }
            (_, Value::String(text)) => {
                // What touches it is part of the same name: `prefix_{{ x }}`.
                let start = self.out.trim_end_matches(is_name).len();
                let before = self.out.split_off(start);
                let used = after.len() - after.trim_start_matches(is_name).len();
                let name = format!("{before}{text}{}", after.get(..used).unwrap_or_default());
                self.is_tainted |= !self.out.trim_end().ends_with('.');
                self.out.push_str(&json::quote(&name));
                used
            }
            (_, value) => {
                self.is_tainted = true;
                self.literal(value);
                0
            }
        }
    }

    fn literal(&mut self, value: &Value) {
        self.out.push('`');
        self.out.push_str(&without_backquotes(&json::to_string(value)));
        self.out.push('`');
    }

    fn quoted(&mut self, quote: Quote, parts: &[Part], context: &mut Context<'_>) -> Result<(), Unresolved> {
        let is_key = quote == Quote::Name && self.out.trim_end().ends_with('.');
        let mut inner = String::new();
        let mut is_in_string = false;
        for part in parts {
            match part {
                Part::Text(text) if quote == Quote::Raw => inner.push_str(&text.replace("\\'", "'")),
                Part::Text(text) => {
                    is_in_string = ends_in_string(text, is_in_string);
                    inner.push_str(text);
                }
                Part::Variable(variable) => {
                    let value = variable.resolve(context)?;
                    self.is_tainted |= value.is_foreign && !is_key;
                    inner.push_str(&match quote {
                        Quote::Raw => text_of(&value.value).to_string(),
                        Quote::Name => escaped(&text_of(&value.value)),
                        Quote::Literal if is_in_string => {
                            without_backquotes(&escaped(&text_of(&value.value))).into_owned()
                        }
                        Quote::Literal => without_backquotes(&json_of(&value.value)).into_owned(),
                    });
                }
                Part::Quoted(..) => {}
            }
        }
        match quote {
            Quote::Raw => self.literal(&Value::from(inner)),
            Quote::Name => self.out.push_str(&format!("\"{inner}\"")),
            Quote::Literal => self.out.push_str(&format!("`{inner}`")),
        }
        Ok(())
    }
}

fn nothing() -> ParseError {
    ParseError {
        message: "found nothing, expected an expression".to_owned(),
        position: Position::START,
        length: 1,
        kind: ParseErrorKind::Syntax,
    }
}

/// Returns a value as it stands in JSON; a text that is JSON itself is that.
fn json_of(value: &Value) -> String {
    match value {
        Value::String(text) => match json::parse(text) {
            Ok(value) => json::to_string(&value),
            Err(_) => json::quote(text),
        },
        value => json::to_string(value),
    }
}

/// Returns whether a string is open at the end of this piece of JSON.
fn ends_in_string(json: &str, mut is_in_string: bool) -> bool {
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => is_in_string = !is_in_string,
            _ => {}
        }
    }
    is_in_string
}

/// Returns `text` as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = json::quote(text);
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Returns JSON in which no backquote stands.
fn without_backquotes(json: &str) -> Cow<'_, str> {
    if json.contains('`') { Cow::Owned(json.replace('`', "\\u0060")) } else { Cow::Borrowed(json) }
}

fn read_parts(
    text: &str,
    at: usize,
    parts: &[scan::Part],
    place: &Place,
    functions: &Functions,
    problems: &mut Vec<BadExpression>,
) -> Vec<Part> {
    let slice = |range: &std::ops::Range<usize>| text.get(range.clone()).unwrap_or_default();
    let mut read = Vec::with_capacity(parts.len());
    for part in parts {
        read.push(match part {
            scan::Part::Text(range) => Part::Text(slice(range).into()),
            scan::Part::Variable(range) => Part::Variable(Variable::parse_braced(
                slice(range),
                at + range.start,
                place,
                functions,
                problems,
            )),
            scan::Part::Quoted(quote, inner) => {
                Part::Quoted(*quote, read_parts(text, at, inner, place, functions, problems))
            }
        });
    }
    read
}

/// Returns what a composed expression reads when its variables are names.
fn presumed_roots(parts: &[Part], functions: &Functions) -> Roots {
    fn write(parts: &[Part], out: &mut String) {
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Variable(_) if out.trim_end().ends_with('[') => out.push('0'),
                Part::Variable(_) => out.push('x'),
                Part::Quoted(quote, inner) => {
                    let quote = match quote {
                        Quote::Raw => '\'',
                        Quote::Name => '"',
                        Quote::Literal => '`',
                    };
                    out.push(quote);
                    match quote {
                        '`' => out.push('1'),
                        _ => write(inner, out),
                    }
                    out.push(quote);
                }
            }
        }
    }
    let mut text = String::new();
    write(parts, &mut text);
    Expression::parse_as(&text, functions, Language::Forgiving).map(|e| e.roots()).unwrap_or_default()
}

fn rebased_parts(parts: &[Part], to: Workload, below: &str) -> Vec<Part> {
    let rebased = |part: &Part| match part {
        Part::Text(text) => Part::Text(text.clone()),
        Part::Variable(variable) => Part::Variable(variable.rebased(to, below)),
        Part::Quoted(quote, inner) => Part::Quoted(*quote, rebased_parts(inner, to, below)),
    };
    parts.iter().map(rebased).collect()
}

fn collect_parts<'v>(parts: &'v [Part], all: &mut Vec<&'v Variable>) {
    for part in parts {
        match part {
            Part::Text(_) => {}
            Part::Variable(variable) => variable.collect(all),
            Part::Quoted(_, inner) => collect_parts(inner, all),
        }
    }
}

/// What a Pod has of its own in the template of its controller; its name and namespace are the controller's.
const IN_TEMPLATE: [&str; 2] = ["labels", "annotations"];

/// Returns how a path to a part of a Pod begins in the object that makes the Pod.
/// How authors keep the rewriting away from a path.
const QUOTED: [&str; 3] = ["\"request\"", "\"object\"", "\"oldObject\""];

fn rebased_path(keys: &[&str], to: Workload) -> Change {
    if to == Workload::Pod {
        return None;
    }
    let object = match keys {
        ["request", object @ ("object" | "oldObject"), "spec", ..] => *object,
        ["request", object @ ("object" | "oldObject"), "metadata"] => *object,
        ["request", object @ ("object" | "oldObject"), "metadata", field, ..]
            if IN_TEMPLATE.contains(field) =>
        {
            *object
        }
        _ => return None,
    };
    let path = ["request", object].into_iter().chain(to.keys().iter().copied());
    Some((2, path.map(Text::new).collect()))
}

/// Returns the text of an expression as messages show it after [`rebased_path`].
fn rebased_text(text: &str, to: Workload) -> String {
    if to == Workload::Pod {
        return text.to_owned();
    }
    let below = to.keys().join(".");
    let mut text = text.to_owned();
    for object in ["request.object.", "request.oldObject."] {
        for part in ["spec", "metadata.labels", "metadata.annotations"] {
            text = text.replace(&format!("{object}{part}"), &format!("{object}{below}.{part}"));
        }
    }
    text
}

/// Returns the text of an expression as messages show it on a deletion.
fn on_deletion(text: &str) -> Cow<'_, str> {
    if text.contains("request.object") {
        Cow::Owned(text.replace("request.object", "request.oldObject"))
    } else {
        Cow::Borrowed(text)
    }
}
