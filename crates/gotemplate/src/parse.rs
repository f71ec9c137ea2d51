//! Tokens to the parsed template, with Go's rules and messages.

mod expressions;

use std::collections::HashMap;

use kubewright_value::{Position, Text};

use super::ast::{Branch, Names, Node, Trees, VariableId};
use super::error::{ErrorKind, TemplateError};
use super::functions::Functions;
use super::lex::{Keyword, Kind, Token, lex};

/// How deep actions and parentheses may nest.
const MAX_NESTING: usize = 150;

/// Everything that parsing a text gives.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The main template and the defined ones, by name.
    pub trees: Trees,
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
        known_names: HashMap::from([("$", 0)]),
        trees: Trees::new(),
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
    // INVARIANT: the place of each of `names`.
    known_names: HashMap<&'a str, VariableId>,
    trees: Trees,
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
        let Some(known) = self.trees.get_mut(&name) else {
            self.trees.insert(name, nodes);
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
            Kind::Keyword(_) | Kind::Dot | Kind::Nil => format!("unexpected <{}> in {context}", token.text),
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
            position: Position::of(self.text, at),
            template: Text::new(self.name),
        }
    }
}

/// Texts above 4 GiB cannot be templates; the offset only serves messages.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns whether the template has nothing but white space, as Go judges it.
fn is_empty(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}
