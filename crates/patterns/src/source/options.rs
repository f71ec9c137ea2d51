//! What a relationship of the contract may say beyond it: `strength`, `via`, `matchByName`, `transitive`, `criteria`,
//! `atLeast`.

use kubewright_engine::Diagnostic;
use kubewright_graph::Strength;
use kubewright_value::Text;

use super::super::diagnostics as code;
use super::super::operator::{Operator, Order, text_of};
use super::super::pattern::{Direction, List};
use super::criteria::read_transform;
use super::{Criterion, Options, Origin, Side, word};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// The fields that this reads.
pub(super) const KNOWN: [&str; 7] =
    ["direction", "strength", "via", "matchByName", "transitive", "criteria", "atLeast"];

const STRENGTHS: [(&str, Strength); 4] = [
    ("REQUIRED", Strength::Required),
    ("OPTIONAL", Strength::Optional),
    ("PREFERRED", Strength::Preferred),
    ("IMPLICIT", Strength::Implicit),
];

const OPERATORS: [(&str, Operator); 10] = [
    ("EQUALS", Operator::Equals),
    ("NOT_EQUALS", Operator::NotEquals),
    ("IN", Operator::Equals),
    ("NOT_IN", Operator::NotEquals),
    ("CONTAINS", Operator::Contains),
    ("NOT_CONTAINS", Operator::NotContains),
    ("GREATER_THAN", Operator::Is(Order::Greater)),
    ("GREATER_OR_EQUAL", Operator::Is(Order::GreaterOrEqual)),
    ("LESS_THAN", Operator::Is(Order::Less)),
    ("LESS_OR_EQUAL", Operator::Is(Order::LessOrEqual)),
];

/// Reads the type of a relationship, or several of which one will do.
pub(super) fn types<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Vec<Located<Text>> {
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
        let message = format!("`{}` is no type among others", name.value);
        let location = reader.place(&name.path);
        let help = "write it alone, without a list";
        reader.report(Diagnostic::new(&code::UNKNOWN_VALUE, message, location).help(help));
    }
    names
}

/// Reads what `item`, a relationship of one of the types `names` in `list`, asks of edges.
pub(super) fn read<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    names: &[Located<Text>],
    list: List,
) -> Options {
    let words = [("ANY", Direction::Any), ("FORWARD", Direction::Forward), ("BACKWARD", Direction::Backward)];
    let direction = reader.string(item, "direction");
    let direction = direction.and_then(|found| word(reader, &found, "direction", &words));
    let strengths = texts(reader, item, "strength");
    let strengths =
        strengths.iter().filter_map(|found| word(reader, found, "strength", &STRENGTHS)).collect();
    let via = texts(reader, item, "via").into_iter().map(|found| found.value).collect();
    let by_name = reader.boolean(item, "matchByName").unwrap_or(true);
    let is_transitive = reader.boolean(item, "transitive").unwrap_or(false);
    let options =
        Options { direction, strengths, via, by_name, is_transitive, criteria: criteria(reader, item) };
    fit(reader, item, names, list, &options);
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
            let message = format!("`atLeast` is `{}`, expected a number from one on", found.value);
            let location = reader.place(&found.path);
            let help = "to ask that there is none, write `shared: false`";
            reader.report(Diagnostic::new(&code::BAD_COUNT, message, location).help(help));
            None
        }
    }
}

/// Reports options that the relationship cannot have.
fn fit<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    names: &[Located<Text>],
    list: List,
    options: &Options,
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
    if list == List::Common && options.direction.is_some_and(|direction| direction != Direction::Any) {
        let message = "does not matter for what two objects have in common";
        wrong("direction", message, "remove it, or write the relationship into `relationships`");
    }
    let is_mounted_by_both = is("MOUNTS") && list == List::Common;
    if !options.by_name && !is_mounted_by_both {
        let message = "is about volumes that two objects have in common";
        wrong("matchByName", message, "use it with `MOUNTS` in `commonRelationships`");
    }
    if options.is_transitive {
        let help = "use it with `OWNS` in `relationships`; `MANAGES` is through others anyway";
        if !is("OWNS") || list == List::Common {
            wrong("transitive", "is about owners of owners", help);
        }
        for key in ["strength", "via"] {
            wrong(key, "is about one edge, and `transitive` follows several", "remove one of the two");
        }
    }
    let location = reader.place(&child_path(&item.path, "type"));
    if is_custom && options.criteria.is_empty() {
        let message = "a custom relationship has no criteria";
        let help = "say in `criteria` which values must agree";
        reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
    } else if is_custom && !options.criteria.iter().any(|one| one.operator == Operator::Equals) {
        let message = "a custom relationship has no criterion with `EQUALS`";
        let help = "without one every object would be compared with every other; say which values are equal";
        reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
    }
}

/// Reads a text, or a list of texts.
pub(super) fn texts<'d>(
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

fn criteria<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Vec<Criterion> {
    let items = reader.objects(item, "criteria").unwrap_or_default();
    items.iter().filter_map(|item| criterion(reader, item)).collect()
}

fn criterion<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<Criterion> {
    let first = ["path", "value", "default", "transform"];
    let second = ["otherPath", "otherValue", "otherDefault", "otherTransform"];
    reader.only(item, &[&first[..], &second, &["operator"]].concat());
    let (target, dependency) = (side(reader, item, first), side(reader, item, second));
    let is_fixed =
        |side: &Option<Side>| side.as_ref().is_some_and(|side| matches!(side.origin, Origin::Value(_)));
    if is_fixed(&target) && is_fixed(&dependency) {
        let message = "`value` is compared with `otherValue`, and with nothing of the objects";
        let location = reader.place(&child_path(&item.path, "value"));
        let help = "write `path` or `otherPath`";
        reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
    }
    let operator = reader.filled(item, "operator");
    let operator = operator.and_then(|found| word(reader, &found, "operator", &OPERATORS));
    Some(Criterion { target: target?, dependency: dependency?, operator: operator? })
}

/// Reads one side: a path or several, what stands there where they give nothing, or a value; and what becomes of it.
fn side<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>, keys: [&str; 4]) -> Option<Side> {
    let [path, value, default, transform] = keys;
    let origin = match scalar(reader, item, value) {
        Some(fixed) => Origin::Value(fixed),
        None => {
            let paths = texts(reader, item, path);
            if paths.is_empty() || paths.iter().any(|path| path.value.trim().is_empty()) {
                reader.missing(item, path);
                return None;
            }
            Origin::Paths(paths)
        }
    };
    let default = scalar(reader, item, default).map(Origin::Value);
    let transform = reader.object(item, transform).and_then(|fields| read_transform(reader, &fields));
    Some(Side { origin, default, transform })
}

/// Reads a text, number or boolean as it is written.
fn scalar<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>, key: &str) -> Option<Text> {
    let found = reader.any(item, key)?;
    if text_of(found.value).is_none() {
        // Says that it is no text.
        reader.string(item, key);
    }
    text_of(found.value)
}
