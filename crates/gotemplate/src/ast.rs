//! The parsed template: names resolved, literals read.

use std::collections::HashMap;
use std::fmt::Write as _;

use kubewright_value::Text;

use super::functions::Function;
use super::literal::Literal;

/// Which variable, an index into [`Names`].
pub(super) type VariableId = u32;

/// The variable `$`.
pub(super) const ROOT: VariableId = 0;

/// The names of all variables of a template; the first is `$`.
pub(super) type Names = Vec<Text>;

/// The templates of a text by name.
pub(super) type Trees = HashMap<Text, Vec<Node>>;

/// One statement.
#[derive(Debug)]
pub(super) enum Node {
    Text(Text),
    Action(Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    /// Runs the template with this name on the value of the pipeline.
    Template {
        at: u32,
        name: Text,
        pipe: Option<Pipe>,
    },
    Break,
    Continue,
}

#[derive(Debug)]
pub(super) struct Branch {
    pub pipe: Pipe,
    pub then: Vec<Node>,
    pub otherwise: Option<Vec<Node>>,
}

#[derive(Debug)]
pub(super) struct Pipe {
    pub at: u32,
    pub variables: Vec<VariableId>,
    pub is_assign: bool,
    pub commands: Vec<Command>,
}

#[derive(Debug)]
pub(super) struct Command {
    // INVARIANT: never empty.
    pub words: Vec<Expression>,
}

#[derive(Debug)]
pub(super) struct Expression {
    pub at: u32,
    pub kind: Term,
}

#[derive(Debug)]
pub(super) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Text(Text),
    Number(Literal),
    Field(Vec<Text>),
    Variable(VariableId, Vec<Text>),
    Chain(Box<Expression>, Vec<Text>),
    Function(&'static Function),
    Pipe(Box<Pipe>),
}

impl Term {
    /// Returns whether this can stand after a `|`.
    pub(super) fn is_executable(&self) -> bool {
        !matches!(self, Self::Bool(_) | Self::Dot | Self::Nil | Self::Number(_) | Self::Text(_))
    }
}

/// Returns the pipeline as Go writes it in messages.
pub(super) fn show_pipe(pipe: &Pipe, names: &Names) -> String {
    let mut out = String::new();
    for (i, variable) in pipe.variables.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(name(*variable, names));
    }
    if !pipe.variables.is_empty() {
        out.push_str(if pipe.is_assign { " = " } else { " := " });
    }
    for (i, command) in pipe.commands.iter().enumerate() {
        out.push_str(if i > 0 { " | " } else { "" });
        out.push_str(&show_command(command, names));
    }
    out
}

/// Returns the command as Go writes it in messages.
pub(super) fn show_command(command: &Command, names: &Names) -> String {
    let words: Vec<String> = command.words.iter().map(|word| show(word, names)).collect();
    words.join(" ")
}

/// Returns the expression as Go writes it in messages.
pub(super) fn show(expression: &Expression, names: &Names) -> String {
    let mut out = String::new();
    let fields = match &expression.kind {
        Term::Dot => {
            out.push('.');
            return out;
        }
        Term::Nil => return "nil".to_owned(),
        Term::Bool(value) => return value.to_string(),
        Term::Text(text) => return kubewright_golib::quote::quote(text),
        Term::Number(literal) => return literal.text.clone(),
        Term::Function(function) => return function.name.to_owned(),
        Term::Pipe(pipe) => return format!("({})", show_pipe(pipe, names)),
        Term::Field(fields) => fields,
        Term::Variable(variable, fields) => {
            out.push_str(name(*variable, names));
            fields
        }
        Term::Chain(inner, fields) => {
            out.push_str(&show(inner, names));
            fields
        }
    };
    for field in fields {
        let _ = write!(out, ".{field}");
    }
    out
}

fn name(variable: VariableId, names: &Names) -> &str {
    names.get(variable as usize).map_or("$", Text::as_str)
}
