//! Tokens to the parsed template, with Go's rules and messages.

mod expressions;

use std::collections::HashMap;

use kubewright_value::{Position, Text};

use super::ast::{NamedTemplates, TemplateBranch, TemplateNode, VariableId, VariableNames};
use super::error::{GoTemplateError, GoTemplateErrorKind};
use super::functions::FunctionSet;
use super::lex::{Keyword, TemplateToken, TemplateTokenKind, lex};

/// The maximum nesting depth of actions and parentheses.
const MAX_NESTING: usize = 150;

/// Everything that parsing a text gives.
#[derive(Debug)]
pub(super) struct ParsedTemplate {
    /// The main template and the defined ones, by name.
    pub trees: NamedTemplates,
    pub names: VariableNames,
}

/// Parses `text`; function names are looked up in `functions`.
pub(super) fn parse_template(
    name: &str,
    text: &str,
    functions: &FunctionSet,
) -> Result<ParsedTemplate, GoTemplateError> {
    let mut parser = TemplateParser {
        name,
        text,
        functions,
        tokens: lex(text),
        at: 0,
        names: vec![Text::new_static("$")],
        known_names: HashMap::from([("$", 0)]),
        trees: NamedTemplates::new(),
        scope: ParseScope { variables: vec![0], range_depth: 0 },
        depth: 0,
    };
    parser.main()?;
    Ok(ParsedTemplate { trees: parser.trees, names: parser.names })
}

struct TemplateParser<'a> {
    name: &'a str,
    text: &'a str,
    functions: &'a FunctionSet,
    tokens: Vec<TemplateToken<'a>>,
    at: usize,
    names: VariableNames,
    // INVARIANT: the place of each of `names`.
    known_names: HashMap<&'a str, VariableId>,
    trees: NamedTemplates,
    scope: ParseScope,
    depth: usize,
}

/// The names that the template being parsed may use.
struct ParseScope {
    variables: Vec<VariableId>,
    range_depth: usize,
}

enum ParsedItem {
    Node(TemplateNode),
    End,
    Else,
}

type TemplateParse<T> = Result<T, GoTemplateError>;

impl<'a> TemplateParser<'a> {
    fn main(&mut self) -> TemplateParse<()> {
        let mut nodes = Vec::new();
        while self.peek().kind != TemplateTokenKind::End {
            if self.peek().kind == TemplateTokenKind::Open {
                let mark = self.at;
                self.next();
                if self.next_word().kind == TemplateTokenKind::Keyword(Keyword::Define) {
                    self.definition()?;
                    continue;
                }
                self.at = mark;
            }
            let at = self.peek().at;
            match self.item()? {
                ParsedItem::Node(node) => nodes.push(node),
                ParsedItem::End => return Err(self.error_at(at, "unexpected {{end}}")),
                ParsedItem::Else => return Err(self.error_at(at, "unexpected {{else}}")),
            }
        }
        self.add(Text::new(self.name), nodes)
    }

    fn definition(&mut self) -> TemplateParse<()> {
        let token = self.next_word();
        let name = self.template_name(token, "define clause")?;
        self.expect_close("define clause")?;
        self.separate(Text::from(name), "define clause")
    }

    /// Parses up to the `end` as a template of its own.
    fn separate(&mut self, name: Text, context: &str) -> TemplateParse<()> {
        let scope = std::mem::replace(&mut self.scope, ParseScope { variables: vec![0], range_depth: 0 });
        let (nodes, is_end) = self.items()?;
        if !is_end {
            return Err(self.error(format!("unexpected {{{{else}}}} in {context}")));
        }
        self.scope = scope;
        self.add(name, nodes)
    }

    /// Adds a template; an empty one never replaces another, two full ones clash.
    fn add(&mut self, name: Text, nodes: Vec<TemplateNode>) -> TemplateParse<()> {
        let Some(known) = self.trees.get_mut(&name) else {
            self.trees.insert(name, nodes);
            return Ok(());
        };
        if is_blank_template(known) {
            *known = nodes;
        } else if !is_blank_template(&nodes) {
            return Err(self.error(format!("template: multiple definition of template {name:?}")));
        }
        Ok(())
    }

    /// Parses up to `end` or `else`; returns whether it was `end`.
    fn items(&mut self) -> TemplateParse<(Vec<TemplateNode>, bool)> {
        let mut nodes = Vec::new();
        while self.peek_word().kind != TemplateTokenKind::End {
            match self.item()? {
                ParsedItem::Node(node) => nodes.push(node),
                ParsedItem::End => return Ok((nodes, true)),
                ParsedItem::Else => return Ok((nodes, false)),
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn item(&mut self) -> TemplateParse<ParsedItem> {
        let token = self.next_word();
        match token.kind {
            TemplateTokenKind::Text => {
                let at = u32::try_from(token.at).unwrap_or(u32::MAX);
                Ok(ParsedItem::Node(TemplateNode::Text(at, Text::new(token.text))))
            }
            TemplateTokenKind::Open => {
                self.enter(token.at)?;
                let item = self.action();
                self.depth -= 1;
                item
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    fn enter(&mut self, at: usize) -> TemplateParse<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.error_at(at, format!("nested deeper than {MAX_NESTING} levels")));
        }
        Ok(())
    }

    fn action(&mut self) -> TemplateParse<ParsedItem> {
        let token = self.peek_word();
        let TemplateTokenKind::Keyword(keyword) = token.kind else {
            return Ok(ParsedItem::Node(TemplateNode::Action(
                self.pipeline("command", TemplateTokenKind::Close)?,
            )));
        };
        self.next();
        let node = match keyword {
            Keyword::Block => self.block()?,
            Keyword::Break => {
                self.leave_range(token, "{{break}}")?;
                TemplateNode::Break
            }
            Keyword::Continue => {
                self.leave_range(token, "{{continue}}")?;
                TemplateNode::Continue
            }
            Keyword::Else => {
                let next = self.peek_word().kind;
                if !matches!(next, TemplateTokenKind::Keyword(Keyword::If | Keyword::With)) {
                    self.expect_close("else")?;
                }
                return Ok(ParsedItem::Else);
            }
            Keyword::End => {
                self.expect_close("end")?;
                return Ok(ParsedItem::End);
            }
            Keyword::If => TemplateNode::If(Box::new(self.branch("if")?)),
            Keyword::With => TemplateNode::With(Box::new(self.branch("with")?)),
            Keyword::Range => TemplateNode::Range(Box::new(self.branch("range")?)),
            Keyword::Template => self.template()?,
            Keyword::Define => return Err(self.unexpected(token, "command")),
        };
        Ok(ParsedItem::Node(node))
    }

    fn leave_range(&mut self, keyword: TemplateToken<'a>, context: &str) -> TemplateParse<()> {
        let token = self.next_word();
        if token.kind != TemplateTokenKind::Close {
            return Err(self.unexpected(token, context));
        }
        if self.scope.range_depth == 0 {
            return Err(self.error_at(keyword.at, format!("{context} outside {{{{range}}}}")));
        }
        Ok(())
    }

    fn branch(&mut self, context: &str) -> TemplateParse<TemplateBranch> {
        let mark = self.scope.variables.len();
        let pipe = self.pipeline(context, TemplateTokenKind::Close)?;
        let in_range = usize::from(context == "range");
        self.scope.range_depth += in_range;
        let (then, is_end) = self.items()?;
        self.scope.range_depth -= in_range;
        let otherwise = if is_end { None } else { Some(self.otherwise(context)?) };
        self.scope.variables.truncate(mark);
        Ok(TemplateBranch { pipe, then, otherwise })
    }

    fn otherwise(&mut self, context: &str) -> TemplateParse<Vec<TemplateNode>> {
        let token = self.peek_word();
        match (context, token.kind) {
            ("if", TemplateTokenKind::Keyword(Keyword::If))
            | ("with", TemplateTokenKind::Keyword(Keyword::With)) => {
                self.next();
                self.enter(token.at)?;
                let branch = Box::new(self.branch(context)?);
                self.depth -= 1;
                Ok(vec![if context == "if" { TemplateNode::If(branch) } else { TemplateNode::With(branch) }])
            }
            _ => {
                let (nodes, is_end) = self.items()?;
                if is_end { Ok(nodes) } else { Err(self.error("expected end; found {{else}}")) }
            }
        }
    }

    fn block(&mut self) -> TemplateParse<TemplateNode> {
        let token = self.next_word();
        let name = Text::from(self.template_name(token, "block clause")?);
        let pipe = self.pipeline("block clause", TemplateTokenKind::Close)?;
        self.separate(name.clone(), "block clause")?;
        Ok(TemplateNode::Template { at: text_offset(token.at), name, pipe: Some(pipe) })
    }

    fn template(&mut self) -> TemplateParse<TemplateNode> {
        let token = self.next_word();
        let name = Text::from(self.template_name(token, "template clause")?);
        let pipe = if self.peek_word().kind == TemplateTokenKind::Close {
            self.next();
            None
        } else {
            Some(self.pipeline("template clause", TemplateTokenKind::Close)?)
        };
        Ok(TemplateNode::Template { at: text_offset(token.at), name, pipe })
    }

    fn template_name(&mut self, token: TemplateToken<'a>, context: &str) -> TemplateParse<String> {
        match token.kind {
            TemplateTokenKind::Quoted | TemplateTokenKind::Raw => self.unquote(token),
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn expect_close(&mut self, context: &str) -> TemplateParse<()> {
        let token = self.next_word();
        if token.kind == TemplateTokenKind::Close { Ok(()) } else { Err(self.unexpected(token, context)) }
    }

    fn peek(&self) -> TemplateToken<'a> {
        let end = TemplateToken { kind: TemplateTokenKind::End, text: "", at: self.text.len() };
        self.tokens.get(self.at).copied().unwrap_or(end)
    }

    fn next(&mut self) -> TemplateToken<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Skips spaces and returns the token after them without taking it.
    fn peek_word(&mut self) -> TemplateToken<'a> {
        while self.peek().kind == TemplateTokenKind::Space {
            self.at += 1;
        }
        self.peek()
    }

    fn next_word(&mut self) -> TemplateToken<'a> {
        self.peek_word();
        self.next()
    }

    fn unexpected(&self, token: TemplateToken<'a>, context: &str) -> GoTemplateError {
        let message = match token.kind {
            TemplateTokenKind::Error(message) => message.to_owned(),
            TemplateTokenKind::ErrorWith(start) if start.starts_with("bad number") => {
                format!("{start}{:?}", token.text)
            }
            TemplateTokenKind::ErrorWith(start) => {
                let character = token.text.chars().next().unwrap_or('\u{fffd}');
                format!("{start}U+{:04X} '{character}'", u32::from(character))
            }
            TemplateTokenKind::End => format!("unexpected EOF in {context}"),
            TemplateTokenKind::Keyword(_) | TemplateTokenKind::Dot | TemplateTokenKind::Nil => {
                format!("unexpected <{}> in {context}", token.text)
            }
            _ if token.text.chars().count() > 10 => {
                let start: String = token.text.chars().take(10).collect();
                format!("unexpected {start:?}... in {context}")
            }
            _ => format!("unexpected {:?} in {context}", token.text),
        };
        self.error_at(token.at, message)
    }

    /// Makes an error at the token just read.
    fn error(&self, message: impl Into<String>) -> GoTemplateError {
        let at = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(self.text.len(), |t| t.at);
        self.error_at(at, message)
    }

    fn error_at(&self, at: usize, message: impl Into<String>) -> GoTemplateError {
        GoTemplateError {
            kind: GoTemplateErrorKind::Parse,
            message: message.into(),
            position: Position::of(self.text, at),
            template: Text::new(self.name),
        }
    }
}

/// Texts above 4 GiB cannot be templates; the offset only serves messages.
fn text_offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns whether the template has nothing but white space, as Go judges it.
fn is_blank_template(nodes: &[TemplateNode]) -> bool {
    nodes.iter().all(|node| matches!(node, TemplateNode::Text(_, text) if text.trim().is_empty()))
}
