//! What a rule checks, in CEL that decides exactly the same.
//!
//! Where the kinds of a rule are known, the API server sees to it that their fields are of the right types, and
//! expressions are short; where they are not, every type is asked for. A rule that ends in an error, because a variable
//! leads nowhere, is one that fails.

mod conditions;
mod formula;
mod leaf;
mod loops;
mod message;
mod operators;
mod pattern;
mod reading;
mod scope;
mod shape;
mod text;

use kubewright_jmespath::JmesPathFunctions;
use kubewright_k8s::Operation;
use kubewright_value::{Step, Text, Value};

use super::{Expressions, Inexpressible, Validation};
use formula::{Formula, LARGEST};
use kubewright_dialect_kit::fields::{Placed, child};
use kubewright_kyverno::mixed::Tainted;
use kubewright_kyverno::pattern::ValidatePattern;
use kubewright_kyverno::source::{ContextSource, Method, ResourceFilter, RuleSource};
use kubewright_kyverno::template::VariableTemplate;
use scope::Scope;
use shape::Shape;
pub(super) use text::literal;

/// What is judged, also on deletions.
pub(super) const TARGET: &str = "(object != null ? object : oldObject)";

/// Returns what `rule` checks.
///
/// # Errors
/// When there is no CEL that decides the same for every object.
pub(crate) fn expressions(
    rule: &RuleSource,
    functions: &JmesPathFunctions,
) -> Result<Expressions, Inexpressible> {
    if let Some(first) = rule.context.first() {
        return Err(Inexpressible { why: looked_up(&first.from), path: first.path.clone() });
    }
    let kinds = filters(rule).flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str());
    let mut scope = Scope::new("object", shape::of_kinds(kinds));
    let mut made = decided(rule, &scope, functions)?;
    if made.judges_deletions(rule) {
        scope = Scope::new(TARGET, scope.shape);
        made = decided(rule, &scope, functions)?;
        made.is_for_deletions = true;
    }
    let mut written = made.written(rule, &scope, functions);
    if rule.validate.allows_existing_violations {
        written.was_violated = was_violated(rule, scope.shape, functions);
    }
    Ok(written)
}

/// Returns whether the text that `subject` stands for fits `pattern`, which may have wildcards in it.
pub(super) fn fits(subject: &str, pattern: &str) -> String {
    leaf::wildcards(pattern, subject, Shape::Text).written()
}

/// Returns whether the rule is violated by the object as it was, when that was created.
fn was_violated(rule: &RuleSource, shape: Shape, functions: &JmesPathFunctions) -> Option<String> {
    let made = decided(rule, &Scope::new("oldObject", shape), functions).ok()?;
    let applies = Formula::all_of(made.conditions.into_iter().map(|(_, condition)| condition));
    Some(applies.and(made.pass.not()).on("CREATE").simplified().written())
}

/// Returns why what a rule looks up cannot be read in CEL.
fn looked_up(source: &ContextSource) -> String {
    match source {
        ContextSource::Variable { .. } => "the rule makes variables in its `context`",
        ContextSource::ConfigMap { .. } => "the rule reads a ConfigMap",
        ContextSource::ApiCall { .. } => "the rule asks the API server or a service",
        ContextSource::ImageRegistry { .. } => "the rule asks a registry about an image",
        ContextSource::GlobalReference { .. } => "the rule reads an entry that the whole cluster shares",
    }
    .to_owned()
}

fn filters(rule: &RuleSource) -> impl Iterator<Item = &ResourceFilter> {
    rule.matching.any.iter().chain(&rule.matching.all).chain(&rule.matching.flat)
}

/// When a check passes, and when it says nothing.
struct Checked {
    /// Where it is not skipped.
    pass: Formula,
    skip: Formula,
}

/// When a rule has something to say, and when that is good.
struct Decided {
    conditions: Vec<(Text, Formula)>,
    pass: Formula,
    is_for_deletions: bool,
}

fn decided(
    rule: &RuleSource,
    scope: &Scope,
    functions: &JmesPathFunctions,
) -> Result<Decided, Inexpressible> {
    let mut made = Decided { conditions: Vec::new(), pass: Formula::True, is_for_deletions: false };
    let mut error = Formula::False;
    if let Some(written) = &rule.preconditions {
        let conditions = conditions::translate(written, scope, functions)?;
        error = conditions.error.simplified();
        // What cannot be answered is no reason to say nothing.
        let applies = error.clone().or(conditions.hold);
        made.conditions.push((Text::new_static("preconditions"), applies.simplified()));
    }
    let checked = match &rule.validate.method {
        Method::Pattern(pattern) => one_pattern_in(pattern, false, &scope.object, scope.shape, functions)?,
        Method::AnyPattern(patterns) => patterns_in(patterns, &scope.object, scope.shape, functions)?,
        Method::Deny(None) => Checked { pass: Formula::False, skip: Formula::False },
        Method::Deny(Some(written)) => {
            let denied = conditions::translate(written, scope, functions)?;
            Checked { pass: denied.error.or(denied.hold).not(), skip: Formula::False }
        }
        Method::Foreach(loops) => loops::translate(loops, scope, functions)?,
        Method::Both(_) => {
            let why = "`foreach` stands beside another check: make two rules of it".to_owned();
            return Err(Inexpressible { why, path: child(&rule.validate.path, "foreach") });
        }
        Method::Cel(_) | Method::PodSecurity(_) | Method::Manifests(_) | Method::Unsupported { .. } => {
            let why = "the rule neither has a pattern nor conditions".to_owned();
            return Err(Inexpressible { why, path: rule.validate.path.clone() });
        }
    };
    let applies = error.clone().or(checked.skip.not()).simplified();
    if applies != Formula::True {
        let name = match rule.validate.method {
            Method::Foreach(_) => "has-elements",
            _ => "pattern-applies",
        };
        made.conditions.push((Text::new_static(name), applies));
    }
    made.conditions.retain(|(_, condition)| *condition != Formula::True);
    let known = Formula::all_of(made.conditions.iter().map(|(_, condition)| condition.clone()));
    made.pass = error.not().and(checked.pass).given(&known);
    Ok(made)
}

impl Decided {
    /// Returns whether the rule also says something about objects that are deleted.
    fn judges_deletions(&self, rule: &RuleSource) -> bool {
        let is_asked = |filter: &ResourceFilter| {
            filter.operations.is_empty() || filter.operations.contains(&Operation::Delete)
        };
        matches!(rule.validate.method, Method::Deny(_))
            && filters(rule).any(is_asked)
            && !self.conditions.iter().any(|(_, condition)| condition.clone().on("DELETE") == Formula::False)
    }

    fn written(self, rule: &RuleSource, scope: &Scope, functions: &JmesPathFunctions) -> Expressions {
        let conditions = self.conditions.iter().map(|(name, formula)| (name.clone(), formula.written()));
        let mut made = Expressions {
            conditions: conditions.collect(),
            judges_deletions: self.is_for_deletions,
            ..Expressions::default()
        };
        let (message, message_expression) = message::of(rule, scope, functions);
        let has_expression = message_expression.is_some();
        let mut texts = vec![self.pass.written()];
        texts.extend(message_expression);
        for (inline, name) in scope.names() {
            if named(&mut texts, &inline, &name) {
                let inner =
                    inline.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(&inline);
                made.variables.push((name, inner.to_owned()));
            }
        }
        texts.extend(made.variables.iter_mut().map(|(_, text)| std::mem::take(text)));
        let is_read = named(&mut texts, TARGET, "target");
        let mut texts = texts.into_iter();
        let expression = texts.next().unwrap_or_default();
        let message_expression = if has_expression { texts.next() } else { None };
        for ((_, text), named) in made.variables.iter_mut().zip(texts) {
            *text = named;
        }
        if is_read {
            let target = TARGET.trim_start_matches('(').trim_end_matches(')');
            made.variables.insert(0, (Text::new_static("target"), target.to_owned()));
        }
        made.validations.push(Validation { expression, message, message_expression });
        made
    }
}

/// Puts the variable `name` in place of `inline`; returns whether any of `texts` has it.
fn named(texts: &mut [String], inline: &str, name: &str) -> bool {
    let mut is_read = false;
    for text in texts {
        if text.contains(inline) {
            *text = text.replace(inline, &format!("variables.{name}"));
            is_read = true;
        }
    }
    is_read
}

/// Returns when `value`, of which only the shape is known, is as a pattern says.
fn one_pattern_in(
    pattern: &Placed<Value>,
    is_entry: bool,
    value: &str,
    shape: Shape,
    functions: &JmesPathFunctions,
) -> Result<Checked, Inexpressible> {
    let (template, _) = VariableTemplate::parse(&pattern.value, functions);
    let Some(constant) = template.constant() else {
        let why = "the pattern has variables in it".to_owned();
        return Err(Inexpressible { why, path: pattern.path.clone() });
    };
    let mixed = Tainted::Own(constant.clone());
    let compiled =
        if is_entry { ValidatePattern::compile_entry(&mixed) } else { ValidatePattern::compile(&mixed) };
    let outcome = pattern::translate(&compiled.node, value, shape).map_err(|inexpressible| {
        Inexpressible { path: [pattern.path.as_slice(), &inexpressible.path].concat(), ..inexpressible }
    })?;
    let skip = outcome.skip().simplified();
    let (pass, okay) = (outcome.pass.simplified(), outcome.okay.simplified());
    let is_shorter = okay.written().len() < pass.written().len();
    Ok(Checked { pass: if is_shorter && skip != Formula::False { okay } else { pass }, skip })
}

/// Returns when `value` is as one of several patterns says.
fn patterns_in(
    patterns: &Placed<Value>,
    value: &str,
    shape: Shape,
    functions: &JmesPathFunctions,
) -> Result<Checked, Inexpressible> {
    let items = patterns.value.as_array().unwrap_or_default();
    let (mut pass, mut skip) = (Formula::constant(items.is_empty()), Formula::constant(!items.is_empty()));
    for (index, item) in items.iter().enumerate() {
        let path: Vec<Step> = child(&patterns.path, index);
        let one = one_pattern_in(&Placed { value: item.clone(), path }, true, value, shape, functions)?;
        // Where it skips, it does not fit.
        pass = pass.or(one.skip.clone().not().and(one.pass));
        skip = skip.and(one.skip);
        if pass.size() > LARGEST || skip.size() > LARGEST {
            let why = "the patterns make an expression that is too long".to_owned();
            return Err(Inexpressible { why, path: patterns.path.clone() });
        }
    }
    Ok(Checked { pass: pass.simplified(), skip: skip.simplified() })
}

#[cfg(test)]
mod tests;
