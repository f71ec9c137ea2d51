//! The steps of a path.

use kubewright_value::{Number, PositionHint, Text, Value};

use super::super::ast::{
    ExprNode, ParsedPath, ParsedStep, ParsedStepKind, PathExpr, RootOrCurrent, StaticKey,
};
use super::super::convert;
use super::super::scan::ScanError;
use super::PathParser;

/// The content of a pair of brackets.
enum BracketKind {
    Keys(Vec<PathExpr>),
    Other(ParsedStepKind),
}

impl PathParser<'_> {
    /// Reads the steps that follow `$` or `@`.
    pub(super) fn path_after(&mut self, origin: RootOrCurrent) -> Result<ParsedPath, ScanError> {
        let mut steps = Vec::new();
        loop {
            let at = self.offset()?;
            let kind = match self.scanner.peek()? {
                Some('.') => {
                    self.scanner.advance(1);
                    self.selected(at, &mut steps)?
                }
                Some('[') => match self.bracket()? {
                    BracketKind::Keys(keys) => one_or_union(keys),
                    BracketKind::Other(kind) => kind,
                },
                Some('(') => self.script()?,
                _ => break,
            };
            steps.push(ParsedStep { kind, at });
        }
        let is_list = steps.iter().any(ParsedStep::is_ambiguous);
        Ok(ParsedPath { origin, steps, is_list })
    }

    /// Reads what follows a dot: a key, a star, or another dot and what that may be followed by.
    fn selected(&mut self, at: u32, steps: &mut Vec<ParsedStep>) -> Result<ParsedStepKind, ScanError> {
        if let Some(name) = self.scanner.identifier()? {
            return Ok(ParsedStepKind::Key(key_from_text(name)));
        }
        if self.scanner.take('*')? {
            return Ok(ParsedStepKind::Wildcard);
        }
        // A dot before a digit belongs to a number.
        if self.scanner.at_number() || !self.scanner.take('.')? {
            return Err(self.unexpected("a key, `*` or `.`")?);
        }
        steps.push(ParsedStep { kind: ParsedStepKind::Descend, at });
        if let Some(name) = self.scanner.identifier()? {
            return Ok(ParsedStepKind::Key(key_from_text(name)));
        }
        if self.scanner.take('*')? {
            return Ok(ParsedStepKind::Wildcard);
        }
        match self.scanner.peek()? {
            Some('(') => self.script(),
            Some('[') => match self.bracket()? {
                BracketKind::Keys(keys) => Ok(ParsedStepKind::Union(keys)),
                BracketKind::Other(ParsedStepKind::Range(_)) => {
                    Err(self.scanner.bad("`..` cannot be followed by a range", 0))
                }
                BracketKind::Other(kind) => Ok(kind),
            },
            _ => Err(self.unexpected("a key, `*`, `[` or `(`")?),
        }
    }

    fn script(&mut self) -> Result<ParsedStepKind, ScanError> {
        self.scanner.advance(1);
        let script = self.expr()?;
        self.close(')', "`)`")?;
        Ok(ParsedStepKind::Script(script))
    }

    fn bracket(&mut self) -> Result<BracketKind, ScanError> {
        self.scanner.advance(1);
        if self.scanner.take('*')? {
            self.close(']', "`]`")?;
            return Ok(BracketKind::Other(ParsedStepKind::Wildcard));
        }
        if self.scanner.take('?')? {
            let filter = self.expr()?;
            self.close(']', "`]`")?;
            return Ok(BracketKind::Other(ParsedStepKind::Filter(filter)));
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
        Ok(BracketKind::Keys(keys))
    }

    /// Reads a range from its first colon on.
    fn range(&mut self, first: Option<PathExpr>) -> Result<BracketKind, ScanError> {
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
        Ok(BracketKind::Other(ParsedStepKind::Range(bounds)))
    }
}

/// Returns the step for keys that are not behind `..`: one key finds one value.
fn one_or_union(mut keys: Vec<PathExpr>) -> ParsedStepKind {
    if keys.len() != 1 {
        return ParsedStepKind::Union(keys);
    }
    match keys.pop() {
        None => ParsedStepKind::Union(keys),
        Some(PathExpr { node: ExprNode::Literal(Value::String(name)), .. }) => {
            ParsedStepKind::Key(key_from_text(&name))
        }
        Some(PathExpr { node: ExprNode::Literal(Value::Number(number)), .. }) => {
            ParsedStepKind::Key(key_from_number(number))
        }
        Some(computed) => ParsedStepKind::Computed(computed),
    }
}

fn key_from_text(name: &str) -> StaticKey {
    let index = convert::number_from_text(name).map(convert::go_integer);
    StaticKey { name: Text::new(name), index, is_number: false, position_hint: PositionHint::default() }
}

fn key_from_number(number: Number) -> StaticKey {
    let name = super::super::render_text(&Value::Number(number)).into_owned();
    StaticKey {
        name: Text::from(name),
        index: Some(convert::go_integer(number)),
        is_number: true,
        position_hint: PositionHint::default(),
    }
}
