//! One variable: an expression, compiled when it is read if it can be.

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_engine::EvalError;
use kubewright_jmespath::{Functions, ParseError, ParseErrorKind, Roots};
use kubewright_value::{Position, Text};

use super::super::context::{Context, Sourced, Unresolved};
use super::super::source::Workload;
use super::compiled::Compiled;
use super::composed::Composed;
use super::place::Place;
use super::rebase::{rebased_path, rebased_text, target};
use super::scan;

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
            let composed = Composed::read(trimmed, at, &parts, place, functions, problems);
            Body::Composed(Arc::new(composed))
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

    /// Returns what it reads; what depends on variables in it is not known.
    pub(in super::super) fn roots(&self) -> Option<&Roots> {
        match &self.body {
            Body::Fixed(compiled) => Some(&compiled.roots),
            Body::Composed(composed) => Some(&composed.roots),
            Body::Broken(_) => None,
        }
    }

    /// Adds this variable and those in it to `all`.
    pub(super) fn collect<'v>(&'v self, all: &mut Vec<&'v Variable>) {
        if let Body::Composed(composed) = &self.body {
            composed.collect(all);
        }
        all.push(self);
    }

    /// Returns the same variable for the objects that make Pods.
    pub(super) fn rebased(&self, to: Workload, below: &str) -> Self {
        let target = target(&self.text, to);
        let body = match &self.body {
            Body::Fixed(compiled) => match compiled.usual.whole.rewritten(&|keys| rebased_path(keys, target))
            {
                Some(expression) => Body::Fixed(Arc::new(Compiled::new(expression))),
                None => self.body.clone(),
            },
            Body::Composed(composed) => Body::Composed(Arc::new(composed.rebased(to, target, below))),
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

fn nothing() -> ParseError {
    ParseError {
        message: "found nothing, expected an expression".to_owned(),
        position: Position::START,
        length: 1,
        kind: ParseErrorKind::Syntax,
    }
}

/// Returns the text of an expression as messages show it on a deletion.
fn on_deletion(text: &str) -> Cow<'_, str> {
    if text.contains("request.object") {
        Cow::Owned(text.replace("request.object", "request.oldObject"))
    } else {
        Cow::Borrowed(text)
    }
}
