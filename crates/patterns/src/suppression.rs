//! Suppression: annotations with which an object takes findings about it out of the count.

use kubewright_golib::glob;
use kubewright_value::{Budget, Text, Value};

/// The annotation with the names of the patterns whose findings are suppressed; `*` and `?` are wildcards.
pub const IGNORED_PATTERNS_ANNOTATION: &str = "kubewright.dev/ignore-patterns";
/// The annotation with the reason.
pub const IGNORE_REASON_ANNOTATION: &str = "kubewright.dev/ignore-reason";
/// How many names of the annotation are read, because objects of any size come from anyone.
const MAX_IGNORED_PATTERNS: usize = 1_000;

/// Returns the reason why `object` suppresses findings of `pattern`, if it does; the reason may be empty.
#[must_use]
pub fn suppression(object: &Value, pattern: &str) -> Option<Text> {
    let annotations = object.at(&["metadata", "annotations"])?;
    let names = annotations.get(IGNORED_PATTERNS_ANNOTATION)?.as_str()?;
    let mut names = names.split(',').take(MAX_IGNORED_PATTERNS);
    let is_suppressed = names.any(|name| matches_name(name.trim(), pattern));
    let reason = || annotations.str_at(&[IGNORE_REASON_ANNOTATION]);
    is_suppressed.then(|| reason().into())
}

/// Returns whether `wildcard`, in which `*` and `?` are wildcards, matches `name`.
#[must_use]
pub fn matches_name(wildcard: &str, name: &str) -> bool {
    glob::matches_wildcard(wildcard, name, &mut Budget::default()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    #[track_caller]
    fn check_suppression(annotations: &str, want: Option<&str>) {
        let object = json::parse(&format!(r#"{{"metadata": {{"annotations": {annotations}}}}}"#));
        let found = object.ok().and_then(|object| suppression(&object, "orphan-service"));
        assert_eq!(found.as_deref(), want, "{annotations}");
    }

    #[test]
    fn suppression_needs_a_name_that_matches() {
        check_suppression(r#"{"kubewright.dev/ignore-patterns": "a, orphan-*"}"#, Some(""));
        check_suppression(
            r#"{"kubewright.dev/ignore-patterns": "*", "kubewright.dev/ignore-reason": "r"}"#,
            Some("r"),
        );
        check_suppression(r#"{"kubewright.dev/ignore-patterns": "orphan"}"#, None);
        check_suppression(r#"{"kubewright.dev/ignore-patterns": 1}"#, None);
        check_suppression("null", None);
    }
}
