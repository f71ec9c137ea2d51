//! The constraints of a field: `name=value`, each a change of its schema.

use kubewright_engine::nearest_word;
use kubewright_golib::regex;
use kubewright_value::{Text, Value};

use super::super::node::{Node, Type};
use super::Mistake;
use super::tokens::{Piece, State};
use super::values;

/// The constraints and the types that each says something about.
const KNOWN: [(&str, &[Type]); 19] = [
    ("default", ANY),
    ("enum", ANY),
    ("minimum", NUMBERS),
    ("maximum", NUMBERS),
    ("exclusiveMinimum", NUMBERS),
    ("exclusiveMaximum", NUMBERS),
    ("multipleOf", NUMBERS),
    ("minLength", TEXTS),
    ("maxLength", TEXTS),
    ("pattern", TEXTS),
    ("format", ANY),
    ("minItems", LISTS),
    ("maxItems", LISTS),
    ("uniqueItems", LISTS),
    ("minProperties", OBJECTS),
    ("maxProperties", OBJECTS),
    ("title", ANY),
    ("description", ANY),
    ("example", ANY),
];
const ANY: &[Type] = &[];
const NUMBERS: &[Type] = &[Type::Integer, Type::Number];
const TEXTS: &[Type] = &[Type::String];
const LISTS: &[Type] = &[Type::Array];
const OBJECTS: &[Type] = &[Type::Object];

/// What other tools put into a field; nothing here reads it.
const FOREIGN: &str = "oc:";

/// Changes `node` as `token` says; returns what is wrong with it.
pub(super) fn apply(node: &mut Node, token: Piece<'_>) -> Vec<Mistake> {
    if token.text.starts_with(FOREIGN) {
        return Vec::new();
    }
    let Some(equals) = token.text.find('=') else { return vec![without_value(token)] };
    let (name, value) = (token.until(equals).trimmed(), token.from(equals + 1).trimmed());
    let mut mistakes = Vec::new();
    match KNOWN.iter().find(|(known, _)| *known == name.text) {
        Some((_, types)) => {
            if let Some(kind) = node.kind.filter(|kind| !types.is_empty() && !types.contains(kind)) {
                let message = format!("`{}` says nothing about type `{}`", name.text, kind.name());
                mistakes.push(Mistake::new(token, message).warning());
            }
            mistakes.extend(swallowed(value));
            mistakes.extend(set(node, name, value).err());
        }
        None => mistakes.push(unknown(name)),
    }
    mistakes
}

fn set(node: &mut Node, name: Piece<'_>, value: Piece<'_>) -> Result<(), Mistake> {
    let bad = |said: String| Mistake::new(value, format!("invalid {} `{}`: {said}", name.text, value.text));
    let plain = || values::unquoted(value.text).map_err(bad);
    let number = || plain().and_then(|text| values::number(&text).map_err(bad));
    let count = || plain().and_then(|text| values::count(&text).map_err(bad));
    let boolean = || plain().and_then(|text| values::boolean(&text).map_err(bad));
    match name.text {
        "default" => node.default = Some(values::parse(value.text, node.kind).map_err(bad)?),
        "enum" => node.choices = choices(node.kind, value)?,
        "minimum" => node.minimum = Some(number()?),
        "maximum" => node.maximum = Some(number()?),
        "exclusiveMinimum" => node.excludes_minimum = boolean()?,
        "exclusiveMaximum" => node.excludes_maximum = boolean()?,
        "multipleOf" => {
            let step = number()?;
            if step.as_f64() <= 0.0 {
                return Err(bad("expected more than 0".to_owned()));
            }
            node.multiple_of = Some(step);
        }
        "minLength" => node.length.least = Some(count()?),
        "maxLength" => node.length.most = Some(count()?),
        "minItems" => node.count.least = Some(count()?),
        "maxItems" => node.count.most = Some(count()?),
        "minProperties" => node.size.least = Some(count()?),
        "maxProperties" => node.size.most = Some(count()?),
        "uniqueItems" => node.is_unique = boolean()?,
        "pattern" => {
            let pattern = regex::compile_regex(&plain()?).map_err(|error| bad(error.to_string()))?;
            node.pattern = Some(pattern);
        }
        "format" => node.format = Some(plain()?.into()),
        "example" => note(node, name.text, values::any(value.text, node.kind).map_err(bad)?),
        _ => note(node, name.text, Value::from(plain()?)),
    }
    Ok(())
}

fn note(node: &mut Node, name: &str, value: Value) {
    node.notes.retain(|(known, _)| known != name);
    node.notes.push((Text::new(name), value));
}

/// Reads `a,b,c`. The list as a whole may stand in quotes, and so may each value.
fn choices(kind: Option<Type>, list: Piece<'_>) -> Result<Vec<Value>, Mistake> {
    let mut parts = commas(list, kind);
    let opened;
    if let [only] = parts.as_slice()
        && values::is_quoted(only.text)
    {
        opened = values::unquoted(only.text).unwrap_or_default();
        parts = commas(Piece { text: &opened, offset: list.offset }, kind);
        // Places inside of the quotes are told as the place of the list.
        return parts.iter().map(|part| choice(kind, part.text, list)).collect();
    }
    if parts.is_empty() {
        return Err(Mistake::new(list, "invalid enum: it has no values").help("write `enum=a,b,c`"));
    }
    parts.iter().map(|part| choice(kind, part.text, *part)).collect()
}

fn choice(kind: Option<Type>, text: &str, place: Piece<'_>) -> Result<Value, Mistake> {
    values::parse(text, kind)
        .map_err(|said| Mistake::new(place, format!("invalid enum value `{text}`: {said}")))
}

/// Returns what stands between commas outside of quotes, and for lists and objects outside of brackets.
fn commas(list: Piece<'_>, kind: Option<Type>) -> Vec<Piece<'_>> {
    let mut parts = Vec::new();
    let mut state = State::default();
    let mut start = 0;
    let has_brackets = matches!(kind, Some(Type::Array | Type::Object));
    for (at, character) in list.text.char_indices() {
        if character == ',' && state.is_outside() {
            parts.push(list.until(at).from(start).trimmed());
            start = at + 1;
            continue;
        }
        let is_text = match character {
            '{' | '}' | '[' | ']' => !has_brackets,
            // An apostrophe within a word is no quote.
            '\'' => state.is_outside() && at > start,
            _ => false,
        };
        if !is_text {
            state.take(at, character);
        }
    }
    parts.push(list.from(start).trimmed());
    parts.retain(|part| !part.text.is_empty());
    parts
}

fn without_value(token: Piece<'_>) -> Mistake {
    let mistake = Mistake::new(token, format!("constraint `{}` is missing a value", token.text));
    mistake.help(match token.text {
        "required" => "leave it out: every field without a default is required",
        _ => "write `name=value` without spaces; a value with spaces goes in quotes",
    })
}

fn unknown(name: Piece<'_>) -> Mistake {
    if name.text == "required" {
        let mistake = Mistake::new(name, "`required` is not allowed");
        return mistake.help("every field is required unless it has a default");
    }
    let mistake = Mistake::new(name, format!("unknown constraint marker `{}`", name.text));
    let known = KNOWN.iter().map(|(known, _)| *known);
    mistake.help(match nearest_word(name.text, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).collect();
            format!("use one of {}", known.join(", "))
        }
    })
}

/// Finds `a,b|default=a`: without spaces around it, the `|` is a part of the value.
fn swallowed(value: Piece<'_>) -> Option<Mistake> {
    if values::is_quoted(value.text) {
        return None;
    }
    let at = KNOWN.iter().find_map(|(known, _)| value.text.find(&format!("|{known}=")))?;
    let message = format!("`{}` is a part of the value", value.from(at).text);
    Some(Mistake::new(value.from(at), message).help("put spaces around the `|`").warning())
}
