//! Whole rules: what the engine says of an object, and what the expressions do.

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, Val};
use kubewright_engine::{ClosedWorld, Engine, Settings, Status};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::Value;

use crate::Expressions;

/// Returns what the rule `name` says of the request; nothing when it is not about it.
pub(super) fn by_engine(engine: &Engine, name: &str, request: &AdmissionRequest) -> Option<&'static str> {
    let settings = Settings { is_traced: true, ..Settings::default() };
    let decision = engine.decide(request, &ClosedWorld::default(), &settings);
    let outcome = decision.outcomes.iter().find(|outcome| outcome.rule.rule == name)?;
    match outcome.status {
        Status::Pass => Some("pass"),
        Status::Fail | Status::Warn | Status::Error => Some("fail"),
        Status::Skip if outcome.is_judged => Some("skip"),
        Status::Skip => None,
    }
}

/// Returns what the expressions say of the request.
pub(super) fn by_expressions(made: &Expressions, request: &AdmissionRequest) -> Result<&'static str, String> {
    let mut environment =
        CelEnvironment::kubernetes().variable("object").variable("oldObject").variable("request");
    for (name, _) in &made.variables {
        environment = environment.variable(format!("variables.{name}"));
    }
    let is_deletion = request.operation == Operation::Delete;
    let object = if is_deletion { Value::Null } else { request.object.clone() };
    let old = request.old_object.clone();
    let asked = kubewright_cel_rules::request::value(request);
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
