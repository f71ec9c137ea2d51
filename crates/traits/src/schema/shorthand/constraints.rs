//! The constraints of a field: `name=value`, each a change of its schema.

use kubewright_engine::nearest_word;
use kubewright_golib::regex;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Text, Value};

use super::super::node::{SchemaNode, SchemaType};
use super::ShorthandMistake;
use super::tokens::{OpenBrackets, TextPiece};
use super::values;

/// The constraints and the types that each applies to.
const CONSTRAINTS: [(&str, &[SchemaType]); 19] = [
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
const ANY: &[SchemaType] = &[];
const NUMBERS: &[SchemaType] = &[SchemaType::Integer, SchemaType::Number];
const TEXTS: &[SchemaType] = &[SchemaType::String];
const LISTS: &[SchemaType] = &[SchemaType::Array];
const OBJECTS: &[SchemaType] = &[SchemaType::Object];

/// The prefix of constraints for other tools, which are ignored.
const FOREIGN_PREFIX: &str = "oc:";

/// Applies the constraint `token` to `node`; returns the mistakes in it.
pub(super) fn apply_constraint(node: &mut SchemaNode, token: TextPiece<'_>) -> Vec<ShorthandMistake> {
    if token.text.starts_with(FOREIGN_PREFIX) {
        return Vec::new();
    }
    let Some(equals) = token.text.find('=') else { return vec![missing_value_mistake(token)] };
    let (name, value) = (token.until(equals).trimmed(), token.from(equals + 1).trimmed());
    let mut mistakes = Vec::new();
    match CONSTRAINTS.iter().find(|(known, _)| *known == name.text) {
        Some((_, types)) => {
            if let Some(kind) = node.kind.filter(|kind| !types.is_empty() && !types.contains(kind)) {
                let message = format!("`{}` says nothing about type `{}`", name.text, kind.name());
                mistakes.push(ShorthandMistake::new(token, message).warning());
            }
            mistakes.extend(swallowed_constraint(value));
            mistakes.extend(set_constraint(node, name, value).err());
        }
        None => mistakes.push(unknown_constraint(name)),
    }
    mistakes
}

fn set_constraint(
    node: &mut SchemaNode,
    name: TextPiece<'_>,
    value: TextPiece<'_>,
) -> Result<(), ShorthandMistake> {
    let bad = |said: String| {
        ShorthandMistake::new(value, format!("invalid {} `{}`: {said}", name.text, value.text))
    };
    let plain = || values::unquote_text(value.text).map_err(bad);
    let number = || plain().and_then(|text| values::parse_number_value(&text).map_err(bad));
    let count = || plain().and_then(|text| values::parse_count(&text).map_err(bad));
    let boolean = || plain().and_then(|text| values::parse_boolean_value(&text).map_err(bad));
    match name.text {
        "default" => node.default = Some(values::parse_typed_value(value.text, node.kind).map_err(bad)?),
        "enum" => node.choices = parse_choices(node.kind, value)?,
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
        "example" => {
            note_annotation(node, name.text, values::parse_any_value(value.text, node.kind).map_err(bad)?);
        }
        _ => note_annotation(node, name.text, Value::from(plain()?)),
    }
    Ok(())
}

fn note_annotation(node: &mut SchemaNode, name: &str, value: Value) {
    node.notes.retain(|(known, _)| known != name);
    node.notes.push((Text::new(name), value));
}

/// Reads `a,b,c`. The list as a whole may be quoted, and so may each value.
fn parse_choices(kind: Option<SchemaType>, list: TextPiece<'_>) -> Result<Vec<Value>, ShorthandMistake> {
    let mut parts = split_at_commas(list, kind);
    let opened;
    if let [only] = parts.as_slice()
        && values::is_quoted(only.text)
    {
        opened = values::unquote_text(only.text).unwrap_or_default();
        parts = split_at_commas(TextPiece { text: &opened, offset: list.offset }, kind);
        // Unquoting shifts positions, so a mistake inside the quotes has the position of the list.
        return parts.iter().map(|part| parse_choice(kind, part.text, list)).collect();
    }
    if parts.is_empty() {
        return Err(ShorthandMistake::new(list, "invalid enum: it has no values").help("write `enum=a,b,c`"));
    }
    parts.iter().map(|part| parse_choice(kind, part.text, *part)).collect()
}

fn parse_choice(
    kind: Option<SchemaType>,
    text: &str,
    place: TextPiece<'_>,
) -> Result<Value, ShorthandMistake> {
    values::parse_typed_value(text, kind)
        .map_err(|said| ShorthandMistake::new(place, format!("invalid enum value `{text}`: {said}")))
}

/// Splits at commas outside of quotes, and for lists and objects outside of brackets.
fn split_at_commas(list: TextPiece<'_>, kind: Option<SchemaType>) -> Vec<TextPiece<'_>> {
    let mut parts = Vec::new();
    let mut state = OpenBrackets::default();
    let mut start = 0;
    let has_brackets = matches!(kind, Some(SchemaType::Array | SchemaType::Object));
    for (at, character) in list.text.char_indices() {
        if character == ',' && state.is_outside() {
            parts.push(list.until(at).from(start).trimmed());
            start = at + 1;
            continue;
        }
        let is_text = match character {
            '{' | '}' | '[' | ']' => !has_brackets,
            // An apostrophe within a word is not a quote.
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

fn missing_value_mistake(token: TextPiece<'_>) -> ShorthandMistake {
    let mistake = ShorthandMistake::new(token, format!("constraint `{}` is missing a value", token.text));
    mistake.help(match token.text {
        "required" => "leave it out: every field without a default is required",
        _ => "write `name=value` without spaces; a value with spaces goes in quotes",
    })
}

fn unknown_constraint(name: TextPiece<'_>) -> ShorthandMistake {
    if name.text == "required" {
        let mistake = ShorthandMistake::new(name, "`required` is not allowed");
        return mistake.help("every field is required unless it has a default");
    }
    let mistake = ShorthandMistake::new(name, format!("unknown constraint marker `{}`", name.text));
    let known = CONSTRAINTS.iter().map(|(known, _)| *known);
    mistake.help(match nearest_word(name.text, known) {
        Some(near) => did_you_mean(near),
        None => {
            let known: Vec<&str> = CONSTRAINTS.iter().map(|(known, _)| *known).collect();
            format!("use one of {}", known.join(", "))
        }
    })
}

/// Finds `a,b|default=a`: without spaces around it, the `|` is a part of the value.
fn swallowed_constraint(value: TextPiece<'_>) -> Option<ShorthandMistake> {
    if values::is_quoted(value.text) {
        return None;
    }
    let at = CONSTRAINTS.iter().find_map(|(known, _)| value.text.find(&format!("|{known}=")))?;
    let message = format!("`{}` is a part of the value", value.from(at).text);
    Some(ShorthandMistake::new(value.from(at), message).help("put spaces around the `|`").warning())
}
