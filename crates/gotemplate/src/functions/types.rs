//! Sprig's questions about types, and its defaults.

use super::super::item::Item;
use super::super::truth::{deep_equal, is_true};
use super::arguments::{any, text};
use super::{Function, Type, function, variadic};

pub(super) const TABLE: &[Function] = &[
    variadic("default", &[Type::Any], Type::Any, |_, a| {
        Ok(a.get(1).filter(|given| is_true(given)).unwrap_or(any(a, 0)).clone())
    }),
    function("empty", &[Type::Any], |_, a| Ok(Item::Bool(!is_true(any(a, 0))))),
    variadic("coalesce", &[], Type::Any, |_, a| {
        Ok(a.iter().find(|item| is_true(item)).cloned().unwrap_or(Item::Nil))
    }),
    variadic("all", &[], Type::Any, |_, a| Ok(Item::Bool(a.iter().all(is_true)))),
    variadic("any", &[], Type::Any, |_, a| Ok(Item::Bool(a.iter().any(is_true)))),
    function("ternary", &[Type::Any, Type::Any, Type::Bool], |_, a| {
        Ok(any(a, if matches!(any(a, 2), Item::Bool(true)) { 0 } else { 1 }).clone())
    }),
    function("typeOf", &[Type::Any], |_, a| Ok(Item::text(any(a, 0).type_name()))),
    function("typeIs", &[Type::Text, Type::Any], |_, a| Ok(Item::Bool(text(a, 0) == any(a, 1).type_name()))),
    function("typeIsLike", &[Type::Text, Type::Any], |_, a| {
        let (wanted, found) = (text(a, 0).as_str(), any(a, 1).type_name());
        Ok(Item::Bool(found == wanted || found.strip_prefix('*') == Some(wanted)))
    }),
    function("kindOf", &[Type::Any], |_, a| Ok(Item::text(any(a, 0).kind_name()))),
    function("kindIs", &[Type::Text, Type::Any], |_, a| Ok(Item::Bool(text(a, 0) == any(a, 1).kind_name()))),
    function("deepEqual", &[Type::Any, Type::Any], |call, a| {
        Ok(Item::Bool(deep_equal(any(a, 0), any(a, 1), call.budget)?))
    }),
    function("fail", &[Type::Text], |_, a| Err(text(a, 0).as_str().into())),
];
