//! Sprig's questions about types, and its defaults.

use super::super::item::TemplateItem;
use super::super::truth::{deep_equal, is_item_true};
use super::arguments::{argument_or_nil, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function, variadic_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    variadic_function("default", &[ParameterType::Any], ParameterType::Any, |_, a| {
        Ok(a.get(1).filter(|given| is_item_true(given)).unwrap_or(argument_or_nil(a, 0)).clone())
    }),
    fixed_function("empty", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::Bool(!is_item_true(argument_or_nil(a, 0))))
    }),
    variadic_function("coalesce", &[], ParameterType::Any, |_, a| {
        Ok(a.iter().find(|item| is_item_true(item)).cloned().unwrap_or(TemplateItem::Nil))
    }),
    variadic_function("all", &[], ParameterType::Any, |_, a| {
        Ok(TemplateItem::Bool(a.iter().all(is_item_true)))
    }),
    variadic_function("any", &[], ParameterType::Any, |_, a| {
        Ok(TemplateItem::Bool(a.iter().any(is_item_true)))
    }),
    fixed_function("ternary", &[ParameterType::Any, ParameterType::Any, ParameterType::Bool], |_, a| {
        Ok(argument_or_nil(a, if matches!(argument_or_nil(a, 2), TemplateItem::Bool(true)) { 0 } else { 1 })
            .clone())
    }),
    fixed_function("typeOf", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::text(argument_or_nil(a, 0).type_name()))
    }),
    fixed_function("typeIs", &[ParameterType::Text, ParameterType::Any], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 0) == argument_or_nil(a, 1).type_name()))
    }),
    fixed_function("typeIsLike", &[ParameterType::Text, ParameterType::Any], |_, a| {
        let (wanted, found) = (text_argument(a, 0).as_str(), argument_or_nil(a, 1).type_name());
        Ok(TemplateItem::Bool(found == wanted || found.strip_prefix('*') == Some(wanted)))
    }),
    fixed_function("kindOf", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::text(argument_or_nil(a, 0).kind_name()))
    }),
    fixed_function("kindIs", &[ParameterType::Text, ParameterType::Any], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 0) == argument_or_nil(a, 1).kind_name()))
    }),
    fixed_function("deepEqual", &[ParameterType::Any, ParameterType::Any], |call, a| {
        Ok(TemplateItem::Bool(deep_equal(argument_or_nil(a, 0), argument_or_nil(a, 1), call.budget)?))
    }),
    fixed_function("fail", &[ParameterType::Text], |_, a| Err(text_argument(a, 0).as_str().into())),
];
