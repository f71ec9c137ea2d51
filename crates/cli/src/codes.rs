//! The diagnostic codes of the command line itself, and the list of all codes.

use kubewright_engine::Code;
use kubewright_value::CompactSort as _;

pub(crate) use kubewright_files::{NOTHING_FOUND, UNREADABLE, about_path};

kubewright_engine::codes! {
    /// The codes of the command line itself.
    pub(crate) static OWN;

    TOO_MUCH_SELECTED "KW-G006" Error "too many selectors over too many objects";
    TOO_MUCH_DRAWN "KW-G007" Warning "too many relationships to draw";
    UNKNOWN_NAMESPACE "KW-F015" Warning "rules read the labels of a namespace that is not given";
    TEST_FIELD "KW-T001" Error "a test file has a field that means nothing";
    TEST_MISSING "KW-T002" Error "a test file lacks a field that it needs";
    TEST_VALUE "KW-T003" Error "a field of a test file has a value that does not fit";
    TEST_KIND "KW-T004" Error "a file is not a test file";
    STACK_FIELD "KW-R060" Error "a stack file has a field that means nothing";
    STACK_MISSING "KW-R061" Error "a stack file lacks a field that it needs";
    STACK_VALUE "KW-R062" Error "a field of a stack file has a value that does not fit";
    STACK_KIND "KW-R063" Error "a file is not a stack file";
    UNKNOWN_TRAIT "KW-R064" Error "a trait is named that no file holds";
    DUPLICATE_TRAIT "KW-R065" Error "two traits or two instances have one name";
    BAD_VALUES "KW-R066" Error "given values are no map of names";
    NOT_IDEMPOTENT "KW-R067" Error "rendering again changes the result";
    UNKNOWN_NAME "KW-R068" Error "the component has no name";
    ASSUMED_NAMESPACE "KW-R069" Warning "the namespace of created manifests is not set";
    NO_RESOURCE_LIST "KW-R070" Error "the input is not a ResourceList";
    NO_FUNCTION_CONFIG "KW-R071" Error "a ResourceList has no functionConfig";
    WRONG_FUNCTION_CONFIG "KW-R072" Error "a functionConfig says nothing of traits";
    UNKNOWN_SETTING "KW-R073" Error "a functionConfig has a setting that means nothing";
    WRONG_SETTING "KW-R074" Error "a setting of a functionConfig has a value that does not fit";
    NO_TRAIT "KW-R075" Error "a function has no trait to apply";
    KIND_NOT_LISTED "KW-S001" Error "objects of a kind could not be read";
    RULES_NOT_LISTED "KW-S002" Error "rules of a kind could not be read";
    SCAN_STOPPED "KW-S003" Error "a scan was stopped";
    REPORT_NOT_WRITTEN "KW-S004" Error "reports could not be written";
    PROJECT_FIELD "KW-C001" Error "a project file has a field that means nothing";
    PROJECT_VALUE "KW-C002" Error "a field of a project file has a value that does not fit";
    IGNORE_MISTAKE "KW-C003" Warning "an ignore in a manifest cannot be read";
    IGNORE_EXPIRED "KW-C004" Warning "an ignore in a manifest has expired";
    IGNORE_UNUSED "KW-C005" Warning "an ignore in a manifest has no effect";
    BASELINE_UNUSED "KW-C006" Warning "an entry of a baseline has no effect";
    NOT_A_MANIFEST "KW-R076" Warning "an item of a ResourceList is no manifest";
}

/// Returns every code there is, sorted by name.
pub(crate) fn all_codes() -> Vec<&'static Code> {
    let mut all = kubewright_dialects::rule_file_codes();
    all.extend(kubewright_graph::codes());
    all.extend(kubewright_files::FILE_CODES);
    all.extend(OWN);
    all.compact_sort_by_key(|code| code.id);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_have_pages() {
        let all = all_codes();
        for code in &all {
            assert!(code.page().starts_with(&format!("# {}: {}\n", code.id, code.title)), "{}", code.id);
        }
        let mut ids: Vec<_> = all.iter().map(|code| code.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), all.len());
    }
}
