//! Why a patch cannot be applied, in Kyverno's words, so that reports and tests compare equal.

use kubewright_engine::EvalError;
use kubewright_patch::strategic::{StrategicError, StrategicErrorKind};
use kubewright_patch::{JsonPatchOperation, PatchError, PatchErrorKind, Pointer};
use kubewright_value::text::{PathStyle, path_text};
use kubewright_value::{Step, Value, ValueKind, bounded, json};

/// What begins the message of a patch that cannot be applied.
const PREFIX: &str = "failed to patch resource: ";

/// How much of a patch a message shows.
const MAX_SHOWN_CHARACTERS: usize = 1000;

/// Returns the error of a strategic merge.
pub(super) fn strategic_error(error: &StrategicError) -> EvalError {
    let reason = match &error.kind {
        StrategicErrorKind::WrongType { patch, found } => format!(
            "wrong node kind: expected {} but got {}: node contents:\n{}\n",
            node_kind(*found),
            node_kind(patch.kind()),
            flow_text(patch)
        ),
        StrategicErrorKind::UnknownDirective(word) => format!("unknown patch strategy '{word}'"),
        StrategicErrorKind::DeletesRoot => "filter cannot create or delete objects".to_owned(),
        StrategicErrorKind::NoKey { .. } => error.to_string(),
        StrategicErrorKind::Limit(exhausted) => return EvalError::limit(exhausted.to_string()),
    };
    EvalError::new(format!("{PREFIX}{reason}"))
}

/// Returns the error of templates for the elements of `found`, which is at `path` of the object and no list.
pub(super) fn not_a_list(found: &Value, path: Vec<Step>) -> EvalError {
    let error = EvalError::new(format!(
        "{PREFIX}failed to preProcess rule: wrong node kind: expected SequenceNode but got {}: node contents:\n{}\n",
        node_kind(found.kind()),
        flow_text(found)
    ));
    let text = format!(
        "`{}` is of type {}, and the patch is for elements of a list",
        path_text(&path, PathStyle::Quoted),
        found.kind()
    );
    let mut error = error.because(text, "");
    if let Some(reason) = &mut error.reason {
        reason.path = path;
    }
    error
}

/// Returns the error of `operation`, which could not be applied to `document`.
pub(super) fn operation_error(
    operation: &JsonPatchOperation,
    document: &Value,
    error: &PatchError,
) -> EvalError {
    if error.kind == PatchErrorKind::Limit {
        return EvalError::limit(error.message.clone());
    }
    let path = operation.path();
    let has_parent = parent(document, path).is_some();
    let reason = match operation {
        JsonPatchOperation::Add { .. } => addition(document, path, error.kind),
        JsonPatchOperation::Remove { .. } => format!("error in remove for path: '{path}': missing value"),
        JsonPatchOperation::Replace { .. } => {
            let what = if has_parent { "key" } else { "path" };
            format!("replace operation does not apply: doc is missing {what}: {path}: missing value")
        }
        JsonPatchOperation::Test { .. } if !has_parent => {
            format!("test operation does not apply: is missing path: {path}: missing value")
        }
        JsonPatchOperation::Test { .. } => format!("testing value {path} failed: test failed"),
        JsonPatchOperation::Move { from, .. } => relocation("move", document, from, path),
        JsonPatchOperation::Copy { from, .. } => relocation("copy", document, from, path),
    };
    let text = match error.message.as_str() {
        "" => format!("cannot {} `{path}`: there is nothing behind `-`", operation.name()),
        message => message.to_owned(),
    };
    let mut error = EvalError::new(format!("{PREFIX}{reason}")).because(text, remedy(operation, has_parent));
    if let Some(reason) = &mut error.reason {
        reason.path = object_path(document, path);
    }
    error
}

/// Returns what helps where `operation` does not find its path.
fn remedy(operation: &JsonPatchOperation, has_parent: bool) -> &'static str {
    match operation {
        JsonPatchOperation::Replace { .. } if has_parent => "`op: add` sets it whether or not it is there",
        JsonPatchOperation::Add { .. } | JsonPatchOperation::Replace { .. } if !has_parent => {
            "add what it is in first, or use `patchStrategicMerge`, which makes what is missing"
        }
        _ => "",
    }
}

/// Returns the steps of `path` in `document`.
fn object_path(document: &Value, path: &Pointer) -> Vec<Step> {
    let mut here = Some(document);
    let mut steps = Vec::new();
    for token in path.tokens() {
        let index = token.parse().ok().filter(|_| here.is_some_and(|here| here.as_array().is_some()));
        let step = index.map_or_else(|| Step::Key(token.clone()), Step::Index);
        here = here.and_then(|here| here.follow(std::slice::from_ref(&step)));
        steps.push(step);
    }
    steps
}

fn addition(document: &Value, path: &Pointer, kind: PatchErrorKind) -> String {
    let last = path.tokens().last().map(kubewright_value::Text::as_str).unwrap_or_default();
    match kind {
        PatchErrorKind::NotAContainer => "invalid state detected".to_owned(),
        PatchErrorKind::OutOfRange => {
            format!(
                "error in add for path: '{path}': Unable to access invalid index: {last}: invalid index referenced"
            )
        }
        PatchErrorKind::BadIndex
            if parent(document, path).is_some_and(|parent| parent.as_array().is_some()) =>
        {
            let shown = json::quote(last);
            format!(
                "error in add for path: '{path}': value was not a proper array index: '{last}': strconv.Atoi: \
                 parsing {shown}: invalid syntax"
            )
        }
        _ => format!("add operation does not apply: doc is missing path: \"{path}\": missing value"),
    }
}

fn relocation(name: &str, document: &Value, from: &Pointer, path: &Pointer) -> String {
    let last = from.tokens().last().map(kubewright_value::Text::as_str).unwrap_or_default();
    let source = match name {
        "copy" => format!("error in copy for from: '{from}'"),
        _ => format!("error in move for path: '{last}'"),
    };
    match parent(document, from) {
        None => format!("{name} operation does not apply: doc is missing from path: {from}: missing value"),
        Some(Value::Object(map)) if !map.contains_key(last) => {
            format!("{source}: unable to get nonexistent key: {last}: missing value")
        }
        Some(Value::Array(items)) if last.parse::<usize>().is_ok_and(|index| index >= items.len()) => {
            format!("{source}: Unable to access invalid index: {last}: invalid index referenced")
        }
        _ => {
            format!("{name} operation does not apply: doc is missing destination path: {path}: missing value")
        }
    }
}

/// Returns the object or list that `path` leads to a part of.
fn parent<'d>(document: &'d Value, path: &Pointer) -> Option<&'d Value> {
    let (_, parents) = path.tokens().split_last()?;
    let found = parents.iter().try_fold(document, |here, token| match here {
        Value::Array(items) => {
            let index: i64 = token.parse().ok()?;
            let from_end = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
            items.get(if index < 0 { from_end()? } else { usize::try_from(index).ok()? })
        }
        other => other.get(token),
    });
    found.filter(|found| matches!(found, Value::Object(_) | Value::Array(_)))
}

fn node_kind(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Object => "MappingNode",
        ValueKind::Array => "SequenceNode",
        ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::String => "ScalarNode",
    }
}

/// Returns a value in one line, with a space behind each comma and colon; a long one is cut.
fn flow_text(value: &Value) -> String {
    let json = bounded::shortened_json(value, MAX_SHOWN_CHARACTERS);
    let mut flow = String::with_capacity(json.len());
    let (mut is_in_text, mut is_escaped) = (false, false);
    for character in json.chars() {
        flow.push(character);
        match character {
            '"' if !is_escaped => is_in_text = !is_in_text,
            ':' | ',' if !is_in_text => flow.push(' '),
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    flow
}
