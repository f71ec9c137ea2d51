//! Applies what mutations say to objects.

use kubewright_cel::library::kubernetes::{JSON_PATCH_TYPE, OBJECT_TYPE};
use kubewright_cel::{ListVal, MapVal, Val};
use kubewright_cel_rules::{CelMutation, MutationLanguage, PatchApplier};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_engine::{EvalError, Evaluation, TraceNode, TraceVerdict, WorldView};
use kubewright_patch::older::{OlderOperation, OlderPatchError, OlderPatchResult, apply_older_patch};
use kubewright_patch::structured::{
    MergeType, StructuredMergeError, StructuredMergeOptions, merge_structured, undeclared_fields,
};
use kubewright_patch::{JsonPatchOperation, diff_values};
use kubewright_value::{Budget, Limits, Map, Text, Value, bounded};

use super::schema::find_object_type;

/// Applies mutations to one object, with a budget of its own that its owner charges for.
pub(super) struct ObjectPatcher<'w> {
    options: StructuredMergeOptions,
    world: WorldView<'w>,
    budget: Budget,
    /// The object before the first JSON Patch, which can add fields that its type does not declare.
    original: Option<Value>,
}

impl<'w> ObjectPatcher<'w> {
    pub(super) fn new(options: StructuredMergeOptions, evaluation: &Evaluation<'w>) -> Self {
        let given = &evaluation.budget;
        let limits = Limits { steps: given.steps_left(), bytes: given.bytes_left(), ..Limits::default() };
        let budget = Budget::new(limits).with_deadline(given.deadline());
        Self { options, world: evaluation.world, budget, original: None }
    }

    pub(super) fn into_budget(self) -> Budget {
        self.budget
    }

    fn merge(&mut self, result: &Val<'_>, object: &Value) -> Result<Value, EvalError> {
        if result.structure().is_none_or(|name| name != OBJECT_TYPE) {
            let found = result.structure().map_or(result.type_name(), Text::as_str);
            return Err(EvalError::new(format!(
                "unsupported return type from ApplyConfiguration expression: {found}"
            )));
        }
        check_places(result)?;
        let mut patch = applied_value(result)?;
        let text = |key: &str| object.str_at(&[key]);
        if let Some(patch) = patch.as_object_mut() {
            for key in ["apiVersion", "kind"] {
                patch.insert(key.into(), text(key).into());
            }
        }
        let kind = find_object_type(text("apiVersion"), text("kind"), self.world)?
            .ok_or_else(|| EvalError::new("error applying patch: type converter must not be nil"))?;
        self.merge_typed(object, &patch, &kind).map_err(|error| match error {
            StructuredMergeError::Limit(exhausted) => exhausted.into(),
            error => EvalError::new(format!("error applying patch: {error}")),
        })
    }

    /// Merges a patch. Fields that the type does not declare and that no mutation added are of a newer API server, and stay.
    fn merge_typed<T: MergeType>(
        &mut self,
        object: &Value,
        patch: &Value,
        kind: &T,
    ) -> Result<Value, StructuredMergeError> {
        match merge_structured(object, patch, kind, self.options, &mut self.budget) {
            Err(StructuredMergeError::Live(problems)) => {
                let original = self.original.as_ref().unwrap_or(object);
                let given = undeclared_fields(original, kind, &mut self.budget)?;
                if !problems.iter().all(|problem| given.contains(problem)) {
                    return Err(StructuredMergeError::Live(problems));
                }
                let options = StructuredMergeOptions { keeps_undeclared: true, ..self.options };
                merge_structured(object, patch, kind, options, &mut self.budget)
            }
            merged => merged,
        }
    }

    fn patch(
        &mut self,
        result: &Val<'_>,
        object: &Value,
        notes: &mut TraceNotes,
    ) -> Result<Value, EvalError> {
        let operations = read_operations(result)?;
        match apply_older_patch(object, &operations, &mut self.budget) {
            Ok(OlderPatchResult::Applied(changed)) => {
                if changed.str_at(&["kind"]).is_empty() && object.get("kind").is_some() {
                    let shown = bounded::to_json(&sorted(&changed), &mut self.budget)?;
                    let message = format!("Internal error occurred: Object 'Kind' is missing in '{shown}'");
                    return Err(EvalError::new(message));
                }
                Ok(changed)
            }
            Ok(OlderPatchResult::Dropped(index)) => {
                let operation = operations.get(index).map(ToString::to_string).unwrap_or_default();
                notes.say(|| dropped_note(&operation));
                Ok(object.clone())
            }
            Err(OlderPatchError::Limit(exhausted)) => Err(exhausted.into()),
            Err(error) => Err(EvalError::new(format!("JSON Patch: {error}"))),
        }
    }
}

impl PatchApplier for ObjectPatcher<'_> {
    fn apply(
        &mut self,
        mutation: &CelMutation,
        result: &Val<'_>,
        object: &Value,
        notes: &mut TraceNotes,
    ) -> Result<Value, EvalError> {
        let changed = match mutation.language() {
            MutationLanguage::ApplyConfiguration => self.merge(result, object),
            MutationLanguage::JsonPatch => {
                if self.original.is_none() {
                    self.original = Some(object.clone());
                }
                self.patch(result, object, notes)
            }
        };
        if notes.is_on() {
            match &changed {
                Ok(changed) => note_changes(object, changed, mutation, notes),
                Err(error) => notes.say(|| failed_note(error, mutation)),
            }
        }
        changed
    }
}

/// Returns an `Object{...}` as JSON. A map that is written as an item of a list is not taken for an object, as in the API
/// server, where the merge then refuses it.
fn applied_value(value: &Val<'_>) -> Result<Value, EvalError> {
    let value_of = |value: &Val<'_>| value.to_value().map_err(EvalError::new);
    match value {
        Val::List(ListVal::Made(items)) => {
            let item = |item: &Val<'_>| match item {
                Val::Map(map @ MapVal::Made(_)) if map.structure().is_none() => Ok(Value::from("map")),
                item => applied_value(item),
            };
            Ok(Value::array(items.iter().map(item).collect::<Result<_, EvalError>>()?))
        }
        Val::Map(map @ MapVal::Made(_)) => {
            // Keys and sizes are checked there.
            let written = value_of(value)?;
            let keys = written.as_object().into_iter().flat_map(Map::keys);
            let entry =
                |(key, (_, part)): (&Text, (Val<'_>, Val<'_>))| Ok((key.clone(), applied_value(&part)?));
            Ok(keys.zip(map.iter()).map(entry).collect::<Result<Map, EvalError>>()?.into())
        }
        Val::Optional(Some(inner)) => applied_value(inner),
        other => value_of(other),
    }
}

/// Returns the value with the keys of objects in order, as the API server shows it.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            let entries = map.sorted().into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            entries.collect::<Map>().into()
        }
        plain => plain.clone(),
    }
}

/// The name of a structure must be that of its place.
fn check_places(value: &Val<'_>) -> Result<(), EvalError> {
    match value.misplaced_structure() {
        None => Ok(()),
        Some((found, expected)) => Err(EvalError::new(format!(
            "type mismatch: unexpected type name {:?}, expected {expected:?}, which matches field name path from root \
             Object type",
            found.as_str()
        ))),
    }
}

fn read_operations(result: &Val<'_>) -> Result<Vec<OlderOperation>, EvalError> {
    let Val::List(list) = result else {
        let message = format!("type conversion failed: a list is needed, found {}", result.type_name());
        return Err(EvalError::new(message));
    };
    list.iter().map(|one| read_operation(&one)).collect()
}

fn read_operation(value: &Val<'_>) -> Result<OlderOperation, EvalError> {
    let Val::Map(map) = value else { return Err(not_a_patch(value)) };
    if map.structure().is_none_or(|name| name != JSON_PATCH_TYPE) {
        return Err(not_a_patch(value));
    }
    let text = |key: &str| map.field(key).and_then(|found| found.as_str().map(Text::new)).unwrap_or_default();
    let value = map.field("value").unwrap_or_default();
    check_inner_places(&value)?;
    let value = value.to_safe_value().map_err(|why| {
        EvalError::new(format!(
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
        ))
    })?;
    Ok(OlderOperation { op: text("op"), path: text("path"), from: text("from"), value })
}

/// Inside of a value the names start at each structure that is in none.
fn check_inner_places(value: &Val<'_>) -> Result<(), EvalError> {
    check_places(value)?;
    match value {
        Val::List(ListVal::Made(items)) => items.iter().try_for_each(check_inner_places),
        Val::Map(map @ MapVal::Made(_)) if map.structure().is_none() => {
            map.iter().try_for_each(|(_, value)| check_inner_places(&value))
        }
        _ => Ok(()),
    }
}

fn not_a_patch(value: &Val<'_>) -> EvalError {
    EvalError::new(format!("type conversion failed: a JSONPatch is needed, found {}", value.type_name()))
}

fn dropped_note(operation: &str) -> TraceNote {
    TraceNote {
        what: operation.to_owned(),
        found: "the test does not hold, so the whole patch is dropped".to_owned(),
        verdict: TraceVerdict::No,
        ..TraceNote::default()
    }
}

fn failed_note(error: &EvalError, mutation: &CelMutation) -> TraceNote {
    TraceNote {
        what: "patch".to_owned(),
        found: error.message.clone(),
        verdict: TraceVerdict::Error,
        at: mutation.path().to_vec(),
        ..TraceNote::default()
    }
}

/// Tells each changed place: what was there and what is there now.
fn note_changes(before: &Value, after: &Value, mutation: &CelMutation, notes: &mut TraceNotes) {
    for operation in diff_values(before, after) {
        let path: Vec<&str> = operation.path().tokens().iter().map(Text::as_str).collect();
        let old = find_part(before, &path).map(TraceNode::show).unwrap_or_default();
        let new = match &operation {
            JsonPatchOperation::Add { value, .. } | JsonPatchOperation::Replace { value, .. } => {
                TraceNode::show(value)
            }
            _ => String::new(),
        };
        notes.say(|| TraceNote {
            what: format!("{} {}", operation.name(), operation.path()),
            found: old,
            wanted: new,
            verdict: TraceVerdict::Done,
            at: mutation.path().to_vec(),
            ..TraceNote::default()
        });
    }
}

fn find_part<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |here, token| match here {
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        other => other.get(token),
    })
}
