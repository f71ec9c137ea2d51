//! The functions of `text/template` itself.

use kubewright_golib::quote::is_printable;

use super::super::call::{Call, Outcome};
use super::super::item::{Item, Width};
use super::super::print::Spec;
use super::super::printf::printf;
use super::super::truth::{NOT_COMPARABLE, equal, is_true, less};
use super::arguments::{any, from, text};
use super::{Function, Type, function, variadic};

pub(super) const TABLE: &[Function] = &[
    // Evaluated by the interpreter, which may leave arguments out.
    variadic("and", &[Type::Raw], Type::Raw, |_, arguments| Ok(any(arguments, 0).clone())),
    variadic("or", &[Type::Raw], Type::Raw, |_, arguments| Ok(any(arguments, 0).clone())),
    variadic("call", &[Type::Raw], Type::Raw, call_value),
    function("not", &[Type::Raw], |_, arguments| Ok(Item::Bool(!is_true(any(arguments, 0))))),
    variadic("eq", &[Type::Raw], Type::Raw, |call, arguments| eq(call, arguments).map(Item::Bool)),
    function("ne", &[Type::Raw, Type::Raw], |call, arguments| {
        eq(call, arguments).map(|equal| Item::Bool(!equal))
    }),
    function("lt", &[Type::Raw, Type::Raw], |_, arguments| compare(arguments, false).map(Item::Bool)),
    function("le", &[Type::Raw, Type::Raw], |_, arguments| compare(arguments, true).map(Item::Bool)),
    function("gt", &[Type::Raw, Type::Raw], |_, arguments| {
        compare(arguments, true).map(|le| Item::Bool(!le))
    }),
    function("ge", &[Type::Raw, Type::Raw], |_, arguments| {
        compare(arguments, false).map(|lt| Item::Bool(!lt))
    }),
    variadic("index", &[Type::Raw], Type::Raw, index),
    function("len", &[Type::Raw], len),
    variadic("print", &[], Type::Any, |call, arguments| Ok(Item::text(sprint(call, arguments)?))),
    variadic("println", &[], Type::Any, println),
    variadic("printf", &[Type::Text], Type::Any, |call, arguments| {
        let format = text(arguments, 0).clone();
        Ok(Item::text(call.print(|printer| printf(printer, &format, from(arguments, 1)))?))
    }),
    variadic("html", &[], Type::Any, |call, arguments| escaped(call, arguments, html)),
    variadic("js", &[], Type::Any, |call, arguments| escaped(call, arguments, js)),
    variadic("urlquery", &[], Type::Any, |call, arguments| escaped(call, arguments, query_escape)),
];

fn call_value(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let callee = any(arguments, 0);
    if callee.is_nil() {
        return Err("call of nil".into());
    }
    let shown = call.text_of(callee)?;
    Err(format!("non-function {shown} of type {}", callee.type_name()).into())
}

fn eq(call: &mut Call<'_>, arguments: &[Item]) -> Result<bool, super::super::call::Failure> {
    let others = from(arguments, 1);
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in others {
        match equal(any(arguments, 0), other) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(message) if message == NOT_COMPARABLE => {
                let shown = call.print(|printer| printer.print(other, &Spec { verb: 's', ..Spec::PLAIN }))?;
                return Err(format!("{message} {shown}: {}", other.type_name()).into());
            }
            Err(message) => return Err(message.into()),
        }
    }
    Ok(false)
}

fn compare(arguments: &[Item], or_equal: bool) -> Result<bool, super::super::call::Failure> {
    let (a, b) = (any(arguments, 0), any(arguments, 1));
    Ok(less(a, b)? || (or_equal && equal(a, b)?))
}

fn index(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut item = any(arguments, 0).clone();
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    for key in from(arguments, 1) {
        item = call.settle(item)?;
        if item.is_nil() {
            return Err("index of nil pointer".into());
        }
        item = step(&item, key)?;
    }
    Ok(item)
}

fn step(item: &Item, key: &Item) -> Outcome {
    if let Some(length) = item.list_len() {
        return Ok(item.element(position(key, length)?).unwrap_or(Item::Nil));
    }
    if let Some(bytes) = item.as_bytes() {
        let at = position(key, bytes.len())?;
        let byte = bytes.get(at).copied().unwrap_or_default();
        return Ok(Item::Int(Width::Uint8, i64::from(byte)));
    }
    let is_text_map = matches!(item, Item::Dict(dict) if dict.of == super::Of::Text);
    match (item.map_len(), key) {
        (None, _) => Err(format!("can't index item of type {}", item.type_name()).into()),
        (_, Item::Text(key)) => Ok(match item.entry(key).unwrap_or(Item::Missing) {
            Item::Missing if is_text_map => Item::EMPTY,
            Item::Missing => Item::Nil,
            found => found,
        }),
        (_, nil) if nil.is_nil() => Err("value is nil; should be of type string".into()),
        (_, other) => Err(format!("value has type {}; should be string", other.type_name()).into()),
    }
}

fn position(key: &Item, length: usize) -> Result<usize, super::super::call::Failure> {
    match key {
        Item::Int(_, value) => match usize::try_from(*value).ok().filter(|at| *at < length) {
            Some(at) => Ok(at),
            None => Err(format!("index out of range: {value}").into()),
        },
        nil if nil.is_nil() => Err("cannot index slice/array with nil".into()),
        other => Err(format!("cannot index slice/array with type {}", other.type_name()).into()),
    }
}

fn len(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let item = any(arguments, 0);
    let length = match item {
        Item::Text(_) | Item::Bytes(_) => item.as_bytes().map(<[u8]>::len),
        other => other.list_len().or_else(|| other.map_len()),
    };
    match length {
        Some(length) => Ok(Item::int(i64::try_from(length).unwrap_or(i64::MAX))),
        None if matches!(item, Item::Nil) => Err("len of nil pointer".into()),
        None if item.is_nil() => Err("reflect: call of reflect.Value.Type on zero Value".into()),
        None => Err(format!("len of type {}", item.type_name()).into()),
    }
}

/// As Go's `Sprint`: a space between two operands of which none is text.
pub(super) fn sprint(call: &mut Call<'_>, arguments: &[Item]) -> Result<String, super::super::call::Failure> {
    call.print(|printer| {
        let mut after_text = true;
        for (i, argument) in arguments.iter().enumerate() {
            let is_text = matches!(argument, Item::Text(_) | Item::Bytes(_));
            if i > 0 && !is_text && !after_text {
                printer.push(" ")?;
            }
            printer.plain(argument)?;
            after_text = is_text;
        }
        Ok(())
    })
}

fn println(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let line = call.print(|printer| {
        for (i, argument) in arguments.iter().enumerate() {
            if i > 0 {
                printer.push(" ")?;
            }
            printer.plain(argument)?;
        }
        printer.push("\n")
    })?;
    Ok(Item::text(line))
}

/// Prints the arguments, nil as `<no value>`, and escapes the result.
fn escaped(call: &mut Call<'_>, arguments: &[Item], escape: fn(&str) -> String) -> Outcome {
    let printed = match arguments {
        [Item::Text(text)] => text.to_string(),
        _ => {
            let shown: Vec<Item> = arguments
                .iter()
                .map(|item| if item.is_nil() { Item::text("<no value>") } else { item.clone() })
                .collect();
            sprint(call, &shown)?
        }
    };
    call.charge(printed.len().saturating_mul(6))?;
    Ok(Item::text(escape(&printed)))
}

fn html(text: &str) -> String {
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

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c if c < ' ' || (c > '\u{7f}' && !is_printable(c)) => {
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
