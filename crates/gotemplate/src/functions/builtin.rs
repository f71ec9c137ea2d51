//! The functions of `text/template` itself.

use kubewright_golib::quote::is_go_printable;

use super::super::call::{CallResult, FunctionCall};
use super::super::item::{IntegerWidth, TemplateItem};
use super::super::print::PrintSpec;
use super::super::printf::printf;
use super::super::truth::{NOT_COMPARABLE, is_item_true, item_less, items_equal};
use super::arguments::{argument_or_nil, arguments_from, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function, variadic_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    // Evaluated by the interpreter, which may leave arguments out.
    variadic_function("and", &[ParameterType::Raw], ParameterType::Raw, |_, arguments| {
        Ok(argument_or_nil(arguments, 0).clone())
    }),
    variadic_function("or", &[ParameterType::Raw], ParameterType::Raw, |_, arguments| {
        Ok(argument_or_nil(arguments, 0).clone())
    }),
    variadic_function("call", &[ParameterType::Raw], ParameterType::Raw, call_value),
    fixed_function("not", &[ParameterType::Raw], |_, arguments| {
        Ok(TemplateItem::Bool(!is_item_true(argument_or_nil(arguments, 0))))
    }),
    variadic_function("eq", &[ParameterType::Raw], ParameterType::Raw, |call, arguments| {
        builtin_eq(call, arguments).map(TemplateItem::Bool)
    }),
    fixed_function("ne", &[ParameterType::Raw, ParameterType::Raw], |call, arguments| {
        builtin_eq(call, arguments).map(|equal| TemplateItem::Bool(!equal))
    }),
    fixed_function("lt", &[ParameterType::Raw, ParameterType::Raw], |_, arguments| {
        compare_arguments(arguments, false).map(TemplateItem::Bool)
    }),
    fixed_function("le", &[ParameterType::Raw, ParameterType::Raw], |_, arguments| {
        compare_arguments(arguments, true).map(TemplateItem::Bool)
    }),
    fixed_function("gt", &[ParameterType::Raw, ParameterType::Raw], |_, arguments| {
        compare_arguments(arguments, true).map(|le| TemplateItem::Bool(!le))
    }),
    fixed_function("ge", &[ParameterType::Raw, ParameterType::Raw], |_, arguments| {
        compare_arguments(arguments, false).map(|lt| TemplateItem::Bool(!lt))
    }),
    variadic_function("index", &[ParameterType::Raw], ParameterType::Raw, builtin_index),
    fixed_function("len", &[ParameterType::Raw], builtin_len),
    variadic_function("print", &[], ParameterType::Any, |call, arguments| {
        Ok(TemplateItem::text(sprint(call, arguments)?))
    }),
    variadic_function("println", &[], ParameterType::Any, println),
    variadic_function("printf", &[ParameterType::Text], ParameterType::Any, |call, arguments| {
        let format = text_argument(arguments, 0).clone();
        Ok(TemplateItem::text(call.print(|printer| printf(printer, &format, arguments_from(arguments, 1)))?))
    }),
    variadic_function("html", &[], ParameterType::Any, |call, arguments| {
        print_escaped(call, arguments, escape_html_as_go)
    }),
    variadic_function("js", &[], ParameterType::Any, |call, arguments| {
        print_escaped(call, arguments, escape_js_as_go)
    }),
    variadic_function("urlquery", &[], ParameterType::Any, |call, arguments| {
        print_escaped(call, arguments, query_escape)
    }),
];

fn call_value(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let callee = argument_or_nil(arguments, 0);
    if callee.is_nil() {
        return Err("call of nil".into());
    }
    let shown = call.text_of(callee)?;
    Err(format!("non-function {shown} of type {}", callee.type_name()).into())
}

fn builtin_eq(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
) -> Result<bool, super::super::call::CallFailure> {
    let others = arguments_from(arguments, 1);
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in others {
        match items_equal(argument_or_nil(arguments, 0), other) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(message) if message == NOT_COMPARABLE => {
                let shown =
                    call.print(|printer| printer.print(other, &PrintSpec { verb: 's', ..PrintSpec::PLAIN }))?;
                return Err(format!("{message} {shown}: {}", other.type_name()).into());
            }
            Err(message) => return Err(message.into()),
        }
    }
    Ok(false)
}

fn compare_arguments(
    arguments: &[TemplateItem],
    or_equal: bool,
) -> Result<bool, super::super::call::CallFailure> {
    let (a, b) = (argument_or_nil(arguments, 0), argument_or_nil(arguments, 1));
    Ok(item_less(a, b)? || (or_equal && items_equal(a, b)?))
}

fn builtin_index(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut item = argument_or_nil(arguments, 0).clone();
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    for key in arguments_from(arguments, 1) {
        item = call.settle(item)?;
        if item.is_nil() {
            return Err("index of nil pointer".into());
        }
        item = index_once(&item, key)?;
    }
    Ok(item)
}

fn index_once(item: &TemplateItem, key: &TemplateItem) -> CallResult {
    if let Some(length) = item.list_len() {
        return Ok(item.element(checked_index(key, length)?).unwrap_or(TemplateItem::Nil));
    }
    if let Some(bytes) = item.as_bytes() {
        let at = checked_index(key, bytes.len())?;
        let byte = bytes.get(at).copied().unwrap_or_default();
        return Ok(TemplateItem::Int(IntegerWidth::Uint8, i64::from(byte)));
    }
    let is_text_map = matches!(item, TemplateItem::Dict(dict) if dict.of == super::ElementType::Text);
    match (item.map_len(), key) {
        (None, _) => Err(format!("can't index item of type {}", item.type_name()).into()),
        (_, TemplateItem::Text(key)) => Ok(match item.entry(key).unwrap_or(TemplateItem::Missing) {
            TemplateItem::Missing if is_text_map => TemplateItem::EMPTY,
            TemplateItem::Missing => TemplateItem::Nil,
            found => found,
        }),
        (_, nil) if nil.is_nil() => Err("value is nil; should be of type string".into()),
        (_, other) => Err(format!("value has type {}; should be string", other.type_name()).into()),
    }
}

fn checked_index(key: &TemplateItem, length: usize) -> Result<usize, super::super::call::CallFailure> {
    match key {
        TemplateItem::Int(_, value) => match usize::try_from(*value).ok().filter(|at| *at < length) {
            Some(at) => Ok(at),
            None => Err(format!("index out of range: {value}").into()),
        },
        nil if nil.is_nil() => Err("cannot index slice/array with nil".into()),
        other => Err(format!("cannot index slice/array with type {}", other.type_name()).into()),
    }
}

fn builtin_len(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let item = argument_or_nil(arguments, 0);
    let length = match item {
        TemplateItem::Text(_) | TemplateItem::Bytes(_) => item.as_bytes().map(<[u8]>::len),
        other => other.list_len().or_else(|| other.map_len()),
    };
    match length {
        Some(length) => Ok(TemplateItem::int(i64::try_from(length).unwrap_or(i64::MAX))),
        None if matches!(item, TemplateItem::Nil) => Err("len of nil pointer".into()),
        None if item.is_nil() => Err("reflect: call of reflect.Value.Type on zero Value".into()),
        None => Err(format!("len of type {}", item.type_name()).into()),
    }
}

/// As Go's `Sprint`: a space between two operands of which none is text.
pub(super) fn sprint(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
) -> Result<String, super::super::call::CallFailure> {
    call.print(|printer| {
        let mut after_text = true;
        for (i, argument) in arguments.iter().enumerate() {
            let is_text = matches!(argument, TemplateItem::Text(_) | TemplateItem::Bytes(_));
            if i > 0 && !is_text && !after_text {
                printer.push(" ")?;
            }
            printer.plain(argument)?;
            after_text = is_text;
        }
        Ok(())
    })
}

fn println(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let line = call.print(|printer| {
        for (i, argument) in arguments.iter().enumerate() {
            if i > 0 {
                printer.push(" ")?;
            }
            printer.plain(argument)?;
        }
        printer.push("\n")
    })?;
    Ok(TemplateItem::text(line))
}

/// Prints the arguments, nil as `<no value>`, and escapes the result.
fn print_escaped(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    escape: fn(&str) -> String,
) -> CallResult {
    let printed = match arguments {
        [TemplateItem::Text(text)] => text.to_string(),
        _ => {
            let shown: Vec<TemplateItem> = arguments
                .iter()
                .map(|item| if item.is_nil() { TemplateItem::text("<no value>") } else { item.clone() })
                .collect();
            sprint(call, &shown)?
        }
    };
    call.charge(printed.len().saturating_mul(6))?;
    Ok(TemplateItem::text(escape(&printed)))
}

fn escape_html_as_go(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn escape_js_as_go(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c if c < ' ' || (c > '\u{7f}' && !is_go_printable(c)) => {
                out.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// As Go's `url.QueryEscape`.
pub(super) fn query_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
