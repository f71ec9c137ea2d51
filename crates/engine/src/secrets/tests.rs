use std::sync::Arc;

use kubewright_k8s::{AdmissionRequest, ObjectName, Operation};
use kubewright_value::{Location, Position, Source, Text, Value, json};

use crate::*;

type Says = fn(&Value, WorldView<'_>) -> Result<(String, &'static str), EvalError>;

/// A rule that fails every object with what its function makes of it, and the message that its author wrote.
struct Saying(Says, &'static str);

impl RuleProgram for Saying {
    fn message(&self) -> &str {
        self.1
    }

    fn denial(&self, message: &str, _: &AdmissionRequest) -> Option<String> {
        Some(format!("p: \"{message}\""))
    }

    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let (message, template) = (self.0)(object, evaluation.world)?;
        let found = TraceNode::show(object);
        evaluation.tracer.say(|| TraceNode {
            what: "object".to_owned(),
            found,
            verdict: TraceVerdict::No,
            ..TraceNode::default()
        });
        let denial = Some(format!("p: \"{message}\""));
        let template = template.into();
        Ok(Effect::Fail { message, template, path: Vec::new(), denial, is_refusal: true, location: None })
    }
}

fn decided(object: &str, reads_secrets: bool, says: Says) -> RuleOutcome {
    decided_with(object, reads_secrets, "", says)
}

fn decided_with(object: &str, reads_secrets: bool, message: &'static str, says: Says) -> RuleOutcome {
    decided_by(object, reads_secrets, Box::new(Saying(says, message)))
}

fn decided_by(object: &str, reads_secrets: bool, program: Box<dyn RuleProgram>) -> RuleOutcome {
    let rule = Rule {
        id: Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: Text::default() }),
        scope: RuleScope::default(),
        action: RuleAction::Validate,
        phase: crate::AdmissionPhase::Validating,
        tier: 0,
        precedence: 0,
        position: 0,
        matches_current: false,
        metadata: Arc::default(),
        refuses_on_error: true,
        is_exclusive: false,
        reads_secrets,
        home: None,
        evaluation_modes: EvaluationModes::default(),
        location: Location { source: Source::new("t", ""), position: Position::START, length: 1 },
        program,
    };
    let world = ClosedWorld::new([json::parse(SECRET).expect("JSON")]);
    let request = AdmissionRequest::for_object(json::parse(object).expect("JSON"), Operation::Create, "");
    let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
    let mut decision = Engine::new(vec![rule]).decide(&request, &world, &settings);
    decision.outcomes.pop().expect("an outcome")
}

const SECRET: &str = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db","namespace":"shop","annotations":{
    "kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"aHVudGVy\"}}"}},
    "data":{"password":"aHVudGVy"},"stringData":{"plain":"hunter"}}"#;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#;

fn password(object: &Value) -> &str {
    object.str_at(&["data", "password"])
}

#[track_caller]
fn check(says: Says, want: &str) {
    check_with("", says, want);
}

#[track_caller]
fn check_with(message: &'static str, says: Says, want: &str) {
    let outcome = decided_with(SECRET, false, message, says);
    assert_eq!(outcome.message, want);
    assert_eq!(outcome.denial.as_deref().unwrap_or_default(), format!("p: \"{want}\""));
    let trace = format!("{:?}", outcome.trace);
    assert!(!trace.contains("aHVudGVy") && !trace.contains("hunter"), "{trace}");
}

#[test]
fn what_does_not_depend_on_a_value_is_said() {
    check(|object, _| Ok((format!("{} is bad", ObjectName::of(object)), "")), "Secret `shop/db` is bad");
}

#[test]
fn text_derived_from_a_secret_is_masked_whole() {
    check(|object, _| Ok((format!("it is {}!", password(object)), "it is {{ x }}!")), "it is (secret)!");
    check(
        |object, _| Ok((format!("{} letters", password(object).len()), "{{ x }} letters")),
        "(secret) letters",
    );
    check(|object, _| Ok((object.to_string(), "{{ all }}")), "(secret)");
}

#[test]
fn the_copy_that_kubectl_keeps_is_a_value_too() {
    let says: Says = |object, _| {
        let annotations = object.at(&["metadata", "annotations"]);
        Ok((annotations.map(ToString::to_string).unwrap_or_default(), "{{ a }}"))
    };
    check(says, "(secret)");
}

#[test]
fn a_message_that_only_this_value_leads_to_is_the_author_s() {
    let says: Says = |object, _| match password(object) {
        "aHVudGVy" => {
            Ok(("Secret db: hunter".to_owned(), "Secret {{ request.object.metadata.name }}: {{ x }}"))
        }
        _ => Err(EvalError::new("another")),
    };
    check_with("Secret {{ request.object.metadata.name }}: {{ x }}", says, "Secret db: (secret)");
}

#[test]
fn which_of_several_messages_it_is_depends_on_the_value_and_is_hidden() {
    let says: Says = |object, _| match password(object) {
        "aHVudGVy" => Ok(("it begins with h".to_owned(), "it begins with h")),
        _ => Err(EvalError::new("another")),
    };
    check(says, "(hidden: what the rule says depends on the values of a Secret)");
    let says: Says = |object, _| match password(object) {
        "aHVudGVy" => Ok(("no; it begins with h".to_owned(), "no; it begins with h")),
        _ => Ok(("no".to_owned(), "no")),
    };
    check(says, "no");
}

#[test]
fn a_message_that_is_also_in_the_rule_s_name_is_not_found_there() {
    let says: Says = |object, _| match password(object) {
        "aHVudGVy" => Ok(("p".to_owned(), "{{ x }}")),
        _ => Err(EvalError::new("another")),
    };
    check_with("{{ x }}", says, "(secret)");
    let says: Says = |object, _| match password(object) {
        "aHVudGVy" => Ok((String::new(), "{{ x }}")),
        _ => Err(EvalError::new("another")),
    };
    check_with("{{ x }}", says, "(secret)");
}

#[test]
fn neither_a_place_nor_the_course_of_a_trace_depends_on_the_value() {
    struct Looks;
    impl RuleProgram for Looks {
        fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
            Ok(Applies::Yes)
        }
        fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
            let length = password(object).len();
            for number in 0..length {
                evaluation.tracer.say(|| TraceNode {
                    what: format!("letter {number}"),
                    verdict: TraceVerdict::Yes,
                    ..TraceNode::default()
                });
            }
            let position = Position { line: 1, column: u32::try_from(length).unwrap_or_default() };
            Ok(Effect::Fail {
                message: "no".to_owned(),
                template: Text::default(),
                path: vec![kubewright_value::Step::Index(length)],
                denial: None,
                is_refusal: true,
                location: Some(Location { source: Source::new("t", ""), position, length: 1 }),
            })
        }
    }
    let said = |value: &str| {
        let secret =
            format!(r#"{{"kind":"Secret","metadata":{{"name":"s"}},"data":{{"password":"{value}"}}}}"#);
        let outcome = decided_by(&secret, false, Box::new(Looks));
        format!("{:?} {:?} {:?} {:?}", outcome.message, outcome.path, outcome.location, outcome.trace)
    };
    assert_eq!(said("aHVudGVy"), said("YQ=="));
    assert!(said("YQ==").contains("letter 0"), "{}", said("YQ=="));
}

#[test]
fn an_error_that_depends_on_a_value_is_hidden() {
    let outcome = decided(SECRET, false, |object, _| Err(EvalError::new(password(object))));
    assert_eq!(outcome.status, RuleStatus::Error);
    assert!(outcome.message.starts_with("(hidden"), "{}", outcome.message);
    assert!(outcome.is_refusal, "the verdict stays");
    let outcome = decided(SECRET, false, |_, _| Err(EvalError::new("always")));
    assert_eq!(outcome.message, "always");
}

const LOOKED_UP: Says = |_, world| {
    let query = Query::Api(ApiCall::resource("GET", "/api/v1/namespaces/shop/secrets/db", Text::default()));
    match world.get(&query) {
        QueryAnswer::Found(secret) => Ok((format!("found {}", password(&secret)), "found {{ x }}")),
        QueryAnswer::Refused(why) => Err(EvalError::refused(&query, &why)),
        _ => Ok(("nothing".to_owned(), "")),
    }
};

#[test]
fn a_secret_that_is_looked_up_is_masked_likewise() {
    assert_eq!(decided(POD, true, LOOKED_UP).message, "found (secret)");
}

#[test]
fn a_rule_that_does_not_name_secrets_finds_none() {
    let outcome = decided(POD, false, LOOKED_UP);
    assert_eq!(outcome.status, RuleStatus::Error);
    assert!(outcome.message.contains("names the resource `secrets`"), "{}", outcome.message);
}

#[test]
fn other_objects_are_decided_once_and_shown_as_they_are() {
    let outcome = decided(POD, true, |object, _| Ok((object.to_string(), "")));
    assert!(outcome.message.contains("web"));
}

/// Changes the password to one that some Secrets have already.
struct Settles;

impl RuleProgram for Settles {
    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, object: &mut Value, _: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        Ok(match password(object) {
            "aHVudGVy" => Effect::Settled {
                message: "nothing to do".into(),
                applied: "changed the password".into(),
                reference: Some(password(object).into()),
            },
            _ => Effect::Pass("changed the password".into()),
        })
    }
}

#[test]
fn what_reports_say_of_a_settled_change_does_not_tell_the_value() {
    let secret = r#"{"kind":"Secret","metadata":{"name":"s"},"data":{"password":"aHVudGVy"}}"#;
    let outcome = decided_by(secret, false, Box::new(Settles));
    assert_eq!(outcome.status, RuleStatus::Skip);
    assert_eq!(outcome.settled.as_deref(), Some("changed the password"));
    assert!(outcome.message.starts_with("(hidden"), "{}", outcome.message);
    assert!(outcome.references.is_empty(), "{:?}", outcome.references);
}
