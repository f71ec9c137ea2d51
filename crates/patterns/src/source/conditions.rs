//! The filters of a resource.

use kubewright_engine::Diagnostic;
use kubewright_value::Value;

use super::super::diagnostics as code;
use super::super::filter::Quantifier;
use super::super::operator::OPERATOR_NAMES;
use super::{WrittenCondition, WrittenResource, read_word};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// How a dialect writes a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionStyle {
    /// With `key`; values beside `EXISTS` are passed over.
    Contract,
    /// With `path`; values beside `EXISTS` are a mistake.
    Successor,
}

/// Reads `filters` into `resource`.
pub(super) fn read_filters<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    style: ConditionStyle,
    resource: &mut WrittenResource,
) {
    let Some(filters) = reader.object(fields, "filters") else { return };
    reader.only(&filters, &["matchAll", "matchAny", "matchNone"]);
    let mut group = |key: &str| {
        let items = reader.objects(&filters, key).unwrap_or_default();
        items.iter().filter_map(|item| read_condition(reader, item, style)).collect()
    };
    resource.all = group("matchAll");
    resource.any = group("matchAny");
    resource.none = group("matchNone");
}

fn read_condition<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    style: ConditionStyle,
) -> Option<WrittenCondition> {
    let name = match (style, reader.any(item, "path").is_some(), reader.any(item, "key").is_some()) {
        (ConditionStyle::Contract, true, false) | (ConditionStyle::Successor, _, false) => "path",
        _ => "key",
    };
    reader.only(item, &[name, "operator", "values", "valuesFrom", "quantifier"]);
    let key = reader.filled(item, name);
    let operator = reader.filled(item, "operator");
    let operator = operator.and_then(|found| {
        let operator = read_word(reader, &found, "operator", OPERATOR_NAMES)?;
        if style == ConditionStyle::Successor && !operator.is_of_successor() {
            let message = format!("filters of this version have no operator `{}`", found.value);
            let location = reader.place(&found.path);
            let help = "put the opposite into `matchNone`, or write the pattern as `kubepattern.it/v1`";
            reader.report(Diagnostic::new(&code::BAD_OPTION, message, location).help(help));
        }
        Some(operator)
    });
    let values = read_condition_values(reader, item);
    let values_from = reader.string(item, "valuesFrom");
    let quantifier = quantifier(reader, item);
    let (key, operator) = (key?, operator?);
    let location = match reader.any(item, "values") {
        Some(found) => reader.place(&found.path),
        None => reader.place(&child_path(&item.path, "operator")),
    };
    let is_given = !values.is_empty() || values_from.is_some();
    if operator.takes_values() && !is_given {
        let message = format!("the condition on `{}` needs `values`", key.value);
        reader.report(Diagnostic::new(&code::BAD_VALUES, message, location).help("write `values: […]`"));
    } else if !operator.takes_values() && is_given {
        let code = if style == ConditionStyle::Successor { &code::BAD_VALUES } else { &code::UNREAD_VALUES };
        let message = format!("the operator on `{}` takes no values; they are ignored", key.value);
        reader.report(Diagnostic::new(code, message, location).help("remove `values`, or use `EQUALS`"));
    } else if operator.takes_one() && values.len() > 1 {
        let message = format!("`{}` is compared with the first value only", key.value);
        reader.report(
            Diagnostic::new(&code::UNREAD_VALUES, message, location).help("write a condition for each value"),
        );
    }
    Some(WrittenCondition { key, operator, values, values_from, quantifier })
}

/// Reads of how many elements of an array the condition speaks.
fn quantifier<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<Located<Quantifier>> {
    let found = reader.string(item, "quantifier")?;
    let words = [("ANY", Quantifier::Any), ("ALL", Quantifier::All), ("EACH_LACKS", Quantifier::EachLacks)];
    read_word(reader, &found, "quantifier", &words).map(|value| Located { value, path: found.path })
}

fn read_condition_values<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Vec<Located<Value>> {
    let Some(items) = reader.array(item, "values") else { return Vec::new() };
    let mut values = Vec::with_capacity(items.value.len());
    for (at, value) in items.value.iter().enumerate() {
        let path = child_path(&items.path, at);
        match value {
            Value::Array(_) | Value::Object(_) | Value::Null => {
                let message = format!(
                    "a value to compare with is {}",
                    kubewright_dialect_kit::fields::article(value.kind())
                );
                let location = reader.place(&path);
                reader.report(
                    Diagnostic::new(&code::BAD_VALUES, message, location)
                        .help("values are texts, numbers and booleans"),
                );
            }
            scalar => values.push(Located { value: scalar.clone(), path }),
        }
    }
    values
}
