//! The criteria of a relationship: a value of the target, one of the dependency, and how they are compared.

use kubewright_engine::Diagnostic;
use kubewright_golib::regex;

use super::super::criteria::Transform;
use super::super::diagnostics as code;
use super::super::operator::{Operator, Order};
use super::{Criterion, Origin, Side, word};
use kubewright_dialect_kit::fields::{Fields, Reader};

const OPERATORS: [(&str, Operator); 7] = [
    ("EQUALS", Operator::Equals),
    ("NOT_EQUALS", Operator::NotEquals),
    ("CONTAINS", Operator::Contains),
    ("GREATER_THAN", Operator::Is(Order::Greater)),
    ("GREATER_OR_EQUAL", Operator::Is(Order::GreaterOrEqual)),
    ("LESS_THAN", Operator::Is(Order::Less)),
    ("LESS_OR_EQUAL", Operator::Is(Order::LessOrEqual)),
];

pub(super) fn read<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Vec<Criterion> {
    let items = reader.objects(item, "criteria").unwrap_or_default();
    items.iter().filter_map(|item| criterion(reader, item)).collect()
}

fn criterion<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Option<Criterion> {
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
    let target = side(reader, item, ["targetPath", "targetValue", "targetDefault", "targetTransform"]);
    let keys = ["dependencyPath", "dependencyValue", "dependencyDefault", "dependencyTransform"];
    let dependency = side(reader, item, keys);
    let operator = reader.filled(item, "operator");
    let operator = operator.and_then(|found| word(reader, &found, "operator", &OPERATORS));
    Some(Criterion { target: target?, dependency: dependency?, operator: operator? })
}

fn side<'d>(reader: &mut Reader<'d>, item: &Fields<'d>, keys: [&str; 4]) -> Option<Side> {
    let [path, value, default, transform] = keys;
    let origin = match reader.string(item, value) {
        Some(fixed) => Some(Origin::Value(fixed.value)),
        None => reader.filled(item, path).map(|path| Origin::Paths(vec![path])),
    };
    let default = reader.object(item, default).and_then(|fields| {
        reader.only(&fields, &["path", "value"]);
        match reader.string(&fields, "value") {
            Some(fixed) => Some(Origin::Value(fixed.value)),
            None => reader.filled(&fields, "path").map(|path| Origin::Paths(vec![path])),
        }
    });
    let transform = reader.object(item, transform).and_then(|fields| read_transform(reader, &fields));
    Some(Side { origin: origin?, default, transform })
}

pub(super) fn read_transform<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Option<Transform> {
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
            let message = format!("`{}` is no regular expression: {error}", regex.value);
            let location = reader.place(&regex.path);
            reader.report(Diagnostic::new(&code::BAD_TRANSFORM, message, location));
            None
        }
    }
}
