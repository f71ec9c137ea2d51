//! Rules that write in the background, as a scan asks them: what would they do because of a stored object?
//!
//! Nothing is written here. The rule that a controller carries out is asked by the same program, so what a report says is
//! what the controller does. An object is asked about as if it was created now; one that is older than a policy which is
//! not for existing objects was no trigger of it.

use std::sync::Arc;

use kubewright_engine::{
    Applies, BackgroundProgram, Effect, EvalError, Evaluation, Rule, RuleBranch, RuleOutcome, RuleProgram,
    WriteVerb,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Text, Value};

/// The property of a row with the objects that a rule makes.
pub const GENERATED_PROPERTY: &str = "generated-resources";

/// The property of a row with the existing object that a rule changes.
pub const PATCHED_PROPERTY: &str = "patched-target";

/// The label of objects that rules made.
const MADE_LABEL: &str = "generate.kyverno.io/policy-name";

/// How many objects a row names, and how long their names may be together.
const MAX_NAMED_OBJECTS: usize = 50;
const MAX_NAMES_BYTES: usize = 4 << 10;

/// Returns the rule by which a scan asks `rule`, which `program` is about; nothing where a stored object does not tell what
/// the rule does, because it reads who made a request or is not about objects that are created, and where the targets of
/// the rule are judged.
pub(super) fn standing_rule(
    rule: &Arc<Rule>,
    program: &BackgroundProgram,
    document: &Value,
    reads_clock: bool,
) -> Option<Rule> {
    let (is_for_existing, skips_made, reads_requester) = match program {
        BackgroundProgram::Generate(program) => {
            (program.generates_existing, program.skips_background_requests, program.reads_requester)
        }
        BackgroundProgram::Mutate(program) if program.is_judged_by_targets => return None,
        BackgroundProgram::Mutate(program) => {
            (program.mutates_existing, program.skips_background_requests, program.reads_requester)
        }
        BackgroundProgram::Delete(_) => return None,
    };
    if reads_requester || !rule.scope.operations.contains(Operation::Create) {
        return None;
    }
    let since = created(document).filter(|_| !is_for_existing).map(Text::from);
    let mut evaluation_modes = rule.evaluation_modes;
    evaluation_modes.background = true;
    Some(Rule {
        id: Arc::clone(&rule.id),
        scope: rule.scope.clone(),
        action: rule.action,
        phase: rule.phase,
        tier: rule.tier,
        precedence: rule.precedence,
        position: rule.position,
        matches_current: rule.matches_current,
        metadata: Arc::clone(&rule.metadata),
        refuses_on_error: false,
        is_exclusive: rule.is_exclusive,
        reads_secrets: rule.reads_secrets,
        home: rule.home.clone(),
        evaluation_modes,
        location: rule.location.clone(),
        program: Box::new(StandingProgram { rule: Arc::clone(rule), since, skips_made, reads_clock }),
    })
}

/// Returns `outcome` of such a rule as a report shows it: with the names of the objects in place of the objects.
pub(crate) fn without_writes(mut outcome: RuleOutcome) -> RuleOutcome {
    let is_made =
        outcome.writes.iter().any(|write| matches!(write.verb, WriteVerb::Create | WriteVerb::Apply));
    let property = if is_made { GENERATED_PROPERTY } else { PATCHED_PROPERTY };
    if !outcome.references.is_empty() {
        outcome.properties.push((property.into(), names(&outcome.references)));
    }
    outcome.writes = Vec::new();
    if !outcome.message.is_empty() {
        outcome.written = Vec::new();
    }
    outcome
}

/// Joins the names of objects, as far as a row has room for them.
fn names(references: &[Text]) -> Text {
    let mut joined = String::new();
    for (count, reference) in references.iter().enumerate() {
        let is_full = count >= MAX_NAMED_OBJECTS || joined.len() + reference.len() > MAX_NAMES_BYTES;
        if count > 0 {
            joined.push_str("; ");
        }
        if is_full {
            joined.push_str(&format!("and {} more", references.len() - count));
            break;
        }
        joined.push_str(reference);
    }
    joined.into()
}

/// When an object was created, as the API server writes it: later times are greater texts.
fn created(object: &Value) -> Option<&str> {
    object.at(&["metadata", "creationTimestamp"]).and_then(Value::as_str).filter(|time| !time.is_empty())
}

/// Asks a rule about objects that are its triggers.
struct StandingProgram {
    rule: Arc<Rule>,
    /// When its policy was created, where older objects are no triggers.
    since: Option<Text>,
    /// Whether objects that rules made are no triggers.
    skips_made: bool,
    /// Whether the rule may make another object each time it is asked, so that none is named.
    reads_clock: bool,
}

impl RuleProgram for StandingProgram {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let is_older = |since: &Text| created(object).is_some_and(|created| created < since.as_str());
        if self.since.as_ref().is_some_and(is_older) {
            return Ok(Applies::OutOfScope("the object is older than the policy".into()));
        }
        if self.skips_made && object.at(&["metadata", "labels", MADE_LABEL]).is_some() {
            return Ok(Applies::OutOfScope("a rule made the object".into()));
        }
        self.rule.program.applies(object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let effect = self.rule.program.evaluate(object, evaluation)?;
        if self.reads_clock { without_names(effect) } else { Ok(effect) }
    }

    fn message(&self) -> &str {
        self.rule.program.message()
    }

    fn denial(&self, message: &str, request: &AdmissionRequest) -> Option<String> {
        self.rule.program.denial(message, request)
    }

    fn branches(&self) -> Vec<RuleBranch> {
        self.rule.program.branches()
    }
}

/// Returns `effect` without the objects that are made.
fn without_names(effect: Effect) -> Result<Effect, EvalError> {
    match effect {
        Effect::Write { message, .. } => Ok(Effect::Pass(message)),
        Effect::WriteSome { error, .. } => Err(error),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_many_objects_are_cut() {
        let references: Vec<Text> =
            (0..MAX_NAMED_OBJECTS + 7).map(|number| format!("n{number}").into()).collect();
        let joined = names(&references);
        assert!(joined.starts_with("n0; n1; n2"), "{joined}");
        assert!(joined.ends_with("n49; and 7 more"), "{joined}");
        let long: Text = "x".repeat(MAX_NAMES_BYTES).into();
        assert!(names(&[long.clone(), long]).ends_with("; and 1 more"));
    }
}
