//! Words to expressions.

use kubewright_value::Text;

use super::ast::{Element, Expr, MAX_HEIGHT, Node, Operator, Span};
use super::lex::{self, Bad, Token, Word};
use super::val::Val;

/// Names that only mean something in other languages, and that nothing can have.
pub const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Parses `text`.
pub(super) fn parse(text: &str) -> Result<Expr, Bad> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let expr = parser.expression()?;
    match parser.peek() {
        Word::End => Ok(expr),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser {
    // INVARIANT: ends with `Word::End`.
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
}

/// How tight operators bind, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Relation,
    Sum,
    Product,
}

impl Parser {
    /// `a ? b : c`
    fn expression(&mut self) -> Result<Expr, Bad> {
        self.depth += 1;
        if self.depth > MAX_HEIGHT {
            return Err(self.too_deep());
        }
        let condition = self.or()?;
        let expr = if self.take("?") {
            let span = self.last_span();
            let then = self.or()?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            self.made(Node::Conditional(Box::new((condition, then, otherwise))), span)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn or(&mut self) -> Result<Expr, Bad> {
        let first = self.and()?;
        let mut parts = vec![first];
        let mut span = None;
        while self.take("||") {
            span.get_or_insert(self.last_span());
            parts.push(self.and()?);
        }
        match span {
            Some(span) => self.made(Node::Or(parts), span),
            None => parts.pop().ok_or_else(|| self.too_deep()),
        }
    }

    fn and(&mut self) -> Result<Expr, Bad> {
        let first = self.chain(Binding::Relation)?;
        let mut parts = vec![first];
        let mut span = None;
        while self.take("&&") {
            span.get_or_insert(self.last_span());
            parts.push(self.chain(Binding::Relation)?);
        }
        match span {
            Some(span) => self.made(Node::And(parts), span),
            None => parts.pop().ok_or_else(|| self.too_deep()),
        }
    }

    fn chain(&mut self, binding: Binding) -> Result<Expr, Bad> {
        let operand = |parser: &mut Self| match binding {
            Binding::Relation => parser.chain(Binding::Sum),
            Binding::Sum => parser.chain(Binding::Product),
            Binding::Product => parser.unary(),
        };
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(binding) {
            let span = self.span();
            self.at += 1;
            rest.push((operator, operand(self)?, span));
        }
        match rest.first() {
            Some((_, _, span)) => {
                let span = *span;
                self.made(Node::Chain(Box::new(first), rest), span)
            }
            None => Ok(first),
        }
    }

    fn operator(&self, binding: Binding) -> Option<Operator> {
        let sign = match self.peek() {
            Word::Sign(sign) => *sign,
            Word::Identifier(name) if name == "in" => "in",
            _ => return None,
        };
        let (found, of) = match sign {
            "==" => (Operator::Equal, Binding::Relation),
            "!=" => (Operator::NotEqual, Binding::Relation),
            "<" => (Operator::Less, Binding::Relation),
            "<=" => (Operator::LessOrEqual, Binding::Relation),
            ">" => (Operator::Greater, Binding::Relation),
            ">=" => (Operator::GreaterOrEqual, Binding::Relation),
            "in" => (Operator::In, Binding::Relation),
            "+" => (Operator::Add, Binding::Sum),
            "-" => (Operator::Subtract, Binding::Sum),
            "*" => (Operator::Multiply, Binding::Product),
            "/" => (Operator::Divide, Binding::Product),
            "%" => (Operator::Remainder, Binding::Product),
            _ => return None,
        };
        (of == binding).then_some(found)
    }

    /// `!a`, `-a`; two of a kind undo each other.
    fn unary(&mut self) -> Result<Expr, Bad> {
        let span = self.span();
        let mut count = 0_usize;
        while self.take("!") {
            count += 1;
        }
        if count > 0 {
            let operand = self.member()?;
            return if count.is_multiple_of(2) {
                Ok(operand)
            } else {
                self.made(Node::Not(Box::new(operand)), span)
            };
        }
        let is_number = |word: Option<&Token>| {
            matches!(word.map(|t| &t.word), Some(Word::Integer(_) | Word::Literal(Val::Double(_))))
        };
        while matches!(self.peek(), Word::Sign("-")) && !is_number(self.tokens.get(self.at + 1)) {
            self.at += 1;
            count += 1;
        }
        if count == 0 {
            return self.member();
        }
        let operand = self.member()?;
        if count.is_multiple_of(2) { Ok(operand) } else { self.made(Node::Negate(Box::new(operand)), span) }
    }

    /// `a.b`, `a.?b`, `a.f(b)`, `a[b]`, `a[?b]`
    fn member(&mut self) -> Result<Expr, Bad> {
        let mut expr = self.primary()?;
        loop {
            if self.take(".") {
                let is_optional = self.take("?");
                let (field, span, is_escaped) = self.field()?;
                expr = if !is_optional && !is_escaped && self.take("(") {
                    let arguments = self.arguments()?;
                    self.made(Node::Call { target: Some(Box::new(expr)), name: field, arguments }, span)?
                } else {
                    self.made(Node::Select { operand: Box::new(expr), field, is_optional }, span)?
                };
            } else if self.take("[") {
                let span = self.last_span();
                let is_optional = self.take("?");
                let index = Box::new(self.expression()?);
                self.expect("]")?;
                expr = self.made(Node::Index { operand: Box::new(expr), index, is_optional }, span)?;
            } else if matches!(self.peek(), Word::Sign("{")) && type_name(&expr).is_some() {
                let span = expr.span;
                let name = type_name(&expr).unwrap_or_default();
                self.at += 1;
                let fields = self.fields()?;
                expr = self.made(Node::Struct { name, fields }, span)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Bad> {
        let span = self.span();
        let word = self.peek().clone();
        self.at += usize::from(!matches!(word, Word::End));
        let node = match word {
            Word::Literal(value) => Node::Literal(value),
            Word::Integer(value) => Node::Literal(Val::Int(
                i64::try_from(value).map_err(|_| Bad::syntax("an int has at most 64 bits", span))?,
            )),
            Word::Sign("-") => return self.negative(span),
            Word::Identifier(name) => return self.named(name, span, false),
            Word::Sign(".") => {
                let span = self.span();
                let Word::Identifier(name) = self.peek().clone() else {
                    return Err(self.unexpected("a name"));
                };
                self.at += 1;
                return self.named(name, span, true);
            }
            Word::Sign("(") => {
                let expr = self.expression()?;
                self.expect(")")?;
                return Ok(expr);
            }
            Word::Sign("[") => Node::List(self.elements()?),
            Word::Sign("{") => Node::Map(self.entries()?),
            _ => {
                self.at = self.at.saturating_sub(usize::from(!matches!(word, Word::End)));
                return Err(self.unexpected("an expression"));
            }
        };
        self.made(node, span)
    }

    /// A number with a sign is one word.
    fn negative(&mut self, span: Span) -> Result<Expr, Bad> {
        let value = match self.peek() {
            Word::Integer(value) => 0_i64.checked_sub_unsigned(*value).map(Val::Int),
            Word::Literal(Val::Double(value)) => Some(Val::Double(-value)),
            _ => return Err(self.unexpected("a number")),
        };
        let value = value.ok_or_else(|| Bad::syntax("an int has at most 64 bits", span))?;
        let span = Span { start: span.start, end: self.span().end };
        self.at += 1;
        self.made(Node::Literal(value), span)
    }

    fn named(&mut self, name: Text, span: Span, is_absolute: bool) -> Result<Expr, Bad> {
        let node = match name.as_str() {
            "true" => Node::Literal(Val::Bool(true)),
            "false" => Node::Literal(Val::Bool(false)),
            "null" => Node::Literal(Val::Null),
            "in" => {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected("an expression"));
            }
            word if RESERVED.contains(&word) => {
                return Err(Bad::syntax(format!("`{word}` is a reserved word"), span));
            }
            _ if self.take("(") => {
                let arguments = self.arguments()?;
                let name = if is_absolute { format!(".{name}").into() } else { name };
                Node::Call { target: None, name, arguments }
            }
            _ => Node::Identifier { name, is_absolute },
        };
        self.made(node, span)
    }

    fn field(&mut self) -> Result<(Text, Span, bool), Bad> {
        let span = self.span();
        let (name, is_escaped) = match self.peek() {
            Word::Identifier(name) if !["in", "true", "false", "null"].contains(&name.as_str()) => {
                (name.clone(), false)
            }
            Word::Escaped(name) => (name.clone(), true),
            _ => return Err(self.unexpected("the name of a field")),
        };
        self.at += 1;
        Ok((name, span, is_escaped))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Bad> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.take(")") {
                return Ok(arguments);
            }
            self.expect_one_of(",", "`,` or `)`")?;
        }
    }

    fn elements(&mut self) -> Result<Vec<Element>, Bad> {
        let mut elements = Vec::new();
        while !self.take("]") {
            let is_optional = self.take("?");
            elements.push(Element { expr: self.expression()?, is_optional });
            if !self.take(",") && !matches!(self.peek(), Word::Sign("]")) {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        Ok(elements)
    }

    fn entries(&mut self) -> Result<Vec<(Expr, Element)>, Bad> {
        let mut entries = Vec::new();
        while !self.take("}") {
            let is_optional = self.take("?");
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, Element { expr: self.expression()?, is_optional }));
            self.separator()?;
        }
        Ok(entries)
    }

    fn fields(&mut self) -> Result<Vec<(Text, Element)>, Bad> {
        let mut fields = Vec::new();
        while !self.take("}") {
            let is_optional = self.take("?");
            let (name, _, _) = self.field()?;
            self.expect(":")?;
            fields.push((name, Element { expr: self.expression()?, is_optional }));
            self.separator()?;
        }
        Ok(fields)
    }

    fn separator(&mut self) -> Result<(), Bad> {
        if !self.take(",") && !matches!(self.peek(), Word::Sign("}")) {
            return Err(self.unexpected("`,` or `}`"));
        }
        Ok(())
    }

    fn made(&self, node: Node, span: Span) -> Result<Expr, Bad> {
        let expr = Expr::new(node, span);
        if expr.is_too_high() { Err(self.too_deep()) } else { Ok(expr) }
    }

    fn peek(&self) -> &Word {
        self.tokens.get(self.at).map_or(&Word::End, |token| &token.word)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or_else(Span::default, |token| token.span)
    }

    fn last_span(&self) -> Span {
        self.tokens.get(self.at.saturating_sub(1)).map_or_else(Span::default, |token| token.span)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Word::Sign(found) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Bad> {
        self.expect_one_of(sign, &format!("`{sign}`"))
    }

    fn expect_one_of(&mut self, sign: &str, wanted: &str) -> Result<(), Bad> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn unexpected(&self, wanted: &str) -> Bad {
        let found = match self.peek() {
            Word::Identifier(name) => format!("`{name}`"),
            Word::Escaped(name) => format!("`` `{name}` ``"),
            Word::Integer(value) => format!("`{value}`"),
            Word::Literal(Val::String(_)) => "a string".to_owned(),
            Word::Literal(value) => format!("`{value:?}`"),
            Word::Sign(sign) => format!("`{sign}`"),
            Word::End => "the end".to_owned(),
        };
        Bad::syntax(format!("expected {wanted}, found {found}"), self.span())
    }

    fn too_deep(&self) -> Bad {
        Bad::syntax(format!("an expression nests at most {MAX_HEIGHT} levels deep"), self.span())
    }
}

/// Returns `a.b.C` as one name, if the expression is that.
fn type_name(expr: &Expr) -> Option<Text> {
    match &expr.node {
        Node::Identifier { name, .. } => Some(name.clone()),
        Node::Select { operand, field, is_optional: false } => {
            Some(format!("{}.{field}", type_name(operand)?).into())
        }
        _ => None,
    }
}
