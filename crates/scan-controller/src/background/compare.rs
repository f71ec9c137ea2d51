//! Whether a stored object is already as a rule wants it.
//!
//! The API server fills in defaults, so the stored object has more than was written. What it filled in belongs to the
//! writer in `managedFields`; what another program added belongs to that program. So an object in which nothing that was
//! written is different, and to which no other program has added anything, needs no write.

use kubewright_value::{Map, Value};

/// On whose behalf rules write in the background.
pub(crate) const BACKGROUND_MANAGER: &str = "kubewright-background";

/// Fields of `metadata` that the API server alone writes, or that others write beside the content of an object.
const SERVER_METADATA: &[&str] = &[
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
];

/// Returns whether nothing is to be written so that `stored` is `wanted`.
pub(crate) fn is_as_wanted(wanted: &Value, stored: &Value) -> bool {
    has_all_of(wanted, stored) && !has_foreign_fields(stored) || has_nothing_more(wanted, stored)
}

/// Returns `wanted` as it replaces `stored`: what belongs to the API server and to other programs' bookkeeping stays.
pub(crate) fn successor_of(wanted: &Value, stored: &Value) -> Value {
    let mut wanted = wanted.clone();
    let Some(metadata) = wanted.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut())
    else {
        return wanted;
    };
    for key in ["uid", "resourceVersion", "finalizers", "ownerReferences"] {
        // A write of another program since then is a conflict.
        let is_servers = matches!(key, "uid" | "resourceVersion");
        if let Some(kept) =
            stored.at(&["metadata", key]).filter(|_| is_servers || !metadata.contains_key(key))
        {
            metadata.insert(key.into(), kept.clone());
        }
    }
    wanted
}

/// Returns `object` without what only the API server may write, so that it can be created.
pub(crate) fn without_server_fields(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut());
    if let Some(metadata) = metadata {
        for key in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"]
        {
            metadata.remove(key);
        }
    }
    object
}

/// Returns whether everything in `wanted` is in `stored`; lists must be as long.
fn has_all_of(wanted: &Value, stored: &Value) -> bool {
    match (wanted, stored) {
        (Value::Object(wanted), Value::Object(stored)) => {
            wanted.iter().all(|(key, value)| match stored.get(key) {
                Some(other) => has_all_of(value, other),
                None => is_empty(value),
            })
        }
        (Value::Array(wanted), Value::Array(stored)) => {
            wanted.len() == stored.len()
                && wanted.iter().zip(stored.iter()).all(|(one, other)| has_all_of(one, other))
        }
        (wanted, stored) => wanted == stored,
    }
}

/// Returns whether `stored` has nothing besides `wanted` and what the API server adds to every object.
fn has_nothing_more(wanted: &Value, stored: &Value) -> bool {
    let (Some(wanted_map), Some(stored_map)) = (wanted.as_object(), stored.as_object()) else { return false };
    let of = |map: &Map| {
        let mut map = map.clone();
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            SERVER_METADATA.iter().for_each(|key| drop(metadata.remove(key)));
        }
        Value::from(map)
    };
    let (wanted, stored) = (of(wanted_map), of(stored_map));
    has_all_of(&wanted, &stored) && has_all_of(&stored, &wanted)
}

/// Returns whether another program has written something into `stored` besides its status.
fn has_foreign_fields(stored: &Value) -> bool {
    let managers = stored.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap_or_default();
    managers.iter().any(|entry| {
        entry.str_at(&["manager"]) != BACKGROUND_MANAGER && entry.str_at(&["subresource"]).is_empty()
    })
}

/// What is empty is not stored.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    fn object(text: &str) -> Value {
        json::parse(text).expect("an object")
    }

    const WANTED: &str =
        r#"{"kind":"ConfigMap","metadata":{"name":"a","labels":{"x":"1"}},"data":{"a":"1"}}"#;

    #[track_caller]
    fn check(stored: &str, want: bool) {
        assert_eq!(is_as_wanted(&object(WANTED), &object(stored)), want, "{stored}");
    }

    #[test]
    fn what_the_server_added_is_no_difference_and_what_others_added_is_one() {
        let ours = r#"[{"manager":"kubewright-background"},{"manager":"kubelet","subresource":"status"}]"#;
        let others = r#"[{"manager":"kubewright-background"},{"manager":"kubectl-edit"}]"#;
        let stored = |managers: &str, data: &str| {
            format!(
                r#"{{"kind":"ConfigMap","metadata":{{"name":"a","uid":"u","labels":{{"x":"1"}},"managedFields":{managers}}},"data":{data},"status":{{}}}}"#
            )
        };
        check(&stored(ours, r#"{"a":"1"}"#), true);
        check(&stored(ours, r#"{"a":"1","b":"default"}"#), true);
        check(&stored(ours, r#"{"a":"2"}"#), false);
        check(&stored(others, r#"{"a":"1"}"#), true);
        check(&stored(others, r#"{"a":"1","b":"added"}"#), false);
        check(&stored(others, "{}"), false);
    }

    #[test]
    fn a_successor_keeps_what_belongs_to_the_server() {
        let stored = object(
            r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"7","finalizers":["f"],"annotations":{"b":"c"}}}"#,
        );
        let wanted = object(r#"{"metadata":{"name":"a","resourceVersion":"3"},"data":{}}"#);
        let want =
            r#"{"metadata":{"name":"a","resourceVersion":"7","uid":"u","finalizers":["f"]},"data":{}}"#;
        assert_eq!(successor_of(&wanted, &stored), object(want));
    }
}
