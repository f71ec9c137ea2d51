//! A strategic merge ends, and a second merge of the same patch changes nothing.

use kubewright_patch::strategic::{
    ElementKey, ListKeys, MergeSchema, SchemaMerge, StrategicMerge, StrategicPatch,
};
use kubewright_value::{Budget, Limits, Value, json, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "strategic",
    run: fuzz_strategic,
    seeds: &[
        r#"[{"apiVersion":"v1","kind":"K","by":[{"name":"a","by":[{"name":"x"}]}],"set":[1,2]},{"by":[{"name":"b"},{"name":"a","x":null}],"set":[3]}]"#,
        r#"[{"apiVersion":"v1","kind":"K","a":{"b":{"c":1}}},{"a":{"$patch":"replace","d":[1]},"l":[{"$patch":"delete"}]}]"#,
        r#"[{"apiVersion":"v1","kind":"K","ports":[{"port":1},{"port":1,"protocol":"UDP"}]},{"ports":[{"port":1,"protocol":"TCP","n":2},{"$patch":"replace"}]}]"#,
    ],
    dictionaries: &[FuzzDictionary::Yaml],
    words: &[
        "\"$patch\":",
        "\"replace\"",
        "\"delete\"",
        "\"merge\"",
        "\"name\":",
        "\"by\":",
        "\"set\":",
        "\"ports\":",
        "\"kind\":\"K\"",
        "null",
        "{}",
        "[]",
        ",",
        "[",
        "]",
        "{",
        "}",
    ],
};

struct FuzzLists;

impl MergeSchema for FuzzLists {
    type Type = ();

    fn of_kind(&self, _api_version: &str, kind: &str) -> Option<()> {
        (kind == "K").then_some(())
    }

    fn field(&self, (): (), name: &str) -> SchemaMerge<()> {
        let key = |name, default| ElementKey { name, default };
        match name {
            "by" => SchemaMerge::Keyed(ListKeys { first: key("name", None), second: None }, Some(())),
            "ports" => {
                let second = Some(key("protocol", Some("TCP")));
                SchemaMerge::Keyed(ListKeys { first: key("port", None), second }, None)
            }
            "set" => SchemaMerge::Set,
            "a" => SchemaMerge::Object(()),
            _ => SchemaMerge::Replace,
        }
    }
}

fn merge(object: &Value, patch: &StrategicPatch) -> Option<(Value, bool)> {
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    let mut merged = object.clone();
    let mut budget = Budget::new(limits);
    let is_changed = StrategicMerge::new(&FuzzLists, &mut budget).merge(&mut merged, patch).ok()?;
    Some((merged, is_changed))
}

fn fuzz_strategic(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(input) = yaml::parse(text) else { return };
    let (Some(object), Some(written)) = (input.item(0), input.item(1)) else { return };
    let patch = StrategicPatch::parse(written);
    let Some((once, is_changed)) = merge(object, &patch) else { return };
    assert!(
        is_changed || once == *object,
        "a merge that changes says so: {} {}",
        json::to_string(object),
        json::to_string(written)
    );
    // A plain patch of maps and scalars is the same the second time.
    if is_plain(written)
        && let Some((twice, _)) = merge(&once, &patch)
    {
        assert!(twice == once, "merged twice: {} {}", json::to_string(&once), json::to_string(&twice));
    }
}

/// Returns whether a patch has neither lists nor directives.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(_) => false,
        Value::Object(map) => map.iter().all(|(key, value)| !key.starts_with('$') && is_plain(value)),
        _ => true,
    }
}
