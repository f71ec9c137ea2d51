//! The values that the caller provides in place of lookups.

use kubewright_value::{Map, Text, Value};

/// How many keys a path may have; the rest of a longer one is one key.
const MAX_KEYS: usize = 64;

/// Values at dotted paths, in the order in which they replace each other.
pub(super) struct ValueOverrides(Vec<(Vec<Text>, Value)>);

impl ValueOverrides {
    pub(super) fn new(values: Vec<(Text, Value)>) -> Self {
        Self(values.into_iter().map(|(path, value)| (split_dotted_path(&path), value)).collect())
    }

    /// Returns whether `name`, or a part of it, is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(path, _)| path.first().is_some_and(|first| first == name))
    }

    /// Puts all values into `root`.
    pub(super) fn put_into(&self, root: &mut Value) {
        self.0.iter().for_each(|(path, value)| merge_at_path(root, path, value));
    }

    /// Inserts into `root` the values for a loop's element.
    pub(super) fn put_elements_into(&self, root: &mut Value) {
        let of_element = |path: &[Text]| path.first().is_some_and(|first| first.starts_with("element"));
        self.0
            .iter()
            .filter(|(path, _)| of_element(path))
            .for_each(|(path, value)| merge_at_path(root, path, value));
    }
}

/// Merges `value` into the value at `path`; values on the way that are not objects are replaced.
fn merge_at_path(root: &mut Value, path: &[Text], value: &Value) {
    let Some((last, before)) = path.split_last() else { return };
    let mut at = root;
    for key in before {
        let Some(map) = at.as_object_mut() else { return };
        if map.get(key).is_none_or(|value| value.as_object().is_none()) {
            map.insert(key.clone(), Map::new().into());
        }
        let Some(next) = map.get_mut(key) else { return };
        at = next;
    }
    let Some(map) = at.as_object_mut() else { return };
    let merged = map.get(last).map_or_else(|| value.clone(), |earlier| merge_values(earlier, value));
    map.insert(last.clone(), merged);
}

/// Returns `later` over `earlier`: objects are merged, anything else is replaced.
pub(super) fn merge_values(earlier: &Value, later: &Value) -> Value {
    let (Value::Object(below), Value::Object(above)) = (earlier, later) else { return later.clone() };
    let mut map = (**below).clone();
    for (key, value) in above.iter() {
        let value = map.get(key).map_or_else(|| value.clone(), |earlier| merge_values(earlier, value));
        map.insert(key.clone(), value);
    }
    map.into()
}

/// Returns the keys of a dotted path; a key in quotes may have dots in it.
fn split_dotted_path(path: &str) -> Vec<Text> {
    let mut keys = Vec::new();
    let mut rest = path;
    loop {
        let (key, after) = match rest.strip_prefix('"') {
            _ if keys.len() == MAX_KEYS => (rest.to_owned(), None),
            Some(quoted) => quoted_key(quoted),
            None => match rest.split_once('.') {
                Some((key, after)) => (key.to_owned(), Some(after)),
                None => (rest.to_owned(), None),
            },
        };
        keys.push(key.into());
        match after {
            Some(after) => rest = after,
            None => return keys,
        }
    }
}

/// Reads a key up to its closing quote; `""` is a quote in it.
fn quoted_key(text: &str) -> (String, Option<&str>) {
    let mut key = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        key.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                key.push('"');
                rest = after;
            }
            None => return (key, after.strip_prefix('.')),
        }
    }
    key.push_str(rest);
    (key, None)
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    #[track_caller]
    fn gives(values: &[(&str, &str)], want: &str) {
        let value = |text: &str| json::parse(text).expect("JSON");
        let values = values.iter().map(|(path, text)| (Text::new(path), value(text))).collect();
        let mut root = value(r#"{"request":{"object":{"a":1}}}"#);
        ValueOverrides::new(values).put_into(&mut root);
        assert_eq!(root.to_string(), want);
    }

    #[test]
    fn values_are_put_at_dotted_paths_and_merged() {
        gives(&[("a.b", "1"), ("a.c", "2")], r#"{"request":{"object":{"a":1}},"a":{"b":1,"c":2}}"#);
        gives(&[("request.object.b", "2")], r#"{"request":{"object":{"a":1,"b":2}}}"#);
        gives(&[("request", r#"{"object":{"a":3}}"#)], r#"{"request":{"object":{"a":3}}}"#);
        gives(&[(r#"x."a.b/c".d"#, "1")], r#"{"request":{"object":{"a":1}},"x":{"a.b/c":{"d":1}}}"#);
        gives(&[("a", "1"), ("a.b", "2")], r#"{"request":{"object":{"a":1}},"a":{"b":2}}"#);
    }
}
