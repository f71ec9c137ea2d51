//! The criteria of a relationship: a value of the target, one of the dependency, and how they are compared.

use kubewright_engine::Diagnostic;
use kubewright_golib::regex;

use super::super::criteria::{CriterionOrigin, CriterionSide, Transform, ValueCriterion};
use super::super::diagnostics as code;
use super::super::operator::{ConditionOperator, NumericOrder};
use super::{WrittenCriterion, WrittenSide, read_word};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

const SUCCESSOR_OPERATORS: [(&str, ConditionOperator); 7] = [
    ("EQUALS", ConditionOperator::Equals),
    ("NOT_EQUALS", ConditionOperator::NotEquals),
    ("CONTAINS", ConditionOperator::Contains),
    ("GREATER_THAN", ConditionOperator::Is(NumericOrder::Greater)),
    ("GREATER_OR_EQUAL", ConditionOperator::Is(NumericOrder::GreaterOrEqual)),
    ("LESS_THAN", ConditionOperator::Is(NumericOrder::Less)),
    ("LESS_OR_EQUAL", ConditionOperator::Is(NumericOrder::LessOrEqual)),
];

pub(super) fn read_successor_criteria<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Vec<WrittenCriterion> {
    let items = reader.objects(item, "criteria").unwrap_or_default();
    items.iter().filter_map(|item| read_successor_criterion(reader, item)).collect()
}

fn read_successor_criterion<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<WrittenCriterion> {
    let known = [
        "targetPath",
        "targetValue",
        "targetDefault",
        "targetTransform",
        "dependencyPath",
        "dependencyValue",
        "dependencyDefault",
        "dependencyTransform",
        "operator",
    ];
    reader.only(item, &known);
    let target =
        read_successor_side(reader, item, ["targetPath", "targetValue", "targetDefault", "targetTransform"]);
    let keys = ["dependencyPath", "dependencyValue", "dependencyDefault", "dependencyTransform"];
    let dependency = read_successor_side(reader, item, keys);
    let operator = reader.filled(item, "operator");
    let operator = operator.and_then(|found| read_word(reader, &found, "operator", &SUCCESSOR_OPERATORS));
    Some(ValueCriterion { target: target?, dependency: dependency?, operator: operator? })
}

fn read_successor_side<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    keys: [&str; 4],
) -> Option<WrittenSide> {
    let [path, value, default, transform] = keys;
    let origin = match reader.string(item, value) {
        Some(fixed) => Some(CriterionOrigin::Value(fixed.value)),
        None => reader.filled(item, path).map(|path| CriterionOrigin::Paths(vec![path])),
    };
    let default = reader.object(item, default).and_then(|fields| {
        reader.only(&fields, &["path", "value"]);
        match reader.string(&fields, "value") {
            Some(fixed) => Some(CriterionOrigin::Value(fixed.value)),
            None => reader.filled(&fields, "path").map(|path| CriterionOrigin::Paths(vec![path])),
        }
    });
    let transform = reader.object(item, transform).and_then(|fields| read_transform(reader, &fields));
    Some(CriterionSide { origin: origin?, default, transform })
}

pub(super) fn read_transform<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<Transform> {
    reader.only(fields, &["apiGroup", "lowercase", "split", "regex"]);
    if reader.boolean(fields, "apiGroup") == Some(true) {
        return Some(Transform::ApiGroup);
    }
    if reader.boolean(fields, "lowercase") == Some(true) {
        return Some(Transform::Lowercase);
    }
    if let Some(split) = reader.object(fields, "split") {
        reader.only(&split, &["separator", "index"]);
        let separator = reader.filled(&split, "separator")?.value;
        let index = reader.integer(&split, "index").map_or(0, |found| found.value);
        return Some(Transform::Split { separator, index });
    }
    let regex = reader.string(fields, "regex")?;
    match regex::compile_regex(&regex.value) {
        Ok(compiled) => Some(Transform::Regex(compiled)),
        Err(error) => {
            let message = format!("invalid regular expression `{}`: {error}", regex.value);
            let location = reader.place(&regex.path);
            reader.report(Diagnostic::new(&code::BAD_TRANSFORM, message, location));
            None
        }
    }
}
