//! The fingerprint of an object, by which a change that no rule can see is told from one that matters.

use std::hash::{BuildHasher, RandomState};

use kubewright_value::Value;

use crate::value_hash::ValueHasher;

/// Fields that the API server writes by itself whenever an object is written.
const BOOKKEEPING_FIELDS: &[&str] = &["managedFields", "resourceVersion", "generation"];

/// Which parts of an object rules may read besides those that all fingerprints have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadParts {
    /// `status`.
    pub(crate) status: bool,
    /// `metadata.managedFields`, `resourceVersion` and `generation`.
    pub(crate) bookkeeping: bool,
}

impl ReadParts {
    /// Adds what `other` reads.
    pub(crate) fn add(&mut self, other: Self) {
        self.status |= other.status;
        self.bookkeeping |= other.bookkeeping;
    }
}

/// Makes fingerprints. They are keyed with random numbers, so that an object cannot be written in a way that gives it
/// the fingerprint of another one, and are only compared with others of the same `Fingerprinter`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fingerprinter {
    keys: RandomState,
}

impl Fingerprinter {
    /// Returns the fingerprint of `object` as far as rules that read `parts` can see it.
    pub(crate) fn fingerprint(&self, object: &Value, parts: ReadParts) -> u64 {
        let mut hasher = ValueHasher::new(self.keys.build_hasher());
        let Some(map) = object.as_object() else {
            hasher.add(object);
            return hasher.finish();
        };
        let status: &[&str] = if parts.status { &["metadata"] } else { &["metadata", "status"] };
        hasher.add_map_without(map, status);
        match map.get("metadata").map(|metadata| (metadata, metadata.as_object())) {
            Some((_, Some(metadata))) if !parts.bookkeeping => {
                hasher.add_map_without(metadata, BOOKKEEPING_FIELDS);
            }
            Some((metadata, _)) => hasher.add(metadata),
            None => {}
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_value::json;

    /// Returns whether the two objects have the same fingerprint for rules that read `parts`.
    #[track_caller]
    fn is_same(one: &str, other: &str, parts: ReadParts) -> bool {
        let fingerprinter = Fingerprinter::default();
        let fingerprint = |text| fingerprinter.fingerprint(&json::parse(text).expect("JSON"), parts);
        fingerprint(one) == fingerprint(other)
    }

    #[test]
    fn fingerprint_leaves_out_what_the_api_server_writes() {
        let one = r#"{"metadata":{"name":"a","resourceVersion":"1","generation":1},"spec":{"n":1},"status":{"s":1}}"#;
        let other = r#"{"metadata":{"name":"a","resourceVersion":"2","managedFields":[1]},"spec":{"n":1}}"#;
        assert!(is_same(one, other, ReadParts::default()));
        assert!(!is_same(one, other, ReadParts { status: true, ..ReadParts::default() }));
        assert!(!is_same(one, other, ReadParts { bookkeeping: true, ..ReadParts::default() }));
    }

    #[test]
    fn fingerprint_sees_everything_else() {
        let whole = r#"{"metadata":{"name":"a"},"spec":{"a":[1,2],"b":{}}}"#;
        for other in [
            r#"{"metadata":{"name":"b"},"spec":{"a":[1,2],"b":{}}}"#,
            r#"{"metadata":{"name":"a","labels":{}},"spec":{"a":[1,2],"b":{}}}"#,
            r#"{"metadata":{"name":"a"},"spec":{"a":[1],"b":{"2":{}}}}"#,
            r#"{"metadata":{"name":"a"},"spec":{"a":[1,"2"],"b":{}}}"#,
            r#"{"metadata":{"name":"a"},"spec":{"a":[1,2],"b":null}}"#,
        ] {
            assert!(!is_same(whole, other, ReadParts::default()), "{other}");
        }
    }
}
