//! The parser: tokens to expressions.

use kubewright_value::Text;

use super::ast::{CelElement, CelExpr, CelNode, CelOperator, CelSpan, MAX_HEIGHT};
use super::lex::{self, CelSyntaxError, CelToken, CelTokenKind};
use super::val::Val;

/// Reserved words, which cannot be identifiers.
pub const RESERVED_WORDS: [&str; 17] = [
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
pub(super) fn parse_cel(text: &str) -> Result<CelExpr, CelSyntaxError> {
    let tokens = lex::tokenize_cel(text)?;
    let mut parser = CelParser { tokens, at: 0, depth: 0 };
    let expr = parser.expression()?;
    match parser.peek() {
        CelTokenKind::End => Ok(expr),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct CelParser {
    // INVARIANT: ends with `CelTokenKind::End`.
    tokens: Vec<CelToken>,
    at: usize,
    depth: u32,
}

/// The precedence of binary operators, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CelPrecedence {
    Relation,
    Sum,
    Product,
}

impl CelParser {
    /// `a ? b : c`
    fn expression(&mut self) -> Result<CelExpr, CelSyntaxError> {
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
            self.made(CelNode::Conditional(Box::new((condition, then, otherwise))), span)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn or(&mut self) -> Result<CelExpr, CelSyntaxError> {
        let first = self.and()?;
        let mut parts = vec![first];
        let mut span = None;
        while self.take("||") {
            span.get_or_insert(self.last_span());
            parts.push(self.and()?);
        }
        match span {
            Some(span) => self.made(CelNode::Or(parts), span),
            None => parts.pop().ok_or_else(|| self.too_deep()),
        }
    }

    fn and(&mut self) -> Result<CelExpr, CelSyntaxError> {
        let first = self.chain(CelPrecedence::Relation)?;
        let mut parts = vec![first];
        let mut span = None;
        while self.take("&&") {
            span.get_or_insert(self.last_span());
            parts.push(self.chain(CelPrecedence::Relation)?);
        }
        match span {
            Some(span) => self.made(CelNode::And(parts), span),
            None => parts.pop().ok_or_else(|| self.too_deep()),
        }
    }

    fn chain(&mut self, binding: CelPrecedence) -> Result<CelExpr, CelSyntaxError> {
        let operand = |parser: &mut Self| match binding {
            CelPrecedence::Relation => parser.chain(CelPrecedence::Sum),
            CelPrecedence::Sum => parser.chain(CelPrecedence::Product),
            CelPrecedence::Product => parser.unary(),
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
                self.made(CelNode::Chain(Box::new(first), rest), span)
            }
            None => Ok(first),
        }
    }

    fn operator(&self, binding: CelPrecedence) -> Option<CelOperator> {
        let sign = match self.peek() {
            CelTokenKind::Sign(sign) => *sign,
            CelTokenKind::Identifier(name) if name == "in" => "in",
            _ => return None,
        };
        let (found, of) = match sign {
            "==" => (CelOperator::Equal, CelPrecedence::Relation),
            "!=" => (CelOperator::NotEqual, CelPrecedence::Relation),
            "<" => (CelOperator::Less, CelPrecedence::Relation),
            "<=" => (CelOperator::LessOrEqual, CelPrecedence::Relation),
            ">" => (CelOperator::Greater, CelPrecedence::Relation),
            ">=" => (CelOperator::GreaterOrEqual, CelPrecedence::Relation),
            "in" => (CelOperator::In, CelPrecedence::Relation),
            "+" => (CelOperator::Add, CelPrecedence::Sum),
            "-" => (CelOperator::Subtract, CelPrecedence::Sum),
            "*" => (CelOperator::Multiply, CelPrecedence::Product),
            "/" => (CelOperator::Divide, CelPrecedence::Product),
            "%" => (CelOperator::Remainder, CelPrecedence::Product),
            _ => return None,
        };
        (of == binding).then_some(found)
    }

    /// `!a`, `-a`; a double negation is dropped.
    fn unary(&mut self) -> Result<CelExpr, CelSyntaxError> {
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
                self.made(CelNode::Not(Box::new(operand)), span)
            };
        }
        let is_number = |word: Option<&CelToken>| {
            matches!(
                word.map(|t| &t.word),
                Some(CelTokenKind::Integer(_) | CelTokenKind::Literal(Val::Double(_)))
            )
        };
        while matches!(self.peek(), CelTokenKind::Sign("-")) && !is_number(self.tokens.get(self.at + 1)) {
            self.at += 1;
            count += 1;
        }
        if count == 0 {
            return self.member();
        }
        let operand = self.member()?;
        if count.is_multiple_of(2) {
            Ok(operand)
        } else {
            self.made(CelNode::Negate(Box::new(operand)), span)
        }
    }

    /// `a.b`, `a.?b`, `a.f(b)`, `a[b]`, `a[?b]`
    fn member(&mut self) -> Result<CelExpr, CelSyntaxError> {
        let mut expr = self.primary()?;
        loop {
            if self.take(".") {
                let is_optional = self.take("?");
                let (field, span, is_escaped) = self.field()?;
                expr = if !is_optional && !is_escaped && self.take("(") {
                    let arguments = self.arguments()?;
                    self.made(CelNode::Call { target: Some(Box::new(expr)), name: field, arguments }, span)?
                } else {
                    self.made(CelNode::Select { operand: Box::new(expr), field, is_optional }, span)?
                };
            } else if self.take("[") {
                let span = self.last_span();
                let is_optional = self.take("?");
                let index = Box::new(self.expression()?);
                self.expect("]")?;
                expr = self.made(CelNode::Index { operand: Box::new(expr), index, is_optional }, span)?;
            } else if matches!(self.peek(), CelTokenKind::Sign("{")) && qualified_type_name(&expr).is_some() {
                let span = expr.span;
                let name = qualified_type_name(&expr).unwrap_or_default();
                self.at += 1;
                let fields = self.fields()?;
                expr = self.made(CelNode::Struct { name, fields }, span)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Result<CelExpr, CelSyntaxError> {
        let span = self.span();
        let word = self.peek().clone();
        self.at += usize::from(!matches!(word, CelTokenKind::End));
        let node = match word {
            CelTokenKind::Literal(value) => CelNode::Literal(value),
            CelTokenKind::Integer(value) => CelNode::Literal(Val::Int(
                i64::try_from(value)
                    .map_err(|_| CelSyntaxError::syntax("an int has at most 64 bits", span))?,
            )),
            CelTokenKind::Sign("-") => return self.negative(span),
            CelTokenKind::Identifier(name) => return self.named(name, span, false),
            CelTokenKind::Sign(".") => {
                let span = self.span();
                let CelTokenKind::Identifier(name) = self.peek().clone() else {
                    return Err(self.unexpected("a name"));
                };
                self.at += 1;
                return self.named(name, span, true);
            }
            CelTokenKind::Sign("(") => {
                let expr = self.expression()?;
                self.expect(")")?;
                return Ok(expr);
            }
            CelTokenKind::Sign("[") => CelNode::List(self.elements()?),
            CelTokenKind::Sign("{") => CelNode::Map(self.entries()?),
            _ => {
                self.at = self.at.saturating_sub(usize::from(!matches!(word, CelTokenKind::End)));
                return Err(self.unexpected("an expression"));
            }
        };
        self.made(node, span)
    }

    /// A negative number. Its sign is part of the literal, so that the smallest `int` can be written.
    fn negative(&mut self, span: CelSpan) -> Result<CelExpr, CelSyntaxError> {
        let value = match self.peek() {
            CelTokenKind::Integer(value) => 0_i64.checked_sub_unsigned(*value).map(Val::Int),
            CelTokenKind::Literal(Val::Double(value)) => Some(Val::Double(-value)),
            _ => return Err(self.unexpected("a number")),
        };
        let value = value.ok_or_else(|| CelSyntaxError::syntax("an int has at most 64 bits", span))?;
        let span = CelSpan { start: span.start, end: self.span().end };
        self.at += 1;
        self.made(CelNode::Literal(value), span)
    }

    fn named(&mut self, name: Text, span: CelSpan, is_absolute: bool) -> Result<CelExpr, CelSyntaxError> {
        let node = match name.as_str() {
            "true" => CelNode::Literal(Val::Bool(true)),
            "false" => CelNode::Literal(Val::Bool(false)),
            "null" => CelNode::Literal(Val::Null),
            "in" => {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected("an expression"));
            }
            word if RESERVED_WORDS.contains(&word) => {
                return Err(CelSyntaxError::syntax(format!("`{word}` is a reserved word"), span));
            }
            _ if self.take("(") => {
                let arguments = self.arguments()?;
                let name = if is_absolute { format!(".{name}").into() } else { name };
                CelNode::Call { target: None, name, arguments }
            }
            _ => CelNode::Identifier { name, is_absolute },
        };
        self.made(node, span)
    }

    fn field(&mut self) -> Result<(Text, CelSpan, bool), CelSyntaxError> {
        let span = self.span();
        let (name, is_escaped) = match self.peek() {
            CelTokenKind::Identifier(name) if !["in", "true", "false", "null"].contains(&name.as_str()) => {
                (name.clone(), false)
            }
            CelTokenKind::Escaped(name) => (name.clone(), true),
            _ => return Err(self.unexpected("the name of a field")),
        };
        self.at += 1;
        Ok((name, span, is_escaped))
    }

    fn arguments(&mut self) -> Result<Vec<CelExpr>, CelSyntaxError> {
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

    fn elements(&mut self) -> Result<Vec<CelElement>, CelSyntaxError> {
        let mut elements = Vec::new();
        if self.take_lone_comma("]") {
            return Ok(elements);
        }
        while !self.take("]") {
            let is_optional = self.take("?");
            elements.push(CelElement { expr: self.expression()?, is_optional });
            if !self.take(",") && !matches!(self.peek(), CelTokenKind::Sign("]")) {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        Ok(elements)
    }

    fn entries(&mut self) -> Result<Vec<(CelExpr, CelElement)>, CelSyntaxError> {
        let mut entries = Vec::new();
        if self.take_lone_comma("}") {
            return Ok(entries);
        }
        while !self.take("}") {
            let is_optional = self.take("?");
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, CelElement { expr: self.expression()?, is_optional }));
            self.separator()?;
        }
        Ok(entries)
    }

    fn fields(&mut self) -> Result<Vec<(Text, CelElement)>, CelSyntaxError> {
        let mut fields = Vec::new();
        if self.take_lone_comma("}") {
            return Ok(fields);
        }
        while !self.take("}") {
            let is_optional = self.take("?");
            let (name, _, _) = self.field()?;
            self.expect(":")?;
            fields.push((name, CelElement { expr: self.expression()?, is_optional }));
            self.separator()?;
        }
        Ok(fields)
    }

    /// Takes `[,` or `{,` to its end: the grammar of CEL has an optional comma also where there is no element.
    fn take_lone_comma(&mut self, close: &str) -> bool {
        let is_sign = |at: usize, sign: &str| {
            let word = self.tokens.get(at).map(|token| &token.word);
            matches!(word, Some(CelTokenKind::Sign(found)) if *found == sign)
        };
        let is_found = is_sign(self.at, ",") && is_sign(self.at + 1, close);
        self.at += if is_found { 2 } else { 0 };
        is_found
    }

    fn separator(&mut self) -> Result<(), CelSyntaxError> {
        if !self.take(",") && !matches!(self.peek(), CelTokenKind::Sign("}")) {
            return Err(self.unexpected("`,` or `}`"));
        }
        Ok(())
    }

    fn made(&self, node: CelNode, span: CelSpan) -> Result<CelExpr, CelSyntaxError> {
        let expr = CelExpr::new(node, span);
        if expr.is_too_high() { Err(self.too_deep()) } else { Ok(expr) }
    }

    fn peek(&self) -> &CelTokenKind {
        self.tokens.get(self.at).map_or(&CelTokenKind::End, |token| &token.word)
    }

    fn span(&self) -> CelSpan {
        self.tokens.get(self.at).map_or_else(CelSpan::default, |token| token.span)
    }

    fn last_span(&self) -> CelSpan {
        self.tokens.get(self.at.saturating_sub(1)).map_or_else(CelSpan::default, |token| token.span)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), CelTokenKind::Sign(found) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), CelSyntaxError> {
        self.expect_one_of(sign, &format!("`{sign}`"))
    }

    fn expect_one_of(&mut self, sign: &str, wanted: &str) -> Result<(), CelSyntaxError> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn unexpected(&self, wanted: &str) -> CelSyntaxError {
        let found = match self.peek() {
            CelTokenKind::Identifier(name) => format!("`{name}`"),
            CelTokenKind::Escaped(name) => format!("`` `{name}` ``"),
            CelTokenKind::Integer(value) => format!("`{value}`"),
            CelTokenKind::Literal(Val::String(_)) => "a string".to_owned(),
            CelTokenKind::Literal(value) => format!("`{value:?}`"),
            CelTokenKind::Sign(sign) => format!("`{sign}`"),
            CelTokenKind::End => "the end".to_owned(),
        };
        CelSyntaxError::syntax(format!("expected {wanted}, found {found}"), self.span())
    }

    fn too_deep(&self) -> CelSyntaxError {
        CelSyntaxError::syntax(format!("an expression nests at most {MAX_HEIGHT} levels deep"), self.span())
    }
}

/// Returns the qualified name `a.b.C`, if the expression is one.
fn qualified_type_name(expr: &CelExpr) -> Option<Text> {
    match &expr.node {
        CelNode::Identifier { name, .. } => Some(name.clone()),
        CelNode::Select { operand, field, is_optional: false } => {
            Some(format!("{}.{field}", qualified_type_name(operand)?).into())
        }
        _ => None,
    }
}
