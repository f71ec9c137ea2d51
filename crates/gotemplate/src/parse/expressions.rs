//! Pipelines and the expressions in them.

use kubewright_value::Text;

use super::super::ast::{Pipe, PipeCommand, TemplateExpression, TemplateTerm, VariableId, show_expression};
use super::super::error::GoTemplateError;
use super::super::lex::{TemplateToken, TemplateTokenKind};
use super::super::literal;
use super::{TemplateParse, TemplateParser, text_offset};

impl<'a> TemplateParser<'a> {
    /// Parses up to the token `end`, which is taken too.
    pub(super) fn pipeline(&mut self, context: &str, end: TemplateTokenKind) -> TemplateParse<Pipe> {
        let at = text_offset(self.peek_word().at);
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
                TemplateTokenKind::Bool
                | TemplateTokenKind::Character
                | TemplateTokenKind::Complex
                | TemplateTokenKind::Dot
                | TemplateTokenKind::Field
                | TemplateTokenKind::Identifier
                | TemplateTokenKind::Number
                | TemplateTokenKind::Nil
                | TemplateTokenKind::Raw
                | TemplateTokenKind::Quoted
                | TemplateTokenKind::Variable
                | TemplateTokenKind::LeftParen => pipe.commands.push(self.command()?),
                _ => return Err(self.unexpected(token, context)),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> TemplateParse<()> {
        loop {
            let token = self.peek_word();
            if token.kind != TemplateTokenKind::Variable {
                return Ok(());
            }
            let mark = self.at;
            self.next();
            match self.peek_word().kind {
                kind @ (TemplateTokenKind::Assign | TemplateTokenKind::Declare) => {
                    self.next();
                    pipe.is_assign = kind == TemplateTokenKind::Assign;
                    self.declare(pipe, token);
                    return Ok(());
                }
                TemplateTokenKind::Comma => {
                    self.next();
                    self.declare(pipe, token);
                    if context != "range" || pipe.variables.len() >= 2 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    if !matches!(
                        self.peek_word().kind,
                        TemplateTokenKind::Variable
                            | TemplateTokenKind::Close
                            | TemplateTokenKind::RightParen
                    ) {
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

    fn declare(&mut self, pipe: &mut Pipe, token: TemplateToken<'a>) {
        let variable = self.variable(token.text);
        pipe.variables.push(variable);
        self.scope.variables.push(variable);
    }

    fn variable(&mut self, name: &'a str) -> VariableId {
        let new = text_offset(self.names.len());
        let id = *self.known_names.entry(name).or_insert(new);
        if id == new {
            self.names.push(Text::new(name));
        }
        id
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> TemplateParse<()> {
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

    fn command(&mut self) -> TemplateParse<PipeCommand> {
        let mut words = Vec::new();
        loop {
            self.peek_word();
            if let Some(operand) = self.operand()? {
                words.push(operand);
            }
            let token = self.peek();
            match token.kind {
                TemplateTokenKind::Space => {
                    self.next();
                    continue;
                }
                TemplateTokenKind::Close | TemplateTokenKind::RightParen => {}
                TemplateTokenKind::Pipe => {
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
        Ok(PipeCommand { words })
    }

    fn operand(&mut self) -> TemplateParse<Option<TemplateExpression>> {
        let Some(mut term) = self.term()? else {
            return Ok(None);
        };
        let chain_at = self.peek().at;
        let mut fields = Vec::new();
        while self.peek().kind == TemplateTokenKind::Field {
            fields.push(field_name(self.next().text));
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        match &mut term.kind {
            TemplateTerm::Field(known) | TemplateTerm::Variable(_, known) => known.append(&mut fields),
            TemplateTerm::Bool(_)
            | TemplateTerm::Text(_)
            | TemplateTerm::Number(_)
            | TemplateTerm::Nil
            | TemplateTerm::Dot => {
                let shown = show_expression(&term, &self.names);
                return Err(self.error_at(chain_at, format!("unexpected . after term {shown:?}")));
            }
            _ => {
                return Ok(Some(TemplateExpression {
                    at: text_offset(chain_at),
                    kind: TemplateTerm::Chain(Box::new(term), fields),
                }));
            }
        }
        term.at = text_offset(chain_at);
        Ok(Some(term))
    }

    fn term(&mut self) -> TemplateParse<Option<TemplateExpression>> {
        let token = self.peek_word();
        let kind = match token.kind {
            TemplateTokenKind::Identifier => {
                TemplateTerm::Function(self.functions.find(token.text).map_err(|(kind, message)| {
                    GoTemplateError { kind, ..self.error_at(token.at, message) }
                })?)
            }
            TemplateTokenKind::Dot => TemplateTerm::Dot,
            TemplateTokenKind::Nil => TemplateTerm::Nil,
            TemplateTokenKind::Variable => self.used_variable(token)?,
            TemplateTokenKind::Field => TemplateTerm::Field(vec![field_name(token.text)]),
            TemplateTokenKind::Bool => TemplateTerm::Bool(token.text == "true"),
            TemplateTokenKind::Number | TemplateTokenKind::Complex => TemplateTerm::Number(
                literal::parse_number_literal(token.text)
                    .map_err(|message| self.error_at(token.at, message))?,
            ),
            TemplateTokenKind::Character => TemplateTerm::Number(
                literal::parse_character_literal(token.text)
                    .map_err(|message| self.error_at(token.at, message))?,
            ),
            TemplateTokenKind::Quoted | TemplateTokenKind::Raw => {
                TemplateTerm::Text(Text::from(self.unquote(token)?))
            }
            TemplateTokenKind::LeftParen => {
                self.next();
                self.enter(token.at)?;
                let pipe = self.pipeline("parenthesized pipeline", TemplateTokenKind::RightParen)?;
                self.depth -= 1;
                return Ok(Some(TemplateExpression {
                    at: text_offset(token.at),
                    kind: TemplateTerm::Pipe(Box::new(pipe)),
                }));
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(TemplateExpression { at: text_offset(token.at), kind }))
    }

    fn used_variable(&mut self, token: TemplateToken<'a>) -> TemplateParse<TemplateTerm> {
        let variable = self.variable(token.text);
        if !self.scope.variables.contains(&variable) {
            return Err(self.error_at(token.at, format!("undefined variable {:?}", token.text)));
        }
        Ok(TemplateTerm::Variable(variable, Vec::new()))
    }

    pub(super) fn unquote(&self, token: TemplateToken<'a>) -> TemplateParse<String> {
        literal::unquote(token.text).ok_or_else(|| self.error_at(token.at, "invalid syntax"))
    }
}

fn field_name(token: &str) -> Text {
    Text::new(token.strip_prefix('.').unwrap_or(token))
}
