//! The parser: operator precedence by binding power.
//!
//! The right side of a projection extends as far as the binding powers of the reference implementations
//! let it: up to `[]`, a comparison, `&&`, `||`, `|` or a closing bracket.

use kubewright_value::Text;

use super::JmesPathLanguage;
use super::ast::{
    JmesPathComparison, JmesPathExpr, JmesPathNode, JmesPathStep, MAX_HEIGHT, Projection, ProjectionKind,
    SliceBounds,
};
use super::function::{CalledFunctions, JmesPathFunctions};
use super::lex::{self, JmesPathSyntaxError, JmesPathToken, JmesPathTokenKind};

mod select;

/// Parses all of `text`. Also returns which functions it calls.
pub(super) fn parse_jmespath(
    text: &str,
    settings: &ParserSettings<'_>,
) -> Result<(JmesPathExpr, CalledFunctions), JmesPathSyntaxError> {
    let tokens = lex::tokenize_jmespath(text)?;
    let mut parser = JmesPathParser {
        tokens,
        next: 0,
        depth: 0,
        settings,
        calls: CalledFunctions::default(),
        read_slots: 0,
    };
    let expr = parser.expr(0)?;
    match parser.peek() {
        JmesPathTokenKind::End if parser.read_slots < settings.slots.len() => {
            Err(parser.unexpected("a literal or a key in the place of each slot"))
        }
        JmesPathTokenKind::End => Ok((expr, parser.calls)),
        _ => Err(parser.unexpected("an operator or the end of the expression")),
    }
}

/// Operators with less binding power end a projection.
const PROJECTION_STOP_POWER: u8 = 10;
const FLATTEN_POWER: u8 = 9;
const STAR_POWER: u8 = 20;
const FILTER_POWER: u8 = 21;
const DOT_POWER: u8 = 40;
const NOT_POWER: u8 = 45;

fn binding_power(word: &JmesPathTokenKind) -> u8 {
    let JmesPathTokenKind::Sign(sign) = word else { return 0 };
    match *sign {
        "|" => 1,
        "||" => 2,
        "&&" => 3,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 5,
        "[]" => FLATTEN_POWER,
        "*" => STAR_POWER,
        "[?" => FILTER_POWER,
        "." => DOT_POWER,
        "!" => NOT_POWER,
        "{" => 50,
        "[" => 55,
        "(" => 60,
        _ => 0,
    }
}

/// How an expression is parsed.
pub(super) struct ParserSettings<'s> {
    pub(super) functions: &'s JmesPathFunctions,
    pub(super) language: JmesPathLanguage,
    /// Where the literals start that are filled in later.
    pub(super) slots: &'s [usize],
    /// Whether functions may compile literal arguments ahead.
    pub(super) is_prepared: bool,
}

impl<'s> ParserSettings<'s> {
    pub(super) fn new(functions: &'s JmesPathFunctions, language: JmesPathLanguage) -> Self {
        Self { functions, language, slots: &[], is_prepared: true }
    }
}

struct JmesPathParser<'s> {
    tokens: Vec<JmesPathToken>,
    next: usize,
    depth: u32,
    settings: &'s ParserSettings<'s>,
    calls: CalledFunctions,
    read_slots: usize,
}

impl JmesPathParser<'_> {
    /// Reads an expression and the operators after it that bind tighter than `floor`.
    fn expr(&mut self, floor: u8) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        if self.depth == MAX_HEIGHT {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let mut left = self.operand()?;
        while binding_power(self.peek()) > floor {
            left = self.operator(left)?;
            if left.shape.is_too_high() {
                return Err(self.too_deep());
            }
        }
        self.depth -= 1;
        if left.shape.is_too_high() { Err(self.too_deep()) } else { Ok(left) }
    }

    /// Reads the start of an expression.
    fn operand(&mut self) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let at = self.at();
        let current = || JmesPathExpr::new(JmesPathNode::Current, at);
        let (word, next) = (self.peek().clone(), self.peek_at(1));
        match word {
            JmesPathTokenKind::Literal(value) => {
                self.next += 1;
                let literal = JmesPathNode::Literal(value);
                Ok(JmesPathExpr::new(self.slot(at).map_or(literal, JmesPathNode::Slot), at))
            }
            JmesPathTokenKind::Identifier(_) if *next == JmesPathTokenKind::Sign("(") => self.call(),
            JmesPathTokenKind::Identifier(name) => self.key(name, at),
            JmesPathTokenKind::Quoted(name) => {
                if *next == JmesPathTokenKind::Sign("(") {
                    return Err(self.bad("a function name must not be quoted"));
                }
                self.key(name, at)
            }
            JmesPathTokenKind::Sign("*") => {
                self.next += 1;
                self.project(current(), ProjectionKind::Values, STAR_POWER)
            }
            JmesPathTokenKind::Sign("!") => {
                self.next += 1;
                let operand = self.expr(NOT_POWER)?;
                Ok(JmesPathExpr::new(JmesPathNode::Not(Box::new(operand)), at))
            }
            JmesPathTokenKind::Sign("(") => {
                self.next += 1;
                let inner = self.expr(0)?;
                self.take(")")?;
                Ok(inner)
            }
            JmesPathTokenKind::Sign("@") => {
                self.next += 1;
                Ok(current())
            }
            JmesPathTokenKind::Sign("[")
                if matches!(next, JmesPathTokenKind::Number(_) | JmesPathTokenKind::Sign(":")) =>
            {
                self.bracket(current())
            }
            JmesPathTokenKind::Sign("[")
                if *next == JmesPathTokenKind::Sign("*")
                    && *self.peek_at(2) == JmesPathTokenKind::Sign("]") =>
            {
                self.bracket(current())
            }
            JmesPathTokenKind::Sign("[") => self.multi_list(),
            JmesPathTokenKind::Sign("{") => self.multi_object(),
            JmesPathTokenKind::Sign("[]") => self.flatten(current()),
            JmesPathTokenKind::Sign("[?") => self.filter(current()),
            JmesPathTokenKind::Sign("&") => {
                Err(self.bad("`&` is only allowed before an argument of a function"))
            }
            _ => Err(self.unexpected("an expression")),
        }
    }

    /// Returns the number of the slot that starts at `at`.
    fn slot(&mut self, at: u32) -> Option<usize> {
        let slot = self.settings.slots.iter().position(|start| *start == at as usize);
        self.read_slots += usize::from(slot.is_some());
        slot
    }

    fn key(&mut self, name: Text, at: u32) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        self.next += 1;
        let step = match (self.slot(at), self.settings.language) {
            (Some(number), language) => {
                JmesPathStep::Slot { number, is_required: language == JmesPathLanguage::Forgiving }
            }
            (None, JmesPathLanguage::Standard) => JmesPathStep::Key(name.into()),
            (None, JmesPathLanguage::Forgiving) => JmesPathStep::RequiredKey(name.into()),
        };
        Ok(JmesPathExpr::new(JmesPathNode::Current, at).step(step))
    }

    /// Reads an operator and its right operand.
    fn operator(&mut self, left: JmesPathExpr) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let JmesPathTokenKind::Sign(sign) = *self.peek() else { return Err(self.unexpected("an operator")) };
        match sign {
            "." => self.dot(left),
            "[" => self.bracket(left),
            "[]" => self.flatten(left),
            "[?" => self.filter(left),
            "|" | "||" | "&&" => self.chain(left, sign),
            "(" => Err(self.unexpected("an operator, only a name can be called")),
            _ => match parse_comparison(sign) {
                Some(comparison) => {
                    let rank = binding_power(self.peek());
                    self.next += 1;
                    let right = self.expr(rank)?;
                    let at = left.at;
                    Ok(JmesPathExpr::new(JmesPathNode::Compare(comparison, Box::new((left, right))), at))
                }
                None => Err(self.unexpected("an operator")),
            },
        }
    }

    /// Reads all further operands of `sign`, so that a long chain is one node.
    fn chain(&mut self, left: JmesPathExpr, sign: &'static str) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let rank = binding_power(self.peek());
        let at = left.at;
        let mut parts = vec![left];
        while *self.peek() == JmesPathTokenKind::Sign(sign) {
            self.next += 1;
            parts.push(self.expr(rank)?);
        }
        let node = match sign {
            "|" => JmesPathNode::Pipe(parts),
            "||" => JmesPathNode::Or(parts),
            _ => JmesPathNode::And(parts),
        };
        Ok(JmesPathExpr::new(node, at))
    }

    fn dot(&mut self, left: JmesPathExpr) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        self.next += 1;
        if *self.peek() == JmesPathTokenKind::Sign("*") {
            self.next += 1;
            return self.project(left, ProjectionKind::Values, DOT_POWER);
        }
        let right = self.after_dot(DOT_POWER)?;
        Ok(left.then(right))
    }

    /// Reads the expression behind a dot.
    fn after_dot(&mut self, floor: u8) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        match self.peek() {
            JmesPathTokenKind::Identifier(_)
            | JmesPathTokenKind::Quoted(_)
            | JmesPathTokenKind::Sign("*") => self.expr(floor),
            JmesPathTokenKind::Sign("[") => self.multi_list(),
            JmesPathTokenKind::Sign("{") => self.multi_object(),
            _ => Err(self.unexpected("a name, `*`, `[` or `{` after `.`")),
        }
    }

    /// Reads `[0]`, `[0:2]` or `[*]`.
    fn bracket(&mut self, left: JmesPathExpr) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        self.next += 1;
        match (self.peek().clone(), self.peek_at(1)) {
            (JmesPathTokenKind::Number(index), JmesPathTokenKind::Sign("]")) => {
                self.next += 2;
                Ok(left.step(JmesPathStep::Index(index)))
            }
            (JmesPathTokenKind::Number(_) | JmesPathTokenKind::Sign(":"), _) => {
                let slice = self.slice()?;
                self.project(left, ProjectionKind::Slice(slice), STAR_POWER)
            }
            (JmesPathTokenKind::Sign("*"), _) => {
                self.next += 1;
                self.take("]")?;
                self.project(left, ProjectionKind::Items, STAR_POWER)
            }
            _ => Err(self.unexpected("an index, a slice or `*` in `[]`, a key is written `.key`")),
        }
    }

    fn slice(&mut self) -> Result<SliceBounds, JmesPathSyntaxError> {
        let mut parts = [None; 3];
        let mut colons = 0;
        let mut is_number_allowed = true;
        loop {
            match *self.peek() {
                JmesPathTokenKind::Sign("]") => break,
                JmesPathTokenKind::Sign(":") if colons < 2 => {
                    colons += 1;
                    is_number_allowed = true;
                }
                JmesPathTokenKind::Number(number) if is_number_allowed => {
                    if let Some(part) = parts.get_mut(colons) {
                        *part = Some(number);
                    }
                    is_number_allowed = false;
                }
                _ => return Err(self.unexpected("`]`, or a slice as in `[start:stop:step]`")),
            }
            self.next += 1;
        }
        self.next += 1;
        let [start, stop, step] = parts;
        Ok(SliceBounds { start, stop, step })
    }

    fn flatten(&mut self, left: JmesPathExpr) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        self.next += 1;
        self.project(left, ProjectionKind::Flattened, FLATTEN_POWER)
    }

    fn filter(&mut self, left: JmesPathExpr) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        self.next += 1;
        let condition = self.expr(0)?;
        self.take("]")?;
        self.project(left, ProjectionKind::Filtered(condition), FILTER_POWER)
    }

    /// Reads the expression for each element, and makes the projection.
    fn project(
        &mut self,
        source: JmesPathExpr,
        over: ProjectionKind,
        floor: u8,
    ) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let each = if binding_power(self.peek()) < PROJECTION_STOP_POWER {
            None
        } else {
            Some(match self.peek() {
                JmesPathTokenKind::Sign("[" | "[?") => self.expr(floor)?,
                JmesPathTokenKind::Sign(".") => {
                    self.next += 1;
                    self.after_dot(floor)?
                }
                _ => return Err(self.unexpected("`.`, `[` or an operator")),
            })
        };
        let is_forgiving = self.settings.language == JmesPathLanguage::Forgiving
            && matches!(
                over,
                ProjectionKind::Values | ProjectionKind::Flattened | ProjectionKind::Filtered(_)
            );
        let at = source.at;
        Ok(JmesPathExpr::new(
            JmesPathNode::Projection(Box::new(Projection { source, over, each, is_forgiving })),
            at,
        ))
    }

    fn peek(&self) -> &JmesPathTokenKind {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &JmesPathTokenKind {
        self.tokens.get(self.next + ahead).map_or(&JmesPathTokenKind::End, |token| &token.word)
    }

    fn at(&self) -> u32 {
        let start = self.tokens.get(self.next).map_or(0, |token| token.start);
        u32::try_from(start).unwrap_or(u32::MAX)
    }

    fn take(&mut self, sign: &'static str) -> Result<(), JmesPathSyntaxError> {
        if *self.peek() != JmesPathTokenKind::Sign(sign) {
            return Err(self.unexpected(&format!("`{sign}`")));
        }
        self.next += 1;
        Ok(())
    }

    /// Returns an error about the next token.
    fn bad(&self, message: &str) -> JmesPathSyntaxError {
        let place = self.tokens.get(self.next).or(self.tokens.last());
        let (start, end) = place.map_or((0, 0), |token| (token.start, token.end));
        JmesPathSyntaxError::syntax(message, start, end)
    }

    fn unexpected(&self, expected: &str) -> JmesPathSyntaxError {
        let found = match self.peek() {
            JmesPathTokenKind::Identifier(name) => format!("`{name}`"),
            JmesPathTokenKind::Quoted(name) => format!("the name `{name}`"),
            JmesPathTokenKind::Literal(value) => {
                format!("the {}", if value.as_str().is_some() { "string" } else { "literal" })
            }
            JmesPathTokenKind::Number(number) => format!("`{number}`"),
            JmesPathTokenKind::Sign(sign) => format!("`{sign}`"),
            JmesPathTokenKind::End => "the end".to_owned(),
        };
        self.bad(&format!("found {found}, expected {expected}"))
    }

    fn too_deep(&self) -> JmesPathSyntaxError {
        self.bad(&format!("nested deeper than {MAX_HEIGHT} levels"))
    }
}

fn parse_comparison(sign: &str) -> Option<JmesPathComparison> {
    Some(match sign {
        "==" => JmesPathComparison::Equal,
        "!=" => JmesPathComparison::NotEqual,
        "<" => JmesPathComparison::Less,
        "<=" => JmesPathComparison::LessOrEqual,
        ">" => JmesPathComparison::Greater,
        ">=" => JmesPathComparison::GreaterOrEqual,
        _ => return None,
    })
}
