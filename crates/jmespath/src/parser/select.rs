//! What stands in brackets and has members: `[a, b]`, `{a: b}` and `f(a, &b)`.

use std::sync::Arc;

use super::super::ParseErrorKind;
use super::super::ast::{Expr, Node};
use super::super::function::Call;
use super::super::lex::{Bad, Word};
use super::Parser;

impl Parser<'_> {
    pub(super) fn multi_list(&mut self) -> Result<Expr, Bad> {
        let at = self.at();
        self.next += 1;
        let mut members = Vec::new();
        loop {
            members.push(self.expr(0)?);
            if *self.peek() == Word::Sign("]") {
                self.next += 1;
                return Ok(Expr::new(Node::List(members), at));
            }
            self.take(",")?;
        }
    }

    pub(super) fn multi_object(&mut self) -> Result<Expr, Bad> {
        let at = self.at();
        self.next += 1;
        let mut members = Vec::new();
        loop {
            let (Word::Identifier(key) | Word::Quoted(key)) = self.peek().clone() else {
                return Err(self.unexpected("a key"));
            };
            self.next += 1;
            self.take(":")?;
            members.push((key, self.expr(0)?));
            if *self.peek() == Word::Sign("}") {
                self.next += 1;
                return Ok(Expr::new(Node::Object(members), at));
            }
            self.take(",")?;
        }
    }

    pub(super) fn call(&mut self) -> Result<Expr, Bad> {
        let at = self.at();
        let Word::Identifier(name) = self.peek().clone() else { return Err(self.unexpected("a function")) };
        let Some(function) = self.functions.get(&name) else {
            let message = match self.functions.nearest(&name) {
                Some(known) => format!("unknown function `{name}`, is `{known}` meant?"),
                None => format!("unknown function `{name}`"),
            };
            return Err(Bad { kind: ParseErrorKind::UnknownFunction, ..self.bad(&message) });
        };
        let function = Arc::clone(function);
        self.is_volatile |= function.is_volatile();
        let place = self.bad("");
        self.next += 2;
        let arguments = self.arguments()?;
        match function.signature().refuses(&name, arguments.len()) {
            Some(message) => Err(Bad { message, kind: ParseErrorKind::Arity, ..place }),
            None => {
                let literals = arguments.iter().map(|argument| match &argument.node {
                    Node::Literal(value) => Some(value),
                    _ => None,
                });
                let call = Arc::new(Call::new(function, &literals.collect::<Vec<_>>()));
                Ok(Expr::new(Node::Call(call, arguments), at))
            }
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Bad> {
        let mut arguments = Vec::new();
        if *self.peek() == Word::Sign(")") {
            self.next += 1;
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if *self.peek() == Word::Sign(")") {
                self.next += 1;
                return Ok(arguments);
            }
            self.take(",")?;
        }
    }

    fn argument(&mut self) -> Result<Expr, Bad> {
        if *self.peek() != Word::Sign("&") {
            return self.expr(0);
        }
        let at = self.at();
        self.next += 1;
        let inner = self.expr(0)?;
        Ok(Expr::new(Node::Reference(Box::new(inner)), at))
    }
}
