//! Executing a parsed template: statements.

use kubewright_value::{Exhausted, Position, Text};

use super::Template;
use super::ast::{Branch, Command, Expression, Node, Pipe, ROOT, VariableId};
use super::ast::{show, show_command, show_pipe};
use super::call::{Call, Failure};
use super::error::{ErrorKind, TemplateError};
use super::item::Item;
use super::print::Printer;
use super::truth::is_true;

/// One rendering.
pub(super) struct Run<'a> {
    pub(super) template: &'a Template,
    pub(super) call: Call<'a>,
    /// The variable `$`.
    pub(super) root: Item,
    /// The other variables in scope, the innermost last.
    pub(super) stack: Vec<(VariableId, Item)>,
    /// The name of the template being executed, for messages.
    pub(super) current: &'a Text,
    /// What is being evaluated, as Go keeps it for messages: the last thing looked at.
    pub(super) here: Here<'a>,
    out: String,
}

/// A part of a template that a message can show.
#[derive(Clone, Copy)]
pub(super) enum Here<'a> {
    Start,
    Action(&'a Pipe),
    Pipe(&'a Pipe),
    Command(&'a Command),
    Expression(&'a Expression),
    Template(u32, &'a Text, Option<&'a Pipe>),
}

/// What a statement says about the loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// Boxed, because errors are rare and large.
pub(super) type Run1<T> = Result<T, Box<TemplateError>>;

impl<'a> Run<'a> {
    pub(super) fn new(template: &'a Template, call: Call<'a>) -> Self {
        let out = String::with_capacity(template.text.len());
        Self {
            template,
            call,
            root: Item::Root,
            stack: Vec::new(),
            current: &template.name,
            here: Here::Start,
            out,
        }
    }

    /// Executes the main template.
    pub(super) fn execute(mut self) -> Run1<String> {
        let Some(nodes) = self.template.tree(&self.template.name) else {
            return Ok(String::new());
        };
        self.nodes(nodes, &Item::Root)?;
        Ok(std::mem::take(&mut self.out))
    }

    fn nodes(&mut self, nodes: &'a [Node], dot: &Item) -> Run1<Flow> {
        for node in nodes {
            let flow = self.node(node, dot)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, node: &'a Node, dot: &Item) -> Run1<Flow> {
        self.limit(|call| call.budget.step(1))?;
        match node {
            Node::Text(text) => {
                self.limit(|call| call.budget.produce(text.len()))?;
                self.out.push_str(text);
            }
            Node::Action(pipe) => {
                let value = self.pipeline(pipe, dot)?;
                if pipe.variables.is_empty() {
                    self.print(pipe, &value)?;
                }
            }
            Node::If(branch) => return self.nested(|run| run.branch(branch, dot, false)),
            Node::With(branch) => return self.nested(|run| run.branch(branch, dot, true)),
            Node::Range(branch) => {
                self.nested(|run| run.range(branch, dot))?;
            }
            Node::Template { at, name, pipe } => {
                self.here = Here::Template(*at, name, pipe.as_ref());
                self.nested(|run| run.invoke(name, pipe.as_ref(), dot))?;
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn print(&mut self, pipe: &'a Pipe, value: &Item) -> Run1<()> {
        self.here = Here::Action(pipe);
        let mut printer = Printer {
            out: std::mem::take(&mut self.out),
            budget: self.call.budget,
            context: self.call.context,
        };
        let printed = match value {
            Item::Missing => printer.push("<no value>"),
            item => printer.plain(item),
        };
        self.out = std::mem::take(&mut printer.out);
        printed.map_err(|exhausted| self.exhausted(exhausted))
    }

    fn branch(&mut self, branch: &'a Branch, dot: &Item, is_with: bool) -> Run1<Flow> {
        let mark = self.stack.len();
        let value = self.pipeline(&branch.pipe, dot)?;
        let flow = if is_true(&value) {
            self.nodes(&branch.then, if is_with { &value } else { dot })
        } else {
            branch.otherwise.as_ref().map_or(Ok(Flow::Next), |nodes| self.nodes(nodes, dot))
        };
        self.stack.truncate(mark);
        flow
    }

    fn range(&mut self, branch: &'a Branch, dot: &Item) -> Run1<()> {
        let mark = self.stack.len();
        let value = self.pipeline(&branch.pipe, dot)?;
        let any = self.rounds(branch, &value)?;
        if !any && let Some(otherwise) = &branch.otherwise {
            self.nodes(otherwise, dot)?;
        }
        self.stack.truncate(mark);
        Ok(())
    }

    /// Goes through the elements; returns whether there was one.
    fn rounds(&mut self, branch: &'a Branch, value: &Item) -> Run1<bool> {
        if let Item::Int(_, count) = value {
            if branch.pipe.variables.len() > 1 {
                let message = format!("can't use {count} to iterate over more than one variable");
                return Err(self.error(&message));
            }
            for number in 0..*count {
                let Item::Int(width, _) = value else { break };
                if self.round(branch, Item::Missing, Item::Int(*width, number))? {
                    break;
                }
            }
            return Ok(*count > 0);
        }
        if let Some(length) = value.list_len() {
            for index in 0..length {
                let element = value.element(index).unwrap_or(Item::Nil);
                let position = i64::try_from(index).unwrap_or(i64::MAX);
                if self.round(branch, Item::int(position), element)? {
                    break;
                }
            }
            return Ok(length > 0);
        }
        if let Some(length) = value.map_len() {
            self.call.charge_list(length).map_err(|failure| self.failed(failure))?;
            for (key, element) in value.sorted_entries().unwrap_or_default() {
                if self.round(branch, Item::Text(key), element)? {
                    break;
                }
            }
            return Ok(length > 0);
        }
        if matches!(value, Item::Missing) {
            return Ok(false);
        }
        let shown =
            self.call.print(|printer| printer.plain(value)).map_err(|failure| self.failed(failure))?;
        Err(self.error(&format!("range can't iterate over {shown}")))
    }

    /// Executes the body for one element; returns whether it said `break`.
    fn round(&mut self, branch: &'a Branch, index: Item, element: Item) -> Run1<bool> {
        self.limit(|call| call.budget.step(1))?;
        let element = self.call.settle(element).map_err(|failure| self.failed(failure))?;
        let mark = self.stack.len();
        match (branch.pipe.variables.as_slice(), branch.pipe.is_assign) {
            ([], _) => {}
            ([only], true) => self.assign(*only, element.clone())?,
            ([first, second, ..], true) => {
                self.assign(*first, index)?;
                self.assign(*second, element.clone())?;
            }
            ([_], false) => self.set_top(1, element.clone()),
            ([_, _, ..], false) => {
                self.set_top(1, element.clone());
                self.set_top(2, index);
            }
        }
        let flow = self.nodes(&branch.then, &element);
        self.stack.truncate(mark);
        Ok(flow? == Flow::Break)
    }

    fn invoke(&mut self, name: &'a Text, pipe: Option<&'a Pipe>, dot: &Item) -> Run1<()> {
        let Some(nodes) = self.template.tree(name) else {
            return Err(self.error(&format!("template {name:?} not defined")));
        };
        let value = match pipe {
            Some(pipe) => self.pipeline(pipe, dot)?,
            None => Item::Missing,
        };
        let outer_stack = std::mem::take(&mut self.stack);
        let outer_root = std::mem::replace(&mut self.root, value.clone());
        let outer = std::mem::replace(&mut self.current, name);
        self.nodes(nodes, &value)?;
        self.stack = outer_stack;
        self.root = outer_root;
        self.current = outer;
        Ok(())
    }

    /// Runs one level deeper.
    pub(super) fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Run1<T>) -> Run1<T> {
        self.limit(|call| call.budget.enter())?;
        let result = run(self);
        self.call.budget.leave();
        result
    }

    fn set_top(&mut self, from_top: usize, item: Item) {
        let place = self.stack.len().checked_sub(from_top);
        if let Some((_, value)) = place.and_then(|place| self.stack.get_mut(place)) {
            *value = item;
        }
    }

    /// Sets the innermost variable of that name.
    pub(super) fn assign(&mut self, variable: VariableId, item: Item) -> Run1<()> {
        self.charge_lookup()?;
        match self.stack.iter_mut().rev().find(|(name, _)| *name == variable) {
            Some((_, value)) => {
                *value = item;
                Ok(())
            }
            None if variable == ROOT => {
                self.root = item;
                Ok(())
            }
            None => Err(self.undefined(variable)),
        }
    }

    /// Variables are searched for one by one, which counts when there are very many.
    pub(super) fn charge_lookup(&mut self) -> Run1<()> {
        let searched = self.stack.len() as u64 / 16;
        self.limit(|call| call.budget.step(searched))
    }

    /// Says that a variable is used where it is not in scope, which parsing does not always notice.
    pub(super) fn undefined(&self, variable: VariableId) -> Box<TemplateError> {
        let name = self.template.names.get(variable as usize).map_or("$", Text::as_str);
        self.error(&format!("undefined variable: {name}"))
    }

    pub(super) fn limit(&mut self, charge: impl FnOnce(&mut Call<'a>) -> Result<(), Exhausted>) -> Run1<()> {
        charge(&mut self.call).map_err(|exhausted| self.exhausted(exhausted))
    }

    fn exhausted(&self, exhausted: Exhausted) -> Box<TemplateError> {
        let mut error = self.error(&exhausted.to_string());
        error.kind = ErrorKind::Limit;
        error
    }

    pub(super) fn failed(&self, failure: Failure) -> Box<TemplateError> {
        match failure {
            Failure::Exhausted(exhausted) => self.exhausted(exhausted),
            Failure::Message(message) => self.error(&message),
        }
    }

    /// Makes an error as Go words it, about what is being evaluated.
    pub(super) fn error(&self, message: &str) -> Box<TemplateError> {
        let names = &self.template.names;
        let (at, shown) = match self.here {
            Here::Start => (0, None),
            Here::Action(pipe) => (pipe.at, Some(format!("{{{{{}}}}}", show_pipe(pipe, names)))),
            Here::Pipe(pipe) => (pipe.at, Some(show_pipe(pipe, names))),
            Here::Command(command) => {
                (command.words.first().map_or(0, |word| word.at), Some(show_command(command, names)))
            }
            Here::Expression(expression) => (expression.at, Some(show(expression, names))),
            Here::Template(at, name, pipe) => {
                let given = pipe.map(|pipe| format!(" {}", show_pipe(pipe, names))).unwrap_or_default();
                (at, Some(format!("{{{{template {}{given}}}}}", kubewright_golib::quote::quote(name))))
            }
        };
        let place = shown.map(|shown| format!(" at <{shown}>")).unwrap_or_default();
        Box::new(TemplateError {
            kind: ErrorKind::Execute,
            message: format!("executing {:?}{place}: {message}", self.current),
            position: Position::of(&self.template.text, at as usize),
            template: self.template.name.clone(),
        })
    }
}
