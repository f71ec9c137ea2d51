//! `jsonpatch`: RFC 6902, as `[{comment, doc, patch, expected or error}]`.

use kubewright_patch::{self as patch, JsonPatchOperation, PatchOptions};
use kubewright_value::{Budget, Value};

use super::{SuiteCaseResult, SuiteResult, case_text, expect_equal};

pub(super) fn run_json_patch_suite(name: &str, suite: &Value) -> SuiteResult {
    let cases = suite.as_array().unwrap_or_default();
    let is_disabled = |case: &&Value| case.get("disabled").and_then(Value::as_bool) == Some(true);
    let results = cases.iter().enumerate().filter(|(_, case)| !is_disabled(case)).map(|(i, case)| {
        let name = match case_text(case, "comment") {
            "" => format!("case {i}"),
            comment => format!("{i}: {comment}"),
        };
        SuiteCaseResult { name, failure: run_json_patch_case(case).err() }
    });
    SuiteResult {
        name: name.to_owned(),
        cases: results.collect(),
        uncounted: cases.iter().filter(is_disabled).count(),
    }
}

fn run_json_patch_case(case: &Value) -> Result<(), String> {
    let mut document = case.get("doc").cloned().unwrap_or_default();
    let operations = JsonPatchOperation::list(case.get("patch").unwrap_or(&Value::Null));
    let applied = operations.and_then(|operations| {
        patch::apply_patch(&mut document, &operations, &PatchOptions::rfc6902(), &mut Budget::default())
    });
    match (applied, case.get("error"), case.get("expected")) {
        (Err(_), Some(_), _) => Ok(()),
        (Err(error), None, _) => Err(format!("unexpected error: {error}")),
        (Ok(_), Some(error), _) => Err(format!("expected the error {error}, got {document}")),
        (Ok(_), None, Some(expected)) => expect_equal(&document, expected),
        (Ok(_), None, None) => Ok(()),
    }
}
