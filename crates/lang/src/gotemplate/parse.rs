//! Tokens to the parsed template, with Go's rules and messages.

use kubewright_value::Text;

use super::ast::{Branch, Command, Expression, Names, Node, Pipe, Term, VariableId};
use super::error::{ErrorKind, TemplateError, position};
use super::functions::Functions;
use super::lex::{Keyword, Kind, Token, lex};
use super::literal;

/// How deep actions and parentheses may nest.
const MAX_NESTING: usize = 150;

/// Everything that parsing a text gives.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The main template and the defined ones, by name.
    pub trees: Vec<(Text, Vec<Node>)>,
    pub names: Names,
}

/// Parses `text`; function names are looked up in `functions`.
pub(super) fn parse(name: &str, text: &str, functions: &Functions) -> Result<Parsed, TemplateError> {
    let mut parser = Parser {
        name,
        text,
        functions,
        tokens: lex(text),
        at: 0,
        names: vec![Text::new_static("$")],
        trees: Vec::new(),
        scope: Scope { variables: vec![0], range_depth: 0 },
        depth: 0,
    };
    parser.main()?;
    Ok(Parsed { trees: parser.trees, names: parser.names })
}

struct Parser<'a> {
    name: &'a str,
    text: &'a str,
    functions: &'a Functions,
    tokens: Vec<Token<'a>>,
    at: usize,
    names: Names,
    trees: Vec<(Text, Vec<Node>)>,
    scope: Scope,
    depth: usize,
}

/// What the template being parsed may use.
struct Scope {
    variables: Vec<VariableId>,
    range_depth: usize,
}

enum Item {
    Node(Node),
    End,
    Else,
}

type Parse<T> = Result<T, TemplateError>;

impl<'a> Parser<'a> {
    fn main(&mut self) -> Parse<()> {
        let mut nodes = Vec::new();
        while self.peek().kind != Kind::End {
            if self.peek().kind == Kind::Open {
                let mark = self.at;
                self.next();
                if self.next_word().kind == Kind::Keyword(Keyword::Define) {
                    self.definition()?;
                    continue;
                }
                self.at = mark;
            }
            let at = self.peek().at;
            match self.item()? {
                Item::Node(node) => nodes.push(node),
                Item::End => return Err(self.error_at(at, "unexpected {{end}}")),
                Item::Else => return Err(self.error_at(at, "unexpected {{else}}")),
            }
        }
        self.add(Text::new(self.name), nodes)
    }

    fn definition(&mut self) -> Parse<()> {
        let token = self.next_word();
        let name = self.template_name(token, "define clause")?;
        self.expect_close("define clause")?;
        self.separate(Text::from(name), "define clause")
    }

    /// Parses up to the `end` as a template of its own.
    fn separate(&mut self, name: Text, context: &str) -> Parse<()> {
        let scope = std::mem::replace(&mut self.scope, Scope { variables: vec![0], range_depth: 0 });
        let (nodes, is_end) = self.items()?;
        if !is_end {
            return Err(self.error(format!("unexpected {{{{else}}}} in {context}")));
        }
        self.scope = scope;
        self.add(name, nodes)
    }

    /// Adds a template; an empty one never replaces another, two full ones clash.
    fn add(&mut self, name: Text, nodes: Vec<Node>) -> Parse<()> {
        let Some((_, known)) = self.trees.iter_mut().find(|(n, _)| *n == name) else {
            self.trees.push((name, nodes));
            return Ok(());
        };
        if is_empty(known) {
            *known = nodes;
        } else if !is_empty(&nodes) {
            return Err(self.error(format!("template: multiple definition of template {name:?}")));
        }
        Ok(())
    }

    /// Parses up to `end` or `else`; returns whether it was `end`.
    fn items(&mut self) -> Parse<(Vec<Node>, bool)> {
        let mut nodes = Vec::new();
        while self.peek_word().kind != Kind::End {
            match self.item()? {
                Item::Node(node) => nodes.push(node),
                Item::End => return Ok((nodes, true)),
                Item::Else => return Ok((nodes, false)),
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn item(&mut self) -> Parse<Item> {
        let token = self.next_word();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text(Text::new(token.text)))),
            Kind::Open => {
                self.enter(token.at)?;
                let item = self.action();
                self.depth -= 1;
                item
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    fn enter(&mut self, at: usize) -> Parse<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.error_at(at, format!("nested deeper than {MAX_NESTING} levels")));
        }
        Ok(())
    }

    fn action(&mut self) -> Parse<Item> {
        let token = self.peek_word();
        let Kind::Keyword(keyword) = token.kind else {
            return Ok(Item::Node(Node::Action(self.pipeline("command", Kind::Close)?)));
        };
        self.next();
        let node = match keyword {
            Keyword::Block => self.block()?,
            Keyword::Break => {
                self.leave_range(token, "{{break}}")?;
                Node::Break
            }
            Keyword::Continue => {
                self.leave_range(token, "{{continue}}")?;
                Node::Continue
            }
            Keyword::Else => {
                let next = self.peek_word().kind;
                if !matches!(next, Kind::Keyword(Keyword::If | Keyword::With)) {
                    self.expect_close("else")?;
                }
                return Ok(Item::Else);
            }
            Keyword::End => {
                self.expect_close("end")?;
                return Ok(Item::End);
            }
            Keyword::If => Node::If(Box::new(self.branch("if")?)),
            Keyword::With => Node::With(Box::new(self.branch("with")?)),
            Keyword::Range => Node::Range(Box::new(self.branch("range")?)),
            Keyword::Template => self.template()?,
            Keyword::Define => return Err(self.unexpected(token, "command")),
        };
        Ok(Item::Node(node))
    }

    fn leave_range(&mut self, keyword: Token<'a>, context: &str) -> Parse<()> {
        let token = self.next_word();
        if token.kind != Kind::Close {
            return Err(self.unexpected(token, context));
        }
        if self.scope.range_depth == 0 {
            return Err(self.error_at(keyword.at, format!("{context} outside {{{{range}}}}")));
        }
        Ok(())
    }

    fn branch(&mut self, context: &str) -> Parse<Branch> {
        let mark = self.scope.variables.len();
        let pipe = self.pipeline(context, Kind::Close)?;
        let in_range = usize::from(context == "range");
        self.scope.range_depth += in_range;
        let (then, is_end) = self.items()?;
        self.scope.range_depth -= in_range;
        let otherwise = if is_end { None } else { Some(self.otherwise(context)?) };
        self.scope.variables.truncate(mark);
        Ok(Branch { pipe, then, otherwise })
    }

    fn otherwise(&mut self, context: &str) -> Parse<Vec<Node>> {
        let token = self.peek_word();
        match (context, token.kind) {
            ("if", Kind::Keyword(Keyword::If)) | ("with", Kind::Keyword(Keyword::With)) => {
                self.next();
                self.enter(token.at)?;
                let branch = Box::new(self.branch(context)?);
                self.depth -= 1;
                Ok(vec![if context == "if" { Node::If(branch) } else { Node::With(branch) }])
            }
            _ => {
                let (nodes, is_end) = self.items()?;
                if is_end { Ok(nodes) } else { Err(self.error("expected end; found {{else}}")) }
            }
        }
    }

    fn block(&mut self) -> Parse<Node> {
        let token = self.next_word();
        let name = Text::from(self.template_name(token, "block clause")?);
        let pipe = self.pipeline("block clause", Kind::Close)?;
        self.separate(name.clone(), "block clause")?;
        Ok(Node::Template { at: offset(token.at), name, pipe: Some(pipe) })
    }

    fn template(&mut self) -> Parse<Node> {
        let token = self.next_word();
        let name = Text::from(self.template_name(token, "template clause")?);
        let pipe = if self.peek_word().kind == Kind::Close {
            self.next();
            None
        } else {
            Some(self.pipeline("template clause", Kind::Close)?)
        };
        Ok(Node::Template { at: offset(token.at), name, pipe })
    }

    fn template_name(&mut self, token: Token<'a>, context: &str) -> Parse<String> {
        match token.kind {
            Kind::Quoted | Kind::Raw => self.unquote(token),
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn pipeline(&mut self, context: &str, end: Kind) -> Parse<Pipe> {
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

    fn variable(&mut self, name: &str) -> VariableId {
        let known = self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(Text::new(name));
            self.names.len() - 1
        });
        offset(known)
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
                let shown = super::ast::show(&term, &self.names);
                return Err(self.error_at(chain_at, format!("unexpected . after term {shown:?}")));
            }
            _ => return Ok(Some(Expression { at: offset(chain_at), kind: Term::Chain(Box::new(term), fields) })),
        }
        term.at = offset(chain_at);
        Ok(Some(term))
    }

    fn term(&mut self) -> Parse<Option<Expression>> {
        let token = self.peek_word();
        let kind = match token.kind {
            Kind::Identifier => Term::Function(
                self.functions.find(token.text).map_err(|message| self.error_at(token.at, message))?,
            ),
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Variable => self.used_variable(token)?,
            Kind::Field => Term::Field(vec![field(token.text)]),
            Kind::Bool => Term::Bool(token.text == "true"),
            Kind::Number | Kind::Complex => Term::Number(
                literal::number(token.text).map_err(|message| self.error_at(token.at, message))?,
            ),
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

    fn unquote(&self, token: Token<'a>) -> Parse<String> {
        literal::unquote(token.text).ok_or_else(|| self.error_at(token.at, "invalid syntax"))
    }

    fn expect_close(&mut self, context: &str) -> Parse<()> {
        let token = self.next_word();
        if token.kind == Kind::Close { Ok(()) } else { Err(self.unexpected(token, context)) }
    }

    fn peek(&self) -> Token<'a> {
        let end = Token { kind: Kind::End, text: "", at: self.text.len() };
        self.tokens.get(self.at).copied().unwrap_or(end)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Skips spaces and returns the token after them without taking it.
    fn peek_word(&mut self) -> Token<'a> {
        while self.peek().kind == Kind::Space {
            self.at += 1;
        }
        self.peek()
    }

    fn next_word(&mut self) -> Token<'a> {
        self.peek_word();
        self.next()
    }

    fn unexpected(&self, token: Token<'a>, context: &str) -> TemplateError {
        let message = match token.kind {
            Kind::Error(message) => message.to_owned(),
            Kind::ErrorWith(start) if start.starts_with("bad number") => format!("{start}{:?}", token.text),
            Kind::ErrorWith(start) => {
                let character = token.text.chars().next().unwrap_or('\u{fffd}');
                format!("{start}U+{:04X} '{character}'", u32::from(character))
            }
            Kind::End => format!("unexpected EOF in {context}"),
            Kind::Keyword(_) => format!("unexpected <{}> in {context}", token.text),
            _ if token.text.chars().count() > 10 => {
                let start: String = token.text.chars().take(10).collect();
                format!("unexpected {start:?}... in {context}")
            }
            _ => format!("unexpected {:?} in {context}", token.text),
        };
        self.error_at(token.at, message)
    }

    /// Makes an error at the token just read.
    fn error(&self, message: impl Into<String>) -> TemplateError {
        let at = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(self.text.len(), |t| t.at);
        self.error_at(at, message)
    }

    fn error_at(&self, at: usize, message: impl Into<String>) -> TemplateError {
        TemplateError {
            kind: ErrorKind::Parse,
            message: message.into(),
            position: position(self.text, at),
            template: Text::new(self.name),
        }
    }
}

fn field(token: &str) -> Text {
    Text::new(token.strip_prefix('.').unwrap_or(token))
}

/// Texts above 4 GiB cannot be templates; the offset only serves messages.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns whether the template has nothing but white space, as Go judges it.
fn is_empty(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}
