//! Whole rules: the engine's decision and that of the expressions.

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, Val};
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::Value;

use crate::RuleExpressions;

/// Returns the outcome of the rule `name` for the request; `None` when it does not apply.
pub(super) fn by_engine(engine: &Engine, name: &str, request: &AdmissionRequest) -> Option<&'static str> {
    let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
    let decision = engine.decide(request, &ClosedWorld::default(), &settings);
    let outcome = decision.outcomes.iter().find(|outcome| outcome.rule.rule == name)?;
    match outcome.status {
        RuleStatus::Pass => Some("pass"),
        RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error => Some("fail"),
        RuleStatus::Skip if outcome.is_judged => Some("skip"),
        RuleStatus::Skip => None,
    }
}

/// Returns the outcome of the expressions for the request.
pub(super) fn by_expressions(
    made: &RuleExpressions,
    request: &AdmissionRequest,
) -> Result<&'static str, String> {
    let mut environment =
        CelEnvironment::kubernetes().variable("object").variable("oldObject").variable("request");
    for (name, _) in &made.variables {
        environment = environment.variable(format!("variables.{name}"));
    }
    let is_deletion = request.operation == Operation::Delete;
    let object = if is_deletion { Value::Null } else { request.object.clone() };
    let old = request.old_object.clone();
    let asked = kubewright_cel_rules::request::request_value(request);
    let program =
        |text: &str| CelProgram::compile(text, &environment).map_err(|bad| format!("{text}\n{bad:?}"));
    let mut variables: Vec<(String, Value)> = Vec::new();
    let run = |text: &str, variables: &[(String, Value)]| {
        let program = program(text)?;
        let mut bindings =
            CelBindings::new().with("object", &object).with("oldObject", &old).with("request", &asked);
        for (name, value) in variables {
            bindings.bind(name, Val::borrowed(value));
        }
        let made =
            program.evaluate(&bindings, &mut CelCost::new(10_000_000)).map_err(|error| error.to_string())?;
        made.to_value().map_err(|error| format!("{error:?}"))
    };
    for (name, text) in &made.conditions {
        if run(text, &[]).map_err(|error| format!("{name}: {error}"))? != Value::from(true) {
            return Ok("skip");
        }
    }
    for (name, text) in &made.variables {
        let value = run(text, &variables)?;
        variables.push((format!("variables.{name}"), value));
    }
    for validation in &made.validations {
        if run(&validation.expression, &variables)? != Value::from(true) {
            return Ok("fail");
        }
    }
    Ok("pass")
}
