//! Changes as JSON patches: maps of any kind, new elements of lists, and the operations of `patchesJson6902`.
//!
//! Every mutation sees the object that the one before it left.

use kubewright_k8s::structured::{StructuredShape, StructuredType};
use kubewright_value::{Source, Step, Text, Value, yaml};

use super::super::scope::is_optional;
use super::super::text::{MapField, string_literal};
use super::tree::{FieldAnchor, PatchField, PatchPart};
use super::{MutationExpression, MutationExpressions, MutationTranslator, ValueShape, path_expression};
use crate::expressions::reading::PathRoot;
use crate::expressions::scope::PathTarget;
use crate::{ConversionResult, refuse_conversion};
use kubewright_dialect_kit::fields::{Located, child_path};

/// How many operations a rule may have.
const MAX_OPERATIONS: usize = 200;

/// A map of the object that a part of the patch is about.
struct PatchedPlace {
    keys: Vec<String>,
    /// The expression that leads there: `object.?spec`.
    reader: String,
}

impl MutationTranslator<'_> {
    /// Returns `fields` as one JSON patch.
    pub(super) fn json_merge(&self, fields: &[PatchField]) -> ConversionResult<Vec<MutationExpression>> {
        let place = PatchedPlace { keys: Vec::new(), reader: "object".to_owned() };
        let mut operations = Vec::new();
        self.json_map(fields, &place, &mut operations)?;
        Ok(vec![MutationExpression::Json(operations.join(" +\n"))])
    }

    fn json_map(
        &self,
        fields: &[PatchField],
        place: &PatchedPlace,
        operations: &mut Vec<String>,
    ) -> ConversionResult<()> {
        for field in fields {
            let mut keys = place.keys.clone();
            keys.push(field.key.clone());
            let reader = MapField { parent: &place.reader, key: &field.key }.optional();
            let path = string_literal(&pointer(&keys));
            let add = |value: &str| format!("[JSONPatch{{op: \"add\", path: {path}, value: {value}}}]");
            match (&field.part, field.anchor) {
                (part, FieldAnchor::Add) if !part.has_anchor(true) => {
                    self.check_list(part, &keys, &field.path)?;
                    let value = self.value(&part.plain(), &field.path)?;
                    operations.push(format!("({reader}.hasValue() ? [] : {})", add(&value)));
                }
                (PatchPart::Scalar(Value::Null), FieldAnchor::None) => {
                    let remove = format!("[JSONPatch{{op: \"remove\", path: {path}}}]");
                    operations.push(format!("({reader}.hasValue() ? {remove} : [])"));
                }
                (PatchPart::Scalar(value), FieldAnchor::None) => {
                    self.check_scalar(value, &keys, &field.path)?;
                    operations.push(add(&self.value(value, &field.path)?));
                }
                (PatchPart::Map(inner), FieldAnchor::None) => {
                    if !self.is_always_there(&keys) {
                        operations.push(format!("({reader}.hasValue() ? [] : {})", add("{}")));
                    }
                    self.json_map(inner, &PatchedPlace { keys, reader }, operations)?;
                }
                (part @ PatchPart::List(_), FieldAnchor::None) if !part.has_anchor(false) => {
                    self.check_list(part, &keys, &field.path)?;
                    operations.push(add(&self.value(&part.plain(), &field.path)?));
                }
                _ => return refuse_conversion("an anchor in this place", &field.path),
            }
        }
        Ok(())
    }

    /// Refuses a number or boolean that may replace a text: it would become one.
    fn check_scalar(&self, value: &Value, keys: &[String], at: &[Step]) -> ConversionResult<()> {
        let is_text = value.as_str().is_some_and(|text| !text.contains("{{"));
        let found = self.scope.find(&path_expression(PathRoot::Object, keys));
        let is_typed = matches!(&found, Some(PathTarget::One(one)) if !matches!(one.shape, ValueShape::Any));
        match is_text || is_typed || self.type_at(keys).is_some() {
            true => Ok(()),
            false => refuse_conversion("a value that may replace one of another type", at),
        }
    }

    /// Refuses a list that is merged by keys.
    fn check_list(&self, part: &PatchPart, keys: &[String], at: &[Step]) -> ConversionResult<()> {
        if !matches!(part, PatchPart::List(_)) || self.types.is_none() {
            return Ok(());
        }
        let is_replaced = |one: &StructuredType| matches!(one.shape(), StructuredShape::AtomicList(_));
        match self.type_at(keys).is_some_and(|types| types.iter().all(is_replaced)) {
            true => Ok(()),
            false => refuse_conversion("a list that is merged item by item", at),
        }
    }

    /// Returns the types of the field at `keys` in all kinds; nothing where one has no such field.
    fn type_at(&self, keys: &[String]) -> Option<Vec<StructuredType>> {
        let step = |whole: StructuredType, key: &str| match whole.shape() {
            StructuredShape::Map(item, _) => Some(item),
            _ => whole.field(key),
        };
        let types = self.types.as_ref()?.iter();
        types.map(|one| keys.iter().try_fold(*one, |whole, key| step(whole, key))).collect()
    }

    /// Takes lists with items that have names and no anchors out of `fields`, which are at `keys` in the object: their
    /// items are put in front where they are new, and merged with those of the same name.
    pub(super) fn split_new_elements(
        &self,
        fields: Vec<PatchField>,
        keys: &[String],
    ) -> ConversionResult<(Vec<MutationExpression>, Vec<PatchField>)> {
        let (mut mutations, mut kept) = (Vec::new(), Vec::new());
        for field in fields {
            let path: Vec<String> = keys.iter().cloned().chain([field.key.clone()]).collect();
            let is_looped = self.element.as_ref().is_some_and(|looped| looped.keys == path);
            let is_keyed =
                !is_looped && self.type_at(&path).is_some_and(|types| types.iter().all(is_keyed_by_name));
            match (&field.part, field.anchor) {
                (PatchPart::Map(inner), FieldAnchor::None) => {
                    let (more, inner) = self.split_new_elements(inner.clone(), &path)?;
                    mutations.extend(more);
                    if !inner.is_empty() {
                        kept.push(PatchField { part: PatchPart::Map(inner), ..field });
                    }
                }
                (PatchPart::List(items), FieldAnchor::None) if is_keyed && !field.part.has_anchor(false) => {
                    for item in items.iter().rev() {
                        mutations.push(self.put_in_front(item, &path, &field.path)?);
                    }
                }
                _ => kept.push(field),
            }
        }
        Ok((mutations, kept))
    }

    /// Returns the mutation that puts `item` in front of the list at `keys`, unless an element has its name.
    fn put_in_front(
        &self,
        item: &PatchPart,
        keys: &[String],
        at: &[Step],
    ) -> ConversionResult<MutationExpression> {
        let PatchPart::Map(fields) = item else {
            return refuse_conversion("an item that is not a map", at);
        };
        let name = fields.iter().find(|field| field.key == "name").map(|field| &field.part);
        let Some(PatchPart::Scalar(Value::String(name))) = name else {
            return refuse_conversion("an item without a name", at);
        };
        if fields.len() > 1 {
            return refuse_conversion("a new item that is merged with one of the same name", at);
        }
        let parent = keys.split_last().map(|(_, parent)| parent).unwrap_or_default();
        if !self.is_always_there(parent) {
            return refuse_conversion("a list in a part that may be missing", at);
        }
        let (_, list) = self.list(keys, at)?;
        let list = match &list.optional {
            Some(optional) if is_optional(optional) => format!("{optional}.orValue([])"),
            _ => list.value,
        };
        let (name, value) = (self.value(&name.as_str().into(), at)?, self.value(&item.plain(), at)?);
        let path = string_literal(&pointer(keys));
        Ok(MutationExpression::Json(format!(
            "{list}.exists(item, item.name == {name}) ? [] :\n[JSONPatch{{op: \"add\", path: {path}, value: [{value}] + {list}}}]"
        )))
    }

    /// Returns the operations of a `patchesJson6902`, each a mutation of its own.
    pub(super) fn operations(&self, text: &Located<Text>) -> ConversionResult<MutationExpressions> {
        if text.value.contains("{{") || text.value.contains("$(") {
            return refuse_conversion("operations with variables in them", &text.path);
        }
        let read = yaml::read(&Source::new("patchesJson6902", text.value.as_str()));
        let list = read.documents.first().and_then(|document| document.value.as_array());
        let Some(list) = list.filter(|list| list.len() <= MAX_OPERATIONS) else {
            return refuse_conversion("operations that are not a list", &text.path);
        };
        let mut made = MutationExpressions::default();
        for operation in list {
            made.mutations.push(MutationExpression::Json(self.operation(operation, &text.path)?));
        }
        match made.mutations.is_empty() {
            true => refuse_conversion("the patch changes nothing", &text.path),
            false => Ok(made),
        }
    }

    fn operation(&self, operation: &Value, at: &[Step]) -> ConversionResult<String> {
        let (name, path) = (operation.str_at(&["op"]), operation.str_at(&["path"]));
        let Some(segments) = path.strip_prefix('/').map(pointer_segments) else {
            return refuse_conversion("a path that is none", at);
        };
        let readers = segment_readers(&segments);
        let reader = readers.last().map(String::as_str).unwrap_or_default();
        let literal = string_literal(path);
        let value = operation.get("value").map(|value| self.value(value, &child_path(at, "value")));
        match (name, value) {
            ("add", Some(value)) => {
                let mut steps = missing_parents(&segments, &readers, at)?;
                steps.push(format!("[JSONPatch{{op: \"add\", path: {literal}, value: {}}}]", value?));
                Ok(steps.join(" +\n"))
            }
            // The removal of what is missing is an error, as its replacement is in the source.
            ("replace", Some(value)) if !ends_at_position(&segments) => Ok(format!(
                "{reader}.hasValue() ? [JSONPatch{{op: \"replace\", path: {literal}, value: {}}}] :\n[JSONPatch{{op: \"remove\", path: {literal}}}]",
                value?
            )),
            ("remove", None) if !ends_at_position(&segments) => {
                Ok(format!("{reader}.hasValue() ? [JSONPatch{{op: \"remove\", path: {literal}}}] : []"))
            }
            _ => refuse_conversion(&format!("the operation `{name}`"), at),
        }
    }
}

/// Returns the operations that make what is missing on the way to the last of `segments`.
fn missing_parents(segments: &[String], readers: &[String], at: &[Step]) -> ConversionResult<Vec<String>> {
    let mut steps = Vec::new();
    for (index, reader) in readers.iter().enumerate().take(segments.len().saturating_sub(1)) {
        let (Some(segment), Some(next)) = (segments.get(index), segments.get(index + 1)) else { continue };
        let is_position = segment.bytes().all(|byte| byte.is_ascii_digit());
        if segment.starts_with('-') || (is_position && segment != "0") {
            return refuse_conversion("a position in a list that may be too short", at);
        }
        let is_list = next.starts_with('-') || next.bytes().all(|byte| byte.is_ascii_digit());
        let keys = segments.get(..=index).unwrap_or_default();
        let (path, value) = (string_literal(&pointer(keys)), if is_list { "[]" } else { "{}" });
        steps.push(format!(
            "({reader}.hasValue() ? [] : [JSONPatch{{op: \"add\", path: {path}, value: {value}}}])"
        ));
    }
    Ok(steps)
}

/// Returns the expression that leads to each of `segments`.
fn segment_readers(segments: &[String]) -> Vec<String> {
    let mut reader = "object".to_owned();
    let step = |segment: &String| {
        let is_position = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        reader = match is_position {
            true => format!("{reader}[?{segment}]"),
            false => MapField { parent: &reader, key: segment }.optional(),
        };
        reader.clone()
    };
    segments.iter().map(step).collect()
}

fn ends_at_position(segments: &[String]) -> bool {
    segments
        .last()
        .is_some_and(|last| last.starts_with('-') || last.bytes().all(|byte| byte.is_ascii_digit()))
}

fn pointer_segments(path: &str) -> Vec<String> {
    path.split('/').map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

fn pointer(keys: &[String]) -> String {
    keys.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
}

fn is_keyed_by_name(one: &StructuredType) -> bool {
    matches!(one.shape(), StructuredShape::KeyedList(_, keys) if keys.iter().map(|(key, _)| key).eq(["name"]))
}
