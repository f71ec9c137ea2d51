use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, Val};
use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Budget, Source, Value, yaml};

use super::shape::{ValueShape, object_shape};
use super::translate_rule;
use crate::{ConversionRefusal, RuleExpressions};
use kubewright_dialect_kit::fields::Located;
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_kyverno::pattern::{PatternVerdict, ValidatePattern};
use kubewright_kyverno::source;
use kubewright_kyverno::tainted::Tainted;

mod conditions;
mod random;
mod rules;

pub(super) fn value(text: &str) -> Value {
    kubewright_value::yaml::parse(text).unwrap()
}

/// Returns the decision of the CEL expressions for `object`.
pub(super) fn in_cel(pass: &CelProgram, skip: &CelProgram, object: &Value) -> Result<&'static str, String> {
    let holds = |program: &CelProgram| match program
        .evaluate(&CelBindings::new().with("object", object), &mut CelCost::new(10_000_000))
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

pub(super) fn compiled(pattern: &Value, shape: ValueShape) -> Result<(CelProgram, CelProgram), String> {
    let placed = Located { value: pattern.clone(), path: Vec::new() };
    let checked = super::pattern_formulas(&placed, false, "object", shape, &JmesPathFunctions::kubernetes())
        .map_err(|bad| bad.why)?;
    let environment = CelEnvironment::kubernetes().variable("object");
    let applies = checked.skip.clone().not().simplified();
    let program = |formula: super::Formula| {
        let text = formula.written();
        CelProgram::compile(&text, &environment).map_err(|errors| format!("{text}\n{errors:?}"))
    };
    Ok((program(checked.pass.given(&applies))?, program(checked.skip.simplified())?))
}

pub(super) fn verdict(pattern: &Value, object: &Value) -> &'static str {
    let compiled = ValidatePattern::compile(&Tainted::Trusted(pattern.clone()));
    match compiled.check(object, &mut Budget::default(), &mut TraceNotes::off()).unwrap() {
        PatternVerdict::Pass => "pass",
        PatternVerdict::Skip { .. } => "skip",
        PatternVerdict::Error { .. } | PatternVerdict::Fail(_) => "fail",
    }
}

/// Returns the expressions of a rule for `kinds`, whose `rest` is written in YAML.
fn made(kinds: &str, rest: &str) -> Result<RuleExpressions, ConversionRefusal> {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, \
         match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}, {rest}}}]}}}}"
    );
    let document = yaml::read(&Source::new("p", policy.as_str())).documents.remove(0);
    let (policy, problems) = source::read_policy_document(&document);
    assert!(problems.is_empty(), "{problems:?}");
    translate_rule(policy.unwrap().rules.first().unwrap(), &JmesPathFunctions::kubernetes())
}

/// Checks that a rule is written as `want`: its conditions, each behind `?`, and its validation, on one line.
#[track_caller]
fn reads(kinds: &str, rest: &str, want: &str) {
    let made = made(kinds, rest).unwrap();
    let conditions = made.conditions.iter().map(|(_, text)| format!("? {text} "));
    let validations = made.validations.iter().map(|validation| validation.expression.clone());
    let text: String = conditions.chain(validations).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words.join(" "), want);
}

#[track_caller]
fn refuses(kinds: &str, rest: &str, want: &str) {
    assert_eq!(made(kinds, rest).unwrap_err().why, want);
}

#[test]
fn patterns_for_known_kinds_are_short() {
    let reads = |pattern: &str, want: &str| reads("Pod", &format!("validate: {{pattern: {pattern}}}"), want);
    reads("{spec: {=(hostNetwork): false}}", "object.spec.?hostNetwork.orValue(false) == false");
    reads("{metadata: {labels: {app: '?*'}}}", "object.metadata.?labels.?app.orValue(\"\") != \"\"");
    reads(
        "{spec: {containers: [{image: '!*:latest'}]}}",
        "object.spec.containers.all(container, !container.?image.orValue(\":latest\").endsWith(\":latest\"))",
    );
    reads(
        "{spec: {=(restartPolicy): 'Always | Never'}}",
        "object.spec.?restartPolicy.orValue(\"Always\") in [\"Always\", \"Never\"]",
    );
    reads("{spec: {priority: '<=5'}}", "object.spec.?priority.orValue(0) <= 5");
    reads(
        "{spec: {(hostPID): true, X(hostIPC): null}}",
        "? object.spec.?hostPID.orValue(false) == true !has(object.spec.hostIPC)",
    );
}

#[test]
fn patterns_for_other_kinds_ask_for_types() {
    reads(
        "Widget",
        "validate: {pattern: {spec: {size: big}}}",
        "has(object.spec) && type(object.spec) == map && has(object.spec.size) && (type(object.spec.size) == list ? \
         object.spec.size : [object.spec.size]).all(item, item == \"big\")",
    );
}

#[test]
fn conditions_are_what_must_not_hold() {
    let deny = |key: &str, operator: &str, value: &str| {
        format!(
            "validate: {{deny: {{conditions: {{any: [{{key: '{{{{ {key} }}}}', operator: {operator}, value: {value}}}]}}}}}}"
        )
    };
    reads("Pod", &deny("request.operation", "Equals", "DELETE"), "request.operation != \"DELETE\"");
    let created =
        "preconditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}, ";
    reads(
        "Pod",
        &format!(
            "{created}{}",
            deny("request.object.metadata.labels.app || ``", "NotEquals", "x").replace("``", "`\"\"`")
        ),
        "? request.operation == \"CREATE\" object.metadata.?labels.?app.orValue(\"\") == \"x\"",
    );
    refuses(
        "Pod",
        &deny("to_upper(request.object.metadata.name)", "Equals", "X"),
        "`{{ to_upper(request.object.metadata.name) }}` is more than a path in the request",
    );
}

#[test]
fn a_loop_without_elements_says_nothing() {
    reads(
        "Pod",
        "validate: {foreach: [{list: request.object.spec.volumes, pattern: {name: 'x*'}}]}",
        "? size(object.spec.?volumes.orValue([])) != 0 object.spec.?volumes.orValue([]).all(volume, \
         volume.?name.orValue(\"\").startsWith(\"x\"))",
    );
}

#[test]
fn messages_with_variables_are_made_in_cel() {
    let made = made(
        "Pod",
        "validate: {message: 'not {{ request.object.metadata.name }}!', pattern: {spec: {hostPID: true}}}",
    );
    let validation = made.unwrap().validations.remove(0);
    assert_eq!(validation.message.as_deref(), Some("not …!"));
    assert_eq!(validation.message_expression.as_deref(), Some("\"not \" + object.metadata.name + \"!\""));
}

#[test]
fn what_needs_the_world_is_refused() {
    let context = "context: [{name: c, configMap: {name: m, namespace: default}}], ";
    refuses(
        "Pod",
        &format!("{context}validate: {{pattern: {{spec: {{hostPID: true}}}}}}"),
        "the rule reads a ConfigMap",
    );
    refuses(
        "Pod",
        "validate: {pattern: {spec: {hostname: '{{ request.namespace }}'}}}",
        "the pattern has variables in it",
    );
}

#[track_caller]
fn agrees(pattern: &str, object: &str, want: &str) {
    let (pattern, object) = (value(pattern), value(object));
    let (pass, skip) = compiled(&pattern, object_shape()).unwrap();
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
