//! Multi-selects and calls: `[a, b]`, `{a: b}` and `f(a, &b)`.

use std::sync::Arc;

use super::super::JmesPathParseErrorKind;
use super::super::ast::{JmesPathExpr, JmesPathNode};
use super::super::function::JmesPathCall;
use super::super::lex::{JmesPathSyntaxError, JmesPathTokenKind};
use super::JmesPathParser;

impl JmesPathParser<'_> {
    pub(super) fn multi_list(&mut self) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let at = self.at();
        self.next += 1;
        let mut members = Vec::new();
        loop {
            members.push(self.expr(0)?);
            if *self.peek() == JmesPathTokenKind::Sign("]") {
                self.next += 1;
                return Ok(JmesPathExpr::new(JmesPathNode::List(members), at));
            }
            self.take(",")?;
        }
    }

    pub(super) fn multi_object(&mut self) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let at = self.at();
        self.next += 1;
        let mut members = Vec::new();
        loop {
            let (JmesPathTokenKind::Identifier(key) | JmesPathTokenKind::Quoted(key)) = self.peek().clone()
            else {
                return Err(self.unexpected("a key"));
            };
            self.next += 1;
            self.take(":")?;
            members.push((key, self.expr(0)?));
            if *self.peek() == JmesPathTokenKind::Sign("}") {
                self.next += 1;
                return Ok(JmesPathExpr::new(JmesPathNode::Object(members), at));
            }
            self.take(",")?;
        }
    }

    pub(super) fn call(&mut self) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        let at = self.at();
        let JmesPathTokenKind::Identifier(name) = self.peek().clone() else {
            return Err(self.unexpected("a function"));
        };
        let Some(function) = self.settings.functions.get(&name) else {
            let message = match self.settings.functions.nearest(&name) {
                Some(known) => format!("unknown function `{name}`, is `{known}` meant?"),
                None => format!("unknown function `{name}`"),
            };
            return Err(JmesPathSyntaxError {
                kind: JmesPathParseErrorKind::UnknownFunction,
                ..self.bad(&message)
            });
        };
        let function = Arc::clone(function);
        self.calls.has_any = true;
        self.calls.has_volatile |= function.is_volatile();
        let place = self.bad("");
        self.next += 2;
        let arguments = self.arguments()?;
        match function.signature().refuses(&name, arguments.len()) {
            Some(message) => {
                Err(JmesPathSyntaxError { message, kind: JmesPathParseErrorKind::Arity, ..place })
            }
            None => {
                let literals = arguments.iter().map(|argument| match &argument.node {
                    JmesPathNode::Literal(value) if self.settings.is_prepared => Some(value),
                    _ => None,
                });
                let call = Arc::new(JmesPathCall::new(function, &literals.collect::<Vec<_>>()));
                Ok(JmesPathExpr::new(JmesPathNode::Call(call, arguments), at))
            }
        }
    }

    fn arguments(&mut self) -> Result<Vec<JmesPathExpr>, JmesPathSyntaxError> {
        let mut arguments = Vec::new();
        if *self.peek() == JmesPathTokenKind::Sign(")") {
            self.next += 1;
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if *self.peek() == JmesPathTokenKind::Sign(")") {
                self.next += 1;
                return Ok(arguments);
            }
            self.take(",")?;
        }
    }

    fn argument(&mut self) -> Result<JmesPathExpr, JmesPathSyntaxError> {
        if *self.peek() != JmesPathTokenKind::Sign("&") {
            return self.expr(0);
        }
        let at = self.at();
        self.next += 1;
        let inner = self.expr(0)?;
        Ok(JmesPathExpr::new(JmesPathNode::Reference(Box::new(inner)), at))
    }
}
