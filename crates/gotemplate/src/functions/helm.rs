//! The functions that Helm adds. `include` and `tpl` execute templates, so the executor runs them itself.

use kubewright_value::{Map, bounded, yaml};

use super::super::call::{CallResult, FunctionCall};
use super::super::item::TemplateItem;
use super::arguments::{argument_or_nil, text_argument};
use super::json::item_to_raw_json;
use super::{FunctionAccess, ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    helm_function("include", &[ParameterType::Text, ParameterType::Raw], |_, _| Ok(TemplateItem::EMPTY)),
    helm_function("tpl", &[ParameterType::Text, ParameterType::Raw], |_, _| Ok(TemplateItem::EMPTY)),
    helm_function("toYaml", &[ParameterType::Any], |call, a| to_yaml(call, argument_or_nil(a, 0))),
    helm_function("fromYaml", &[ParameterType::Text], |call, a| from_yaml(call, text_argument(a, 0))),
    helm_function("fromYamlArray", &[ParameterType::Text], |call, a| from_yaml(call, text_argument(a, 0))),
    helm_function("required", &[ParameterType::Text, ParameterType::Raw], |_, a| match a.get(1) {
        None | Some(TemplateItem::Missing | TemplateItem::Nil) => Err(text_argument(a, 0).as_str().into()),
        Some(TemplateItem::Text(text)) if text.is_empty() => Err(text_argument(a, 0).as_str().into()),
        Some(item) => Ok(item.clone()),
    }),
    // Without a cluster nothing is found.
    helm_function(
        "lookup",
        &[ParameterType::Text, ParameterType::Text, ParameterType::Text, ParameterType::Text],
        |_, _| Ok(TemplateItem::json(&Map::new().into())),
    ),
];

const fn helm_function(
    name: &'static str,
    parameters: &'static [ParameterType],
    run: fn(&mut FunctionCall<'_>, &[TemplateItem]) -> CallResult,
) -> TemplateFunction {
    fixed_function(name, parameters, run).guarded(FunctionAccess::Helm)
}

/// Writes an item as YAML with sorted keys and without the last line break.
fn to_yaml(call: &mut FunctionCall<'_>, item: &TemplateItem) -> CallResult {
    let written = item_to_raw_json(call, item)?;
    let TemplateItem::Text(text) = &written else { return Ok(TemplateItem::EMPTY) };
    // Indentation can make YAML longer than JSON.
    call.charge(text.len().saturating_mul(2))?;
    let value = bounded::parse_bounded_json(text, call.budget)?.map_err(|error| error.to_string())?;
    let text = yaml::write(&value);
    Ok(TemplateItem::text(text.strip_suffix('\n').unwrap_or(&text)))
}

fn from_yaml(call: &mut FunctionCall<'_>, text: &str) -> CallResult {
    match bounded::parse_bounded_yaml(text, call.budget)? {
        Ok(value) => Ok(TemplateItem::json(&value)),
        Err(error) => {
            let error = Map::from([("Error", kubewright_value::Value::from(error.to_string()))]);
            Ok(TemplateItem::json(&error.into()))
        }
    }
}
