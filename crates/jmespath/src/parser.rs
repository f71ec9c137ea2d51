//! Expressions from text, by operator ranks.
//!
//! The right side of a projection reaches as far as the ranks of the reference implementations
//! let it: up to `[]`, a comparison, `&&`, `||`, `|` or a closing bracket.

use kubewright_value::Text;

use super::Language;
use super::ast::{Comparison, Expr, MAX_HEIGHT, Node, Over, Projection, Slice, Step};
use super::function::Functions;
use super::lex::{self, Bad, Token, Word};

mod select;

/// Parses all of `text`. Returns also whether it calls a function of the time or of chance.
pub(super) fn parse(text: &str, functions: &Functions, language: Language) -> Result<(Expr, bool), Bad> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser { tokens, next: 0, depth: 0, functions, language, is_volatile: false };
    let expr = parser.expr(0)?;
    match parser.peek() {
        Word::End => Ok((expr, parser.is_volatile)),
        _ => Err(parser.unexpected("an operator or the end of the expression")),
    }
}

/// What binds less than this ends a projection.
const PROJECTION_STOP: u8 = 10;
const FLATTEN: u8 = 9;
const STAR: u8 = 20;
const FILTER: u8 = 21;
const DOT: u8 = 40;
const NOT: u8 = 45;

fn rank(word: &Word) -> u8 {
    let Word::Sign(sign) = word else { return 0 };
    match *sign {
        "|" => 1,
        "||" => 2,
        "&&" => 3,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 5,
        "[]" => FLATTEN,
        "*" => STAR,
        "[?" => FILTER,
        "." => DOT,
        "!" => NOT,
        "{" => 50,
        "[" => 55,
        "(" => 60,
        _ => 0,
    }
}

struct Parser<'f> {
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
    functions: &'f Functions,
    language: Language,
    is_volatile: bool,
}

impl Parser<'_> {
    /// Reads an expression and the operators after it that rank above `floor`.
    fn expr(&mut self, floor: u8) -> Result<Expr, Bad> {
        if self.depth == MAX_HEIGHT {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let mut left = self.operand()?;
        while rank(self.peek()) > floor {
            left = self.operator(left)?;
            if left.shape.is_too_high() {
                return Err(self.too_deep());
            }
        }
        self.depth -= 1;
        if left.shape.is_too_high() { Err(self.too_deep()) } else { Ok(left) }
    }

    /// Reads what can start an expression.
    fn operand(&mut self) -> Result<Expr, Bad> {
        let at = self.at();
        let current = || Expr::new(Node::Current, at);
        let (word, next) = (self.peek().clone(), self.peek_at(1));
        match word {
            Word::Literal(value) => {
                self.next += 1;
                Ok(Expr::new(Node::Literal(value), at))
            }
            Word::Identifier(_) if *next == Word::Sign("(") => self.call(),
            Word::Identifier(name) => self.key(name, at),
            Word::Quoted(name) => {
                if *next == Word::Sign("(") {
                    return Err(self.bad("a function name must not be quoted"));
                }
                self.key(name, at)
            }
            Word::Sign("*") => {
                self.next += 1;
                self.project(current(), Over::Values, STAR)
            }
            Word::Sign("!") => {
                self.next += 1;
                let operand = self.expr(NOT)?;
                Ok(Expr::new(Node::Not(Box::new(operand)), at))
            }
            Word::Sign("(") => {
                self.next += 1;
                let inner = self.expr(0)?;
                self.take(")")?;
                Ok(inner)
            }
            Word::Sign("@") => {
                self.next += 1;
                Ok(current())
            }
            Word::Sign("[") if matches!(next, Word::Number(_) | Word::Sign(":")) => self.bracket(current()),
            Word::Sign("[") if *next == Word::Sign("*") && *self.peek_at(2) == Word::Sign("]") => {
                self.bracket(current())
            }
            Word::Sign("[") => self.multi_list(),
            Word::Sign("{") => self.multi_object(),
            Word::Sign("[]") => self.flatten(current()),
            Word::Sign("[?") => self.filter(current()),
            Word::Sign("&") => Err(self.bad("`&` can only stand before an argument of a function")),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn key(&mut self, name: Text, at: u32) -> Result<Expr, Bad> {
        self.next += 1;
        let step = match self.language {
            Language::Standard => Step::Key(name),
            Language::Forgiving => Step::NeededKey(name),
        };
        Ok(Expr::new(Node::Current, at).step(step))
    }

    /// Reads an operator and what stands right of it.
    fn operator(&mut self, left: Expr) -> Result<Expr, Bad> {
        let Word::Sign(sign) = *self.peek() else { return Err(self.unexpected("an operator")) };
        match sign {
            "." => self.dot(left),
            "[" => self.bracket(left),
            "[]" => self.flatten(left),
            "[?" => self.filter(left),
            "|" | "||" | "&&" => self.chain(left, sign),
            "(" => Err(self.unexpected("an operator, only a name can be called")),
            _ => match comparison(sign) {
                Some(comparison) => {
                    let rank = rank(self.peek());
                    self.next += 1;
                    let right = self.expr(rank)?;
                    let at = left.at;
                    Ok(Expr::new(Node::Compare(comparison, Box::new((left, right))), at))
                }
                None => Err(self.unexpected("an operator")),
            },
        }
    }

    /// Reads all further operands of `sign`, so that a long chain is one node.
    fn chain(&mut self, left: Expr, sign: &'static str) -> Result<Expr, Bad> {
        let rank = rank(self.peek());
        let at = left.at;
        let mut parts = vec![left];
        while *self.peek() == Word::Sign(sign) {
            self.next += 1;
            parts.push(self.expr(rank)?);
        }
        let node = match sign {
            "|" => Node::Pipe(parts),
            "||" => Node::Or(parts),
            _ => Node::And(parts),
        };
        Ok(Expr::new(node, at))
    }

    fn dot(&mut self, left: Expr) -> Result<Expr, Bad> {
        self.next += 1;
        if *self.peek() == Word::Sign("*") {
            self.next += 1;
            return self.project(left, Over::Values, DOT);
        }
        let right = self.after_dot(DOT)?;
        Ok(left.then(right))
    }

    /// Reads what can stand behind a dot.
    fn after_dot(&mut self, floor: u8) -> Result<Expr, Bad> {
        match self.peek() {
            Word::Identifier(_) | Word::Quoted(_) | Word::Sign("*") => self.expr(floor),
            Word::Sign("[") => self.multi_list(),
            Word::Sign("{") => self.multi_object(),
            _ => Err(self.unexpected("a name, `*`, `[` or `{` after `.`")),
        }
    }

    /// Reads `[0]`, `[0:2]` or `[*]`.
    fn bracket(&mut self, left: Expr) -> Result<Expr, Bad> {
        self.next += 1;
        match (self.peek().clone(), self.peek_at(1)) {
            (Word::Number(index), Word::Sign("]")) => {
                self.next += 2;
                Ok(left.step(Step::Index(index)))
            }
            (Word::Number(_) | Word::Sign(":"), _) => {
                let slice = self.slice()?;
                self.project(left, Over::Slice(slice), STAR)
            }
            (Word::Sign("*"), _) => {
                self.next += 1;
                self.take("]")?;
                self.project(left, Over::Items, STAR)
            }
            _ => Err(self.unexpected("an index, a slice or `*` in `[]`, a key is written `.key`")),
        }
    }

    fn slice(&mut self) -> Result<Slice, Bad> {
        let mut parts = [None; 3];
        let mut colons = 0;
        let mut is_number_allowed = true;
        loop {
            match *self.peek() {
                Word::Sign("]") => break,
                Word::Sign(":") if colons < 2 => {
                    colons += 1;
                    is_number_allowed = true;
                }
                Word::Number(number) if is_number_allowed => {
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
        Ok(Slice { start, stop, step })
    }

    fn flatten(&mut self, left: Expr) -> Result<Expr, Bad> {
        self.next += 1;
        self.project(left, Over::Flattened, FLATTEN)
    }

    fn filter(&mut self, left: Expr) -> Result<Expr, Bad> {
        self.next += 1;
        let condition = self.expr(0)?;
        self.take("]")?;
        self.project(left, Over::Filtered(condition), FILTER)
    }

    /// Reads what is applied to each element, and makes the projection.
    fn project(&mut self, source: Expr, over: Over, floor: u8) -> Result<Expr, Bad> {
        let each = if rank(self.peek()) < PROJECTION_STOP {
            None
        } else {
            Some(match self.peek() {
                Word::Sign("[" | "[?") => self.expr(floor)?,
                Word::Sign(".") => {
                    self.next += 1;
                    self.after_dot(floor)?
                }
                _ => return Err(self.unexpected("`.`, `[` or an operator")),
            })
        };
        let is_forgiving = self.language == Language::Forgiving
            && matches!(over, Over::Values | Over::Flattened | Over::Filtered(_));
        let at = source.at;
        Ok(Expr::new(Node::Projection(Box::new(Projection { source, over, each, is_forgiving })), at))
    }

    fn peek(&self) -> &Word {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Word {
        self.tokens.get(self.next + ahead).map_or(&Word::End, |token| &token.word)
    }

    fn at(&self) -> u32 {
        let start = self.tokens.get(self.next).map_or(0, |token| token.start);
        u32::try_from(start).unwrap_or(u32::MAX)
    }

    fn take(&mut self, sign: &'static str) -> Result<(), Bad> {
        if *self.peek() != Word::Sign(sign) {
            return Err(self.unexpected(&format!("`{sign}`")));
        }
        self.next += 1;
        Ok(())
    }

    /// Returns an error about the next word.
    fn bad(&self, message: &str) -> Bad {
        let place = self.tokens.get(self.next).or(self.tokens.last());
        let (start, end) = place.map_or((0, 0), |token| (token.start, token.end));
        Bad::syntax(message, start, end)
    }

    fn unexpected(&self, expected: &str) -> Bad {
        let found = match self.peek() {
            Word::Identifier(name) => format!("`{name}`"),
            Word::Quoted(name) => format!("the name `{name}`"),
            Word::Literal(value) => {
                format!("the {}", if value.as_str().is_some() { "string" } else { "literal" })
            }
            Word::Number(number) => format!("`{number}`"),
            Word::Sign(sign) => format!("`{sign}`"),
            Word::End => "the end".to_owned(),
        };
        self.bad(&format!("found {found}, expected {expected}"))
    }

    fn too_deep(&self) -> Bad {
        self.bad(&format!("nested deeper than {MAX_HEIGHT} levels"))
    }
}

fn comparison(sign: &str) -> Option<Comparison> {
    Some(match sign {
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}
