//! Whether a rule can read `status` and other fields that change often.
//!
//! It is found in the text of the rule, whatever its language, and in doubt the answer is yes: an object is then judged
//! more often than necessary, and never less often.

use kubewright_value::Value;

use crate::fingerprint::ReadParts;

/// Names of the whole object in the rule languages. If no field follows, everything in it may be read.
const WHOLE_OBJECT_NAMES: &[&str] = &["object", "request", "Target", "resource"];

/// Paths that lead through fields of any name.
const WHOLE_OBJECT_PATHS: &[&str] = &["..", "$.*", "$["];

/// Fields that hold text for people, in which only templates are read.
const MESSAGE_FIELDS: &[&str] = &["message", "rejectMessage", "description", "title"];

/// Returns what the rule document `document` can read.
pub(crate) fn parts_read_by(document: &Value) -> ReadParts {
    let mut parts = ReadParts::default();
    document.as_object().into_iter().flat_map(|map| map.iter()).for_each(|(key, value)| {
        if !["metadata", "status", "apiVersion", "kind"].contains(&key.as_str()) {
            walk(value, false, &mut parts);
        }
    });
    parts
}

fn walk(value: &Value, is_message: bool, parts: &mut ReadParts) {
    match value {
        Value::String(text) if is_message => templates_in(text).for_each(|part| read_text(part, parts)),
        Value::String(text) => read_text(text, parts),
        Value::Array(items) => items.iter().for_each(|item| walk(item, is_message, parts)),
        Value::Object(map) => {
            for (key, item) in map.iter() {
                read_key(key, parts);
                walk(item, MESSAGE_FIELDS.contains(&key.as_str()), parts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Adds what a key of a pattern reads. `manifests` are compared with the whole object.
fn read_key(key: &str, parts: &mut ReadParts) {
    let is_whole = key.contains(['*', '?', '@']) || key == "manifests";
    parts.status |= is_whole || is_status(key);
    parts.bookkeeping |= is_whole || is_bookkeeping(key);
}

fn read_text(text: &str, parts: &mut ReadParts) {
    let is_whole = names_whole(WHOLE_OBJECT_NAMES, text)
        || WHOLE_OBJECT_PATHS.iter().any(|path| text.contains(path))
        || has_root_reference(text);
    parts.status |= is_whole || is_status(text);
    parts.bookkeeping |= is_whole || is_bookkeeping(text) || names_whole(&["metadata"], text);
}

fn is_status(text: &str) -> bool {
    text.to_ascii_lowercase().contains("status")
}

fn is_bookkeeping(text: &str) -> bool {
    ["managedFields", "resourceVersion", "generation"].iter().any(|field| text.contains(field))
}

/// Returns whether an expression in `text` has one of `names` and no field of it.
fn names_whole(names: &[&str], text: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    names.iter().any(|name| {
        text.match_indices(name).any(|(place, _)| {
            let before = text.get(..place).unwrap_or_default().chars().next_back();
            let after = text.get(place + name.len()..).unwrap_or_default();
            let mut rest = after.chars();
            let is_name = !before.is_some_and(is_word) && !rest.clone().next().is_some_and(is_word);
            // A field follows after `.`, after `.?`, or quoted after `.`.
            let has_field = rest.next() == Some('.')
                && rest.find(|letter| *letter != '?').is_some_and(|letter| is_word(letter) || letter == '"');
            is_name && !has_field
        })
    })
}

/// Returns whether a template in `text` refers to everything by `@`, outside of the brackets of a filter.
fn has_root_reference(text: &str) -> bool {
    templates_in(text).any(|template| {
        let mut depth = 0_usize;
        template.chars().any(|letter| {
            match letter {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter == '@' && depth == 0
        })
    })
}

/// Returns what is between `{{` and `}}` in `text`.
fn templates_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_value::{Map, json};

    /// Returns whether a rule whose expression is `text` can read `status`.
    fn reads_status(text: &str) -> bool {
        parts_read_by(&Map::from([("spec", Map::from([("expression", Value::from(text))]).into())]).into())
            .status
    }

    #[test]
    fn expressions_that_name_other_fields_do_not_read_status() {
        for text in [
            "object.spec.replicas > 1",
            "{{ request.object.spec.containers[?contains(@.image, 'x')].name }}",
            "!has(object.metadata.?labels.app)",
            "request.operation == 'CREATE'",
            "$.spec.containers[*].image",
            "{{ .Target.spec.nodeName }}",
            "*",
            "objects",
        ] {
            assert!(!reads_status(text), "{text}");
        }
    }

    #[test]
    fn expressions_that_may_read_everything_read_status() {
        for text in [
            "object.status.phase == 'Running'",
            "object == oldObject",
            "size(object) > 1",
            "object['sta' + 'tus']",
            "object[?'status']",
            "object.?status",
            "{{ request.object | to_string(@) }}",
            "{{ to_string(request) }}",
            "{{ @ }}",
            "{{ request.object.* }}",
            "{{ request.* }}",
            "$..phase",
            "$.*",
            "$['status']",
            "{{ .Target | toJson }}",
            "{{ with .Target }}{{ .a }}{{ end }}",
        ] {
            assert!(reads_status(text), "{text}");
        }
    }

    #[test]
    fn messages_read_only_what_their_templates_name() {
        let rule = |message: &str| {
            let text = format!(r#"{{"metadata":{{"name":"status"}},"spec":{{"message":"{message}"}}}}"#);
            parts_read_by(&json::parse(&text).expect("JSON"))
        };
        assert_eq!(rule("the object has a bad status"), ReadParts::default());
        assert!(rule("found {{ request.object.status.phase }}").status);
    }

    #[test]
    fn patterns_read_the_keys_that_they_name() {
        let pattern = |text: &str| parts_read_by(&json::parse(text).expect("JSON"));
        assert_eq!(pattern(r#"{"spec":{"pattern":{"spec":{"a":"*"}}}}"#), ReadParts::default());
        assert!(pattern(r#"{"spec":{"pattern":{"=(status)":{"a":"?*"}}}}"#).status);
        assert!(pattern(r#"{"spec":{"pattern":{"*":{"a":"?*"}}}}"#).status);
        assert!(pattern(r#"{"spec":{"pattern":{"metadata":{"generation":1}}}}"#).bookkeeping);
    }
}
