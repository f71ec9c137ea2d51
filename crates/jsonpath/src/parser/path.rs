//! The steps of a path.

use kubewright_value::{Number, Text, Value};

use super::super::ast::{Expr, Key, Node, Origin, Path, PathStep, StepKind};
use super::super::convert;
use super::super::scan::Bad;
use super::Parser;

/// What stands between a pair of brackets.
enum Bracket {
    Keys(Vec<Expr>),
    Other(StepKind),
}

impl Parser<'_> {
    /// Reads the steps that follow `$` or `@`.
    pub(super) fn path_after(&mut self, origin: Origin) -> Result<Path, Bad> {
        let mut steps = Vec::new();
        loop {
            let at = self.offset()?;
            let kind = match self.scanner.peek()? {
                Some('.') => {
                    self.scanner.advance(1);
                    self.selected(at, &mut steps)?
                }
                Some('[') => match self.bracket()? {
                    Bracket::Keys(keys) => one_or_union(keys),
                    Bracket::Other(kind) => kind,
                },
                Some('(') => self.script()?,
                _ => break,
            };
            steps.push(PathStep { kind, at });
        }
        let is_list = steps.iter().any(PathStep::is_ambiguous);
        Ok(Path { origin, steps, is_list })
    }

    /// Reads what follows a dot: a key, a star, or another dot and what that may be followed by.
    fn selected(&mut self, at: u32, steps: &mut Vec<PathStep>) -> Result<StepKind, Bad> {
        if let Some(name) = self.scanner.identifier()? {
            return Ok(StepKind::Key(key_from_text(name)));
        }
        if self.scanner.take('*')? {
            return Ok(StepKind::Wildcard);
        }
        // A dot before a digit belongs to a number.
        if self.scanner.at_number() || !self.scanner.take('.')? {
            return Err(self.unexpected("a key, `*` or `.`")?);
        }
        steps.push(PathStep { kind: StepKind::Descend, at });
        if let Some(name) = self.scanner.identifier()? {
            return Ok(StepKind::Key(key_from_text(name)));
        }
        if self.scanner.take('*')? {
            return Ok(StepKind::Wildcard);
        }
        match self.scanner.peek()? {
            Some('(') => self.script(),
            Some('[') => match self.bracket()? {
                Bracket::Keys(keys) => Ok(StepKind::Union(keys)),
                Bracket::Other(StepKind::Range(_)) => {
                    Err(self.scanner.bad("`..` cannot be followed by a range", 0))
                }
                Bracket::Other(kind) => Ok(kind),
            },
            _ => Err(self.unexpected("a key, `*`, `[` or `(`")?),
        }
    }

    fn script(&mut self) -> Result<StepKind, Bad> {
        self.scanner.advance(1);
        let script = self.expr()?;
        self.close(')', "`)`")?;
        Ok(StepKind::Script(script))
    }

    fn bracket(&mut self) -> Result<Bracket, Bad> {
        self.scanner.advance(1);
        if self.scanner.take('*')? {
            self.close(']', "`]`")?;
            return Ok(Bracket::Other(StepKind::Wildcard));
        }
        if self.scanner.take('?')? {
            let filter = self.expr()?;
            self.close(']', "`]`")?;
            return Ok(Bracket::Other(StepKind::Filter(filter)));
        }
        if self.scanner.peek()? == Some(':') {
            return self.range(None);
        }
        let first = self.expr()?;
        if self.scanner.peek()? == Some(':') {
            return self.range(Some(first));
        }
        let mut keys = vec![first];
        while !self.scanner.take(']')? {
            if !self.scanner.take(',')? {
                return Err(self.unexpected("`,`, `:` or `]`")?);
            }
            keys.push(self.expr()?);
        }
        Ok(Bracket::Keys(keys))
    }

    /// Reads a range from its first colon on.
    fn range(&mut self, first: Option<Expr>) -> Result<Bracket, Bad> {
        let mut bounds = [first, None, None];
        let mut slots = bounds.iter_mut().skip(1);
        while !self.scanner.take(']')? {
            if !self.scanner.take(':')? {
                return Err(self.unexpected("`:` or `]`")?);
            }
            let next = self.scanner.peek()?;
            if matches!(next, Some(':' | ']')) {
                slots.next();
                continue;
            }
            let Some(slot) = slots.next() else {
                return Err(self.scanner.bad("a range has at most three parts, `[from:to:step]`", 1));
            };
            *slot = Some(self.expr()?);
        }
        Ok(Bracket::Other(StepKind::Range(bounds)))
    }
}

/// Returns the step for keys that are not behind `..`: one key finds one value.
fn one_or_union(mut keys: Vec<Expr>) -> StepKind {
    if keys.len() != 1 {
        return StepKind::Union(keys);
    }
    match keys.pop() {
        None => StepKind::Union(keys),
        Some(Expr { node: Node::Literal(Value::String(name)), .. }) => StepKind::Key(key_from_text(&name)),
        Some(Expr { node: Node::Literal(Value::Number(number)), .. }) => {
            StepKind::Key(key_from_number(number))
        }
        Some(computed) => StepKind::Computed(computed),
    }
}

fn key_from_text(name: &str) -> Key {
    let index = convert::number_from_text(name).map(convert::integer);
    Key { name: Text::new(name), index, is_number: false }
}

fn key_from_number(number: Number) -> Key {
    let name = super::super::text(&Value::Number(number)).into_owned();
    Key { name: Text::from(name), index: Some(convert::integer(number)), is_number: true }
}
