//! What a `mutate` rule changes, as the mutations of a MutatingPolicy.
//!
//! A merge is an ApplyConfiguration where the types of all its fields allow one, and a JSON patch otherwise. New elements
//! of a list come first, as the rule puts them, which only a JSON patch does.

mod apply;
mod json;
mod tree;

use kubewright_jmespath::JmesPathFunctions;
use kubewright_k8s::PodTemplatePath;
use kubewright_k8s::structured::StructuredType;
use kubewright_value::{Step, Text, Value};

use super::formula::Formula;
use super::reading::{PathExpression, PathExpressionStep, PathRoot};
use super::scope::{ListElements, PathTarget, SingleValue, TranslationScope};
use super::shape::ValueShape;
use super::values::{ValueTranslator, rule_scope};
use super::{match_filters, pattern};
use crate::rebase::{self, TemplateReach};
use crate::resources::{self, KindLookup};
use crate::{ConversionResult, refuse_conversion};
use kubewright_kyverno::matching::kind::kind_parts;
use kubewright_kyverno::pattern::ValidatePattern;
use kubewright_kyverno::source::{Mutate, MutatePatch, RuleSource};
use kubewright_kyverno::tainted::Tainted;
use tree::{FieldAnchor, PatchField, PatchPart};

/// The mutations that a rule becomes, and when they apply.
#[derive(Debug, Clone, Default)]
pub(crate) struct MutationExpressions {
    /// The conditions, by name.
    pub(crate) conditions: Vec<(Text, String)>,
    /// The mutations, in order.
    pub(crate) mutations: Vec<MutationExpression>,
}

/// One mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MutationExpression {
    /// An `applyConfiguration`.
    Apply(String),
    /// A `jsonPatch`.
    Json(String),
}

/// A rule that changes objects, or its variant for controllers.
pub(crate) struct MutationSource<'m> {
    /// The rule as it is written.
    pub(crate) written: &'m RuleSource,
    /// The rule with the kinds of the variant.
    pub(crate) rule: &'m RuleSource,
    /// What it changes.
    pub(crate) mutate: &'m Mutate,
    /// Where the objects of the variant describe Pods.
    pub(crate) workload: PodTemplatePath,
}

/// Returns the mutations of `source`.
///
/// # Errors
/// When CEL cannot change every object in the same way.
pub(crate) fn translate_mutation(
    source: &MutationSource<'_>,
    functions: &JmesPathFunctions,
) -> ConversionResult<MutationExpressions> {
    let mutate = source.mutate;
    if !mutate.targets.is_empty() {
        return refuse_conversion("`targets`: the rule changes objects that exist", &mutate.path);
    }
    let translator = MutationTranslator {
        scope: rule_scope(source.rule)?,
        values_scope: rule_scope(source.written)?,
        functions,
        workload: source.workload,
        types: structured_types(source.rule),
        element: None,
    };
    match &mutate.patch {
        MutatePatch::StrategicMerge(patch) => translator.merge(&patch.value, &patch.path),
        MutatePatch::Json6902(text) => translator.operations(text),
        MutatePatch::Foreach(loops) => translator.loops(loops),
    }
}

struct MutationTranslator<'t> {
    /// The object of the variant.
    scope: TranslationScope,
    /// The object that the values of the rule are written for.
    values_scope: TranslationScope,
    functions: &'t JmesPathFunctions,
    workload: PodTemplatePath,
    /// The types of all kinds; nothing where one of them is not built in.
    types: Option<Vec<StructuredType>>,
    /// The list that a loop is about, as keys, whose elements are patched.
    element: Option<LoopedList>,
}

/// A list whose elements a loop patches.
#[derive(Debug, Clone)]
struct LoopedList {
    keys: Vec<String>,
    /// Tests of an element.
    conditions: Vec<String>,
}

impl MutationTranslator<'_> {
    /// Returns the mutations of a `patchStrategicMerge`.
    fn merge(&self, patch: &Value, at: &[Step]) -> ConversionResult<MutationExpressions> {
        let PatchPart::Map(fields) = PatchPart::read(patch, at)? else {
            return refuse_conversion("the patch is not a map", at);
        };
        let mut fields = fields;
        for key in self.workload.keys().iter().rev() {
            fields = vec![PatchField::around(key, PatchPart::Map(fields), at)];
        }
        let mut conditions = Vec::new();
        let fields = self.take_conditions(fields, &[], &mut conditions)?;
        let condition = Formula::all_of(conditions).simplified();
        let mut made = MutationExpressions::default();
        if condition != Formula::True {
            made.conditions.push((Text::new_static("patch-applies"), condition.written()));
        }
        let (lists, fields) = self.split_new_elements(fields, &[])?;
        if !fields.is_empty() {
            made.mutations.extend(match self.apply(&fields) {
                Ok(applied) => applied,
                Err(refused) if self.element.is_some() => return Err(refused),
                Err(refused) => {
                    self.json_merge(&fields).map_err(|also| if has_list(&fields) { refused } else { also })?
                }
            });
        }
        made.mutations.extend(lists);
        match made.mutations.is_empty() {
            true => refuse_conversion("the patch changes nothing", at),
            false => Ok(made),
        }
    }

    /// Takes the conditions about maps out of `fields`, which are at `keys` in the object.
    fn take_conditions(
        &self,
        fields: Vec<PatchField>,
        keys: &[String],
        conditions: &mut Vec<Formula>,
    ) -> ConversionResult<Vec<PatchField>> {
        let mut kept = Vec::new();
        for field in fields {
            let path: Vec<String> = keys.iter().cloned().chain([field.key.clone()]).collect();
            match (field.anchor, field.part) {
                (FieldAnchor::Condition | FieldAnchor::Global, PatchPart::Scalar(wanted)) => {
                    conditions.push(self.condition(
                        &self.scope,
                        PathRoot::Object,
                        &path,
                        (&wanted, &field.path),
                    )?);
                }
                (FieldAnchor::Condition | FieldAnchor::Global, _) => {
                    return refuse_conversion("a condition that is not about a plain value", &field.path);
                }
                (FieldAnchor::None, PatchPart::Map(inner)) => {
                    let inner = self.take_conditions(inner, &path, conditions)?;
                    if !inner.is_empty() {
                        kept.push(PatchField {
                            part: PatchPart::Map(inner),
                            ..field_of(&field.key, field.anchor, &field.path)
                        });
                    }
                }
                (FieldAnchor::None, PatchPart::List(items)) => {
                    let mut left = Vec::new();
                    for item in items {
                        match global_conditions(&item) {
                            Some(tests) => conditions.push(self.exists(&path, tests)?),
                            None => left.push(item),
                        }
                    }
                    if !left.is_empty() {
                        kept.push(PatchField {
                            part: PatchPart::List(left),
                            ..field_of(&field.key, field.anchor, &field.path)
                        });
                    }
                }
                (anchor, part) => kept.push(PatchField { part, ..field_of(&field.key, anchor, &field.path) }),
            }
        }
        Ok(kept)
    }

    /// Returns whether the value at `keys` is there and fits `wanted`.
    fn condition(
        &self,
        scope: &TranslationScope,
        root: PathRoot,
        keys: &[String],
        (wanted, at): (&Value, &[Step]),
    ) -> ConversionResult<Formula> {
        let Some(PathTarget::One(one)) = scope.find(&path_expression(root, keys)) else {
            return refuse_conversion("a condition about a value of unknown type", at);
        };
        let is_plain = wanted.as_str().is_some_and(|text| !text.contains("{{") && !text.contains("$("));
        if !is_plain || !matches!(one.shape, ValueShape::Word | ValueShape::Text) {
            return refuse_conversion("a condition about a value that is not a text", at);
        }
        let compiled = ValidatePattern::compile(&Tainted::Trusted(wanted.clone()));
        let fits = pattern::translate_pattern_node(&compiled.node, &one.value, one.shape)?;
        Ok(one.there.and(fits.pass))
    }

    /// Returns whether an element of the list at `keys` fits all of `tests`.
    fn exists(&self, keys: &[String], tests: Vec<(&PatchField, &Value)>) -> ConversionResult<Formula> {
        let at = tests.first().map(|(field, _)| field.path.clone()).unwrap_or_default();
        let (elements, _) = self.list(keys, &at)?;
        let scope = self.scope.with_element(&elements);
        let mut each = Formula::True;
        for (field, wanted) in tests {
            let key = [field.key.clone()];
            each = each.and(self.condition(&scope, PathRoot::Element, &key, (wanted, &field.path))?);
        }
        Ok(elements.exists(each))
    }

    /// Returns the elements of the list at `keys`, and the list itself.
    fn list(&self, keys: &[String], at: &[Step]) -> ConversionResult<(ListElements, SingleValue)> {
        match self.scope.find(&path_expression(PathRoot::Object, keys)) {
            Some(PathTarget::One(one)) if one.shape.is_list() => Ok((ListElements::from(one.clone()), one)),
            _ => refuse_conversion("a list of unknown type", at),
        }
    }

    /// Returns a value of the rule, which reads the object of the variant.
    fn value(&self, value: &Value, at: &[Step]) -> ConversionResult<String> {
        let values = ValueTranslator { scope: &self.values_scope, functions: self.functions };
        self.moved(values.value(value, at)?, at)
    }

    /// Returns an expression about Pods for the object of the variant.
    fn moved(&self, text: String, at: &[Step]) -> ConversionResult<String> {
        if self.workload == PodTemplatePath::Pod {
            return Ok(text);
        }
        match rebase::rebase_expression(&text, self.workload, TemplateReach::Description) {
            Some(text) => Ok(text),
            None => refuse_conversion("an expression whose paths cannot be rewritten for controllers", at),
        }
    }

    /// Returns whether every object has something at `keys`.
    fn is_always_there(&self, keys: &[String]) -> bool {
        let found = self.scope.find(&path_expression(PathRoot::Object, keys));
        matches!(found, Some(PathTarget::One(one)) if one.there == Formula::True)
    }
}

/// Returns the tests of an element that only says which elements there must be.
fn global_conditions(item: &PatchPart) -> Option<Vec<(&PatchField, &Value)>> {
    let PatchPart::Map(fields) = item else { return None };
    let mut tests = Vec::new();
    for field in fields {
        match (&field.part, field.anchor) {
            (PatchPart::Scalar(wanted), FieldAnchor::Global) => tests.push((field, wanted)),
            _ => return None,
        }
    }
    Some(tests)
}

fn field_of(key: &str, anchor: FieldAnchor, path: &[Step]) -> PatchField {
    PatchField { anchor, key: key.to_owned(), part: PatchPart::Map(Vec::new()), path: path.to_vec() }
}

fn has_list(fields: &[PatchField]) -> bool {
    fields.iter().any(|field| match &field.part {
        PatchPart::List(items) => items.iter().any(|item| matches!(item, PatchPart::Map(_))),
        PatchPart::Map(fields) => has_list(fields),
        PatchPart::Scalar(_) => false,
    })
}

fn path_expression(root: PathRoot, keys: &[String]) -> PathExpression {
    let steps = keys.iter().cloned().map(PathExpressionStep::Key).collect();
    PathExpression { root, steps, default: None, asked: None }
}

/// Returns the types of the kinds of `rule`; nothing where one of them is not known.
fn structured_types(rule: &RuleSource) -> Option<Vec<StructuredType>> {
    let mut types = Vec::new();
    for kind in match_filters(rule).flat_map(|filter| &filter.kinds) {
        let [_, _, name, part] = kind_parts(&kind.value);
        let KindLookup::Known(found) = resources::find_resources(&kind.value) else { return None };
        if !part.is_empty() || found.is_empty() {
            return None;
        }
        for resource in found {
            let version = match resource.group.as_str() {
                "" => resource.version.to_string(),
                group => format!("{group}/{}", resource.version),
            };
            types.push(StructuredType::of_kind(&version, name)?);
        }
    }
    (!types.is_empty()).then_some(types)
}
