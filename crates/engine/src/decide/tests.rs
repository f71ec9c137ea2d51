use kubewright_value::{Location, Map, Position, Source, Text};

use super::*;
use crate::{KindScope, NamespaceScope, RuleId, RuleScope};

/// A rule that appends its name to `/log`, unless what it wants is `!error`, `!reject` or a `query` first. Any other
/// word it wants must stand in the object.
struct Appends {
    name: Text,
    wants: Option<&'static str>,
}

impl RuleProgram for Appends {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        match self.wants {
            Some("query") => evaluation.namespace().map(|_| Applies::Yes),
            Some(word) if !word.starts_with('!') && !object.to_string().contains(word) => {
                Ok(Applies::No(format!("no {word}").into()))
            }
            _ => Ok(Applies::Yes),
        }
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if matches!(self.wants, Some("!spend" | "!reject")) {
            evaluation.budget.step(90)?;
        }
        match self.wants {
            Some("!error") => return Err(EvalError::new("cannot")),
            Some("!rename") => {
                let metadata = object.as_object_mut().unwrap().get_mut("metadata").unwrap();
                metadata.as_object_mut().unwrap().insert("name".into(), self.name.clone().into());
                return Ok(Effect::Patch { operations: vec![], message: Text::default() });
            }
            Some("!reject") => {
                return Ok(Effect::Fail {
                    message: "no".into(),
                    template: "no".into(),
                    path: vec![],
                    denial: None,
                    is_refusal: true,
                    location: None,
                });
            }
            _ => {}
        }
        let log = object.str_at(&["log"]).to_owned() + &self.name;
        object.as_object_mut().unwrap().insert("log".into(), log.into());
        Ok(Effect::Patch { operations: vec![], message: Text::default() })
    }
}

/// Makes a rule from `name namespace kinds [tier] [wants]`.
pub(crate) fn rule(text: &'static str) -> Rule {
    let words: Vec<&'static str> = text.split(' ').collect();
    let named = |word: &str| word != "*";
    let wants = words.get(4).copied();
    Rule {
        id: RuleId { dialect: "test", policy: "p".into(), rule: words[0].into() }.into(),
        scope: RuleScope {
            kinds: if named(words[2]) {
                KindScope::Named(words[2].split(',').map(Text::from).collect())
            } else {
                KindScope::Any
            },
            namespaces: if named(words[1]) {
                NamespaceScope::Named(vec![words[1].into()])
            } else {
                NamespaceScope::Any
            },
            ..RuleScope::default()
        },
        position: 0,
        matches_current: false,
        metadata: std::sync::Arc::default(),
        refuses_on_error: false,
        is_exclusive: false,
        reads_secrets: false,
        home: None,
        evaluation_modes: crate::EvaluationModes::default(),
        action: if wants == Some("!reject") { RuleAction::Validate } else { RuleAction::Mutate },
        phase: crate::AdmissionPhase::Mutating,
        tier: words.get(3).map_or(0, |tier| tier.parse().unwrap()),
        precedence: 0,
        location: Location { source: Source::new("t", ""), position: Position::START, length: 1 },
        program: Box::new(Appends { name: words[0].into(), wants }),
    }
}

pub(crate) fn request(kind: &str, namespace: &str) -> AdmissionRequest {
    let object = Map::from([
        ("kind", kind.into()),
        ("metadata", Value::object(Map::from([("namespace", namespace.into())]))),
    ]);
    AdmissionRequest::for_object(object.into(), kubewright_k8s::Operation::Create, "")
}

#[track_caller]
fn check(rules: &[&'static str], log: &str, want: &str) {
    let engine = Engine::new(rules.iter().map(|text| rule(text)).collect());
    let decision =
        engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &DecisionSettings::default());
    let statuses: Vec<_> =
        decision.outcomes.iter().map(|o| format!("{}={}", o.rule.rule, o.status)).collect();
    assert_eq!(decision.object.str_at(&["log"]), log);
    assert_eq!(statuses.join(" "), want);
}

#[test]
fn rules_of_a_tier_match_what_was_there_before_it_and_change_one_after_the_other() {
    check(&["a * *", "b * * 0 a"], "ab", "a=pass b=pass");
    check(&["q * *", "b * * 0 q"], "q", "b=skip q=pass");
}

#[test]
fn a_later_tier_sees_what_an_earlier_one_did() {
    check(&["z * * -1", "b * * 0 z"], "zb", "z=pass b=pass");
}

#[test]
fn failing_rule_changes_nothing_and_other_rules_run() {
    check(&["a * *", "b * * 0 !error", "c * *", "r * * 0 !reject"], "ac", "a=pass b=error c=pass r=fail");
}

#[test]
fn a_refusal_denies_and_an_error_does_not() {
    let decide = |text| {
        Engine::new(vec![rule(text)]).decide(
            &request("Pod", "x"),
            &crate::ClosedWorld::default(),
            &DecisionSettings::default(),
        )
    };
    assert!(!decide("r * * 0 !reject").is_allowed);
    assert!(decide("e * * 0 !error").is_allowed);
}

#[test]
fn what_the_world_does_not_know_comes_back_as_a_query_once() {
    let engine = Engine::new(vec![rule("a * * 0 query"), rule("b * * 0 query")]);
    let mut world = crate::OpenWorld::default();
    let decision = engine.decide(&request("Pod", "x"), &world, &DecisionSettings::default());
    assert_eq!(decision.queries, [Query::namespace("x")]);
    assert_eq!(decision.with_status(RuleStatus::Error).count(), 2);
    world.learn(Query::namespace("x"), None);
    let decision = engine.decide(&request("Pod", "x"), &world, &DecisionSettings::default());
    assert_eq!(decision.queries, []);
    assert_eq!(decision.with_status(RuleStatus::Pass).count(), 2);
}

#[test]
fn all_rules_together_have_a_limit_too() {
    let rules =
        ["a * * 0 !spend", "b * * 0 !spend", "c * * 0 !spend", "d * * 0 !spend", "e * * 0 !spend", "f * *"];
    let engine = Engine::new(rules.iter().map(|text| rule(text)).collect());
    let settings = DecisionSettings {
        limits: Limits { steps: 100, ..Limits::default() },
        ..DecisionSettings::default()
    };
    let decision = engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &settings);
    let statuses: Vec<_> =
        decision.outcomes.iter().map(|o| format!("{}={}", o.rule.rule, o.status)).collect();
    assert_eq!(statuses, ["a=pass", "b=pass", "c=pass", "d=pass", "e=error", "f=pass"]);
    assert!(decision.outcomes[4].message.contains("budget"), "{}", decision.outcomes[4].message);
}

#[test]
fn what_others_spent_does_not_keep_a_rule_from_refusing() {
    let rules = ["a * * 0 !spend", "b * * 0 !spend", "c * * 0 !spend", "d * * 0 !spend", "r * * 0 !reject"];
    let engine = Engine::new(rules.iter().map(|text| rule(text)).collect());
    let settings = DecisionSettings {
        limits: Limits { steps: 100, ..Limits::default() },
        ..DecisionSettings::default()
    };
    let decision = engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &settings);
    assert!(!decision.is_allowed);
}

#[test]
fn a_decision_that_takes_more_than_it_may_in_all_is_unfinished_and_says_so() {
    let rules = ["a * * 0 !spend", "b * * 0 !spend", "r * * 0 !reject"];
    let engine = Engine::new(rules.iter().map(|text| rule(text)).collect());
    let decide = |total| {
        let settings = DecisionSettings { total: Some(total), ..DecisionSettings::default() };
        engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &settings)
    };
    for total in [0, 89, 90, 179, 180, 269] {
        assert!(decide(total).is_unfinished, "{total}");
    }
    let finished = decide(270);
    assert!(!finished.is_unfinished && !finished.is_allowed);
}

#[test]
fn a_decision_whose_deadline_has_passed_is_unfinished() {
    let spends = |steps: u64| {
        let mut rule = rule("a * * 0 !reject");
        rule.program = Box::new(Spends(steps));
        Engine::new(vec![rule])
    };
    let decide = |engine: &Engine, deadline| {
        let settings = DecisionSettings { deadline, ..DecisionSettings::default() };
        engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &settings)
    };
    let now = Deadline { at: 0, now: || 0 };
    let later = Deadline { at: 1, ..now };
    for steps in [300, 5_000, 1_000_000] {
        assert!(decide(&spends(steps), Some(now)).is_unfinished, "{steps}");
        assert!(!decide(&spends(steps), Some(later)).is_unfinished, "{steps}");
        assert!(!decide(&spends(steps), None).is_unfinished, "{steps}");
    }
}

/// Spends steps one by one.
struct Spends(u64);

impl RuleProgram for Spends {
    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, _: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        for _ in 0..self.0 {
            evaluation.budget.step(1)?;
        }
        Ok(Effect::Pass("".into()))
    }
}

#[test]
fn a_rule_that_uses_up_what_is_its_own_leaves_the_decision_finished() {
    let engine = Engine::new(vec![rule("a * * 0 !spend"), rule("b * *")]);
    let limits = Limits { steps: 50, ..Limits::default() };
    let settings = DecisionSettings { limits, total: Some(1000), ..DecisionSettings::default() };
    let decision = engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &settings);
    assert!(!decision.is_unfinished);
    let statuses: Vec<_> = decision.outcomes.iter().map(|outcome| outcome.status).collect();
    assert_eq!(statuses, [RuleStatus::Error, RuleStatus::Pass]);
}

#[test]
fn a_rule_that_changes_who_an_object_is_fails_where_that_matters() {
    let engine = Engine::new(vec![rule("a * *"), rule("b * * 0 !rename"), rule("c * *")]);
    let decide = |keeps_identity| {
        let settings = DecisionSettings { keeps_identity, ..DecisionSettings::default() };
        engine.decide(&request("Pod", "x"), &crate::ClosedWorld::default(), &settings)
    };
    let kept = decide(true);
    assert_eq!(kept.object.get("log").and_then(Value::as_str), Some("ac"));
    assert_eq!(kept.object.at(&["metadata", "name"]), None);
    let failure = kept.with_status(RuleStatus::Error).next().unwrap();
    assert_eq!(failure.message, "a rule may not change `metadata.name` of an object in a cluster");
    assert_eq!(decide(false).object.at(&["metadata", "name"]).and_then(Value::as_str), Some("b"));
}

#[test]
fn rules_that_do_not_apply_are_counted_where_their_outcomes_are_left_out() {
    let rules = ["a * * 0", "b * * 0 nowhere", "c * * 0 !reject", "d * * 1 elsewhere"];
    let engine = Engine::new(rules.map(rule).into());
    let decide = |kind: &str, settings: &DecisionSettings| {
        let decision = engine.decide(&request(kind, "x"), &crate::ClosedWorld::default(), settings);
        (decision.outcomes.len(), decision.skipped, decision.is_allowed)
    };
    let all = DecisionSettings::default();
    let few = DecisionSettings { leaves_out_skips: true, ..all };
    assert_eq!(decide("Pod", &all), (4, 0, false));
    assert_eq!(decide("Pod", &few), (2, 2, false));
    assert_eq!(decide("Pod", &DecisionSettings { is_traced: true, ..few }), (4, 0, false));
    assert_eq!(decide("Secret", &few), (4, 0, false), "outcomes about a Secret are compared");
}

#[test]
fn rules_that_pass_are_named_where_their_outcomes_are_left_out() {
    let passing = |name, is_exclusive| {
        let program = Box::new(Spends(1));
        Rule { program, action: RuleAction::Validate, is_exclusive, ..rule(name) }
    };
    let rules =
        vec![rule("a * * 0"), passing("b * * 0", false), passing("c * * 0", true), rule("d * * 0 !reject")];
    let addresses: Vec<RuleAddress> = rules.iter().map(|rule| RuleAddress::of(&rule.id)).collect();
    let engine = Engine::new(rules);
    let decide = |kind: &str, settings: &DecisionSettings| {
        let decision = engine.decide(&request(kind, "x"), &crate::ClosedWorld::default(), settings);
        let with_outcome: Vec<RuleAddress> =
            decision.outcomes.iter().map(|outcome| RuleAddress::of(&outcome.rule)).collect();
        (with_outcome, decision.passed)
    };
    let few = DecisionSettings { leaves_out_passes: true, ..DecisionSettings::default() };
    let [a, b, c, d] = addresses.as_slice() else { panic!("{addresses:?}") };
    assert_eq!(decide("Pod", &DecisionSettings::default()), (vec![*a, *b, *c, *d], vec![]));
    assert_eq!(decide("Pod", &few), (vec![*a, *c, *d], vec![*b]), "a change and an exclusive rule have one");
    let traced = DecisionSettings { is_traced: true, ..few };
    assert_eq!(decide("Pod", &traced), (vec![*a, *b, *c, *d], vec![]));
    assert_eq!(
        decide("Secret", &few),
        (vec![*a, *b, *c, *d], vec![]),
        "outcomes about a Secret are compared"
    );
}
