//! The fields of its variables that an expression reads.

use kubewright_value::{Position, PositionIndex, Text};

use super::CelProgram;
use super::ast::{CelExpr, CelNode, CelOperator};
use super::val::Val;

/// The sources that are followed for one value. A sum of many lists may have more.
const MAX_TRAILS: usize = 8;

/// The step of a path for any item or value.
pub const ANY_STEP: &str = "*";

/// A path that an expression reads from a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldRead {
    /// The variable that the path starts with.
    pub variable: Text,
    /// The fields and keys behind it; [`ANY_STEP`] for an index that is not known, and inside of macros.
    pub path: Vec<Text>,
    /// The byte of the expression at which each step is, for [`CelProgram::position`].
    pub offsets: Vec<u32>,
}

/// A comparison of a field of a variable with a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldComparison {
    /// The field.
    pub field: FieldRead,
    /// The string.
    pub text: Text,
    /// The position of the string in the expression.
    pub position: Position,
}

impl CelProgram {
    /// Returns the comparisons of fields with strings: of `object.kind == 'Pod' || object.kind in ['Job']`, both.
    #[must_use]
    pub fn field_comparisons(&self) -> Vec<FieldComparison> {
        let mut reader = ReadCollector { locals: Vec::new(), found: Vec::new(), compared: Vec::new() };
        reader.complete(&self.root);
        let index = PositionIndex::new(&self.source);
        let compared = reader.compared.into_iter().map(|(trail, text, at)| FieldComparison {
            field: trail.into(),
            text,
            position: index.of(at as usize),
        });
        compared.collect()
    }

    /// Returns the paths that are read from variables, also through macro variables: of
    /// `object.spec.containers.all(c, c.image != '')`, `object.spec.containers` and
    /// `object.spec.containers.*.image`.
    #[must_use]
    pub fn reads(&self) -> Vec<FieldRead> {
        let mut reader = ReadCollector { locals: Vec::new(), found: Vec::new(), compared: Vec::new() };
        reader.complete(&self.root);
        reader.found.into_iter().map(FieldRead::from).collect()
    }

    /// Returns the position of the byte `offset` of the expression.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        Position::of(&self.source, offset as usize)
    }
}

#[derive(Clone)]
struct ReadTrail {
    variable: Text,
    path: Vec<Text>,
    at: Vec<u32>,
}

impl From<ReadTrail> for FieldRead {
    fn from(trail: ReadTrail) -> Self {
        Self { variable: trail.variable, path: trail.path, offsets: trail.at }
    }
}

struct ReadCollector {
    /// The macro variables, the innermost last, with the paths of their values.
    locals: Vec<(Text, Vec<ReadTrail>)>,
    found: Vec<ReadTrail>,
    /// A field, the string that it is compared with, and its position.
    compared: Vec<(ReadTrail, Text, u32)>,
}

impl ReadCollector {
    /// Visits an expression whose value is used as a whole.
    fn complete(&mut self, expr: &CelExpr) {
        let trails = self.follow(expr);
        self.found.extend(trails.into_iter().filter(|trail| !trail.path.is_empty()));
    }

    /// Visits `expr` and returns the paths that its value comes from, as far as they are known.
    fn follow(&mut self, expr: &CelExpr) -> Vec<ReadTrail> {
        match &expr.node {
            CelNode::Identifier { name, is_absolute } => self.named(name, *is_absolute),
            CelNode::Select { operand, field, .. } => {
                extend_trails(self.follow(operand), field, expr.span.start)
            }
            CelNode::Index { operand, index, .. } => {
                let trails = self.follow(operand);
                let key = match &index.node {
                    CelNode::Literal(Val::String(text)) => text.as_str(),
                    _ => {
                        self.complete(index);
                        ANY_STEP
                    }
                };
                extend_trails(trails, key, expr.span.start)
            }
            CelNode::Call { target, name, arguments } => self.call(expr, target.as_deref(), name, arguments),
            CelNode::Conditional(parts) => {
                self.complete(&parts.0);
                let then = self.follow(&parts.1);
                join_trails(then, self.follow(&parts.2))
            }
            CelNode::Chain(first, rest)
                if rest.iter().all(|(operator, ..)| *operator == CelOperator::Add) =>
            {
                let first = self.follow(first);
                rest.iter().fold(first, |trails, (_, operand, _)| join_trails(trails, self.follow(operand)))
            }
            node => {
                if let CelNode::Chain(first, rest) = node
                    && let [(operator, second, _)] = rest.as_slice()
                {
                    self.compare(first, *operator, second);
                }
                node.children().for_each(|child| self.complete(child));
                Vec::new()
            }
        }
    }

    /// Records a comparison of a path with a string, or with a list of strings.
    fn compare(&mut self, first: &CelExpr, operator: CelOperator, second: &CelExpr) {
        let (field, texts): (&CelExpr, Vec<&CelExpr>) = match (operator, &first.node, &second.node) {
            (CelOperator::Equal | CelOperator::NotEqual, CelNode::Literal(_), _) => (second, vec![first]),
            (CelOperator::Equal | CelOperator::NotEqual, _, CelNode::Literal(_)) => (first, vec![second]),
            (CelOperator::In, _, CelNode::List(items)) => {
                (first, items.iter().map(|item| &item.expr).collect())
            }
            _ => return,
        };
        if !is_path(field) {
            return;
        }
        let Some(trail) = self.follow(field).into_iter().next() else { return };
        for text in texts {
            if let CelNode::Literal(Val::String(known)) = &text.node {
                self.compared.push((trail.clone(), Text::new(known.as_str()), text.span.start));
            }
        }
    }

    fn named(&self, name: &Text, is_absolute: bool) -> Vec<ReadTrail> {
        let local = self.locals.iter().rev().find(|(local, _)| !is_absolute && local == name);
        match local {
            Some((_, trails)) => trails.clone(),
            None => vec![ReadTrail { variable: name.clone(), path: Vec::new(), at: Vec::new() }],
        }
    }

    fn call(
        &mut self,
        expr: &CelExpr,
        target: Option<&CelExpr>,
        name: &str,
        arguments: &[CelExpr],
    ) -> Vec<ReadTrail> {
        let Some(target) = target else {
            arguments.iter().for_each(|argument| self.complete(argument));
            return Vec::new();
        };
        if let ("bind", [variable, value, body], Some("cel")) =
            (name, arguments, target.as_name().map(Text::as_str))
        {
            let value = self.follow(value);
            self.found.extend(value.iter().filter(|trail| !trail.path.is_empty()).cloned());
            return self.within(&[(variable, value)], &[], body);
        }
        let trails = self.follow(target);
        let items = || extend_trails(trails.clone(), ANY_STEP, expr.span.start);
        match (name, arguments) {
            ("optMap" | "optFlatMap", [variable, body]) => {
                self.found.extend(trails.iter().cloned());
                return self.within(&[(variable, trails)], &[], body);
            }
            ("filter" | "sortBy", [variable, body]) => {
                let found = self.within(&[(variable, items())], &[], body);
                self.found.extend(found);
                return trails;
            }
            ("all" | "exists" | "exists_one" | "existsOne" | "map", [variable, rest @ .., body])
                if variable.as_name().is_some() && rest.len() < 2 =>
            {
                // With three arguments it is either a filter or a second variable.
                let found = match (rest, name) {
                    ([second], "all" | "exists" | "exists_one" | "existsOne") => {
                        self.within(&[(variable, Vec::new()), (second, items())], &[], body)
                    }
                    (filters, _) => self.within(&[(variable, items())], filters, body),
                };
                self.found.extend(found);
            }
            ("transformList" | "transformMap" | "transformMapEntry", [first, second, filters @ .., body]) => {
                let found = self.within(&[(first, Vec::new()), (second, items())], filters, body);
                self.found.extend(found);
            }
            ("orValue" | "or", [other]) => return join_trails(trails, self.follow(other)),
            ("value" | "sort" | "reverse" | "distinct", []) => return trails,
            ("first" | "last", []) => return items(),
            _ => arguments.iter().for_each(|argument| self.complete(argument)),
        }
        self.found.extend(trails.into_iter().filter(|trail| !trail.path.is_empty()));
        Vec::new()
    }

    /// Visits the body of a macro with its variables in scope.
    fn within(
        &mut self,
        variables: &[(&CelExpr, Vec<ReadTrail>)],
        filters: &[CelExpr],
        body: &CelExpr,
    ) -> Vec<ReadTrail> {
        let before = self.locals.len();
        for (variable, trails) in variables {
            if let Some(name) = variable.as_name() {
                self.locals.push((name.clone(), trails.clone()));
            }
        }
        filters.iter().for_each(|filter| self.complete(filter));
        let found = self.follow(body);
        self.locals.truncate(before);
        found
    }
}

/// Returns whether `expr` is an identifier with fields or string indexes only.
fn is_path(expr: &CelExpr) -> bool {
    match &expr.node {
        CelNode::Identifier { .. } => true,
        CelNode::Select { operand, is_optional: false, .. } => is_path(operand),
        CelNode::Index { operand, index, is_optional: false } => {
            matches!(index.node, CelNode::Literal(Val::String(_))) && is_path(operand)
        }
        _ => false,
    }
}

fn extend_trails(mut trails: Vec<ReadTrail>, key: &str, at: u32) -> Vec<ReadTrail> {
    for trail in &mut trails {
        trail.path.push(Text::new(key));
        trail.at.push(at);
    }
    trails
}

fn join_trails(mut trails: Vec<ReadTrail>, more: Vec<ReadTrail>) -> Vec<ReadTrail> {
    trails.extend(more);
    trails.truncate(MAX_TRAILS);
    trails
}

#[cfg(test)]
mod tests;
