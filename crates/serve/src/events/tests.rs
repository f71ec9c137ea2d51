use std::sync::Arc;

use kubewright_engine::RuleId;

use super::*;

fn named(kind: &str, name: &str) -> ObjectName {
    ObjectName { group: "".into(), kind: kind.into(), namespace: "shop".into(), name: name.into() }
}

fn notice(kind: NoticeKind, subject: ObjectName, message: &str) -> Notice {
    Notice {
        rule: Arc::new(RuleId { dialect: "test", policy: "shop".into(), rule: "r".into() }),
        document: named("Rule", "r"),
        subject,
        kind,
        message: message.into(),
        wording: EventWording::Plain,
    }
}

fn found(_: &ObjectName) -> Regarding {
    Regarding { api_version: "example.com/v1".into(), uid: "u".into() }
}

fn text_at<'v>(value: &'v Value, keys: &[&str]) -> &'v str {
    value.str_at(keys)
}

#[test]
fn the_same_thing_within_a_minute_is_one_event_that_counts() {
    let (start, time) = (Instant::now(), SystemTime::now());
    let mut events = EventQueue::new("a", start);
    let refused = notice(NoticeKind::Refused, named("Pod", "web"), "no");
    assert!(events.add(&refused, start, time));
    let first = events.due(start, found).remove(0);
    assert!(first.is_new);
    assert_eq!(text_at(&first.object, &["message"]), "Pod shop/web refused: no");
    assert_eq!(text_at(&first.object, &["reason"]), "PolicyViolation");
    assert_eq!(text_at(&first.object, &["action"]), "Resource Blocked");
    assert_eq!(text_at(&first.object, &["metadata", "annotations", EVENT_RULE_ANNOTATION]), "test/shop/r");
    assert_eq!(text_at(&first.object, &["involvedObject", "apiVersion"]), "example.com/v1");
    assert_eq!(text_at(&first.object, &["involvedObject", "uid"]), "u");
    assert_eq!(text_at(&first.object, &["related", "name"]), "web");

    for _ in 0..3 {
        assert!(events.add(&refused, start + EVENT_SERIES_TIME / 2, time));
    }
    let second = events.due(start + EVENT_SERIES_TIME / 2, found).remove(0);
    assert_eq!((second.is_new, &second.name), (false, &first.name));
    assert_eq!(second.object.get("count").and_then(Value::as_i64), Some(4));
    assert!(second.object.get("message").is_none());

    assert!(events.due(start + EVENT_SERIES_TIME * 3, found).is_empty());
    assert!(events.add(&refused, start + EVENT_SERIES_TIME * 3, time));
    let third = events.due(start + EVENT_SERIES_TIME * 3, found).remove(0);
    assert!(third.is_new && third.name != first.name);
}

#[test]
fn what_could_not_be_written_is_written_later_as_a_whole() {
    let (now, time) = (Instant::now(), SystemTime::now());
    let mut events = EventQueue::new("a", now);
    assert!(events.add(&notice(NoticeKind::Refused, named("Pod", "web"), "no"), now, time));
    let first = events.due(now, found).remove(0);
    events.again(&first);
    assert!(events.add(&notice(NoticeKind::Refused, named("Pod", "web"), "no"), now, time));
    let second = events.due(now, found).remove(0);
    assert_eq!((second.is_new, &second.name), (true, &first.name));
    assert_eq!(second.object.get("count").and_then(Value::as_i64), Some(2));
    assert!(events.due(now, found).is_empty());
}

#[test]
fn different_things_are_different_events() {
    let (now, time) = (Instant::now(), SystemTime::now());
    let mut events = EventQueue::new("a", now);
    for kind in [NoticeKind::Refused, NoticeKind::Failed, NoticeKind::Excepted] {
        assert!(events.add(&notice(kind, named("Pod", "web"), ""), now, time));
    }
    assert!(events.add(&notice(NoticeKind::Failed, named("Pod", "other"), ""), now, time));
    let writes = events.due(now, found);
    let mut reasons: Vec<_> = writes.iter().map(|write| text_at(&write.object, &["reason"])).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["ExceptionUsed", "PolicyError", "PolicyError", "PolicyViolation"]);
    assert_eq!(writes.iter().filter(|write| write.object.get("action").is_some()).count(), 1);
}

#[test]
fn a_flood_is_written_slowly_and_bounded() {
    let (start, time) = (Instant::now(), SystemTime::now());
    let mut events = EventQueue::new("a", start);
    let taken = (0..MAX_PENDING_EVENTS + 10)
        .filter(|number| {
            let subject = named("Pod", &format!("web-{number}"));
            events.add(&notice(NoticeKind::Refused, subject, ""), start, time)
        })
        .count();
    assert_eq!(taken, MAX_PENDING_EVENTS);
    assert_eq!(events.due(start, found).len(), 50);
    assert_eq!(events.due(start + Duration::from_secs(1), found).len(), 5);
}

#[test]
fn nothing_of_a_secret_is_told_but_its_name() {
    let secret = notice(NoticeKind::Refused, named("Secret", "login"), "the password is canary");
    assert_eq!(event_message(&secret, None), "Secret shop/login refused");
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let long = notice(NoticeKind::Refused, named("Pod", "web"), &"ä".repeat(2000));
    let text = event_message(&long, None);
    assert!(text.len() <= MAX_EVENT_MESSAGE_BYTES && text.ends_with('…'), "{} bytes", text.len());
}
