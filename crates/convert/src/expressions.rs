//! Translates the checks of a rule into CEL with exactly the same decisions.
//!
//! Where the kinds of a rule are known, the API server has checked the types of their fields, and
//! expressions are short; otherwise every type is tested. A rule that ends in an error, because a variable
//! has no value, counts as failed.

mod conditions;
mod formula;
mod generation;
mod leaf;
mod loops;
mod message;
mod mutation;
mod operators;
mod pattern;
mod reading;
mod scope;
mod shape;
mod text;
mod values;

use kubewright_jmespath::JmesPathFunctions;
use kubewright_k8s::Operation;
use kubewright_value::{Step, Text, Value};

use super::{CelValidation, ConversionRefusal, RuleExpressions};
use formula::{Formula, MAX_FORMULA_SIZE};
pub(super) use generation::translate_generate;
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_kyverno::pattern::ValidatePattern;
use kubewright_kyverno::source::{ContextSource, Method, ResourceFilter, RuleSource};
use kubewright_kyverno::tainted::Tainted;
use kubewright_kyverno::template::VariableTemplate;
pub(super) use mutation::{MutationExpression, MutationExpressions, MutationSource, translate_mutation};
use scope::TranslationScope;
use shape::ValueShape;
pub(super) use text::string_literal;
pub(super) use values::{translate_cleanup_conditions, translate_preconditions};

/// The evaluated object; on deletions the old one.
pub(super) const TARGET_OBJECT: &str = "(object != null ? object : oldObject)";

/// Returns the checks of `rule` as CEL.
///
/// # Errors
/// When no CEL expression decides the same for every object.
pub(crate) fn translate_rule(
    rule: &RuleSource,
    functions: &JmesPathFunctions,
) -> Result<RuleExpressions, ConversionRefusal> {
    if let Some(first) = rule.context.first() {
        return Err(ConversionRefusal { why: lookup_refusal(&first.from), path: first.path.clone() });
    }
    let kinds = match_filters(rule).flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str());
    let mut scope = TranslationScope::new("object", shape::shape_of_kinds(kinds));
    let mut made = rule_formulas(rule, &scope, functions)?;
    if made.judges_deletions(rule) {
        scope = TranslationScope::new(TARGET_OBJECT, scope.shape);
        made = rule_formulas(rule, &scope, functions)?;
        made.is_for_deletions = true;
    }
    let mut written = made.written(rule, &scope, functions);
    if rule.validate.allows_existing_violations {
        written.was_violated = old_violation_expression(rule, scope.shape, functions);
    }
    Ok(written)
}

/// Returns a test whether the text `subject` matches `pattern`, which may have wildcards.
pub(super) fn matches_pattern(subject: &str, pattern: &str) -> String {
    leaf::wildcard_formula(pattern, subject, ValueShape::Text).written()
}

/// Returns whether the rule is violated by the object as it was, when that was created.
fn old_violation_expression(
    rule: &RuleSource,
    shape: ValueShape,
    functions: &JmesPathFunctions,
) -> Option<String> {
    let made = rule_formulas(rule, &TranslationScope::new("oldObject", shape), functions).ok()?;
    let applies = Formula::all_of(made.conditions.into_iter().map(|(_, condition)| condition));
    Some(applies.and(made.pass.not()).on("CREATE").simplified().written())
}

/// Returns why the lookup of a rule has no CEL equivalent.
fn lookup_refusal(source: &ContextSource) -> String {
    match source {
        ContextSource::Variable { .. } => "the rule makes variables in its `context`",
        ContextSource::ConfigMap { .. } => "the rule reads a ConfigMap",
        ContextSource::ApiCall { .. } => "the rule calls the API server or a service",
        ContextSource::ImageRegistry { .. } => "the rule looks up an image in a registry",
        ContextSource::GlobalReference { .. } => "the rule reads an entry that the whole cluster shares",
    }
    .to_owned()
}

fn match_filters(rule: &RuleSource) -> impl Iterator<Item = &ResourceFilter> {
    rule.matching.any.iter().chain(&rule.matching.all).chain(&rule.matching.flat)
}

/// The formulas of one check: when it passes, and when it is skipped.
struct CheckFormulas {
    /// Where it is not skipped.
    pass: Formula,
    skip: Formula,
}

/// The formulas of a rule: when it applies, and when it passes.
struct RuleFormulas {
    conditions: Vec<(Text, Formula)>,
    pass: Formula,
    is_for_deletions: bool,
}

fn rule_formulas(
    rule: &RuleSource,
    scope: &TranslationScope,
    functions: &JmesPathFunctions,
) -> Result<RuleFormulas, ConversionRefusal> {
    let mut made = RuleFormulas { conditions: Vec::new(), pass: Formula::True, is_for_deletions: false };
    let mut error = Formula::False;
    if let Some(written) = &rule.preconditions {
        let conditions = conditions::translate_conditions(written, scope, functions)?;
        error = conditions.error.simplified();
        // A condition that cannot be evaluated does not skip the rule.
        let applies = error.clone().or(conditions.hold);
        made.conditions.push((Text::new_static("preconditions"), applies.simplified()));
    }
    let checked = match &rule.validate.method {
        Method::Pattern(pattern) => pattern_formulas(pattern, false, &scope.object, scope.shape, functions)?,
        Method::AnyPattern(patterns) => {
            any_pattern_formulas(patterns, &scope.object, scope.shape, functions)?
        }
        Method::Deny(None) => CheckFormulas { pass: Formula::False, skip: Formula::False },
        Method::Deny(Some(written)) => {
            let denied = conditions::translate_conditions(written, scope, functions)?;
            CheckFormulas { pass: denied.error.or(denied.hold).not(), skip: Formula::False }
        }
        Method::Foreach(loops) => loops::translate_loops(loops, scope, functions)?,
        Method::Both(_) => {
            let why = "`foreach` is beside another check: make two rules of it".to_owned();
            return Err(ConversionRefusal { why, path: child_path(&rule.validate.path, "foreach") });
        }
        Method::Cel(_)
        | Method::PodSecurity(_)
        | Method::Manifests(_)
        | Method::Generate(_)
        | Method::Mutate(_)
        | Method::Images(_) => {
            let why = "the rule neither has a pattern nor conditions".to_owned();
            return Err(ConversionRefusal { why, path: rule.validate.path.clone() });
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

impl RuleFormulas {
    /// Returns whether the rule also evaluates deletions.
    fn judges_deletions(&self, rule: &RuleSource) -> bool {
        let is_asked = |filter: &ResourceFilter| {
            filter.operations.is_empty() || filter.operations.contains(&Operation::Delete)
        };
        matches!(rule.validate.method, Method::Deny(_))
            && match_filters(rule).any(is_asked)
            && !self.conditions.iter().any(|(_, condition)| condition.clone().on("DELETE") == Formula::False)
    }

    fn written(
        self,
        rule: &RuleSource,
        scope: &TranslationScope,
        functions: &JmesPathFunctions,
    ) -> RuleExpressions {
        let conditions = self.conditions.iter().map(|(name, formula)| (name.clone(), formula.written()));
        let mut made = RuleExpressions {
            conditions: conditions.collect(),
            judges_deletions: self.is_for_deletions,
            ..RuleExpressions::default()
        };
        let (message, message_expression) = message::translate_message(rule, scope, functions);
        let has_expression = message_expression.is_some();
        let mut texts = vec![self.pass.written()];
        texts.extend(message_expression);
        for (inline, name) in scope.names() {
            if replace_by_variable(&mut texts, &inline, &name) {
                let inner =
                    inline.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(&inline);
                made.variables.push((name, inner.to_owned()));
            }
        }
        texts.extend(made.variables.iter_mut().map(|(_, text)| std::mem::take(text)));
        let is_read = replace_by_variable(&mut texts, TARGET_OBJECT, "target");
        let mut texts = texts.into_iter();
        let expression = texts.next().unwrap_or_default();
        let message_expression = if has_expression { texts.next() } else { None };
        for ((_, text), named) in made.variables.iter_mut().zip(texts) {
            *text = named;
        }
        if is_read {
            let target = TARGET_OBJECT.trim_start_matches('(').trim_end_matches(')');
            made.variables.insert(0, (Text::new_static("target"), target.to_owned()));
        }
        made.validations.push(CelValidation { expression, message, message_expression });
        made
    }
}

/// Puts the variable `name` in place of `inline`; returns whether any of `texts` has it.
fn replace_by_variable(texts: &mut [String], inline: &str, name: &str) -> bool {
    let mut is_read = false;
    for text in texts {
        if text.contains(inline) {
            *text = text.replace(inline, &format!("variables.{name}"));
            is_read = true;
        }
    }
    is_read
}

/// Returns the formulas for `value` and one pattern; only the shape of the value is known.
fn pattern_formulas(
    pattern: &Located<Value>,
    is_entry: bool,
    value: &str,
    shape: ValueShape,
    functions: &JmesPathFunctions,
) -> Result<CheckFormulas, ConversionRefusal> {
    let (template, _) = VariableTemplate::parse(&pattern.value, functions);
    let Some(constant) = template.constant() else {
        let why = "the pattern has variables in it".to_owned();
        return Err(ConversionRefusal { why, path: pattern.path.clone() });
    };
    let mixed = Tainted::Trusted(constant.clone());
    let compiled =
        if is_entry { ValidatePattern::compile_entry(&mixed) } else { ValidatePattern::compile(&mixed) };
    let outcome = pattern::translate_pattern_node(&compiled.node, value, shape).map_err(|inexpressible| {
        ConversionRefusal { path: [pattern.path.as_slice(), &inexpressible.path].concat(), ..inexpressible }
    })?;
    let skip = outcome.skip().simplified();
    let (pass, okay) = (outcome.pass.simplified(), outcome.okay.simplified());
    let is_shorter = okay.written().len() < pass.written().len();
    Ok(CheckFormulas { pass: if is_shorter && skip != Formula::False { okay } else { pass }, skip })
}

/// Returns the formulas for `value` and several patterns, one of which must match.
fn any_pattern_formulas(
    patterns: &Located<Value>,
    value: &str,
    shape: ValueShape,
    functions: &JmesPathFunctions,
) -> Result<CheckFormulas, ConversionRefusal> {
    let items = patterns.value.as_array().unwrap_or_default();
    let (mut pass, mut skip) = (Formula::constant(items.is_empty()), Formula::constant(!items.is_empty()));
    for (index, item) in items.iter().enumerate() {
        let path: Vec<Step> = child_path(&patterns.path, index);
        let one = pattern_formulas(&Located { value: item.clone(), path }, true, value, shape, functions)?;
        // Where it skips, it does not fit.
        pass = pass.or(one.skip.clone().not().and(one.pass));
        skip = skip.and(one.skip);
        if pass.size() > MAX_FORMULA_SIZE || skip.size() > MAX_FORMULA_SIZE {
            let why = "the patterns make an expression that is too long".to_owned();
            return Err(ConversionRefusal { why, path: patterns.path.clone() });
        }
    }
    Ok(CheckFormulas { pass: pass.simplified(), skip: skip.simplified() })
}

#[cfg(test)]
mod tests;
