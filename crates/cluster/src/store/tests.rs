use kubewright_value::{Value, json};

use super::{Store, WatchEvent};
use crate::ObjectList;

fn object(name: &str, version: u64) -> Value {
    json::parse(&format!(
        r#"{{"kind":"Thing","metadata":{{"namespace":"n","name":"{name}","resourceVersion":"{version}","managedFields":[1]}},"at":{version}}}"#
    ))
    .unwrap()
}

fn list(version: u64, items: &[(&str, u64)]) -> ObjectList {
    let items = items.iter().map(|(name, version)| object(name, *version)).collect();
    ObjectList { items, version: version.to_string().into() }
}

/// Reads `+a7` as a state of `a` at version 7, `-a8` as its deletion, `~9` as a bookmark.
fn event(text: &str) -> WatchEvent {
    let name = text.get(1..2).unwrap();
    let version = || text.get(2..).unwrap().parse().unwrap();
    match text.get(..1).unwrap() {
        "+" => WatchEvent::Set(object(name, version())),
        "-" => WatchEvent::Removed(object(name, version())),
        _ => WatchEvent::Bookmark(text.get(1..).unwrap().into()),
    }
}

/// Begins with `a` at 3 in a list at 5, takes `events`, and is left with `want`, such as `a3 b7 @9`.
#[track_caller]
fn check(events: &str, want: &str) {
    let store = Store::default();
    store.replace(list(5, &[("a", 3)]));
    for text in events.split_whitespace() {
        store.apply(event(text));
    }
    let mut found: Vec<String> = store
        .all()
        .iter()
        .map(|object| {
            assert_eq!(object.at(&["metadata", "managedFields"]), None);
            let name = object.at(&["metadata", "name"]).and_then(Value::as_str).unwrap();
            format!("{name}{}", super::resource_version(object))
        })
        .collect();
    found.push(format!("@{}", store.version()));
    assert_eq!(found.join(" "), want, "{events}");
}

#[test]
fn events_in_order_are_applied() {
    check("", "a3 @5");
    check("+b6 +a7 -b8", "a7 @8");
    check("-a6 +a7", "a7 @7");
    check("~9", "a3 @9");
}

#[test]
fn an_event_that_comes_again_changes_nothing() {
    check("+b6 +b6 +b6", "a3 b6 @6");
    check("-a6 -a6", "@6");
    check("+b6 -b7 +b6 -b7", "a3 @7");
}

#[test]
fn an_older_state_does_not_replace_a_newer_one() {
    check("+a8 +a7", "a8 @8");
    check("+a8 -a7", "a8 @8");
    check("-a8 +a7", "@8");
    check("-b8 +b7", "a3 @8");
    check("~9 ~8", "a3 @9");
}

#[test]
fn what_happened_before_the_list_is_in_the_list() {
    check("+b4 -a5", "a3 @5");
}

#[test]
fn a_deletion_may_show_the_version_the_object_had() {
    check("+b6 -b6", "a3 @6");
}

#[test]
fn a_version_that_is_no_number_is_taken_for_new() {
    let store = Store::default();
    store.replace(ObjectList { items: Vec::new(), version: "abc".into() });
    store.apply(WatchEvent::Set(json::parse(r#"{"metadata":{"name":"x","resourceVersion":"q"}}"#).unwrap()));
    assert_eq!((store.len(), store.version().as_str()), (1, "q"));
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

#[test]
fn any_order_and_any_repetition_ends_in_the_same_state() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut model = std::collections::BTreeMap::new();
        let mut events = Vec::new();
        for version in 10..60 {
            let name = ["a", "b", "c", "d", "e"][random.below(5)];
            if model.contains_key(name) && random.below(3) == 0 {
                model.remove(name);
                events.push(WatchEvent::Removed(object(name, version)));
            } else {
                model.insert(name, version);
                events.push(WatchEvent::Set(object(name, version)));
            }
        }
        for _ in 0..30 {
            let again = events[random.below(events.len())].clone();
            events.push(again);
        }
        for last in (1..events.len()).rev() {
            events.swap(last, random.below(last + 1));
        }
        let store = Store::default();
        store.replace(list(5, &[]));
        events.into_iter().for_each(|event| {
            store.apply(event);
        });
        let want = Store::default();
        want.replace(list(60, &model.into_iter().collect::<Vec<_>>()));
        assert_eq!(store.digest(), want.digest(), "seed {seed}: {:?} is not {:?}", store.all(), want.all());
    }
}

#[test]
fn a_list_that_says_the_same_is_no_change() {
    let store = Store::default();
    let changes = store.changes();
    store.replace(list(5, &[("a", 3)]));
    assert_eq!(*changes.borrow(), 1);
    store.replace(list(9, &[("a", 3)]));
    assert_eq!(*changes.borrow(), 1);
    store.replace(list(9, &[("a", 4)]));
    assert_eq!(*changes.borrow(), 2);
    store.apply(event("+a4"));
    assert_eq!(*changes.borrow(), 2);
}

#[test]
fn a_store_knows_nothing_before_its_first_list() {
    let store = Store::default();
    assert!(!store.is_synced() && store.age().is_none());
    store.replace(list(1, &[]));
    assert!(store.is_synced() && store.age().is_some());
}

#[test]
fn an_error_event_is_an_error() {
    let line =
        r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
    let error = WatchEvent::of(&json::parse(line).unwrap()).unwrap_err();
    assert!(error.is_gone());
    assert_eq!(error.to_string(), "too old");
}

#[test]
fn the_digest_does_not_depend_on_the_order_of_keys() {
    let digest = |text: &str| {
        let store = Store::default();
        store.replace(ObjectList { items: vec![json::parse(text).unwrap()], version: "1".into() });
        store.digest()
    };
    assert_eq!(digest(r#"{"a":1,"b":{"c":[1],"d":2}}"#), digest(r#"{"b":{"d":2,"c":[1]},"a":1}"#));
    assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":"1"}"#));
}
