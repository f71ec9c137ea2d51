//! Merges as ApplyConfigurations: only fields whose types are merged in the same way.

use kubewright_k8s::structured::{StructuredShape, StructuredType};
use kubewright_value::{Step, Value};

use super::super::reading::{self, PathExpressionStep, PathRoot};
use super::super::scope::is_optional;
use super::super::text::{MapField, string_literal};
use super::super::values::sure_conditions;
use super::tree::{FieldAnchor, PatchField, PatchPart};
use super::{Formula, LoopedList, MutationExpression, MutationExpressions, MutationTranslator};
use crate::texts::all_tests;
use crate::{ConversionResult, refuse_conversion};
use kubewright_kyverno::source::{MutateForeach, MutatePatch};

/// A structure of the object that a part of the patch is about.
struct AppliedPlace<'p> {
    /// The name of its type: `Object.spec`.
    type_name: String,
    /// The expression that leads there: `object.?spec`.
    reader: String,
    /// Its keys, where it is not in a list.
    keys: Option<Vec<String>>,
    types: &'p [StructuredType],
    /// Whether `+()` adds, because nothing is there.
    is_new: bool,
}

impl MutationTranslator<'_> {
    /// Returns `fields` as one ApplyConfiguration.
    pub(super) fn apply(&self, fields: &[PatchField]) -> ConversionResult<Vec<MutationExpression>> {
        let at = fields.first().map(|field| field.path.clone()).unwrap_or_default();
        let Some(types) = &self.types else {
            return refuse_conversion("a kind whose fields are not known", &at);
        };
        let place = AppliedPlace {
            type_name: "Object".to_owned(),
            reader: "object".to_owned(),
            keys: Some(Vec::new()),
            types,
            is_new: false,
        };
        Ok(vec![MutationExpression::Apply(self.structure(fields, &place)?)])
    }

    /// Returns the mutations of a `foreach`, each loop of which patches the elements of its own list.
    pub(super) fn loops(&self, loops: &[MutateForeach]) -> ConversionResult<MutationExpressions> {
        let mut made = MutationExpressions::default();
        for each in loops {
            let MutatePatch::StrategicMerge(patch) = &each.patch else {
                return refuse_conversion(
                    "a loop with positions of a list, which CEL does not know",
                    &each.path,
                );
            };
            if let Some(entry) = each.context.first() {
                return refuse_conversion(&super::super::lookup_refusal(&entry.from), &entry.path);
            }
            let within = self.within_loop(each)?;
            made.mutations.extend(within.merge(&patch.value, &patch.path)?.mutations);
        }
        Ok(made)
    }

    /// Returns the translator for the elements of a loop.
    fn within_loop(&self, each: &MutateForeach) -> ConversionResult<MutationTranslator<'_>> {
        let at = &each.list.path;
        let reading = reading::parse_path_expression(&each.list.value);
        let Some(reading) = reading.filter(|one| one.root == PathRoot::Object && one.default.is_none())
        else {
            return refuse_conversion("a loop over more than a list of the object", at);
        };
        let mut keys: Vec<String> = self.workload.keys().iter().map(|key| (*key).to_owned()).collect();
        for step in &reading.steps {
            match step {
                PathExpressionStep::Key(key) => keys.push(key.clone()),
                PathExpressionStep::Flatten => {}
                // The names of all containers of a Pod are different.
                PathExpressionStep::Several(several) if several.iter().any(|key| key == "containers") => {
                    keys.push("containers".to_owned());
                }
                PathExpressionStep::Several(_) => return refuse_conversion("a loop over several lists", at),
            }
        }
        let (elements, _) = self.list(&keys, at)?;
        let values_scope = self.values_scope.with_element(&elements);
        let conditions = match &each.preconditions {
            None => Vec::new(),
            Some(written) => match sure_conditions(written, &values_scope, self.functions)? {
                Formula::True => Vec::new(),
                formula => vec![self.moved(formula.written().replace('\n', " "), &written.path)?],
            },
        };
        Ok(MutationTranslator {
            scope: self.scope.clone(),
            values_scope,
            functions: self.functions,
            workload: self.workload,
            types: self.types.clone(),
            element: Some(LoopedList { keys, conditions }),
        })
    }

    fn structure(&self, fields: &[PatchField], place: &AppliedPlace<'_>) -> ConversionResult<String> {
        let is_map = place.types.iter().all(|one| matches!(one.shape(), StructuredShape::Map(..)));
        let mut entries = Vec::new();
        for field in fields {
            let types = field_types(place.types, field)?;
            let reader = MapField { parent: &place.reader, key: &field.key };
            let inner = AppliedPlace {
                type_name: format!("{}.{}", place.type_name, field.key),
                reader: reader.optional(),
                keys: place.keys.as_ref().map(|keys| with_key(keys, &field.key)),
                types: &types,
                is_new: place.is_new || field.anchor == FieldAnchor::Add,
            };
            let mut value = self.part(&field.part, &inner, &field.path)?;
            if is_map && fields.len() > 1 && !value.starts_with('"') {
                value = format!("string({value})");
            }
            let key = if is_map { string_literal(&field.key) } else { field.key.clone() };
            entries.push(match field.anchor {
                FieldAnchor::Add if !place.is_new => {
                    format!("?{key}: {}.hasValue() ? optional.none() : optional.of({value})", inner.reader)
                }
                FieldAnchor::None | FieldAnchor::Add => format!("{key}: {value}"),
                _ => return refuse_conversion("a condition in this place", &field.path),
            });
        }
        let name = if is_map { "" } else { place.type_name.as_str() };
        Ok(format!("{name}{{{}}}", entries.join(", ")))
    }

    fn part(&self, part: &PatchPart, place: &AppliedPlace<'_>, at: &[Step]) -> ConversionResult<String> {
        match part {
            PatchPart::Scalar(value) => {
                let is_fitting = place.types.iter().all(|one| is_scalar_of(one.shape(), value));
                match is_fitting {
                    true => self.value(value, at),
                    false => refuse_conversion("a value that its field does not take", at),
                }
            }
            PatchPart::Map(fields) => {
                let is_merged = place.types.iter().all(|one| {
                    matches!(one.shape(), StructuredShape::Map(_, false) | StructuredShape::Structure(false))
                });
                match is_merged {
                    true => self.structure(fields, place),
                    false => refuse_conversion("a map that can only be replaced as a whole", at),
                }
            }
            PatchPart::List(items) => self.elements(items, place, at),
        }
    }

    /// Returns the patches of those elements that the conditions of the only item hold for.
    fn elements(
        &self,
        items: &[PatchPart],
        place: &AppliedPlace<'_>,
        at: &[Step],
    ) -> ConversionResult<String> {
        let mut types = Vec::new();
        for one in place.types {
            match one.shape() {
                StructuredShape::KeyedList(item, keys) if keys.iter().map(|(key, _)| key).eq(["name"]) => {
                    types.push(item);
                }
                _ => return refuse_conversion("a list that can only be replaced as a whole", at),
            }
        }
        let ([PatchPart::Map(fields)], Some(keys)) = (items, &place.keys) else {
            return refuse_conversion("several items, or a list in a list", at);
        };
        let (found, list) = self.list(keys, at)?;
        let item = found.item.clone();
        let scope = self.scope.with_element(&found);
        let looped = self.element.as_ref().filter(|looped| looped.keys == *keys);
        let mut tests: Vec<String> = looped.map(|looped| looped.conditions.clone()).unwrap_or_default();
        let (mut rest, mut is_chosen) = (Vec::new(), false);
        for field in fields {
            match (&field.part, field.anchor) {
                (PatchPart::Scalar(Value::String(name)), FieldAnchor::None | FieldAnchor::Condition)
                    if field.key == "name" && looped.is_some() && is_name_of_element(name) =>
                {
                    is_chosen = true;
                }
                (PatchPart::Scalar(wanted), FieldAnchor::Condition) => {
                    let key = [field.key.clone()];
                    let test = self.condition(&scope, PathRoot::Element, &key, (wanted, &field.path))?;
                    is_chosen = true;
                    let test = test.simplified();
                    if test != Formula::True {
                        tests.push(test.written().replace('\n', " "));
                    }
                }
                (_, FieldAnchor::None | FieldAnchor::Add) if field.key != "name" => rest.push(field.clone()),
                _ => {
                    return refuse_conversion(
                        "an item that does not say which elements it is about",
                        &field.path,
                    );
                }
            }
        }
        if !is_chosen || rest.is_empty() {
            return refuse_conversion("an item that does not say which elements it is about", at);
        }
        let inner = AppliedPlace {
            type_name: place.type_name.clone(),
            reader: item.clone(),
            keys: None,
            types: &types,
            is_new: false,
        };
        let patch = self.structure(&rest, &inner)?;
        let named = patch.replacen('{', &format!("{{name: {item}.name, "), 1);
        let list = match list.optional {
            // A loop over a list that is not there is an error.
            Some(optional) if is_optional(&optional) && self.element.is_none() => {
                format!("{optional}.orValue([])")
            }
            _ => list.value,
        };
        let chosen = match tests.is_empty() {
            true => list,
            false => format!("{list}.filter({item}, {})", all_tests(&tests)),
        };
        Ok(format!("{chosen}.map({item}, {named})"))
    }
}

fn with_key(keys: &[String], key: &str) -> Vec<String> {
    keys.iter().cloned().chain([key.to_owned()]).collect()
}

/// Returns whether a text is the name of the element of the loop.
fn is_name_of_element(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim() == "element.name")
}

/// Returns the types of a field in all kinds.
fn field_types(types: &[StructuredType], field: &PatchField) -> ConversionResult<Vec<StructuredType>> {
    let one = |whole: &StructuredType| match whole.shape() {
        StructuredShape::Map(item, _) => Some(item),
        _ => whole.field(&field.key),
    };
    match types.iter().map(one).collect() {
        Some(found) => Ok(found),
        None => {
            refuse_conversion(&format!("`{}` is a field that the kind does not have", field.key), &field.path)
        }
    }
}

fn is_scalar_of(shape: StructuredShape, value: &Value) -> bool {
    let is_variable = value.as_str().is_some_and(|text| text.contains("{{"));
    match (shape, value) {
        (StructuredShape::Text | StructuredShape::Plain, Value::String(_)) => true,
        (StructuredShape::Number | StructuredShape::Plain, Value::Number(number)) => {
            number.as_i64().is_some()
        }
        (StructuredShape::Boolean, Value::Bool(_)) => true,
        (StructuredShape::Anything, _) => !is_variable,
        _ => false,
    }
}
