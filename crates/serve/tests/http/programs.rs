//! Rules that do what no rule language lets a rule do.

use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, EvaluationModes, KindScope, Query, QueryAnswer, Rule, RuleAction,
    RuleId, RuleProgram, RuleScope,
};
use kubewright_value::{Location, Position, Source, Value};

/// Returns a rule about `kind` that does what its name says.
pub(crate) fn rule(name: &'static str, kind: &str) -> Rule {
    Rule {
        id: RuleId { dialect: "test", policy: "p".into(), rule: name.into() }.into(),
        scope: RuleScope { kinds: KindScope::Named(vec![kind.into()]), ..RuleScope::default() },
        action: RuleAction::Validate,
        phase: kubewright_engine::AdmissionPhase::Validating,
        tier: 0,
        precedence: 0,
        position: 0,
        matches_current: false,
        metadata: std::sync::Arc::default(),
        refuses_on_error: name.starts_with("asks"),
        is_exclusive: false,
        reads_secrets: false,
        home: None,
        evaluation_modes: EvaluationModes::default(),
        location: Location { source: Source::new("t", ""), position: Position::START, length: 1 },
        program: Box::new(Does(name)),
    }
}

struct Does(&'static str);

impl RuleProgram for Does {
    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, _: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        match self.0 {
            "panics" => panic!("as the name says"),
            "burns" => loop {
                evaluation.budget.step(1)?;
                std::hint::black_box(());
            },
            "sleeps" => {
                evaluation.budget.step(1_000_000)?;
                std::thread::sleep(std::time::Duration::from_millis(400));
            }
            "spends steps" => evaluation.budget.step(u64::MAX)?,
            "spends bytes" => evaluation.budget.produce(usize::MAX)?,
            "spends depth" => loop {
                evaluation.budget.enter()?;
            },
            "errs" => return Err(EvalError::new("cannot")),
            "naps" => std::thread::sleep(std::time::Duration::from_millis(400)),
            "asks" => asked(evaluation, "x")?,
            "asks for more" => {
                for number in 0..100 {
                    // Every answer leads to another question.
                    if asked(evaluation, &number.to_string())
                        .is_err_and(|error| matches!(error.kind, kubewright_engine::EvalErrorKind::Query(_)))
                    {
                        return Err(EvalError::unanswered(Query::namespace(&number.to_string())));
                    }
                }
            }
            _ => {}
        }
        Ok(Effect::Pass("".into()))
    }
}

fn asked(evaluation: &Evaluation<'_>, name: &str) -> Result<(), EvalError> {
    let query = Query::namespace(name);
    match evaluation.world.get(&query) {
        QueryAnswer::Found(_) => Ok(()),
        QueryAnswer::Absent => Err(EvalError::new("there is none")),
        QueryAnswer::Unknown => Err(EvalError::unanswered(query)),
        QueryAnswer::Failed(why) | QueryAnswer::Refused(why) => Err(EvalError::failed(&query, &why)),
    }
}
