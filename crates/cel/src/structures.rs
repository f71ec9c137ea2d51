//! The structures that an expression writes, for checks of their fields before any evaluation.

use kubewright_value::{Position, Text};

use super::CelProgram;
use super::ast::{CelExpr, CelNode};

/// A field of a structure as an expression writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructureField {
    /// The name of the structure: `Object.spec`.
    pub structure: Text,
    /// The name of the field.
    pub name: Text,
    /// What is written as its value.
    pub value: StructureFieldValue,
    /// The place of the value in the expression.
    pub position: Position,
}

/// What is written as the value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StructureFieldValue {
    /// A structure, or a list of structures, of this name.
    Structure(Text),
    /// Another list or a map.
    Collection,
    /// Anything else.
    Other,
}

impl CelProgram {
    /// Returns the fields of all structures that the expression writes.
    #[must_use]
    pub fn structure_fields(&self) -> Vec<StructureField> {
        let mut found = Vec::new();
        collect_fields(&self.root, &self.source, &mut found);
        found
    }
}

fn collect_fields(expr: &CelExpr, text: &str, found: &mut Vec<StructureField>) {
    if let CelNode::Struct { name, fields } = &expr.node {
        found.extend(fields.iter().map(|(field, value)| StructureField {
            structure: name.clone(),
            name: field.clone(),
            value: value_form(&value.expr),
            position: Position::of(text, value.expr.span.start as usize),
        }));
    }
    expr.node.children().for_each(|child| collect_fields(child, text, found));
}

fn value_form(expr: &CelExpr) -> StructureFieldValue {
    match &expr.node {
        CelNode::Struct { name, .. } => StructureFieldValue::Structure(name.clone()),
        CelNode::List(items) => match items.first().map(|first| value_form(&first.expr)) {
            Some(form @ StructureFieldValue::Structure(_)) => form,
            _ => StructureFieldValue::Collection,
        },
        CelNode::Map(_) => StructureFieldValue::Collection,
        _ => StructureFieldValue::Other,
    }
}
