//! Exceptions from ValidatingPolicies and MutatingPolicies: exempt objects, and values that a policy's expressions may allow.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kubewright_cel::{Inputs, Timestamp};
use kubewright_engine::{Diagnostic, EvalError, Evaluation, RuleId, TraceVerdict, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Map, Step, Text, Value};

use super::source::{self, read_exception};
use crate::diagnostics as code;
use crate::policies::POLICY_LANGUAGES;
use kubewright_cel_rules::{
    AvailableVariables, ConditionResult, Environments, ExpressionCompiler, ExpressionProblem,
    ExpressionSubject, NamedCondition, evaluate_match_conditions,
};
use kubewright_dialect_kit::fields::Located;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};

/// A compiled exception.
#[derive(Clone)]
pub(crate) struct CompiledPolicyException {
    key: Text,
    /// Name and kind of the policies.
    policies: Vec<(Text, Text)>,
    conditions: Vec<NamedCondition>,
    /// The names and texts of the conditions.
    written: Vec<(Text, Text)>,
    images: Vec<Text>,
    values: Vec<Text>,
    is_pass: bool,
    priority: i64,
    inputs: Inputs,
    /// The document of the exception, for locations.
    document: Arc<Document>,
}

/// The effect of exceptions on one object.
pub(crate) enum ExceptionEffect {
    /// The policy is not evaluated.
    Wholly(ExceptionReport),
    /// The policy is evaluated, and its expressions can read the allowed values.
    Partly(Value),
}

/// How exceptions are reported.
#[derive(Debug, Default)]
pub(crate) struct ExceptionReport {
    pub(crate) keys: Vec<Text>,
    /// The highest one.
    priority: Option<i64>,
    pub(crate) is_pass: bool,
}

/// The allowed values where there are no exceptions.
static NOTHING_ALLOWED: LazyLock<Value> = LazyLock::new(|| allowed_values(Vec::new(), Vec::new()));

/// Returns the exceptions among `documents` that can be used and have not ended.
pub(crate) fn load_policy_exceptions(
    environments: &Environments,
    documents: &[Document],
) -> Vec<CompiledPolicyException> {
    let documents = documents.iter().filter(|document| super::is_policy_exception(document));
    documents.filter_map(|document| compile_policy_exception(environments, document).0).collect()
}

/// Returns the diagnostics of exceptions for `rules`.
pub(crate) fn check_policy_exceptions<'r>(
    documents: &[Document],
    rules: impl Iterator<Item = &'r RuleId>,
) -> Vec<Diagnostic> {
    let documents: Vec<&Document> =
        documents.iter().filter(|document| super::is_policy_exception(document)).collect();
    if documents.is_empty() {
        return Vec::new();
    }
    let environments = Environments::policies(Inputs::default());
    // By the name without the namespace.
    let mut known: HashMap<&str, Vec<&str>> = HashMap::new();
    for rule in rules {
        let Some(kind) = kind_of_rule(rule) else { continue };
        known.entry(rule.policy.rsplit('/').next().unwrap_or_default()).or_default().push(kind);
    }
    let mut diagnostics = Vec::new();
    for document in documents {
        let (_, wrong) = compile_policy_exception(&environments, document);
        diagnostics.extend(wrong);
        let (exception, _) = read_exception(document);
        let references = exception.iter().flat_map(|exception| &exception.policies);
        diagnostics.extend(
            references.filter_map(|(name, kind)| unmatched_policy_diagnostic(document, name, kind, &known)),
        );
    }
    diagnostics
}

/// Other kinds of policies with such exceptions, namespaced or not; they are ignored here.
const OTHER_KINDS: [&str; 3] = ["ImageValidatingPolicy", "GeneratingPolicy", "DeletingPolicy"];

/// Returns the kind of the policy of `rule`, if it is one that exceptions are about.
fn kind_of_rule(rule: &RuleId) -> Option<&'static str> {
    let language = POLICY_LANGUAGES.into_iter().find(|language| language.name == rule.dialect)?;
    let [cluster_wide, namespaced] = language.kinds();
    Some(if rule.policy.contains('/') { namespaced } else { cluster_wide })
}

fn unmatched_policy_diagnostic(
    document: &Document,
    name: &Located<Text>,
    kind: &str,
    known: &HashMap<&str, Vec<&str>>,
) -> Option<Diagnostic> {
    let of_this_name = known.get(name.value.as_str()).map(Vec::as_slice).unwrap_or_default();
    let is_other = OTHER_KINDS.contains(&kind.strip_prefix("Namespaced").unwrap_or(kind));
    if is_other || of_this_name.contains(&kind) {
        return None;
    }
    let location = document.locate(&name.path);
    let message = format!("there is no {kind} `{}` that it could be an exception from", name.value);
    let diagnostic = Diagnostic::new(&code::EXCEPTION_FITS_NOTHING, message, location);
    if let Some(other) = of_this_name.first() {
        return Some(diagnostic.help(format!("`{}` is a {other}", name.value)));
    }
    let mut names: Vec<&str> = known.keys().copied().collect();
    names.sort_unstable();
    Some(match nearest_word(&name.value, names) {
        Some(near) => diagnostic.help(did_you_mean(near)),
        None => diagnostic,
    })
}

/// One with an error excuses nothing.
fn compile_policy_exception(
    environments: &Environments,
    document: &Document,
) -> (Option<CompiledPolicyException>, Vec<Diagnostic>) {
    let (exception, mut diagnostics) = read_exception(document);
    let Some(exception) = exception else { return (None, diagnostics) };
    let mut compiler = ExpressionCompiler::new(&[]);
    let environment =
        environments.environment(AvailableVariables { namespace: true, ..AvailableVariables::default() });
    let conditions = compiler.conditions(&exception.conditions, &environment);
    let problems = compiler.problems.into_iter();
    diagnostics.extend(problems.map(|problem: ExpressionProblem| problem.diagnostic(document)));
    let has_ended = has_ended(&exception, environments.inputs.now, document, &mut diagnostics);
    if has_ended || diagnostics.iter().any(Diagnostic::is_error) {
        return (None, diagnostics);
    }
    let written = exception.conditions.iter();
    let written = written.map(|one| (one.name.value.clone(), one.expression.value.clone())).collect();
    let source::PolicyExceptionSource { key, policies, images, values, is_pass, priority, .. } = exception;
    let policies = policies.into_iter().map(|(name, kind)| (name.value, kind)).collect();
    let inputs = environments.inputs;
    (
        Some(CompiledPolicyException {
            key,
            policies,
            conditions,
            written,
            images,
            values,
            is_pass,
            priority,
            inputs,
            document: Arc::new(document.clone()),
        }),
        diagnostics,
    )
}

/// Without a clock nothing ends.
fn has_ended(
    exception: &source::PolicyExceptionSource,
    now: Option<i128>,
    document: &Document,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let Some(expires) = &exception.expires else { return false };
    match Timestamp::parse(&expires.value) {
        Some(ends) => now.is_some_and(|now| ends.nanoseconds() < now),
        None => {
            let message = format!("`{}` is no time", expires.value);
            let help = "write it as `2030-01-31T00:00:00Z`";
            let location = document.locate(&expires.path);
            diagnostics.push(Diagnostic::new(&code::UNKNOWN_VALUE, message, location).help(help));
            true
        }
    }
}

impl CompiledPolicyException {
    /// Returns whether it names the policy `name`.
    pub(crate) fn is_about(&self, name: &str, kind: &str) -> bool {
        self.policies.iter().any(|(policy, of)| policy == name && of == kind)
    }

    /// Returns `namespace/name`, or the name alone.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether it excuses every object wholly.
    pub(super) fn is_for_every_object(&self) -> bool {
        self.written.is_empty() && self.images.is_empty() && self.values.is_empty()
    }

    /// Returns the condition, with its name, under which it does not excuse an object; nothing for one that only allows
    /// values.
    pub(crate) fn negated_condition(&self) -> Option<(Text, Text)> {
        if !self.images.is_empty() || !self.values.is_empty() {
            return None;
        }
        Some(match self.written.as_slice() {
            [] => (self.key.clone(), Text::new_static("false")),
            [(name, expression)] => (name.clone(), format!("!({})", enclosed(expression)).into()),
            [(name, _), ..] => {
                let parts = self.written.iter();
                let parts: Vec<String> =
                    parts.map(|(_, expression)| format!("({})", enclosed(expression))).collect();
                (name.clone(), format!("!({})", parts.join(" && ")).into())
            }
        })
    }
}

/// Returns the expression so that a bracket after it is no part of a comment.
fn enclosed(expression: &str) -> String {
    let end = if expression.contains("//") { "\n" } else { "" };
    format!("{expression}{end}")
}

/// Returns what `exceptions` lead to for the object of `subject`. Conditions that fail are an error, unless the policy
/// `is_lenient` or the object is excused already.
pub(crate) fn apply_exceptions(
    exceptions: &[CompiledPolicyException],
    is_lenient: bool,
    subject: &ExpressionSubject<'_>,
    evaluation: &Evaluation<'_>,
    notes: &mut TraceNotes,
) -> Result<ExceptionEffect, EvalError> {
    if exceptions.is_empty() {
        return Ok(ExceptionEffect::Partly(NOTHING_ALLOWED.clone()));
    }
    let mut is_whole = false;
    let mut reported = ExceptionReport::default();
    let (mut images, mut values) = (Vec::new(), Vec::new());
    let spent = Cell::default();
    for exception in exceptions {
        let subject = ExpressionSubject {
            form: subject.form,
            inputs: exception.inputs,
            ..ExpressionSubject::of(subject.object, ("matchConditions", ""), &spent)
        };
        let mark = notes.mark();
        notes.open();
        let asked = evaluate_match_conditions(&exception.conditions, &subject, evaluation, notes);
        notes.close(|| exception.note(&asked));
        exception.place_notes(mark, notes);
        match asked {
            ConditionResult::Met => {}
            ConditionResult::NotMet => continue,
            ConditionResult::Failed(_) | ConditionResult::Error(_) if is_whole => continue,
            ConditionResult::Failed(_) if is_lenient => continue,
            ConditionResult::Failed(message) => {
                return Err(EvalError::new(format!("exception {}: {message}", exception.key)));
            }
            ConditionResult::Error(error) => return Err(error),
        }
        reported.add(ExceptionReport {
            keys: vec![exception.key.clone()],
            priority: Some(exception.priority),
            is_pass: exception.is_pass,
        });
        is_whole |= exception.images.is_empty() && exception.values.is_empty();
        images.extend(exception.images.iter().cloned());
        values.extend(exception.values.iter().cloned());
    }
    Ok(match is_whole {
        true => ExceptionEffect::Wholly(reported),
        false if images.is_empty() && values.is_empty() => ExceptionEffect::Partly(NOTHING_ALLOWED.clone()),
        false => ExceptionEffect::Partly(allowed_values(images, values)),
    })
}

impl CompiledPolicyException {
    fn note(&self, asked: &ConditionResult) -> TraceNote {
        let verdict = match asked {
            ConditionResult::Met => TraceVerdict::Yes,
            ConditionResult::NotMet => TraceVerdict::No,
            ConditionResult::Failed(_) | ConditionResult::Error(_) => TraceVerdict::Error,
        };
        TraceNote { what: format!("exception {}", self.key), verdict, ..TraceNote::default() }
    }

    /// Places the notes since `mark` in the document of the exception.
    fn place_notes(&self, mark: usize, notes: &mut TraceNotes) {
        if notes.is_on() {
            let policies = self.document.locate(&["spec", "policyRefs"].map(Step::from));
            notes.place_elsewhere(mark, &self.document, &policies);
        }
    }
}

impl ExceptionReport {
    /// Adds a later exception; the highest priority decides the report.
    pub(crate) fn add(&mut self, other: Self) {
        if other.priority > self.priority {
            (self.priority, self.is_pass) = (other.priority, other.is_pass);
        }
        self.keys.extend(other.keys);
    }
}

/// Returns the value of the variable `exceptions`.
fn allowed_values(images: Vec<Text>, values: Vec<Text>) -> Value {
    let texts = |texts: Vec<Text>| Value::array(texts.into_iter().map(Value::String).collect());
    Map::from([("allowedImages", texts(images)), ("allowedValues", texts(values))]).into()
}
