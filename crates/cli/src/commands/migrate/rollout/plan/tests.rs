//! Steps of a migration.

use kubewright_value::{Source, yaml};

use super::*;

fn object(text: &str) -> Value {
    let documents = yaml::read(&Source::new("object", text)).documents;
    documents.into_iter().next().expect("an object").value
}

fn source() -> Value {
    object(
        "kind: ClusterPolicy\nmetadata: {name: p, uid: u1, resourceVersion: '7'}\nspec: {rules: [{name: r}]}\n",
    )
}

fn successor_of(source: &Value) -> Successor {
    let document = object(
        "kind: ValidatingPolicy\nmetadata: {name: p}\nspec: {validationActions: [Deny], validations: [{expression: a}]}\n",
    );
    plan_successor(&document, &["r".into()], source).expect("a successor")
}

/// Returns `object` in `phase` as the cluster has it, with a default, and evaluated if `is_ready`.
fn stored(object: &Value, phase: RolloutPhase, is_ready: bool) -> Value {
    let mut stored = in_phase(object, phase);
    let map = stored.as_object_mut().expect("an object");
    let ready = if is_ready { "{conditionStatus: {ready: true}}" } else { "{}" };
    map.insert("status".into(), self::object(ready));
    let spec = map.get_mut("spec").and_then(Value::as_object_mut).expect("a spec");
    spec.insert("failurePolicy".into(), "Fail".into());
    stored
}

#[track_caller]
fn check(live: Option<&Value>, want: &SuccessorStep) {
    assert_eq!(&next_step(&successor_of(&source()), live), want);
}

#[test]
fn a_successor_has_no_effect_until_it_is_ready() {
    let quiet = successor_of(&source()).quiet;
    assert_eq!(quiet.at(&["spec", "validationActions"]), Some(&vec!["Audit"].into()));
    check(None, &SuccessorStep::Create);
    check(Some(&stored(&quiet, RolloutPhase::Audit, false)), &SuccessorStep::WaitUntilReady);
    check(Some(&stored(&quiet, RolloutPhase::Audit, true)), &SuccessorStep::Enforce);
}

#[test]
fn the_source_may_go_once_its_successor_acts() {
    let wanted = successor_of(&source()).wanted;
    check(Some(&stored(&wanted, RolloutPhase::Enforcing, false)), &SuccessorStep::WaitUntilReady);
    check(Some(&stored(&wanted, RolloutPhase::Enforcing, true)), &SuccessorStep::Settled);
    // A successor that says it acts and does not is written anew.
    let quiet = successor_of(&source()).quiet;
    check(Some(&stored(&quiet, RolloutPhase::Enforcing, true)), &SuccessorStep::StartOver);
}

#[test]
fn a_source_that_changed_or_was_made_anew_starts_over() {
    let changed =
        object("kind: ClusterPolicy\nmetadata: {name: p, uid: u1}\nspec: {rules: [{name: r, match: {}}]}\n");
    let again = object("kind: ClusterPolicy\nmetadata: {name: p, uid: u2}\nspec: {rules: [{name: r}]}\n");
    for earlier in [changed, again] {
        let quiet = successor_of(&earlier).quiet;
        check(Some(&stored(&quiet, RolloutPhase::Audit, true)), &SuccessorStep::StartOver);
        let wanted = successor_of(&earlier).wanted;
        check(Some(&stored(&wanted, RolloutPhase::Enforcing, true)), &SuccessorStep::StartOver);
    }
}

#[test]
fn policies_of_others_and_finished_ones_are_not_touched() {
    let other = object("kind: ValidatingPolicy\nmetadata: {name: p}\nspec: {}\n");
    let step = next_step(&successor_of(&source()), Some(&other));
    assert!(matches!(step, SuccessorStep::Blocked(_)), "{step:?}");
    let done = stored(&successor_of(&source()).wanted, RolloutPhase::Done, true);
    let step = next_step(&successor_of(&source()), Some(&done));
    assert!(matches!(step, SuccessorStep::Blocked(_)), "{step:?}");
}

#[test]
fn a_condition_about_an_earlier_generation_does_not_count() {
    let policy = |observed: u32| {
        object(&format!(
            "metadata: {{generation: 2}}\nstatus: {{conditionStatus: {{ready: true, conditions: [{{type: Ready, \
             status: 'True', observedGeneration: {observed}}}]}}}}\n"
        ))
    };
    assert!(is_ready(&policy(2)));
    assert!(!is_ready(&policy(1)));
    assert!(!is_ready(&object("status: {}\n")));
}
