//! Paths and operations, without the templates around them.

use kubewright_patch::Pointer;
use kubewright_patch::path::{PatchPath, PathError, PathOp, PathPatchError, PathPatchErrorKind, PathSegment};
use kubewright_value::{Budget, Map, Step, Value};

use crate::suites::{case_list, case_text, expect_equal};

/// Words of the recorded errors, and the categories of each; the first match counts.
const CATEGORIES: &[(&str, &[Category])] = &[
    ("unsupported patch operation", &[Category::Operation]),
    ("unsupported filter expression", &[Category::Path]),
    ("unsupported array index", &[Category::Path]),
    ("unclosed bracket", &[Category::Path, Category::Patch(PathPatchErrorKind::NoMatch)]),
    ("root document", &[Category::Path]),
    ("at segment -", &[Category::Path]),
    // Two conditions are refused, where the original takes them for one text that nothing has.
    ("matched 0 elements", &[Category::Patch(PathPatchErrorKind::NoMatch), Category::Path]),
    ("out of bounds", &[Category::Patch(PathPatchErrorKind::OutOfRange)]),
    ("append marker", &[Category::Patch(PathPatchErrorKind::Unfit)]),
    ("value must be an object", &[Category::Patch(PathPatchErrorKind::Unfit)]),
    // A replace already fails at the key that is missing.
    (
        "expects an array, got <nil>",
        &[Category::Patch(PathPatchErrorKind::NotAList), Category::Patch(PathPatchErrorKind::Missing)],
    ),
    ("expects an array", &[Category::Patch(PathPatchErrorKind::NotAList)]),
    ("expected array", &[Category::Patch(PathPatchErrorKind::NotAList)]),
    ("expects an object", &[Category::Patch(PathPatchErrorKind::NotAnObject)]),
    ("does not exist", &[Category::Patch(PathPatchErrorKind::Missing)]),
];

/// The category of an error.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Category {
    Operation,
    Path,
    Patch(PathPatchErrorKind),
}

struct PatchFailure {
    category: Category,
    message: String,
}

impl From<PathError> for PatchFailure {
    fn from(error: PathError) -> Self {
        Self { category: Category::Path, message: error.message }
    }
}

impl From<PathPatchError> for PatchFailure {
    fn from(error: PathPatchError) -> Self {
        Self { category: Category::Patch(error.kind), message: error.message }
    }
}

/// Applies the operations of `{operations, resource}`; the result is `{resource}`.
pub(super) fn check_application(case: &Value) -> Result<(), String> {
    judge_patch_case(case, apply_recorded_operations(case.get("input").unwrap_or(&Value::Null)))
}

/// Expands `{path, resource}`; the result is `{pointers}`.
pub(super) fn expansion(case: &Value) -> Result<(), String> {
    judge_patch_case(case, expand_recorded_path(case.get("input").unwrap_or(&Value::Null)))
}

fn judge_patch_case(case: &Value, answer: Result<Value, PatchFailure>) -> Result<(), String> {
    match (answer, case.get("error").and_then(Value::as_str)) {
        (Ok(answer), None) => expect_equal(&answer, case.get("expected").unwrap_or(&Value::Null)),
        (Ok(answer), Some(error)) => Err(format!("expected the error `{error}`, got {answer}")),
        (Err(failure), None) => Err(format!("unexpected error: {}", failure.message)),
        (Err(failure), Some(error)) => {
            let fitting = CATEGORIES.iter().find(|(words, _)| error.contains(words));
            // Of an error with other words it only counts that there is one.
            match fitting.is_none_or(|(_, categories)| categories.contains(&failure.category)) {
                true => Ok(()),
                false => Err(format!("expected `{error}`, got {:?}: {}", failure.category, failure.message)),
            }
        }
    }
}

fn apply_recorded_operations(input: &Value) -> Result<Value, PatchFailure> {
    let mut resource = input.get("resource").cloned().unwrap_or_default();
    for operation in case_list(input, "operations") {
        let name = case_text(operation, "op");
        let op = PathOp::named(name).ok_or_else(|| PatchFailure {
            category: Category::Operation,
            message: format!("unknown operation `{name}`"),
        })?;
        let path = PatchPath::parse(case_text(operation, "path"))?;
        let value = operation.get("value").unwrap_or(&Value::Null);
        path.apply(op, value, &mut resource, &mut Budget::default())?;
    }
    Ok(Value::object(Map::from([("resource", resource)])))
}

fn expand_recorded_path(input: &Value) -> Result<Value, PatchFailure> {
    let path = PatchPath::parse(case_text(input, "path"))?;
    let resource = input.get("resource").unwrap_or(&Value::Null);
    let places = path.expand(resource, PathOp::Add, &mut Budget::default())?;
    let is_append = path.segments().last() == Some(&PathSegment::Append);
    let pointers: Vec<Value> = places.into_iter().map(|place| write_pointer(place, is_append)).collect();
    Ok(Value::object(Map::from([("pointers", Value::array(pointers))])))
}

/// The recording writes the place after the last item as `-`.
fn write_pointer(mut place: Vec<Step>, is_append: bool) -> Value {
    if is_append && let Some(last) = place.last_mut() {
        *last = Step::from("-");
    }
    Value::from(Pointer::from_steps(&place).to_string())
}
