//! Pipelines and the expressions in them.

use kubewright_value::Text;

use super::super::ast::{Command, Expression, Pipe, Term, VariableId, show};
use super::super::error::TemplateError;
use super::super::lex::{Kind, Token};
use super::super::literal;
use super::{Parse, Parser, offset};

impl<'a> Parser<'a> {
    /// Parses up to the token `end`, which is taken too.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Parse<Pipe> {
        let at = offset(self.peek_word().at);
        let mut pipe = Pipe { at, variables: Vec::new(), is_assign: false, commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.peek_word();
            match token.kind {
                kind if kind == end => {
                    self.next();
                    self.check_pipeline(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::Character
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::Raw
                | Kind::Quoted
                | Kind::Variable
                | Kind::LeftParen => pipe.commands.push(self.command()?),
                _ => return Err(self.unexpected(token, context)),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Parse<()> {
        loop {
            let token = self.peek_word();
            if token.kind != Kind::Variable {
                return Ok(());
            }
            let mark = self.at;
            self.next();
            match self.peek_word().kind {
                kind @ (Kind::Assign | Kind::Declare) => {
                    self.next();
                    pipe.is_assign = kind == Kind::Assign;
                    self.declare(pipe, token);
                    return Ok(());
                }
                Kind::Comma => {
                    self.next();
                    self.declare(pipe, token);
                    if context != "range" || pipe.variables.len() >= 2 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    if !matches!(self.peek_word().kind, Kind::Variable | Kind::Close | Kind::RightParen) {
                        return Err(self.error("range can only initialize variables"));
                    }
                }
                _ => {
                    self.at = mark;
                    return Ok(());
                }
            }
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, token: Token<'a>) {
        let variable = self.variable(token.text);
        pipe.variables.push(variable);
        self.scope.variables.push(variable);
    }

    fn variable(&mut self, name: &'a str) -> VariableId {
        let new = offset(self.names.len());
        let id = *self.known_names.entry(name).or_insert(new);
        if id == new {
            self.names.push(Text::new(name));
        }
        id
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> Parse<()> {
        if pipe.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (i, command) in pipe.commands.iter().enumerate().skip(1) {
            if command.words.first().is_some_and(|word| !word.kind.is_executable()) {
                return Err(self.error(format!("non executable command in pipeline stage {}", i + 1)));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parse<Command> {
        let mut words = Vec::new();
        loop {
            self.peek_word();
            if let Some(operand) = self.operand()? {
                words.push(operand);
            }
            let token = self.peek();
            match token.kind {
                Kind::Space => {
                    self.next();
                    continue;
                }
                Kind::Close | Kind::RightParen => {}
                Kind::Pipe => {
                    self.next();
                }
                _ => {
                    self.next();
                    return Err(self.unexpected(token, "operand"));
                }
            }
            break;
        }
        if words.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(Command { words })
    }

    fn operand(&mut self) -> Parse<Option<Expression>> {
        let Some(mut term) = self.term()? else {
            return Ok(None);
        };
        let chain_at = self.peek().at;
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(field(self.next().text));
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        match &mut term.kind {
            Term::Field(known) | Term::Variable(_, known) => known.append(&mut fields),
            Term::Bool(_) | Term::Text(_) | Term::Number(_) | Term::Nil | Term::Dot => {
                let shown = show(&term, &self.names);
                return Err(self.error_at(chain_at, format!("unexpected . after term {shown:?}")));
            }
            _ => {
                return Ok(Some(Expression {
                    at: offset(chain_at),
                    kind: Term::Chain(Box::new(term), fields),
                }));
            }
        }
        term.at = offset(chain_at);
        Ok(Some(term))
    }

    fn term(&mut self) -> Parse<Option<Expression>> {
        let token = self.peek_word();
        let kind = match token.kind {
            Kind::Identifier => Term::Function(
                self.functions
                    .find(token.text)
                    .map_err(|(kind, message)| TemplateError { kind, ..self.error_at(token.at, message) })?,
            ),
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Variable => self.used_variable(token)?,
            Kind::Field => Term::Field(vec![field(token.text)]),
            Kind::Bool => Term::Bool(token.text == "true"),
            Kind::Number | Kind::Complex => {
                Term::Number(literal::number(token.text).map_err(|message| self.error_at(token.at, message))?)
            }
            Kind::Character => Term::Number(
                literal::character(token.text).map_err(|message| self.error_at(token.at, message))?,
            ),
            Kind::Quoted | Kind::Raw => Term::Text(Text::from(self.unquote(token)?)),
            Kind::LeftParen => {
                self.next();
                self.enter(token.at)?;
                let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
                self.depth -= 1;
                return Ok(Some(Expression { at: offset(token.at), kind: Term::Pipe(Box::new(pipe)) }));
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(Expression { at: offset(token.at), kind }))
    }

    fn used_variable(&mut self, token: Token<'a>) -> Parse<Term> {
        let variable = self.variable(token.text);
        if !self.scope.variables.contains(&variable) {
            return Err(self.error_at(token.at, format!("undefined variable {:?}", token.text)));
        }
        Ok(Term::Variable(variable, Vec::new()))
    }

    pub(super) fn unquote(&self, token: Token<'a>) -> Parse<String> {
        literal::unquote(token.text).ok_or_else(|| self.error_at(token.at, "invalid syntax"))
    }
}

fn field(token: &str) -> Text {
    Text::new(token.strip_prefix('.').unwrap_or(token))
}
