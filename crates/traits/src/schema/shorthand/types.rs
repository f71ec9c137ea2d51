//! The type of a field: `string`, `[]T`, `array<T>`, `map<T>`, `map[string]T`, or a name.

use super::super::MAX_SCHEMA_DEPTH;
use super::super::node::SchemaType;
use super::ShorthandMistake;
use super::tokens::TextPiece;

/// A type as it is written.
pub(super) enum TypeExpression<'t> {
    Plain(SchemaType),
    List(Box<TypeExpression<'t>>),
    Map(Box<TypeExpression<'t>>),
    Named(TextPiece<'t>),
}

/// Reads a type.
pub(super) fn parse_type_expression(piece: TextPiece<'_>) -> Result<TypeExpression<'_>, ShorthandMistake> {
    parse_type_at_depth(piece.trimmed(), 0)
}

fn parse_type_at_depth(piece: TextPiece<'_>, depth: usize) -> Result<TypeExpression<'_>, ShorthandMistake> {
    if depth > MAX_SCHEMA_DEPTH {
        return Err(ShorthandMistake::new(
            piece,
            format!("the type is nested deeper than {MAX_SCHEMA_DEPTH} levels"),
        ));
    }
    match piece.text {
        "string" => return Ok(TypeExpression::Plain(SchemaType::String)),
        "integer" => return Ok(TypeExpression::Plain(SchemaType::Integer)),
        "number" => return Ok(TypeExpression::Plain(SchemaType::Number)),
        "boolean" => return Ok(TypeExpression::Plain(SchemaType::Boolean)),
        "object" => {
            let help = "use `map<string>` for free keys, or a map of fields for known ones";
            return Err(ShorthandMistake::new(piece, "`object` is not allowed as a type").help(help));
        }
        _ => {}
    }
    if piece.text.starts_with("[]") {
        let item = parse_type_at_depth(piece.from(2).trimmed(), depth + 1)?;
        return Ok(TypeExpression::List(Box::new(item)));
    }
    if let Some(item) = type_argument(piece, "array<") {
        return Ok(TypeExpression::List(Box::new(parse_type_at_depth(item?.trimmed(), depth + 1)?)));
    }
    if let Some(value) = type_argument(piece, "map<") {
        return Ok(TypeExpression::Map(Box::new(parse_type_at_depth(value?.trimmed(), depth + 1)?)));
    }
    if piece.text.starts_with("map[") {
        let value = map_value_type(piece)?;
        return Ok(TypeExpression::Map(Box::new(parse_type_at_depth(value.trimmed(), depth + 1)?)));
    }
    Ok(TypeExpression::Named(piece))
}

/// Returns the text between `open` and the final `>`, if the piece starts with `open`.
fn type_argument<'t>(piece: TextPiece<'t>, open: &str) -> Option<Result<TextPiece<'t>, ShorthandMistake>> {
    let rest = piece.text.strip_prefix(open)?;
    Some(match rest.strip_suffix('>') {
        Some(inner) => Ok(piece.until(open.len() + inner.len()).from(open.len())),
        None => {
            let message = format!("invalid type expression `{}`: `>` is missing at the end", piece.text);
            Err(ShorthandMistake::new(piece, message))
        }
    })
}

/// Returns the type of the values of `map[string]T`.
fn map_value_type(piece: TextPiece<'_>) -> Result<TextPiece<'_>, ShorthandMistake> {
    const OPEN: usize = "map[".len();
    let Some(closing) = piece.text.find(']') else {
        let message = format!("invalid map type expression `{}`: `]` is missing", piece.text);
        return Err(ShorthandMistake::new(piece, message).help("write `map[string]T` or `map<T>`"));
    };
    let key = piece.until(closing).from(OPEN).trimmed();
    if key.text != "string" {
        let message = format!("map key type must be `string`, got `{}`", key.text);
        return Err(ShorthandMistake::new(key, message).help("the keys of an object are always text"));
    }
    Ok(piece.from(closing + 1))
}
