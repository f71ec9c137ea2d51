//! The text of a part of an expression.

use std::fmt::{self, Write as _};

use crate::ast::{CelElement, CelExpr, CelNode};
use crate::val::Val;

/// Returns the text of `expr`; the body of a macro is `…` where `is_short`.
pub(crate) fn expression_text(expr: &CelExpr, is_short: bool) -> String {
    let mut text = String::new();
    // Writing to a `String` does not fail.
    let _ = ExpressionText { is_short }.write(&mut text, expr);
    text
}

struct ExpressionText {
    is_short: bool,
}

/// The macros with variables, whose body is their last argument.
const MACROS: [&str; 11] = [
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "filter",
    "map",
    "sortBy",
    "transformList",
    "transformMap",
    "optMap",
    "optFlatMap",
];

impl ExpressionText {
    fn write(&self, out: &mut String, expr: &CelExpr) -> fmt::Result {
        match &expr.node {
            CelNode::Literal(value) => write_literal(out, value),
            CelNode::Identifier { name, is_absolute } => {
                write!(out, "{}{name}", if *is_absolute { "." } else { "" })
            }
            CelNode::Select { operand, field, is_optional } => {
                self.operand(out, operand)?;
                write!(out, ".{}{field}", if *is_optional { "?" } else { "" })
            }
            CelNode::Index { operand, index, is_optional } => {
                self.operand(out, operand)?;
                out.write_str(if *is_optional { "[?" } else { "[" })?;
                self.write(out, index)?;
                out.write_char(']')
            }
            CelNode::Call { target, name, arguments } => {
                if let Some(target) = target {
                    self.operand(out, target)?;
                    out.write_char('.')?;
                }
                write!(out, "{name}(")?;
                let is_macro = target.is_some() && arguments.len() > 1 && MACROS.contains(&name.as_str());
                for (index, argument) in arguments.iter().enumerate() {
                    out.write_str(if index > 0 { ", " } else { "" })?;
                    match self.is_short && is_macro && index + 1 == arguments.len() {
                        true => out.write_char('…')?,
                        false => self.write(out, argument)?,
                    }
                }
                out.write_char(')')
            }
            CelNode::List(elements) => {
                out.write_char('[')?;
                for (index, element) in elements.iter().enumerate() {
                    out.write_str(if index > 0 { ", " } else { "" })?;
                    self.element(out, element)?;
                }
                out.write_char(']')
            }
            CelNode::Map(entries) => {
                out.write_char('{')?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    out.write_str(if index > 0 { ", " } else { "" })?;
                    self.write(out, key)?;
                    out.write_str(": ")?;
                    self.element(out, value)?;
                }
                out.write_char('}')
            }
            CelNode::Struct { name, .. } => write!(out, "{name}{{…}}"),
            CelNode::And(parts) => self.joined(out, parts, " && "),
            CelNode::Or(parts) => self.joined(out, parts, " || "),
            CelNode::Not(operand) => {
                out.write_char('!')?;
                self.operand(out, operand)
            }
            CelNode::Negate(operand) => {
                out.write_char('-')?;
                self.operand(out, operand)
            }
            CelNode::Chain(first, rest) => {
                self.operand(out, first)?;
                for (operator, operand, _) in rest {
                    write!(out, " {} ", operator.sign())?;
                    self.operand(out, operand)?;
                }
                Ok(())
            }
            CelNode::Conditional(parts) => {
                self.operand(out, &parts.0)?;
                out.write_str(" ? ")?;
                self.operand(out, &parts.1)?;
                out.write_str(" : ")?;
                self.operand(out, &parts.2)
            }
        }
    }

    fn element(&self, out: &mut String, element: &CelElement) -> fmt::Result {
        out.write_str(if element.is_optional { "?" } else { "" })?;
        self.write(out, &element.expr)
    }

    fn joined(&self, out: &mut String, parts: &[CelExpr], sign: &str) -> fmt::Result {
        for (index, part) in parts.iter().enumerate() {
            out.write_str(if index > 0 { sign } else { "" })?;
            self.operand(out, part)?;
        }
        Ok(())
    }

    /// Writes a part, in parentheses if it has an operator of its own.
    fn operand(&self, out: &mut String, expr: &CelExpr) -> fmt::Result {
        let has_operator = matches!(
            expr.node,
            CelNode::And(_) | CelNode::Or(_) | CelNode::Chain(..) | CelNode::Conditional(_)
        );
        if !has_operator {
            return self.write(out, expr);
        }
        out.write_char('(')?;
        self.write(out, expr)?;
        out.write_char(')')
    }
}

fn write_literal(out: &mut String, value: &Val<'_>) -> fmt::Result {
    match value {
        Val::String(text) => write!(out, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Val::Null => out.write_str("null"),
        Val::UInt(number) => write!(out, "{number}u"),
        other => match other.to_value() {
            Ok(value) => out.write_str(&kubewright_value::bounded::shortened_json(&value, 120)),
            Err(_) => write!(out, "{other:?}"),
        },
    }
}
