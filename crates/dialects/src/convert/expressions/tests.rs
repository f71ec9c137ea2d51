use kubewright_lang::cel::{Bindings, Cost, Environment, Program, Val};
use kubewright_value::{Budget, Value};

use super::shape::{OBJECT, Shape};
use crate::fields::Placed;
use crate::kyverno::mixed::Mixed;
use crate::kyverno::pattern::{Pattern, Verdict};
use crate::notes::Notes;

mod conditions;
mod random;
mod rules;
mod survey;

pub(super) fn value(text: &str) -> Value {
    kubewright_value::yaml::parse(text).unwrap()
}

/// Returns what CEL says of `object`.
pub(super) fn in_cel(pass: &Program, skip: &Program, object: &Value) -> Result<&'static str, String> {
    let holds = |program: &Program| match program
        .evaluate(&Bindings::new().with("object", object), &mut Cost::new(10_000_000))
    {
        Ok(Val::Bool(holds)) => Ok(holds),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    };
    Ok(if holds(skip)? {
        "skip"
    } else if holds(pass)? {
        "pass"
    } else {
        "fail"
    })
}

pub(super) fn compiled(pattern: &Value, shape: Shape) -> Result<(Program, Program), String> {
    let placed = Placed { value: pattern.clone(), path: Vec::new() };
    let checked = super::one_pattern_in(
        &placed,
        false,
        "object",
        shape,
        &kubewright_lang::jmespath::Functions::kubernetes(),
    )
    .map_err(|bad| bad.why)?;
    let environment = Environment::kubernetes().variable("object");
    let applies = checked.skip.clone().not().simplified();
    let program = |formula: super::Formula| {
        let text = formula.written();
        Program::compile(&text, &environment).map_err(|errors| format!("{text}\n{errors:?}"))
    };
    Ok((program(checked.pass.given(&applies))?, program(checked.skip.simplified())?))
}

pub(super) fn verdict(pattern: &Value, object: &Value) -> &'static str {
    let compiled = Pattern::compile(&Mixed::Own(pattern.clone()));
    match compiled.check(object, &mut Budget::default(), &mut Notes::off()).unwrap() {
        Verdict::Pass => "pass",
        Verdict::Skip { .. } => "skip",
        Verdict::Error { .. } | Verdict::Fail(_) => "fail",
    }
}

#[track_caller]
fn agrees(pattern: &str, object: &str, want: &str) {
    let (pattern, object) = (value(pattern), value(object));
    let (pass, skip) = compiled(&pattern, OBJECT).unwrap();
    assert_eq!(verdict(&pattern, &object), want, "the original");
    assert_eq!(in_cel(&pass, &skip, &object).as_deref(), Ok(want), "{}\n{}", pass.source(), skip.source());
}

#[test]
fn scalars_agree() {
    agrees("{a: x}", "{a: x}", "pass");
    agrees("{a: x}", "{a: [x, x]}", "pass");
    agrees("{a: '<5'}", "{}", "pass");
    agrees("{a: '!x'}", "{}", "fail");
    agrees("{(a): x, b: z}", "{}", "skip");
}
