//! Extensions of relationships of the contract: `strength`, `via`, `matchByName`, `transitive`, `criteria`,
//! `atLeast`.

use kubewright_engine::Diagnostic;
use kubewright_graph::Strength;
use kubewright_value::Text;

use super::super::criteria::{CriterionOrigin, CriterionSide, ValueCriterion};
use super::super::diagnostics as code;
use super::super::operator::{ConditionOperator, NumericOrder, scalar_text};
use super::super::pattern::{EdgeDirection, RelationshipList};
use super::criteria::read_transform;
use super::{WrittenCriterion, WrittenEdgeOptions, WrittenSide, read_word};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// The fields that this reads.
pub(super) const OPTION_FIELDS: [&str; 7] =
    ["direction", "strength", "via", "matchByName", "transitive", "criteria", "atLeast"];

const STRENGTHS: [(&str, Strength); 4] = [
    ("REQUIRED", Strength::Required),
    ("OPTIONAL", Strength::Optional),
    ("PREFERRED", Strength::Preferred),
    ("IMPLICIT", Strength::Implicit),
];

const CRITERION_OPERATORS: [(&str, ConditionOperator); 10] = [
    ("EQUALS", ConditionOperator::Equals),
    ("NOT_EQUALS", ConditionOperator::NotEquals),
    ("IN", ConditionOperator::Equals),
    ("NOT_IN", ConditionOperator::NotEquals),
    ("CONTAINS", ConditionOperator::Contains),
    ("NOT_CONTAINS", ConditionOperator::NotContains),
    ("GREATER_THAN", ConditionOperator::Is(NumericOrder::Greater)),
    ("GREATER_OR_EQUAL", ConditionOperator::Is(NumericOrder::GreaterOrEqual)),
    ("LESS_THAN", ConditionOperator::Is(NumericOrder::Less)),
    ("LESS_OR_EQUAL", ConditionOperator::Is(NumericOrder::LessOrEqual)),
];

/// Reads the type of a relationship, or several of which one will do.
pub(super) fn read_relationship_types<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Vec<Located<Text>> {
    let is_list = reader.any(item, "type").is_some_and(|found| found.value.as_array().is_some());
    if !is_list {
        return reader.filled(item, "type").into_iter().collect();
    }
    let names = reader.strings(item, "type").unwrap_or_default();
    if names.is_empty() {
        reader.missing(item, "type");
    }
    let stands_alone =
        |name: &&Located<Text>| ["CUSTOM", "ANY"].iter().any(|word| name.value.eq_ignore_ascii_case(word));
    if let Some(name) = names.iter().find(stands_alone) {
        let message = format!("`{}` cannot be combined with other types", name.value);
        let location = reader.place(&name.path);
        let help = "write it alone, without a list";
        reader.report(Diagnostic::new(&code::UNKNOWN_VALUE, message, location).help(help));
    }
    names
}

/// Reads what `item`, a relationship of one of the types `names` in `list`, asks of edges.
pub(super) fn read_edge_options<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    names: &[Located<Text>],
    list: RelationshipList,
) -> WrittenEdgeOptions {
    let words = [
        ("ANY", EdgeDirection::Any),
        ("FORWARD", EdgeDirection::Forward),
        ("BACKWARD", EdgeDirection::Backward),
    ];
    let direction = reader.string(item, "direction");
    let direction = direction.and_then(|found| read_word(reader, &found, "direction", &words));
    let strengths = read_texts(reader, item, "strength");
    let strengths =
        strengths.iter().filter_map(|found| read_word(reader, found, "strength", &STRENGTHS)).collect();
    let via = read_texts(reader, item, "via").into_iter().map(|found| found.value).collect();
    let by_name = reader.boolean(item, "matchByName").unwrap_or(true);
    let is_transitive = reader.boolean(item, "transitive").unwrap_or(false);
    let options = WrittenEdgeOptions {
        direction,
        strengths,
        via,
        by_name,
        is_transitive,
        criteria: read_edge_criteria(reader, item),
    };
    check_options_fit(reader, item, names, list, &options);
    options
}

/// Reads a number of objects, from one on.
pub(super) fn at_least<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<Located<usize>> {
    let found = reader.integer(item, "atLeast")?;
    match usize::try_from(found.value) {
        Ok(value) if value > 0 => Some(Located { value, path: found.path }),
        _ => {
            let message = format!("`atLeast` is `{}`, expected a number of one or more", found.value);
            let location = reader.place(&found.path);
            let help = "to require that there is none, write `shared: false`";
            reader.report(Diagnostic::new(&code::BAD_COUNT, message, location).help(help));
            None
        }
    }
}

/// Reports options that the relationship cannot have.
fn check_options_fit<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    names: &[Located<Text>],
    list: RelationshipList,
    options: &WrittenEdgeOptions,
) {
    let is = |name: &str| matches!(names, [only] if only.value.eq_ignore_ascii_case(name));
    let is_custom = is("CUSTOM");
    let mut wrong = |key: &str, message: &str, help: &str| {
        if reader.any(item, key).is_some() {
            let location = reader.place(&child_path(&item.path, key));
            let message = format!("`{key}` {message}");
            reader.report(Diagnostic::new(&code::BAD_OPTION, message, location).help(help));
        }
    };
    if is_custom {
        for key in ["direction", "strength", "via"] {
            wrong(key, "is about edges, and `CUSTOM` looks at none", "remove it, or name a type of edge");
        }
    }
    if list == RelationshipList::Common
        && options.direction.is_some_and(|direction| direction != EdgeDirection::Any)
    {
        let message = "has no effect in `commonRelationships`";
        wrong("direction", message, "remove it, or write the relationship into `relationships`");
    }
    let is_mounted_by_both = is("MOUNTS") && list == RelationshipList::Common;
    if !options.by_name && !is_mounted_by_both {
        let message = "applies to shared volumes only";
        wrong("matchByName", message, "use it with `MOUNTS` in `commonRelationships`");
    }
    if options.is_transitive {
        let help = "use it with `OWNS` in `relationships`; `MANAGES` is always transitive";
        if !is("OWNS") || list == RelationshipList::Common {
            wrong("transitive", "is about owners of owners", help);
        }
        for key in ["strength", "via"] {
            wrong(key, "is about one edge, and `transitive` follows several", "remove one of the two");
        }
    }
    let location = reader.place(&child_path(&item.path, "type"));
    if is_custom && options.criteria.is_empty() {
        let message = "a custom relationship has no criteria";
        let help = "add `criteria`: which values must agree";
        reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
    } else if is_custom && !options.criteria.iter().any(|one| one.operator == ConditionOperator::Equals) {
        let message = "a custom relationship has no criterion with `EQUALS`";
        let help =
            "without one every object would be compared with every other; add a criterion with `EQUALS`";
        reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
    }
}

/// Reads a text, or a list of texts.
pub(super) fn read_texts<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    key: &str,
) -> Vec<Located<Text>> {
    let is_list = reader.any(item, key).is_some_and(|found| found.value.as_array().is_some());
    match is_list {
        true => reader.strings(item, key).unwrap_or_default(),
        false => reader.string(item, key).into_iter().collect(),
    }
}

fn read_edge_criteria<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Vec<WrittenCriterion> {
    let items = reader.objects(item, "criteria").unwrap_or_default();
    items.iter().filter_map(|item| read_edge_criterion(reader, item)).collect()
}

fn read_edge_criterion<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<WrittenCriterion> {
    let first = ["path", "value", "default", "transform"];
    let second = ["otherPath", "otherValue", "otherDefault", "otherTransform"];
    reader.only(item, &[&first[..], &second, &["operator"]].concat());
    let (target, dependency) =
        (read_criterion_side(reader, item, first), read_criterion_side(reader, item, second));
    let is_fixed = |side: &Option<WrittenSide>| {
        side.as_ref().is_some_and(|side| matches!(side.origin, CriterionOrigin::Value(_)))
    };
    if is_fixed(&target) && is_fixed(&dependency) {
        let message = "both sides of the criterion are constants";
        let location = reader.place(&child_path(&item.path, "value"));
        let help = "write `path` or `otherPath`";
        reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
    }
    let operator = reader.filled(item, "operator");
    let operator = operator.and_then(|found| read_word(reader, &found, "operator", &CRITERION_OPERATORS));
    Some(ValueCriterion { target: target?, dependency: dependency?, operator: operator? })
}

/// Reads one side: paths with a default, or a value; and a transformation.
fn read_criterion_side<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    keys: [&str; 4],
) -> Option<WrittenSide> {
    let [path, value, default, transform] = keys;
    let origin = match read_scalar_text(reader, item, value) {
        Some(fixed) => CriterionOrigin::Value(fixed),
        None => {
            let paths = read_texts(reader, item, path);
            if paths.is_empty() || paths.iter().any(|path| path.value.trim().is_empty()) {
                reader.missing(item, path);
                return None;
            }
            CriterionOrigin::Paths(paths)
        }
    };
    let default = read_scalar_text(reader, item, default).map(CriterionOrigin::Value);
    let transform = reader.object(item, transform).and_then(|fields| read_transform(reader, &fields));
    Some(CriterionSide { origin, default, transform })
}

/// Reads a text, number or boolean as it is written.
fn read_scalar_text<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    key: &str,
) -> Option<Text> {
    let found = reader.any(item, key)?;
    if scalar_text(found.value).is_none() {
        // Reports that it is not a text.
        reader.string(item, key);
    }
    scalar_text(found.value)
}
