use kubewright_value::{Budget, Limits, json};

use super::*;

/// Lists `by` are merged by `name`, `ports` by `port` and `protocol`, `set` as a set; everything else is unknown.
struct Lists;

impl MergeSchema for Lists {
    type Type = ();

    fn of_kind(&self, _api_version: &str, kind: &str) -> Option<()> {
        (kind == "K").then_some(())
    }

    fn field(&self, (): (), name: &str) -> SchemaMerge<()> {
        let key = |name| ElementKey { name, default: None };
        match name {
            "by" => SchemaMerge::Keyed(ListKeys { first: key("name"), second: None }, Some(())),
            "ports" => {
                let protocol = ElementKey { name: "protocol", default: Some("TCP") };
                SchemaMerge::Keyed(ListKeys { first: key("port"), second: Some(protocol) }, None)
            }
            "spread" => SchemaMerge::Keyed(ListKeys { first: key("key"), second: Some(key("when")) }, None),
            "set" => SchemaMerge::Set,
            "o" => SchemaMerge::Object(()),
            _ => SchemaMerge::Replace,
        }
    }
}

fn value(text: &str) -> Value {
    kubewright_value::yaml::parse(text).expect("YAML")
}

fn merged(object: &str, patch: &StrategicPatch) -> Result<(String, bool), String> {
    let mut object = value(object);
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), "v1".into());
        map.insert("kind".into(), "K".into());
    }
    let mut budget = Budget::new(Limits::default());
    let is_changed = StrategicMerge::new(&Lists, &mut budget)
        .merge(&mut object, patch)
        .map_err(|error| error.to_string())?;
    if let Some(map) = object.as_object_mut() {
        map.remove("apiVersion");
        map.remove("kind");
    }
    Ok((json::to_string(&object), is_changed))
}

#[track_caller]
fn check(object: &str, patch: &str, want: &str) {
    let (found, is_changed) = merged(object, &StrategicPatch::parse(&value(patch))).expect("a merge");
    assert_eq!(found, json::to_string(&value(want)), "{object} + {patch}");
    assert_eq!(is_changed, value(object) != value(want), "{object} + {patch} is a change");
}

#[track_caller]
fn check_error(object: &str, patch: &str, want: &str) {
    let error = merged(object, &StrategicPatch::parse(&value(patch))).expect_err("an error");
    assert_eq!(error, want);
}

#[test]
fn objects_are_united_and_null_removes() {
    check("{a: 1}", "{b: {c: 2}}", "{a: 1, b: {c: 2}}");
    check("{a: {b: 1, c: 2}}", "{a: {b: null, d: null}}", "{a: {c: 2}}");
    check("{a: {b: 1}}", "{a: {b: null}}", "{a: {}}");
    check("{a: null}", "{b: 1}", "{a: null, b: 1}");
    check("{a: null}", "{a: null}", "{}");
    check("{}", "{a: {b: null}}", "{a: {}}");
    check("{}", "{a: {}}", "{a: {}}");
    check("{a: {b: 1}}", "{a: {}}", "{a: {b: 1}}");
}

#[test]
fn a_text_stays_a_text() {
    check("{a: '1'}", "{a: 2}", "{a: '2'}");
    check("{a: x}", "{a: true}", "{a: 'true'}");
    check("{a: 1}", "{a: x}", "{a: x}");
    check("{a: true}", "{a: 2}", "{a: 2}");
}

#[test]
fn other_types_do_not_fit() {
    check_error("{a: 1}", "{a: {b: 1}}", "the patch has object, the object number at `/a`");
    check_error("{a: {b: 1}}", "{a: 1}", "the patch has number, the object object at `/a`");
    check_error("{a: {b: 1}}", "{a: [1]}", "the patch has array, the object object at `/a`");
    check_error("{a: [1]}", "{a: {b: 1}}", "the patch has object, the object array at `/a`");
}

#[test]
fn unknown_lists_are_replaced() {
    check("{l: [1, 2]}", "{l: [3]}", "{l: [3]}");
    check("{l: [1, 2]}", "{l: []}", "{l: []}");
    check("{l: [{name: a, x: 1}]}", "{l: [{name: a}]}", "{l: [{name: a}]}");
    check("{}", "{l: [1]}", "{l: [1]}");
}

#[test]
fn keyed_lists_keep_their_order_and_new_elements_come_first() {
    check(
        "{by: [{name: a}, {name: b}]}",
        "{by: [{name: b, x: 1}, {name: n}, {name: m}]}",
        "{by: [{name: n}, {name: m}, {name: a}, {name: b, x: 1}]}",
    );
    check("{by: [{name: a}]}", "{by: []}", "{by: [{name: a}]}");
    check("{by: [{name: 1}]}", "{by: [{name: '1', x: 1}]}", "{by: [{name: '1', x: 1}]}");
    check(
        "{by: [{name: a, by: [{name: x}]}]}",
        "{by: [{name: a, by: [{name: y}]}]}",
        "{by: [{name: a, by: [{name: y}, {name: x}]}]}",
    );
    check_error(
        "{by: [{name: a}]}",
        "{by: [{x: 1}]}",
        "an element has no `name`, by which the list is merged at `/by`",
    );
}

#[test]
fn an_empty_object_is_made_except_in_an_element_that_exists() {
    check("{o: {}}", "{o: {x: {}}}", "{o: {x: {}}}");
    check("{by: []}", "{by: [{name: a, x: {}}]}", "{by: [{name: a, x: {}}]}");
    check("{by: [{name: a}]}", "{by: [{name: a, x: {}}]}", "{by: [{name: a}]}");
}

#[test]
fn of_elements_with_one_key_the_last_is_patched() {
    check("{by: [{name: a}, {name: a}]}", "{by: [{name: a, x: 1}]}", "{by: [{name: a}, {name: a, x: 1}]}");
}

#[test]
fn a_second_key_may_have_a_default() {
    check("{ports: [{port: 1}]}", "{ports: [{port: 1, x: 1}]}", "{ports: [{port: 1, x: 1}]}");
    check(
        "{ports: [{port: 1, protocol: TCP}, {port: 1, protocol: UDP}]}",
        "{ports: [{port: 1, x: 1}]}",
        "{ports: [{port: 1, protocol: TCP, x: 1}, {port: 1, protocol: UDP}]}",
    );
    check(
        "{ports: [{port: 1}]}",
        "{ports: [{port: 1, protocol: UDP}]}",
        "{ports: [{port: 1, protocol: UDP}]}",
    );
}

#[test]
fn without_a_default_a_lone_element_is_meant() {
    check(
        "{spread: [{key: a, when: x}]}",
        "{spread: [{key: a, y: 1}]}",
        "{spread: [{key: a, when: x, y: 1}]}",
    );
    check(
        "{spread: [{key: a, when: x}]}",
        "{spread: [{key: a, when: y}]}",
        "{spread: [{key: a, when: y}, {key: a, when: x}]}",
    );
}

#[test]
fn sets_are_united() {
    check("{set: [a, b]}", "{set: [c, b]}", "{set: [c, b, a]}");
    check("{set: [a, b]}", "{set: [b]}", "{set: [a, b]}");
}

#[test]
fn directives_replace_and_delete() {
    check("{a: {b: 1}}", "{a: {$patch: replace, c: 2}}", "{a: {c: 2}}");
    check("{a: {b: 1}, c: 1}", "{a: {$patch: delete}}", "{c: 1}");
    check("{by: [{name: a}, {name: b}]}", "{by: [{$patch: delete, name: a}]}", "{by: [{name: b}]}");
    check("{by: [{name: a}]}", "{by: [{$patch: delete, name: z}]}", "{by: [{name: a}]}");
    check("{by: [{name: a}]}", "{by: [{$patch: replace}, {name: z}]}", "{by: [{name: z}]}");
    check("{a: {b: 1}}", "{a: {$patch: merge, c: 2}}", "{a: {b: 1, c: 2}}");
    check_error("{a: {}}", "{a: {$patch: zap}}", "unknown directive `zap` at `/a`");
    check_error("{a: {}}", "{$patch: delete}", "the whole object cannot be removed at the root");
}

#[test]
fn a_directive_in_a_plain_value_is_a_key_like_others() {
    let patch = StrategicPatch::Plain(value("{a: {$patch: delete}}"));
    assert_eq!(merged("{a: {b: 1}}", &patch), Ok((r#"{"a":{"b":1,"$patch":"delete"}}"#.to_owned(), true)));
}

#[test]
fn elements_are_patched_in_place_whatever_their_keys() {
    let element =
        |index, patch: &str| ElementPatch { index, written: 0, patch: StrategicPatch::parse(&value(patch)) };
    let list = |in_place| {
        let patch = StrategicPatch::List(ListPatch { in_place, ..ListPatch::default() });
        let entry = PatchEntry { key: "l".into(), written: "l".into(), patch };
        StrategicPatch::Object(ObjectPatch { directive: None, entries: vec![entry] })
    };
    let patch = list(vec![element(0, "{x: 1}"), element(2, "{$patch: delete}"), element(9, "{x: 1}")]);
    let found = merged("{l: [{a: 1}, {a: 2}, {a: 3}]}", &patch).expect("a merge");
    assert_eq!(found.0, r#"{"l":[{"a":1,"x":1},{"a":2}]}"#);
}

#[test]
fn every_step_is_told_with_both_places() {
    let mut object = value("{apiVersion: v1, kind: K, a: {b: 1}, by: [{name: x}]}");
    let patch = StrategicPatch::parse(&value("{a: {b: 2}, by: [{name: y}], c: null, l: [1]}"));
    let mut steps = Vec::new();
    let mut budget = Budget::new(Limits::default());
    let mut observe = |step: MergeStep<'_>| {
        let path = |path: &[Step]| super::super::Pointer::from_steps(path).to_string();
        steps.push(format!("{:?} {} {}", step.effect, path(step.at), path(step.from)));
    };
    StrategicMerge::new(&Lists, &mut budget)
        .observed(&mut observe)
        .merge(&mut object, &patch)
        .expect("a merge");
    assert_eq!(steps, ["Set /a/b /a/b", "Inserted /by/0 /by/0", "Set /l /l"]);
}

#[test]
fn a_budget_ends_a_merge() {
    let mut object = value("{apiVersion: v1, kind: K}");
    let patch = StrategicPatch::parse(&value("{a: {b: {c: {d: 1, e: null}}}}"));
    let mut budget = Budget::new(Limits { steps: 3, ..Limits::default() });
    let error = StrategicMerge::new(&Lists, &mut budget).merge(&mut object, &patch).expect_err("a limit");
    assert!(matches!(error.kind, StrategicErrorKind::Limit(_)), "{error}");
}
