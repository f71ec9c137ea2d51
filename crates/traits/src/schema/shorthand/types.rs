//! The type of a field: `string`, `[]T`, `array<T>`, `map<T>`, `map[string]T`, or a name.

use super::super::MAX_DEPTH;
use super::super::node::Type;
use super::Mistake;
use super::tokens::Piece;

/// A type as it is written.
pub(super) enum Expression<'t> {
    Plain(Type),
    List(Box<Expression<'t>>),
    Map(Box<Expression<'t>>),
    Named(Piece<'t>),
}

/// Reads a type.
pub(super) fn parse(piece: Piece<'_>) -> Result<Expression<'_>, Mistake> {
    below(piece.trimmed(), 0)
}

fn below(piece: Piece<'_>, depth: usize) -> Result<Expression<'_>, Mistake> {
    if depth > MAX_DEPTH {
        return Err(Mistake::new(piece, format!("the type is nested deeper than {MAX_DEPTH} levels")));
    }
    match piece.text {
        "string" => return Ok(Expression::Plain(Type::String)),
        "integer" => return Ok(Expression::Plain(Type::Integer)),
        "number" => return Ok(Expression::Plain(Type::Number)),
        "boolean" => return Ok(Expression::Plain(Type::Boolean)),
        "object" => {
            let help = "use `map<string>` for free keys, or a map of fields for known ones";
            return Err(Mistake::new(piece, "`object` is not allowed as a type").help(help));
        }
        _ => {}
    }
    if piece.text.starts_with("[]") {
        let item = below(piece.from(2).trimmed(), depth + 1)?;
        return Ok(Expression::List(Box::new(item)));
    }
    if let Some(item) = between(piece, "array<") {
        return Ok(Expression::List(Box::new(below(item?.trimmed(), depth + 1)?)));
    }
    if let Some(value) = between(piece, "map<") {
        return Ok(Expression::Map(Box::new(below(value?.trimmed(), depth + 1)?)));
    }
    if piece.text.starts_with("map[") {
        let value = map_value(piece)?;
        return Ok(Expression::Map(Box::new(below(value.trimmed(), depth + 1)?)));
    }
    Ok(Expression::Named(piece))
}

/// Returns what stands between `open` and the `>` at the end, if the piece starts with `open`.
fn between<'t>(piece: Piece<'t>, open: &str) -> Option<Result<Piece<'t>, Mistake>> {
    let rest = piece.text.strip_prefix(open)?;
    Some(match rest.strip_suffix('>') {
        Some(inner) => Ok(piece.until(open.len() + inner.len()).from(open.len())),
        None => {
            let message = format!("invalid type expression `{}`: `>` is missing at the end", piece.text);
            Err(Mistake::new(piece, message))
        }
    })
}

/// Returns the type of the values of `map[string]T`.
fn map_value(piece: Piece<'_>) -> Result<Piece<'_>, Mistake> {
    const OPEN: usize = "map[".len();
    let Some(closing) = piece.text.find(']') else {
        let message = format!("invalid map type expression `{}`: `]` is missing", piece.text);
        return Err(Mistake::new(piece, message).help("write `map[string]T` or `map<T>`"));
    };
    let key = piece.until(closing).from(OPEN).trimmed();
    if key.text != "string" {
        let message = format!("map key type must be `string`, got `{}`", key.text);
        return Err(Mistake::new(key, message).help("the keys of an object are always text"));
    }
    Ok(piece.from(closing + 1))
}
