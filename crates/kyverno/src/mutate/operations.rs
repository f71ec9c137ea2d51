//! `patchesJson6902`: a text that holds a list of operations.
//!
//! The text is read once, with a word in the place of each variable; values of variables are then put into the tree.
//! So a value is never read as text: it cannot add operations, and a quoted variable is always a text.

use kubewright_patch::{self as patch, JsonPatchOperation, PatchOptions, Pointer};
use kubewright_value::{Budget, Document, Map, Position, Source, Step, Text, Value, yaml};

use super::wording;
use crate::context::{Unresolved, VariableContext};
use crate::tainted::{Tainted, TaintedPart, join_parts};
use crate::template::{TextVariables, VariableTemplate};
use kubewright_engine::EvalError;

/// How Kyverno applies patches.
const OPTIONS: PatchOptions = PatchOptions { dash_creates_object: false, ..PatchOptions::lenient() };

/// The operations of a patch.
#[derive(Debug, Clone)]
pub(crate) enum OperationList {
    /// Without variables.
    Constant(Vec<JsonPatchOperation>),
    /// Made for each object.
    Variable(Vec<OperationTemplate>),
}

/// An operation with variables in it.
#[derive(Debug, Clone)]
pub(crate) struct OperationTemplate {
    pub(crate) kind: OperationKind,
    pub(crate) path: VariableTemplate,
    pub(crate) from: Option<VariableTemplate>,
    pub(crate) value: Option<VariableTemplate>,
}

/// The word in `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

/// An operation as it is written.
#[derive(Debug, Clone)]
pub(crate) struct WrittenOperation {
    pub(crate) kind: OperationKind,
    pub(crate) path: Text,
    pub(crate) from: Option<Text>,
    pub(crate) value: Option<Value>,
    /// The paths in `value` of texts that stay texts, because they are quoted.
    pub(crate) texts: Vec<Vec<Step>>,
    /// Its place in the text.
    pub(crate) position: Position,
}

/// What is wrong with a patch, and where in its text.
#[derive(Debug, Clone)]
pub(crate) struct OperationProblem {
    pub(crate) message: String,
    pub(crate) position: Position,
}

impl OperationKind {
    const ALL: [(&'static str, Self); 6] = [
        ("add", Self::Add),
        ("remove", Self::Remove),
        ("replace", Self::Replace),
        ("move", Self::Move),
        ("copy", Self::Copy),
        ("test", Self::Test),
    ];

    fn needs_value(self) -> bool {
        matches!(self, Self::Add | Self::Replace | Self::Test)
    }

    fn needs_from(self) -> bool {
        matches!(self, Self::Move | Self::Copy)
    }
}

/// Reads the operations in `text`.
///
/// # Errors
/// At the first thing that Kyverno would refuse.
pub(crate) fn read_operations(text: &str) -> Result<Vec<WrittenOperation>, OperationProblem> {
    let variables = TextVariables::hide(text);
    let source = Source::new("patchesJson6902", variables.text.clone());
    let stream = yaml::read(&source);
    if let Some(problem) = stream.problems.first() {
        let message = format!("the patch is not YAML: {}", problem.message);
        return Err(OperationProblem { message, position: problem.location.position });
    }
    let Some(document) = stream.documents.first() else { return Ok(Vec::new()) };
    let Some(items) = document.value.as_array() else {
        let message = format!("a patch is a list of operations, this is of type {}", document.value.kind());
        return Err(OperationProblem { message, position: Position::START });
    };
    let reader = OperationReader { document, variables: &variables };
    items.iter().enumerate().map(|(index, item)| reader.operation(index, item)).collect()
}

struct OperationReader<'r> {
    document: &'r Document,
    variables: &'r TextVariables,
}

impl OperationReader<'_> {
    fn operation(&self, index: usize, item: &Value) -> Result<WrittenOperation, OperationProblem> {
        let position = self.document.locate(&[Step::Index(index)]).position;
        let problem = |message: String| OperationProblem { message, position };
        let Some(map) = item.as_object() else {
            return Err(problem(format!("an operation is an object, this is of type {}", item.kind())));
        };
        let word = self.text(map, "op").unwrap_or_default();
        let Some((_, kind)) = OperationKind::ALL.iter().find(|(name, _)| *name == word) else {
            let known = OperationKind::ALL.map(|(name, _)| format!("`{name}`")).join(", ");
            return Err(problem(format!("unknown operation `{word}`, expected one of {known}")));
        };
        let path = self.text(map, "path").unwrap_or_default();
        if !path.starts_with('/') && !path.starts_with("{{") {
            return Err(problem(format!("the path `{path}` does not start with `/`")));
        }
        let from = self.text(map, "from");
        if kind.needs_from() && from.is_none() {
            return Err(problem(format!("`{word}` needs `from`")));
        }
        if kind.needs_value() && !map.contains_key("value") {
            return Err(problem(format!("`{word}` needs `value`")));
        }
        let mut texts = Vec::new();
        let value = map.get("value").filter(|_| kind.needs_value()).map(|value| {
            let mut path = vec![Step::Index(index), Step::from("value")];
            self.value(value, &mut path, &mut texts)
        });
        let texts = texts.into_iter().map(|path| path.into_iter().skip(2).collect()).collect();
        Ok(WrittenOperation { kind: *kind, path, from, value, texts, position })
    }

    fn text(&self, map: &Map, key: &str) -> Option<Text> {
        map.get(key).and_then(Value::as_str).map(|text| self.variables.show(text).into())
    }

    /// Returns `value` with its variables, and notes the texts that are quoted.
    fn value(&self, value: &Value, path: &mut Vec<Step>, texts: &mut Vec<Vec<Step>>) -> Value {
        match value {
            Value::String(text) if self.variables.has_any(text) => {
                if self.is_quoted(path) {
                    texts.push(path.clone());
                }
                self.variables.show(text).into()
            }
            Value::Array(items) => {
                let mut shown = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    shown.push(self.value(item, path, texts));
                    path.pop();
                }
                Value::array(shown)
            }
            Value::Object(map) => {
                let mut shown = Map::with_capacity(map.len());
                for (key, item) in map.iter() {
                    path.push(Step::Key(key.clone()));
                    let item = self.value(item, path, texts);
                    path.pop();
                    shown.insert(self.variables.show(key).into(), item);
                }
                shown.into()
            }
            other => other.clone(),
        }
    }

    /// Returns whether the text at `path` is in quotes or a block, and not bare.
    fn is_quoted(&self, path: &[Step]) -> bool {
        let Position { line, column } = self.document.locate(path).position;
        let text = self.document.source.line(line).unwrap_or_default();
        let column = usize::try_from(column).unwrap_or(1).saturating_sub(1);
        matches!(text.chars().nth(column), Some('"' | '\'' | '|' | '>'))
    }
}

impl OperationList {
    /// Applies the operations to `document`, all or none; an error comes with the index of the operation.
    pub(super) fn apply(
        &self,
        document: &Value,
        context: &mut VariableContext<'_>,
    ) -> Result<Value, (usize, EvalError)> {
        let made;
        let operations = match self {
            Self::Constant(operations) => operations,
            Self::Variable(templates) => {
                let resolved: Result<Vec<_>, (usize, EvalError)> = templates
                    .iter()
                    .enumerate()
                    .map(|(index, template)| {
                        template.resolve(context).map_err(|error| (index, super::unresolved_variable(error)))
                    })
                    .collect();
                made = resolved?;
                &made
            }
        };
        let mut document = document.clone();
        for (index, operation) in operations.iter().enumerate() {
            apply_operation(&mut document, operation, context.budget()).map_err(|error| (index, error))?;
        }
        Ok(document)
    }
}

fn apply_operation(
    document: &mut Value,
    operation: &JsonPatchOperation,
    budget: &mut Budget,
) -> Result<(), EvalError> {
    if let JsonPatchOperation::Add { path, .. } = operation
        && leads_behind_the_end(document, path)
    {
        let kind = patch::PatchErrorKind::Missing;
        let (path, message) = (path.to_string(), String::new());
        let error = patch::PatchError { operation: 0, path, kind, message };
        return Err(wording::operation_error(operation, document, &error));
    }
    match patch::apply_patch(document, std::slice::from_ref(operation), &OPTIONS, budget) {
        Ok(_) => Ok(()),
        Err(error) => Err(wording::operation_error(operation, document, &error)),
    }
}

/// Returns whether a path goes on behind `-`, which is nothing yet.
fn leads_behind_the_end(document: &Value, path: &Pointer) -> bool {
    let Some((_, parents)) = path.tokens().split_last() else { return false };
    let mut here = Some(document);
    for token in parents {
        here = match here {
            Some(Value::Object(map)) => map.get(token),
            Some(Value::Array(items)) if token != "-" => {
                token.parse().ok().and_then(|at: usize| items.get(at))
            }
            _ if token == "-" => return true,
            _ => None,
        };
    }
    false
}

impl OperationTemplate {
    fn resolve(&self, context: &mut VariableContext<'_>) -> Result<JsonPatchOperation, Unresolved> {
        let path = resolve_pointer(&self.path, context)?;
        let from = match &self.from {
            Some(from) => resolve_pointer(from, context)?,
            None => Pointer::root(),
        };
        let value = match &self.value {
            Some(value) => value.resolve(context)?.plain().into_owned(),
            None => Value::Null,
        };
        Ok(self.kind.operation(path, from, value))
    }
}

impl OperationKind {
    /// Returns the operation of this kind.
    pub(crate) fn operation(self, path: Pointer, from: Pointer, value: Value) -> JsonPatchOperation {
        match self {
            Self::Add => JsonPatchOperation::Add { path, value },
            Self::Remove => JsonPatchOperation::Remove { path },
            Self::Replace => JsonPatchOperation::Replace { path, value },
            Self::Move => JsonPatchOperation::Move { from, path },
            Self::Copy => JsonPatchOperation::Copy { from, path },
            Self::Test => JsonPatchOperation::Test { path, value },
        }
    }
}

fn resolve_pointer(
    template: &VariableTemplate,
    context: &mut VariableContext<'_>,
) -> Result<Pointer, Unresolved> {
    let resolved = template.resolve(context)?;
    let parts = match resolved.parts() {
        Some(parts) => parts.into_owned(),
        None => vec![TaintedPart {
            text: crate::template::compact_text(&resolved.plain(), context.budget())?,
            is_own: matches!(resolved, Tainted::Trusted(_)),
        }],
    };
    pointer_of(&parts).map_err(|message| Unresolved::error(EvalError::new(message)))
}

/// Returns the pointer that the parts of a path make. Only the author's `/` separate segments, unless all of a path,
/// from its first `/`, comes from elsewhere, as the `jsonPointer` of an image does.
pub(crate) fn pointer_of(parts: &[TaintedPart]) -> Result<Pointer, String> {
    let mut segments = vec![String::new()];
    for (index, part) in parts.iter().enumerate() {
        let is_whole = index == 0 && part.text.starts_with('/');
        if !part.is_own && !is_whole {
            segments.last_mut().into_iter().for_each(|last| last.push_str(&part.text));
            continue;
        }
        let mut pieces = part.text.split('/');
        let first = pieces.next().unwrap_or_default();
        segments.last_mut().into_iter().for_each(|last| last.push_str(first));
        segments.extend(pieces.map(str::to_owned));
    }
    if segments.len() < 2 || segments.first().is_some_and(|first| !first.is_empty()) {
        return Err(format!("the path `{}` does not start with `/`", join_parts(parts)));
    }
    let decoded = |segment: &String| Text::from(segment.replace("~1", "/").replace("~0", "~"));
    Ok(Pointer::from_tokens(segments.iter().skip(1).map(decoded).collect()))
}
