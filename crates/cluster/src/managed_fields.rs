//! Managed fields, cut out of the JSON of an object before it is parsed.
//!
//! They are often a quarter of the bytes of a Pod, and stores drop them at once.

use std::ops::Range;

use kubewright_value::{Value, json};

use crate::Error;
use crate::list_splitter::ValueNesting;

const METADATA: &[u8] = br#""metadata":{"#;
const MANAGED_FIELDS: &[u8] = br#""managedFields":["#;

/// Returns where `metadata.managedFields` of an object stand, with one comma beside them. `depth` is that of the keys
/// of the object: 1 for an object, 2 for the one in an event of a watch.
///
/// Only JSON without white space is looked at, which is what an API server sends, so `None` does not mean that there
/// are none.
fn managed_fields_range(json: &[u8], depth: usize) -> Option<Range<usize>> {
    let metadata = find_key(json, METADATA, depth)?;
    let start = metadata + METADATA.len();
    let key = start + find_key(json.get(start..)?, MANAGED_FIELDS, 0)?;
    let value = key + MANAGED_FIELDS.len() - 1;
    let end = value + ValueNesting::default().end_of_value(json.get(value..)?, false)?;
    match (json.get(key.checked_sub(1)?), json.get(end)) {
        (_, Some(b',')) => Some(key..end + 1),
        (Some(b','), _) => Some(key - 1..end),
        _ => Some(key..end),
    }
}

/// Parses `json` without the managed fields of the object at `depth`.
pub(crate) fn parse_without_managed_fields(json: &[u8], depth: usize) -> Result<Value, Error> {
    let Some(range) = managed_fields_range(json, depth) else { return parse_json(json) };
    let (before, after) = (json.get(..range.start), json.get(range.end..));
    parse_json(&[before.unwrap_or_default(), after.unwrap_or_default()].concat())
}

/// Parses what an API server has sent.
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Value, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::Unreadable(error.to_string()))?;
    json::parse(text).map_err(|error| Error::Unreadable(error.to_string()))
}

/// Returns where `key` begins at `depth`, before the value that `json` is in ends.
fn find_key(json: &[u8], key: &[u8], depth: usize) -> Option<usize> {
    let mut nesting = 0_usize;
    let (mut is_string, mut is_escaped) = (false, false);
    for (at, byte) in json.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' if is_string => is_string = false,
            b'"' if nesting == depth && json.get(at..).is_some_and(|rest| rest.starts_with(key)) => {
                return Some(at);
            }
            b'"' => is_string = true,
            b'{' | b'[' if !is_string => nesting += 1,
            b'}' | b']' if !is_string => nesting = nesting.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::managed_fields_range;

    #[track_caller]
    fn check(json: &str, depth: usize, want: &str) {
        let mut text = json.to_owned();
        if let Some(range) = managed_fields_range(json.as_bytes(), depth) {
            text.replace_range(range, "");
        }
        assert_eq!(text, want);
    }

    #[test]
    fn managed_fields_are_cut_with_one_comma() {
        check(r#"{"metadata":{"managedFields":[1]}}"#, 1, r#"{"metadata":{}}"#);
        check(
            r#"{"metadata":{"a":1,"managedFields":[{"x":"]\"]"}],"b":2},"c":3}"#,
            1,
            r#"{"metadata":{"a":1,"b":2},"c":3}"#,
        );
        check(r#"{"metadata":{"a":1,"managedFields":[[]]}}"#, 1, r#"{"metadata":{"a":1}}"#);
        check(r#"{"metadata":{"managedFields":[],"b":2}}"#, 1, r#"{"metadata":{"b":2}}"#);
        check(
            r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"a":{"b":1},"managedFields":[1],"n":1}}}"#,
            2,
            r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"a":{"b":1},"n":1}}}"#,
        );
    }

    #[test]
    fn what_is_called_so_elsewhere_stays() {
        for json in [
            r#"{"spec":{"managedFields":[1]}}"#,
            r#"{"spec":{"metadata":{"managedFields":[1]}}}"#,
            r#"{"metadata":{"labels":{"managedFields":[1]}},"managedFields":[1]}"#,
            r#"{"metadata":{"a":"\"managedFields\":[1]"}}"#,
            r#"{"metadata":{"managedFields":{"a":1}}}"#,
            r#"{"metadata":{},"spec":{"managedFields":[1]}}"#,
            r#"{"metadata":{"managedFields":[1"#,
            r#"}}"metadata":{"managedFields":[1]"#,
            "",
        ] {
            check(json, 1, json);
        }
    }
}
