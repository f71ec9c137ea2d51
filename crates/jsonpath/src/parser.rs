//! Expressions from text.
//!
//! Operators are read by rank, so a long chain of them is a loop and not a recursion;
//! everything else that nests is counted against [`MAX_DEPTH`].

use kubewright_golib::regex;
use kubewright_value::{Position, Value};

use super::ast::{
    Conditional, ExprNode, InfixOperator, ObjectEntry, OperatorLink, ParsedPath, PathExpr, PathFunction,
    PrefixOperator, RootOrCurrent,
};
use super::scan::{PathScanner, ScanError};
use super::{JsonPathLanguage, JsonPathSyntaxError};

mod path;

/// The maximum nesting depth of expressions.
const MAX_DEPTH: u32 = 64;

/// Parses all of `text` as an expression.
pub(super) fn parse_expression(
    text: &str,
    language: JsonPathLanguage,
) -> Result<PathExpr, JsonPathSyntaxError> {
    let mut parser =
        PathParser { scanner: PathScanner::new(text), language, depth: 0, placeholders: Vec::new() };
    parser.whole_expression().map_err(|bad| located_syntax_error(text, &bad))
}

/// Parses all of `text` as a path.
pub(super) fn parse_path(text: &str) -> Result<ParsedPath, JsonPathSyntaxError> {
    let language = JsonPathLanguage::Full;
    let mut parser =
        PathParser { scanner: PathScanner::new(text), language, depth: 0, placeholders: Vec::new() };
    parser.whole_path().map_err(|bad| located_syntax_error(text, &bad))
}

fn located_syntax_error(text: &str, bad: &ScanError) -> JsonPathSyntaxError {
    let covered = text.get(bad.start..bad.end).unwrap_or_default().chars().count();
    JsonPathSyntaxError {
        message: bad.message.clone(),
        position: Position::of(text, bad.start),
        length: u32::try_from(covered).unwrap_or(u32::MAX).max(1),
    }
}

struct PathParser<'t> {
    scanner: PathScanner<'t>,
    language: JsonPathLanguage,
    depth: u32,
    /// For each object key being read, whether it has had a placeholder.
    placeholders: Vec<bool>,
}

impl<'t> PathParser<'t> {
    fn whole_expression(&mut self) -> Result<PathExpr, ScanError> {
        let expr = self.expr()?;
        self.end()?;
        Ok(expr)
    }

    fn whole_path(&mut self) -> Result<ParsedPath, ScanError> {
        let origin = match self.scanner.peek()? {
            Some('$') => RootOrCurrent::Root,
            Some('@') => RootOrCurrent::Current,
            _ => return Err(self.unexpected("a path that starts with `$`")?),
        };
        self.scanner.advance(1);
        let path = self.path_after(origin)?;
        self.end()?;
        Ok(path)
    }

    fn end(&mut self) -> Result<(), ScanError> {
        match self.scanner.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("an operator or the end of the expression")?),
        }
    }

    /// Reads an expression with all its operators.
    fn expr(&mut self) -> Result<PathExpr, ScanError> {
        self.nested(|parser| {
            let condition = parser.operators(0)?;
            if parser.language != JsonPathLanguage::Full || !parser.scanner.take('?')? {
                return Ok(condition);
            }
            let then = parser.expr()?;
            let otherwise = if parser.scanner.take(':')? {
                Some(parser.expr()?)
            } else if parser.scanner.peek()?.is_none() {
                None
            } else {
                return Err(parser.unexpected("`:` and what else the value should be")?);
            };
            let at = condition.at;
            Ok(PathExpr { node: ExprNode::Choice(Box::new(Conditional { condition, then, otherwise })), at })
        })
    }

    /// Goes one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ScanError>) -> Result<T, ScanError> {
        if self.depth == MAX_DEPTH {
            self.scanner.start()?;
            return Err(self.scanner.bad(&format!("nested deeper than {MAX_DEPTH} levels"), 1));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads operands and the operators between them that have at least this rank.
    fn operators(&mut self, rank: u8) -> Result<PathExpr, ScanError> {
        let mut left = self.prefixed()?;
        // The rank of the chain that `left` is, if it was made here.
        let mut chained = None;
        while let Some((operator, length)) = self.peek_operator(rank)? {
            let at = self.offset()?;
            self.scanner.advance(length);
            let right = self.nested(|parser| parser.operators(operator.rank() + 1))?;
            let link = OperatorLink { operator, at, regex: self.literal_regex(operator, &right)?, right };
            match &mut left.node {
                ExprNode::Chain(_, links) if chained == Some(operator.rank()) => links.push(link),
                _ => {
                    let at = left.at;
                    left = PathExpr { node: ExprNode::Chain(Box::new(left), vec![link]), at };
                    chained = Some(operator.rank());
                }
            }
        }
        Ok(left)
    }

    /// Returns the operator that comes next, if it has at least this rank, and how long it is.
    fn peek_operator(&mut self, rank: u8) -> Result<Option<(InfixOperator, usize)>, ScanError> {
        self.scanner.start()?;
        let full = self.language == JsonPathLanguage::Full;
        let known = if self.scanner.word() == "in" {
            Some(("in", InfixOperator::In))
        } else {
            let rest = self.scanner.rest();
            let candidates = InfixOperator::SYMBOLS.iter().filter(|(symbol, _)| rest.starts_with(symbol));
            candidates.max_by_key(|(symbol, _)| symbol.len()).copied()
        };
        let allowed = known
            .filter(|(_, operator)| {
                full || matches!(operator, InfixOperator::Equal | InfixOperator::NotEqual)
            })
            .filter(|(_, operator)| operator.rank() >= rank);
        Ok(allowed.map(|(symbol, operator)| (operator, symbol.len())))
    }

    /// Reads prefix operators and their operand.
    fn prefixed(&mut self) -> Result<PathExpr, ScanError> {
        let at = self.offset()?;
        let mut prefixes = Vec::new();
        while let Some(prefix) = self.prefix()? {
            prefixes.push(prefix);
        }
        let operand = self.primary()?;
        if prefixes.is_empty() {
            return Ok(operand);
        }
        Ok(PathExpr { node: ExprNode::Prefix(prefixes, Box::new(operand)), at })
    }

    fn prefix(&mut self) -> Result<Option<PrefixOperator>, ScanError> {
        let prefix = match self.scanner.peek()? {
            Some('-') => PrefixOperator::Minus,
            Some('!') if self.language == JsonPathLanguage::Full => PrefixOperator::Not,
            Some('~') if self.language == JsonPathLanguage::Full => PrefixOperator::Complement,
            _ => return Ok(None),
        };
        self.scanner.advance(1);
        Ok(Some(prefix))
    }

    fn primary(&mut self) -> Result<PathExpr, ScanError> {
        let at = self.offset()?;
        let objects = self.language != JsonPathLanguage::Paths;
        let node = match self.scanner.peek()? {
            Some('$') => self.path_expr(RootOrCurrent::Root)?,
            Some('@') => self.path_expr(RootOrCurrent::Current)?,
            Some(quote @ ('"' | '\'' | '`')) => ExprNode::Literal(Value::from(self.scanner.string(quote)?)),
            Some('(') => {
                self.scanner.advance(1);
                let inner = self.expr()?;
                self.close(')', "`)`")?;
                return Ok(inner);
            }
            Some('[') if self.language == JsonPathLanguage::Full => self.list()?,
            Some('{') if objects => self.object()?,
            Some('#') if objects => self.placeholder()?,
            _ if self.scanner.at_number() => ExprNode::Literal(Value::Number(self.scanner.number()?)),
            _ => self.named()?,
        };
        Ok(PathExpr { node, at })
    }

    fn path_expr(&mut self, origin: RootOrCurrent) -> Result<ExprNode, ScanError> {
        self.scanner.advance(1);
        self.path_after(origin).map(ExprNode::Path)
    }

    /// Reads what starts with an identifier: a constant, a call, a variable.
    fn named(&mut self) -> Result<ExprNode, ScanError> {
        let at = self.offset()?;
        let before = self.scanner.clone();
        let Some(name) = self.scanner.identifier()? else { return Err(self.unexpected("a value")?) };
        match name {
            "true" => return Ok(ExprNode::Literal(Value::Bool(true))),
            "false" => return Ok(ExprNode::Literal(Value::Bool(false))),
            _ => {}
        }
        if let Some(function) = PathFunction::named(name).filter(|_| self.language == JsonPathLanguage::Full)
        {
            if !self.scanner.take('(')? {
                return Err(before.bad(&format!("function `{name}` needs parentheses"), name.len()));
            }
            return Ok(ExprNode::Call(function, self.items(')')?));
        }
        let mut keys = vec![PathExpr { node: ExprNode::Literal(Value::from(name)), at }];
        loop {
            let at = self.offset()?;
            match self.scanner.peek()? {
                Some('.') => {
                    self.scanner.advance(1);
                    let Some(key) = self.scanner.identifier()? else { return Err(self.unexpected("a key")?) };
                    keys.push(PathExpr { node: ExprNode::Literal(Value::from(key)), at });
                }
                Some('[') => {
                    self.scanner.advance(1);
                    keys.push(self.expr()?);
                    self.close(']', "`]`")?;
                }
                Some('(') => {
                    let known: Vec<_> =
                        PathFunction::NAMES.iter().map(|(name, _)| format!("`{name}`")).collect();
                    let message = format!("unknown function `{name}`, expected one of {}", known.join(", "));
                    return Err(before.bad(&message, name.len()));
                }
                _ => return Ok(ExprNode::Variable(keys)),
            }
        }
    }

    /// Reads arguments up to `close`, with commas between them.
    fn items(&mut self, close: char) -> Result<Vec<PathExpr>, ScanError> {
        let mut items = Vec::new();
        if self.scanner.take(close)? {
            return Ok(items);
        }
        loop {
            items.push(self.expr()?);
            if self.scanner.take(close)? {
                return Ok(items);
            }
            if !self.scanner.take(',')? {
                return Err(self.unexpected(&format!("`,` or `{close}`"))?);
            }
        }
    }

    /// Reads a list. Commas separate, and may be missing or doubled.
    fn list(&mut self) -> Result<ExprNode, ScanError> {
        self.scanner.advance(1);
        let mut items = Vec::new();
        while !self.scanner.take(']')? {
            if !self.scanner.take(',')? {
                items.push(self.expr()?);
            }
        }
        Ok(ExprNode::List(items))
    }

    fn object(&mut self) -> Result<ExprNode, ScanError> {
        self.scanner.advance(1);
        let mut entries = Vec::new();
        while !self.scanner.take('}')? {
            if self.scanner.take(',')? {
                continue;
            }
            self.placeholders.push(false);
            let key = self.expr();
            let expands = self.placeholders.pop().unwrap_or_default();
            let key = key?;
            self.close(':', "`:` and the value")?;
            let value = if expands { self.path_value()? } else { self.expr()? };
            entries.push(ObjectEntry { key, value, expands });
        }
        Ok(ExprNode::Object(entries))
    }

    /// Reads the value of a key with placeholders.
    fn path_value(&mut self) -> Result<PathExpr, ScanError> {
        let at = self.offset()?;
        let node = match self.scanner.peek()? {
            Some('$') => self.path_expr(RootOrCurrent::Root)?,
            Some('@') => self.path_expr(RootOrCurrent::Current)?,
            _ => return Err(self.unexpected("a path, because the key has a placeholder")?),
        };
        Ok(PathExpr { node, at })
    }

    fn placeholder(&mut self) -> Result<ExprNode, ScanError> {
        let Some(seen) = self.placeholders.last_mut() else {
            return Err(self.scanner.bad("a placeholder is allowed only in the key of an object", 1));
        };
        *seen = true;
        self.scanner.advance(1);
        self.scanner.start()?;
        let rest = self.scanner.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Ok(ExprNode::Placeholder(None));
        }
        let number = rest.get(..digits).and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.scanner.bad("placeholder number is too large", digits))?;
        self.scanner.advance(digits);
        Ok(ExprNode::Placeholder(Some(number)))
    }

    fn close(&mut self, c: char, expected: &str) -> Result<(), ScanError> {
        if self.scanner.take(c)? { Ok(()) } else { Err(self.unexpected(expected)?) }
    }

    fn offset(&mut self) -> Result<u32, ScanError> {
        let start = self.scanner.start()?;
        u32::try_from(start).map_err(|_| self.scanner.bad("expression is too long", 0))
    }

    /// Returns the error for whatever comes next, when `expected` should have.
    fn unexpected(&mut self, expected: &str) -> Result<ScanError, ScanError> {
        let found = self.scanner.peek()?;
        let word = self.scanner.word();
        Ok(match found {
            None => self.scanner.bad(&format!("expected {expected}, found the end of the expression"), 0),
            Some(_) if !word.is_empty() => {
                self.scanner.bad(&format!("expected {expected}, found `{word}`"), word.len())
            }
            Some(c) => self.scanner.bad(&format!("expected {expected}, found `{c}`"), c.len_utf8()),
        })
    }

    /// Compiles the right side of `=~` and `!~` when it is a literal.
    fn literal_regex(
        &self,
        operator: InfixOperator,
        right: &PathExpr,
    ) -> Result<Option<regex::Regex>, ScanError> {
        let ExprNode::Literal(literal) = &right.node else { return Ok(None) };
        if !matches!(operator, InfixOperator::Match | InfixOperator::NotMatch) {
            return Ok(None);
        }
        let pattern = super::render_text(literal);
        regex::compile_regex(&pattern).map(Some).map_err(|error| {
            let message = format!("bad regular expression: {error}");
            let start = right.at as usize;
            // Where the string has no escapes, the very place is known.
            if self.scanner.slice(start + 1, pattern.len()) == pattern {
                let start = start + 1 + error.offset;
                ScanError { message, start, end: start + 1 }
            } else {
                ScanError { message, start, end: start + 1 }
            }
        })
    }
}
