//! Expressions from text.
//!
//! Operators are read by rank, so a long chain of them is a loop and not a recursion;
//! everything else that nests is counted against [`MAX_DEPTH`].

use kubewright_golib::regex;
use kubewright_value::{Position, Value};

use super::ast::{Choice, Entry, Expr, Function, Infix, Link, Node, Origin, Path, Prefix};
use super::scan::{Bad, Scanner};
use super::{Language, ParseError};

mod path;

/// How deep expressions may nest.
const MAX_DEPTH: u32 = 64;

/// Parses all of `text` as an expression.
pub(super) fn expression(text: &str, language: Language) -> Result<Expr, ParseError> {
    let mut parser = Parser { scanner: Scanner::new(text), language, depth: 0, placeholders: Vec::new() };
    parser.whole_expression().map_err(|bad| located(text, &bad))
}

/// Parses all of `text` as a path.
pub(super) fn path(text: &str) -> Result<Path, ParseError> {
    let language = Language::Full;
    let mut parser = Parser { scanner: Scanner::new(text), language, depth: 0, placeholders: Vec::new() };
    parser.whole_path().map_err(|bad| located(text, &bad))
}

fn located(text: &str, bad: &Bad) -> ParseError {
    let covered = text.get(bad.start..bad.end).unwrap_or_default().chars().count();
    ParseError {
        message: bad.message.clone(),
        position: Position::of(text, bad.start),
        length: u32::try_from(covered).unwrap_or(u32::MAX).max(1),
    }
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    language: Language,
    depth: u32,
    /// For each object key being read, whether it has had a placeholder.
    placeholders: Vec<bool>,
}

impl<'t> Parser<'t> {
    fn whole_expression(&mut self) -> Result<Expr, Bad> {
        let expr = self.expr()?;
        self.end()?;
        Ok(expr)
    }

    fn whole_path(&mut self) -> Result<Path, Bad> {
        let origin = match self.scanner.peek()? {
            Some('$') => Origin::Root,
            Some('@') => Origin::Current,
            _ => return Err(self.unexpected("a path that starts with `$`")?),
        };
        self.scanner.advance(1);
        let path = self.path_after(origin)?;
        self.end()?;
        Ok(path)
    }

    fn end(&mut self) -> Result<(), Bad> {
        match self.scanner.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("an operator or the end of the expression")?),
        }
    }

    /// Reads an expression with all its operators.
    fn expr(&mut self) -> Result<Expr, Bad> {
        self.nested(|parser| {
            let condition = parser.operators(0)?;
            if parser.language != Language::Full || !parser.scanner.take('?')? {
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
            Ok(Expr { node: Node::Choice(Box::new(Choice { condition, then, otherwise })), at })
        })
    }

    /// Goes one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Bad>) -> Result<T, Bad> {
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
    fn operators(&mut self, rank: u8) -> Result<Expr, Bad> {
        let mut left = self.prefixed()?;
        // The rank of the chain that `left` is, if it was made here.
        let mut chained = None;
        while let Some((operator, length)) = self.peek_operator(rank)? {
            let at = self.offset()?;
            self.scanner.advance(length);
            let right = self.nested(|parser| parser.operators(operator.rank() + 1))?;
            let link = Link { operator, at, regex: self.literal_regex(operator, &right)?, right };
            match &mut left.node {
                Node::Chain(_, links) if chained == Some(operator.rank()) => links.push(link),
                _ => {
                    let at = left.at;
                    left = Expr { node: Node::Chain(Box::new(left), vec![link]), at };
                    chained = Some(operator.rank());
                }
            }
        }
        Ok(left)
    }

    /// Returns the operator that comes next, if it has at least this rank, and how long it is.
    fn peek_operator(&mut self, rank: u8) -> Result<Option<(Infix, usize)>, Bad> {
        self.scanner.start()?;
        let full = self.language == Language::Full;
        let known = if self.scanner.word() == "in" {
            Some(("in", Infix::In))
        } else {
            let rest = self.scanner.rest();
            let candidates = Infix::SYMBOLS.iter().filter(|(symbol, _)| rest.starts_with(symbol));
            candidates.max_by_key(|(symbol, _)| symbol.len()).copied()
        };
        let allowed = known
            .filter(|(_, operator)| full || matches!(operator, Infix::Equal | Infix::NotEqual))
            .filter(|(_, operator)| operator.rank() >= rank);
        Ok(allowed.map(|(symbol, operator)| (operator, symbol.len())))
    }

    /// Reads prefix operators and their operand.
    fn prefixed(&mut self) -> Result<Expr, Bad> {
        let at = self.offset()?;
        let mut prefixes = Vec::new();
        while let Some(prefix) = self.prefix()? {
            prefixes.push(prefix);
        }
        let operand = self.primary()?;
        if prefixes.is_empty() {
            return Ok(operand);
        }
        Ok(Expr { node: Node::Prefix(prefixes, Box::new(operand)), at })
    }

    fn prefix(&mut self) -> Result<Option<Prefix>, Bad> {
        let prefix = match self.scanner.peek()? {
            Some('-') => Prefix::Minus,
            Some('!') if self.language == Language::Full => Prefix::Not,
            Some('~') if self.language == Language::Full => Prefix::Complement,
            _ => return Ok(None),
        };
        self.scanner.advance(1);
        Ok(Some(prefix))
    }

    fn primary(&mut self) -> Result<Expr, Bad> {
        let at = self.offset()?;
        let objects = self.language != Language::Paths;
        let node = match self.scanner.peek()? {
            Some('$') => self.path_expr(Origin::Root)?,
            Some('@') => self.path_expr(Origin::Current)?,
            Some(quote @ ('"' | '\'' | '`')) => Node::Literal(Value::from(self.scanner.string(quote)?)),
            Some('(') => {
                self.scanner.advance(1);
                let inner = self.expr()?;
                self.close(')', "`)`")?;
                return Ok(inner);
            }
            Some('[') if self.language == Language::Full => self.list()?,
            Some('{') if objects => self.object()?,
            Some('#') if objects => self.placeholder()?,
            _ if self.scanner.at_number() => Node::Literal(Value::Number(self.scanner.number()?)),
            _ => self.named()?,
        };
        Ok(Expr { node, at })
    }

    fn path_expr(&mut self, origin: Origin) -> Result<Node, Bad> {
        self.scanner.advance(1);
        self.path_after(origin).map(Node::Path)
    }

    /// Reads what starts with an identifier: a constant, a call, a variable.
    fn named(&mut self) -> Result<Node, Bad> {
        let at = self.offset()?;
        let before = self.scanner.clone();
        let Some(name) = self.scanner.identifier()? else { return Err(self.unexpected("a value")?) };
        match name {
            "true" => return Ok(Node::Literal(Value::Bool(true))),
            "false" => return Ok(Node::Literal(Value::Bool(false))),
            _ => {}
        }
        if let Some(function) = Function::named(name).filter(|_| self.language == Language::Full) {
            if !self.scanner.take('(')? {
                return Err(before.bad(&format!("function `{name}` needs parentheses"), name.len()));
            }
            return Ok(Node::Call(function, self.items(')')?));
        }
        let mut keys = vec![Expr { node: Node::Literal(Value::from(name)), at }];
        loop {
            let at = self.offset()?;
            match self.scanner.peek()? {
                Some('.') => {
                    self.scanner.advance(1);
                    let Some(key) = self.scanner.identifier()? else { return Err(self.unexpected("a key")?) };
                    keys.push(Expr { node: Node::Literal(Value::from(key)), at });
                }
                Some('[') => {
                    self.scanner.advance(1);
                    keys.push(self.expr()?);
                    self.close(']', "`]`")?;
                }
                Some('(') => {
                    let known: Vec<_> = Function::NAMES.iter().map(|(name, _)| format!("`{name}`")).collect();
                    let message = format!("unknown function `{name}`, expected one of {}", known.join(", "));
                    return Err(before.bad(&message, name.len()));
                }
                _ => return Ok(Node::Variable(keys)),
            }
        }
    }

    /// Reads arguments up to `close`, with commas between them.
    fn items(&mut self, close: char) -> Result<Vec<Expr>, Bad> {
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
    fn list(&mut self) -> Result<Node, Bad> {
        self.scanner.advance(1);
        let mut items = Vec::new();
        while !self.scanner.take(']')? {
            if !self.scanner.take(',')? {
                items.push(self.expr()?);
            }
        }
        Ok(Node::List(items))
    }

    fn object(&mut self) -> Result<Node, Bad> {
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
            entries.push(Entry { key, value, expands });
        }
        Ok(Node::Object(entries))
    }

    /// Reads the value of a key with placeholders.
    fn path_value(&mut self) -> Result<Expr, Bad> {
        let at = self.offset()?;
        let node = match self.scanner.peek()? {
            Some('$') => self.path_expr(Origin::Root)?,
            Some('@') => self.path_expr(Origin::Current)?,
            _ => return Err(self.unexpected("a path, because the key has a placeholder")?),
        };
        Ok(Expr { node, at })
    }

    fn placeholder(&mut self) -> Result<Node, Bad> {
        let Some(seen) = self.placeholders.last_mut() else {
            return Err(self.scanner.bad("a placeholder is allowed only in the key of an object", 1));
        };
        *seen = true;
        self.scanner.advance(1);
        self.scanner.start()?;
        let rest = self.scanner.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Ok(Node::Placeholder(None));
        }
        let number = rest.get(..digits).and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.scanner.bad("placeholder number is too large", digits))?;
        self.scanner.advance(digits);
        Ok(Node::Placeholder(Some(number)))
    }

    fn close(&mut self, c: char, expected: &str) -> Result<(), Bad> {
        if self.scanner.take(c)? { Ok(()) } else { Err(self.unexpected(expected)?) }
    }

    fn offset(&mut self) -> Result<u32, Bad> {
        let start = self.scanner.start()?;
        u32::try_from(start).map_err(|_| self.scanner.bad("expression is too long", 0))
    }

    /// Returns the error for whatever comes next, when `expected` should have.
    fn unexpected(&mut self, expected: &str) -> Result<Bad, Bad> {
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
    fn literal_regex(&self, operator: Infix, right: &Expr) -> Result<Option<regex::Regex>, Bad> {
        let Node::Literal(literal) = &right.node else { return Ok(None) };
        if !matches!(operator, Infix::Match | Infix::NotMatch) {
            return Ok(None);
        }
        let pattern = super::text(literal);
        regex::compile(&pattern).map(Some).map_err(|error| {
            let message = format!("bad regular expression: {error}");
            let start = right.at as usize;
            // Where the string has no escapes, the very place is known.
            if self.scanner.slice(start + 1, pattern.len()) == pattern {
                let start = start + 1 + error.offset;
                Bad { message, start, end: start + 1 }
            } else {
                Bad { message, start, end: start + 1 }
            }
        })
    }
}
