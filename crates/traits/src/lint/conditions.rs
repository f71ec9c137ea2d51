//! The checks for constant conditions, empty loops and filters that match nothing.

use kubewright_cel::{CelBindings, CelCost, CelProgram, Val};
use kubewright_patch::path::PathSegment;

use super::Linter;
use crate::compile::PlacedExpression;
use crate::compile::program::{LoopProgram, OperationProgram, PathProgram};
use crate::diagnostics as code;
use kubewright_dialect_kit::fields::locate_within;

impl Linter<'_> {
    pub(super) fn rules<'e>(&mut self, rules: impl Iterator<Item = &'e PlacedExpression>) {
        for rule in rules {
            self.condition("rule", Some(rule));
        }
    }

    /// Reports a condition that reads no variable.
    pub(super) fn condition(&mut self, what: &str, condition: Option<&PlacedExpression>) {
        let Some(Val::Bool(holds)) = condition.and_then(constant_value) else { return };
        let Some(condition) = condition else { return };
        let message = format!("`{what}` is always {holds}");
        let help = match (what, holds) {
            (_, true) => "leave it out, or ask about a parameter or the resource",
            ("rule", false) => "rendering always fails; ask about a parameter or the resource",
            (_, false) => "its patch, template or rule never applies; remove it, or compare a parameter",
        };
        self.report(&code::CONSTANT, self.document.locate(&condition.path), message, help);
    }

    /// Reports a loop over a literal empty list or map.
    pub(super) fn check_empty_loop(&mut self, each: &LoopProgram) {
        let is_empty = match constant_value(&each.over) {
            Some(Val::List(list)) => list.is_empty(),
            Some(Val::Map(map)) => map.is_empty(),
            _ => false,
        };
        if is_empty {
            let location = self.document.locate(&each.over.path);
            let help = "loop over a parameter, or leave out what is looped";
            self.report(&code::CONSTANT, location, "`forEach` always goes through nothing", help);
        }
    }

    /// Reports filters by names that no item has.
    pub(super) fn filters(&mut self, operate: &OperationProgram) {
        let (PathProgram::Fixed(path) | PathProgram::Pieces(_, Some(path), _)) = &operate.path.value else {
            return;
        };
        for (number, segment) in path.segments().enumerate() {
            let PathSegment::Filter { field, value } = segment else { continue };
            let is_name = field.last().is_some_and(|field| field == "name");
            if !is_name || (!value.is_empty() && value.trim() == value.as_str()) {
                continue;
            }
            let (position, length) = path.position(number);
            let location = locate_within(self.document, &operate.path.path, position, length);
            let message = match value.is_empty() {
                true => "the filter asks for an empty name, which nothing has".to_owned(),
                false => format!("the filter asks for the name `{value}` with spaces, which nothing has"),
            };
            let help = match value.trim() {
                "" => "write the name between the quotes".to_owned(),
                name => format!("write `'{name}'`"),
            };
            self.report(&code::NEVER_MATCHES, location, message, help);
        }
    }
}

/// Returns the value of an expression that reads no variable.
fn constant_value(expression: &PlacedExpression) -> Option<Val<'_>> {
    let (program, _): (&CelProgram, _) =
        expression.value.programs().next().filter(|_| expression.value.is_whole())?;
    if program.variable_names().next().is_some() {
        return None;
    }
    program.evaluate(&CelBindings::new(), &mut CelCost::default()).ok()
}
