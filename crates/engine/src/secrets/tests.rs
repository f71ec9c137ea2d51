use std::sync::Arc;

use kubewright_value::{Location, Position, Source, Text, Value, json};

use crate::*;

type Says = fn(&Value, WorldView<'_>) -> Result<(String, &'static str), EvalError>;

/// A rule that fails every object with what its function makes of it.
struct Saying(Says);

impl Program for Saying {
    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let (message, template) = (self.0)(object, evaluation.world)?;
        let found = TraceNode::show(object);
        evaluation.tracer.say(|| TraceNode {
            what: "object".to_owned(),
            found,
            wanted: String::new(),
            verdict: Verdict::No,
            location: None,
            children: Vec::new(),
        });
        let denial = Some(format!("p: \"{message}\""));
        let template = template.into();
        Ok(Effect::Fail { message, template, path: Vec::new(), denial, is_refusal: true, location: None })
    }
}

fn decided(object: &str, reads_secrets: bool, says: Says) -> Outcome {
    let rule = Rule {
        id: Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: Text::default() }),
        scope: Scope::default(),
        phase: Phase::Judge,
        tier: 0,
        precedence: 0,
        position: 0,
        about: Arc::default(),
        refuses_on_error: true,
        is_exclusive: false,
        reads_secrets,
        home: None,
        occasions: Occasions::default(),
        location: Location { source: Source::new("t", ""), position: Position::START, length: 1 },
        program: Box::new(Saying(says)),
    };
    let world = ClosedWorld::new([json::parse(SECRET).expect("JSON")]);
    let request = Request::for_object(json::parse(object).expect("JSON"), Operation::Create, "");
    let settings = Settings { is_traced: true, ..Settings::default() };
    let mut decision = Engine::new(vec![rule]).decide(&request, &world, &settings);
    decision.outcomes.pop().expect("an outcome")
}

const SECRET: &str = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db","namespace":"shop","annotations":{
    "kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"aHVudGVy\"}}"}},
    "data":{"password":"aHVudGVy"},"stringData":{"plain":"hunter"}}"#;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#;

fn password(object: &Value) -> &str {
    object.at(&["data", "password"]).and_then(Value::as_str).unwrap_or_default()
}

#[track_caller]
fn check(says: Says, want: &str) {
    let outcome = decided(SECRET, false, says);
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
fn whatever_is_made_of_a_value_is_masked_whole() {
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
    check(says, "Secret db: (secret)");
}

#[test]
fn an_error_that_depends_on_a_value_is_hidden() {
    let outcome = decided(SECRET, false, |object, _| Err(EvalError::new(password(object))));
    assert_eq!(outcome.status, Status::Error);
    assert!(outcome.message.starts_with("(hidden"), "{}", outcome.message);
    assert!(outcome.is_refusal, "the verdict stays");
    let outcome = decided(SECRET, false, |_, _| Err(EvalError::new("always")));
    assert_eq!(outcome.message, "always");
}

const LOOKED_UP: Says = |_, world| {
    let query = Query::Api(ApiCall::resource("GET", "/api/v1/namespaces/shop/secrets/db", Text::default()));
    match world.get(&query) {
        Answer::Found(secret) => Ok((format!("found {}", password(&secret)), "found {{ x }}")),
        Answer::Refused(why) => Err(EvalError::refused(&query, &why)),
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
    assert_eq!(outcome.status, Status::Error);
    assert!(outcome.message.contains("names the resource `secrets`"), "{}", outcome.message);
}

#[test]
fn other_objects_are_decided_once_and_shown_as_they_are() {
    let outcome = decided(POD, true, |object, _| Ok((object.to_string(), "")));
    assert!(outcome.message.contains("web"));
}
