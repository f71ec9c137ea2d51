//! The parsed template: names resolved, literals read.

use std::collections::HashMap;
use std::fmt::Write as _;

use kubewright_value::Text;

use super::functions::TemplateFunction;
use super::literal::Literal;

/// A variable, as an index into [`VariableNames`].
pub(super) type VariableId = u32;

/// The variable `$`.
pub(super) const ROOT: VariableId = 0;

/// The names of all variables of a template; the first is `$`.
pub(super) type VariableNames = Vec<Text>;

/// The templates of a text by name.
pub(super) type NamedTemplates = HashMap<Text, Vec<TemplateNode>>;

/// One statement.
#[derive(Debug)]
pub(super) enum TemplateNode {
    /// Text, and where it starts.
    Text(u32, Text),
    Action(Pipe),
    If(Box<TemplateBranch>),
    With(Box<TemplateBranch>),
    Range(Box<TemplateBranch>),
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
pub(super) struct TemplateBranch {
    pub pipe: Pipe,
    pub then: Vec<TemplateNode>,
    pub otherwise: Option<Vec<TemplateNode>>,
}

#[derive(Debug)]
pub(super) struct Pipe {
    pub at: u32,
    pub variables: Vec<VariableId>,
    pub is_assign: bool,
    pub commands: Vec<PipeCommand>,
}

#[derive(Debug)]
pub(super) struct PipeCommand {
    // INVARIANT: never empty.
    pub words: Vec<TemplateExpression>,
}

#[derive(Debug)]
pub(super) struct TemplateExpression {
    pub at: u32,
    pub kind: TemplateTerm,
}

#[derive(Debug)]
pub(super) enum TemplateTerm {
    Dot,
    Nil,
    Bool(bool),
    Text(Text),
    Number(Literal),
    Field(Vec<Text>),
    Variable(VariableId, Vec<Text>),
    Chain(Box<TemplateExpression>, Vec<Text>),
    Function(&'static TemplateFunction),
    Pipe(Box<Pipe>),
}

impl TemplateTerm {
    /// Returns whether this is allowed after a `|`.
    pub(super) fn is_executable(&self) -> bool {
        !matches!(self, Self::Bool(_) | Self::Dot | Self::Nil | Self::Number(_) | Self::Text(_))
    }
}

/// Returns the pipeline as Go writes it in messages.
pub(super) fn show_pipe(pipe: &Pipe, names: &VariableNames) -> String {
    let mut out = String::new();
    for (i, variable) in pipe.variables.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(variable_name(*variable, names));
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
pub(super) fn show_command(command: &PipeCommand, names: &VariableNames) -> String {
    let words: Vec<String> = command.words.iter().map(|word| show_expression(word, names)).collect();
    words.join(" ")
}

/// Returns the expression as Go writes it in messages.
pub(super) fn show_expression(expression: &TemplateExpression, names: &VariableNames) -> String {
    let mut out = String::new();
    let fields = match &expression.kind {
        TemplateTerm::Dot => {
            out.push('.');
            return out;
        }
        TemplateTerm::Nil => return "nil".to_owned(),
        TemplateTerm::Bool(value) => return value.to_string(),
        TemplateTerm::Text(text) => return kubewright_golib::quote::quote_go(text),
        TemplateTerm::Number(literal) => return literal.text.clone(),
        TemplateTerm::Function(function) => return function.name.to_owned(),
        TemplateTerm::Pipe(pipe) => return format!("({})", show_pipe(pipe, names)),
        TemplateTerm::Field(fields) => fields,
        TemplateTerm::Variable(variable, fields) => {
            out.push_str(variable_name(*variable, names));
            fields
        }
        TemplateTerm::Chain(inner, fields) => {
            out.push_str(&show_expression(inner, names));
            fields
        }
    };
    for field in fields {
        let _ = write!(out, ".{field}");
    }
    out
}

fn variable_name(variable: VariableId, names: &VariableNames) -> &str {
    names.get(variable as usize).map_or("$", Text::as_str)
}
