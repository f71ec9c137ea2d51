//! One variable: an expression, compiled when it is read if it can be.

use std::borrow::Cow;
use std::sync::Arc;

use crate::conditions;
use kubewright_engine::{EvalError, OutcomeReason};
use kubewright_jmespath::{JmesPathFunctions, JmesPathParseError, JmesPathParseErrorKind, PathRoots};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Position, Text, Value};

use super::super::context::{Sourced, Unresolved, VariableContext};
use super::compiled::CompiledQuery;
use super::composed::Composed;
use super::place::TemplatePath;
use super::rebase::{rebase_expression_text, rebase_target};
use super::scan;
use kubewright_k8s::PodTemplatePath;

/// A `{{ … }}`, or an expression without braces.
#[derive(Debug, Clone)]
pub(in super::super) struct TemplateVariable {
    /// The expression, as messages show it.
    text: Text,
    place: TemplatePath,
    body: VariableBody,
}

#[derive(Debug, Clone)]
enum VariableBody {
    Fixed(Arc<CompiledQuery>),
    Composed(Arc<Composed>),
    /// Not an expression, and why.
    Broken(Text),
}

/// A problem of an expression.
#[derive(Debug, Clone)]
pub(super) struct BadExpression {
    pub(super) error: JmesPathParseError,
    /// Where the expression starts in the text that was read, in bytes.
    pub(super) at: usize,
}

impl TemplateVariable {
    /// Reads the expression in `text`, which is at `place`; `at` is where `text` starts in the whole text.
    pub(super) fn parse(
        text: &str,
        at: usize,
        place: &TemplatePath,
        functions: &JmesPathFunctions,
        problems: &mut Vec<BadExpression>,
    ) -> Self {
        let trimmed = text.trim();
        let at = at + (text.len() - text.trim_start().len());
        let parts = scan::split_variables(trimmed);
        let mut variable =
            Self { text: trimmed.into(), place: place.clone(), body: VariableBody::Broken(Text::default()) };
        let is_fixed = parts.iter().all(|part| matches!(part, scan::QueryPart::Text(_)));
        variable.body = if trimmed.is_empty() {
            problems.push(BadExpression { error: empty_expression_error(), at });
            VariableBody::Broken("invalid query (nil)".into())
        } else if is_fixed {
            match CompiledQuery::parse(trimmed, functions) {
                Ok(compiled) => VariableBody::Fixed(compiled),
                Err(error) => {
                    let reason = format!("incorrect query {trimmed}: {}", error.message);
                    problems.push(BadExpression { error, at });
                    VariableBody::Broken(reason.into())
                }
            }
        } else {
            let composed = Composed::read(trimmed, at, &parts, place, functions, problems);
            VariableBody::Composed(Arc::new(composed))
        };
        variable
    }

    /// Reads a `{{ … }}`, braces included.
    pub(super) fn parse_braced(
        text: &str,
        at: usize,
        place: &TemplatePath,
        functions: &JmesPathFunctions,
        problems: &mut Vec<BadExpression>,
    ) -> Self {
        let inner = text.get(2..text.len().saturating_sub(2)).unwrap_or_default();
        let trimmed = inner.trim_start();
        // `{{-` once meant that the value is not read again, which never happens here.
        let inner = trimmed.strip_prefix('-').unwrap_or(trimmed);
        Self::parse(inner, at + text.len() - 2 - inner.len(), place, functions, problems)
    }

    /// Returns the expression, as its author wrote it.
    pub(in super::super) fn text(&self) -> &Text {
        &self.text
    }

    /// Returns what it was compiled to, if no variables are in it.
    pub(in super::super) fn fixed_query(&self) -> Option<&CompiledQuery> {
        match &self.body {
            VariableBody::Fixed(compiled) => Some(compiled),
            VariableBody::Composed(_) | VariableBody::Broken(_) => None,
        }
    }

    /// Returns whether it is no expression, and so reads nothing.
    pub(in super::super) fn is_broken(&self) -> bool {
        matches!(self.body, VariableBody::Broken(_))
    }

    /// Returns its inputs; those that depend on variables in it are not known.
    pub(in super::super) fn roots(&self) -> Option<&PathRoots> {
        match &self.body {
            VariableBody::Fixed(compiled) => Some(&compiled.roots),
            VariableBody::Composed(composed) => Some(&composed.roots),
            VariableBody::Broken(_) => None,
        }
    }

    /// Adds this variable and those in it to `all`.
    pub(super) fn collect<'v>(&'v self, all: &mut Vec<&'v TemplateVariable>) {
        if let VariableBody::Composed(composed) = &self.body {
            composed.collect(all);
        }
        all.push(self);
    }

    /// Returns the same variable for the objects that make Pods.
    pub(super) fn rebased(&self, to: PodTemplatePath, below: &str) -> Self {
        let target = rebase_target(&self.text, to);
        let body = match &self.body {
            VariableBody::Fixed(compiled) => match compiled.moved(&self.text, target) {
                Some(moved) => VariableBody::Fixed(moved),
                None => self.body.clone(),
            },
            VariableBody::Composed(composed) => {
                VariableBody::Composed(Arc::new(composed.rebased(to, target, below)))
            }
            VariableBody::Broken(_) => self.body.clone(),
        };
        let place = TemplatePath { text: format!("{below}{}", self.place.text).into(), ..self.place.clone() };
        Self { text: rebase_expression_text(&self.text, to).into(), place, body }
    }

    /// Returns its value.
    pub(super) fn resolve(&self, context: &mut VariableContext<'_>) -> Result<Sourced, Unresolved> {
        let is_deletion = context.is_deletion();
        let (text, found) = match &self.body {
            VariableBody::Fixed(compiled) => {
                (Cow::Borrowed(&self.text), context.search(compiled, is_deletion))
            }
            VariableBody::Broken(reason) => {
                (Cow::Borrowed(&self.text), Err(Unresolved::error(EvalError::new(reason.as_str()))))
            }
            VariableBody::Composed(composed) => {
                let (text, found) = composed.search(context, is_deletion)?;
                (Cow::Owned(text), found)
            }
        };
        found.map_err(|unresolved| {
            let text = if is_deletion { on_deletion(&text) } else { Cow::Borrowed(text.as_str()) };
            let near = context.wants_reason.then(|| context.nearest_key(&text)).flatten();
            unresolved
                .explained(|reason| explain_missing(reason, &text, near))
                .within(&format!("failed to resolve {text} at path {}: ", self.place.text))
        })
    }

    /// Returns the value of an expression without braces.
    pub(super) fn find(&self, context: &mut VariableContext<'_>) -> Result<Sourced, Unresolved> {
        match &self.body {
            VariableBody::Fixed(compiled) => context.search(compiled, false),
            VariableBody::Broken(reason) => Err(Unresolved::error(EvalError::new(reason.as_str()))),
            VariableBody::Composed(composed) => composed.search(context, false)?.1,
        }
    }

    /// Fails where the expression is one variable, and what that resolves to is no text: it cannot be an expression.
    pub(super) fn check_whole(&self, context: &mut VariableContext<'_>) -> Result<(), Unresolved> {
        let VariableBody::Composed(composed) = &self.body else { return Ok(()) };
        let Some(variable) = composed.sole_variable() else { return Ok(()) };
        match variable.find(context)?.value {
            Value::String(_) => Ok(()),
            _ => Err(Unresolved::error(EvalError::new("jmespath value must be a string"))),
        }
    }

    /// Returns the value of an expression without braces in `value`; its variables are those of `context`.
    pub(super) fn find_in(
        &self,
        value: &Sourced,
        context: &mut VariableContext<'_>,
    ) -> Result<Sourced, Unresolved> {
        match &self.body {
            VariableBody::Fixed(compiled) => context.search_in(&compiled.usual.whole, value),
            VariableBody::Broken(reason) => Err(Unresolved::error(EvalError::new(reason.as_str()))),
            VariableBody::Composed(composed) => {
                let rendered = composed.render(context)?.1?;
                let found = context.search_in(&rendered.compiled.usual.whole, value)?;
                Ok(found.tainted(rendered.is_tainted))
            }
        }
    }
}

fn empty_expression_error() -> JmesPathParseError {
    JmesPathParseError {
        message: "found nothing, expected an expression".to_owned(),
        position: Position::START,
        length: 1,
        kind: JmesPathParseErrorKind::Syntax,
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

/// Returns why the expression `text` has no value, with its remedy where none is known.
fn explain_missing(reason: OutcomeReason, text: &str, near: Option<String>) -> OutcomeReason {
    if reason.text.is_empty() || !reason.help.is_empty() {
        return reason;
    }
    let read = conditions::LookedAt::of(text).filter(|read| !read.is_element);
    OutcomeReason {
        text: format!("`{{{{ {text} }}}}` has no value: {}", reason.text),
        help: near
            .map_or_else(|| format!("write `{{{{ {text} || '' }}}}` where it may be missing"), did_you_mean),
        path: read.map(|read| read.path).unwrap_or_default(),
        ..reason
    }
}
