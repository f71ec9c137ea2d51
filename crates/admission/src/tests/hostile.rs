//! Policies that would take long or much memory, though they are short.

use std::time::{Duration, Instant};

use super::*;

/// Returns the outcome of the first of `policies` for a Pod, which must be quick even in an unoptimised build.
#[track_caller]
fn soon(policies: &str) -> String {
    let start = Instant::now();
    let rules = load(&[], &documents(policies)).rules;
    let request = AdmissionRequest::for_object(value(POD), Operation::Create, "default");
    let decision = Engine::new(rules).decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let outcome = decision.outcomes.first().expect("an outcome");
    format!("{}: {}", outcome.status, outcome.message)
}

#[test]
fn many_variables_take_as_long_as_they_are_many() {
    let variables: String = (0..5_000).map(|i| format!("- {{name: v{i}, expression: '{i}'}}\n")).collect();
    let policy =
        format!("{PODS}\nvariables:\n{variables}validations: [{{expression: variables.v4999 == 4999}}]\n");
    assert_eq!(soon(&vpol(&policy)), "pass: success");
}

#[test]
fn patterns_that_are_none_are_not_tried_for_ever() {
    let tries = |count: usize| {
        let numbers = (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
        format!(
            "- expression: \"[{numbers}].all(x, 'a'.matches('(' + string(x)) || true) && has(object.spec)\"\n"
        )
    };
    let said = |validations: &str| soon(&vpol(&format!("{PODS}\nvalidations:\n{validations}")));
    assert_eq!(said(&tries(30)), "pass: success");
    for validations in [tries(100), tries(30).repeat(10)] {
        let said = said(&validations);
        assert!(said.starts_with("error: ") && said.contains("costs more than"), "{said}");
    }
}

#[test]
fn bindings_share_what_their_policy_checks() {
    let validations: String =
        (0..500).map(|i| format!("- {{expression: 'object.metadata.name != \"n{i}\"'}}\n")).collect();
    let mut policies = vap(&format!("{PODS}\nvalidations:\n{validations}"));
    let one = binding("validationActions: [Deny]");
    policies.extend((0..1_000).map(|i| one.replace("name: b", &format!("name: b{i}"))));
    assert_eq!(soon(&policies), "pass: ");
}
