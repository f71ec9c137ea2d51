//! Templates with `${…}`, and names.

use std::sync::Arc;

use kubewright_cel::{CelBindings, CelCost, MapEntries, MapVal, Val};
use kubewright_golib::naming;
use kubewright_interpolate::{RenderedValue, ValueTemplate, find_expressions, omitted, render_val};
use kubewright_traits::functions;
use kubewright_value::{Map, Value};

use super::TraitAnswer;
use crate::suites::{case_list, case_text};

/// The mark of an omitted value.
const OMITTED: &str = "$omit";

pub(super) fn find_template_expressions(input: &Value) -> TraitAnswer {
    let string = case_text(input, "string");
    let found = find_expressions(string).map_err(|unfinished| unfinished.message)?;
    let part = |range| Value::from(string.get(range).unwrap_or_default());
    let matches: Vec<Value> = found
        .into_iter()
        .map(|one| Map::from([("fullExpr", part(one.whole)), ("innerExpr", part(one.inner))]).into())
        .collect();
    let matches = if matches.is_empty() { Value::Null } else { Value::array(matches) };
    Ok(Map::from([("matches", matches)]).into())
}

pub(super) fn render_template(input: &Value) -> TraitAnswer {
    let empty = Map::new();
    let inputs = input.get("inputs").and_then(Value::as_object).unwrap_or(&empty);
    let environment = inputs
        .keys()
        .fold(functions::trait_environment(), |environment, name| environment.variable(name.clone()));
    let (template, problems) =
        ValueTemplate::compile(input.get("template").unwrap_or(&Value::Null), &environment);
    if let Some(problem) = problems.first() {
        return Err(problem.message.clone());
    }
    let bindings =
        inputs.iter().fold(CelBindings::new(), |bindings, (name, value)| bindings.with(name, value));
    template_answer(template.render(&bindings, &mut CelCost::default()).map_err(|error| error.message)?)
}

pub(super) fn remove_omitted(input: &Value) -> TraitAnswer {
    let value = omit_marked(input.get("value").unwrap_or(&Value::Null));
    template_answer(render_val(&value, &mut CelCost::default()).map_err(|error| error.message)?)
}

pub(super) fn make_name(input: &Value) -> TraitAnswer {
    let limit = input.get("limit").and_then(Value::as_i64).and_then(|limit| usize::try_from(limit).ok());
    let parts: Vec<&str> = case_list(input, "names").iter().filter_map(Value::as_str).collect();
    let name = naming::hashed_name(&parts, case_text(input, "extraHashInput"), limit.unwrap_or_default())
        .ok_or("no parts")?;
    Ok(Map::from([("name", name.into())]).into())
}

/// Returns `value` without what the original leaves for another function to remove.
pub(super) fn without_omitted(value: &Value) -> Value {
    let Some(map) = value.as_object() else { return value.clone() };
    let kept = map.iter().map(|(key, value)| match value {
        value if is_omit_mark(value) => (key.clone(), value.clone()),
        value => (key.clone(), cleaned(value)),
    });
    Value::object(kept.collect())
}

fn cleaned(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            Value::array(items.iter().filter(|item| !is_omit_mark(item)).map(cleaned).collect())
        }
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !is_omit_mark(value));
            Value::object(kept.map(|(key, value)| (key.clone(), cleaned(value))).collect())
        }
        scalar => scalar.clone(),
    }
}

fn is_omit_mark(value: &Value) -> bool {
    value.get(OMITTED).is_some()
}

fn omit_marked(value: &Value) -> Val<'_> {
    match value {
        value if is_omit_mark(value) => omitted(),
        Value::Array(items) => Val::list(items.iter().map(omit_marked).collect()),
        Value::Object(map) => {
            let entries: MapEntries<'_> =
                map.iter().map(|(key, value)| (key.clone(), omit_marked(value))).collect();
            Val::Map(MapVal::Made(Arc::new(entries)))
        }
        scalar => Val::borrowed(scalar),
    }
}

fn template_answer(rendered: RenderedValue) -> TraitAnswer {
    let value = match rendered {
        RenderedValue::Value(value) => value,
        RenderedValue::Omitted => Map::from([(OMITTED, true.into())]).into(),
    };
    Ok(Map::from([("value", value)]).into())
}
