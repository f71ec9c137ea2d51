//! The queue of rescans.

use kubewright_value::Map;

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey { kind: "Pod".into(), namespace: "shop".into(), name: name.into(), ..ObjectKey::default() }
}

fn object(version: &str) -> Value {
    Map::from([("metadata", Map::from([("resourceVersion", version.into())]).into())]).into()
}

fn pods() -> KindKey {
    KindKey { kind: "Pod".into(), ..KindKey::default() }
}

#[test]
fn a_newer_state_that_a_watch_brought_wins_over_the_one_that_was_read() {
    let now = Instant::now();
    let mut queue = RescanQueue::default();
    queue.add_keys([key("a"), key("b")], JudgementCause::Dependency, now);
    assert_eq!(queue.begin(now).len(), 1);
    assert_eq!(queue.watched(&pods(), &key("a"), &object("12")), Some(JudgementCause::Dependency));
    assert_eq!(queue.watched(&pods(), &key("c"), &object("12")), None, "it is not read again");
    assert_eq!(queue.cause(&pods(), &key("a"), &object("11")), None);
    assert_eq!(queue.cause(&pods(), &key("a"), &object("12")), Some(JudgementCause::Dependency));
    assert_eq!(queue.cause(&pods(), &key("b"), &object("3")), Some(JudgementCause::Dependency));
    queue.removed(&pods(), &key("b"));
    assert_eq!(queue.cause(&pods(), &key("b"), &object("99")), None, "it is gone");
}

#[test]
fn what_is_added_while_a_kind_is_read_is_read_after_it() {
    let now = Instant::now();
    let mut queue = RescanQueue::default();
    queue.add(pods(), RescanScope::All, JudgementCause::Rule, now);
    assert_eq!(queue.begin(now).len(), 1);
    queue.add_keys([key("a")], JudgementCause::Dependency, now);
    queue.add(pods(), RescanScope::All, JudgementCause::Rule, now);
    assert!(queue.begin(now).is_empty());
    queue.ended(&pods(), false, now);
    let orders = queue.begin(now);
    assert_eq!(orders.iter().map(|order| &*order.scope).collect::<Vec<_>>(), [&RescanScope::All]);
    queue.ended(&pods(), true, now);
    assert!(queue.begin(now).is_empty(), "a failed one waits");
    assert_eq!(queue.begin(now + RESCAN_BACKOFF).len(), 1);
    queue.ended(&pods(), false, now);
    assert!(queue.is_empty());
}
