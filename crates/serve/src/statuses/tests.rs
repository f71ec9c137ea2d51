use std::sync::Arc;

use kubewright_engine::RuleId;
use kubewright_value::yaml;

use super::*;
use crate::{EventWording, NoticeKind};

fn state(generation: i64, rules: usize) -> RuleState {
    RuleState {
        has_webhooks: true,
        status: Value::Null,
        name: ObjectName { name: "r".into(), ..ObjectName::default() },
        generation,
        dialect: "test",
        rules,
        diagnostics: Vec::new(),
        admission_policy: None,
        admission_policy_state: None,
    }
}

fn apply(stored: &str, state: &RuleState, seconds: u64) -> Option<Value> {
    let stored = yaml::parse(stored).expect("yaml");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    status_patch(&stored, rule_report(state), now, RuleReport::status)
}

#[test]
fn a_status_is_written_once() {
    let first = apply("metadata: {}", &state(3, 2), 60).expect("a change");
    let want = "{status: {observedGeneration: 3, rules: 2, conditions: [{type: Ready, status: 'True', reason: Compiled, \
        message: 2 rules run, observedGeneration: 3, lastTransitionTime: '1970-01-01T00:01:00Z'}]}}";
    assert_eq!(first, yaml::parse(want).expect("yaml"));
    assert_eq!(apply(&first.to_string(), &state(3, 2), 90), None);
}

#[test]
fn only_what_differs_is_written_and_the_time_stays() {
    let first = apply("{}", &state(3, 2), 60).expect("a change").to_string();
    let second = apply(&first, &state(4, 2), 90).expect("a change");
    let keys: Vec<_> =
        second.get("status").and_then(Value::as_object).expect("a status").keys().cloned().collect();
    assert_eq!(keys, ["observedGeneration", "conditions"]);
    let condition = second.at(&["status", "conditions"]).and_then(|list| list.item(0)).expect("a condition");
    assert_eq!(condition.get("lastTransitionTime").and_then(Value::as_str), Some("1970-01-01T00:01:00Z"));
}

#[test]
fn the_conditions_of_others_stay() {
    let stored = "{status: {conditions: [{type: Ready, status: 'False'}, {type: Loved, status: 'True'}]}}";
    let changed = apply(stored, &state(1, 1), 60).expect("a change");
    let list = changed.at(&["status", "conditions"]).and_then(Value::as_array).expect("conditions");
    let kinds: Vec<_> = list.iter().filter_map(|condition| condition.get("type")?.as_str()).collect();
    assert_eq!(kinds, ["Ready", "Loved"]);
}

#[test]
fn the_own_condition_comes_first_and_guards_those_of_others() {
    let stored = "{metadata: {resourceVersion: '7'}, status: {conditions: [{type: Loved, status: 'True'}]}}";
    let changed = apply(stored, &state(1, 1), 60).expect("a change");
    let list = changed.at(&["status", "conditions"]).and_then(Value::as_array).expect("conditions");
    let kinds: Vec<_> = list.iter().filter_map(|condition| condition.get("type")?.as_str()).collect();
    assert_eq!(kinds, ["Ready", "Loved"]);
    assert_eq!(changed.str_at(&["metadata", "resourceVersion"]), "7");
}

#[test]
fn a_failure_is_news_until_it_is_written_and_then_for_a_minute_none() {
    let subject = ObjectName {
        kind: "Pod".into(),
        namespace: "shop".into(),
        name: "web".into(),
        ..ObjectName::default()
    };
    let mut notice = Notice {
        rule: Arc::new(RuleId { dialect: "test", policy: "shop".into(), rule: "r".into() }),
        document: ObjectName { name: "r".into(), ..ObjectName::default() },
        subject,
        kind: NoticeKind::Failed,
        message: "no such field".into(),
        wording: EventWording::Plain,
    };
    let (mut failures, start) = (RecordedFailures::default(), Instant::now());
    failures.add(&notice, SystemTime::UNIX_EPOCH);
    assert_eq!(failures.due(start), HashSet::from([notice.document.clone()]));
    let news = failures.news(&notice.document).expect("news");
    assert_eq!((news.message.as_str(), news.object.as_str()), ("no such field", "Pod shop/web"));
    failures.written(&notice.document, start);
    assert!(failures.due(start + FAILURE_WRITE_INTERVAL).is_empty(), "it is written");

    notice.subject.kind = "Secret".into();
    notice.message = "canary".into();
    failures.add(&notice, SystemTime::UNIX_EPOCH);
    assert!(failures.due(start + FAILURE_WRITE_INTERVAL / 2).is_empty(), "a minute has not passed");
    assert_eq!(failures.due(start + FAILURE_WRITE_INTERVAL).len(), 1);
    assert_eq!(
        failures.news(&notice.document).map(|news| news.message.as_str()),
        Some("the rule could not answer")
    );
}
