//! Executing a parsed template: statements.

use kubewright_value::{Exhausted, Position, Text};

use super::GoTemplate;
use super::ast::{Pipe, PipeCommand, ROOT, TemplateBranch, TemplateExpression, TemplateNode, VariableId};
use super::ast::{show_command, show_expression, show_pipe};
use super::call::{CallFailure, FunctionCall};
use super::error::{GoTemplateError, GoTemplateErrorKind};
use super::helm::OutputTracker;
use super::item::TemplateItem;
use super::print::Printer;
use super::truth::is_item_true;

/// One rendering.
pub(super) struct TemplateRun<'a> {
    pub(super) template: &'a GoTemplate,
    pub(super) call: FunctionCall<'a>,
    /// The variable `$`.
    pub(super) root: TemplateItem,
    /// The other variables in scope, the innermost last.
    pub(super) stack: Vec<(VariableId, TemplateItem)>,
    /// The name of the template being executed, for messages.
    pub(super) current: &'a Text,
    /// The expression being evaluated, as Go keeps it for messages: the last thing looked at.
    pub(super) here: MessageContext<'a>,
    pub(super) out: String,
    /// What was printed by what, if that is wanted.
    pub(super) tracker: Option<OutputTracker>,
}

/// A part of a template that a message can show.
#[derive(Clone, Copy)]
pub(super) enum MessageContext<'a> {
    Start,
    Action(&'a Pipe),
    Pipe(&'a Pipe),
    Command(&'a PipeCommand),
    Expression(&'a TemplateExpression),
    Template(u32, &'a Text, Option<&'a Pipe>),
}

/// The effect of a statement on the loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopFlow {
    Next,
    Break,
    Continue,
}

/// Boxed, because errors are rare and large.
pub(super) type Run1<T> = Result<T, Box<GoTemplateError>>;

impl<'a> TemplateRun<'a> {
    pub(super) fn new(template: &'a GoTemplate, call: FunctionCall<'a>) -> Self {
        let out = String::with_capacity(template.text.len());
        Self {
            template,
            call,
            root: TemplateItem::Root,
            stack: Vec::new(),
            current: &template.name,
            here: MessageContext::Start,
            out,
            tracker: None,
        }
    }

    /// Executes the main template.
    pub(super) fn execute(mut self) -> Run1<String> {
        let Some(nodes) = self.template.main_tree() else {
            return Ok(String::new());
        };
        self.nodes(nodes, &TemplateItem::Root)?;
        Ok(std::mem::take(&mut self.out))
    }

    /// Executes `nodes` as a template of its own on `value`, and returns what they print.
    pub(super) fn printed(
        &mut self,
        name: &'a Text,
        nodes: &'a [TemplateNode],
        value: &TemplateItem,
    ) -> Run1<String> {
        let outer_stack = std::mem::take(&mut self.stack);
        let outer_root = std::mem::replace(&mut self.root, value.clone());
        let outer = std::mem::replace(&mut self.current, name);
        let outer_out = std::mem::take(&mut self.out);
        // What is printed here is printed again by the action that asks for it.
        let tracker = self.tracker.take();
        let done = self.nested(|run| run.nodes(nodes, value));
        self.tracker = tracker;
        let printed = std::mem::replace(&mut self.out, outer_out);
        self.stack = outer_stack;
        self.root = outer_root;
        self.current = outer;
        done.map(|_| printed)
    }

    /// Executes all of `nodes`.
    pub(super) fn all_nodes(&mut self, nodes: &'a [TemplateNode], dot: &TemplateItem) -> Run1<()> {
        self.nodes(nodes, dot).map(drop)
    }

    fn nodes(&mut self, nodes: &'a [TemplateNode], dot: &TemplateItem) -> Run1<LoopFlow> {
        for node in nodes {
            let flow = self.node(node, dot)?;
            if flow != LoopFlow::Next {
                return Ok(flow);
            }
        }
        Ok(LoopFlow::Next)
    }

    fn node(&mut self, node: &'a TemplateNode, dot: &TemplateItem) -> Run1<LoopFlow> {
        self.limit(|call| call.budget.step(1))?;
        match node {
            TemplateNode::Text(at, text) => {
                self.limit(|call| call.budget.produce(text.len()))?;
                self.mark_text(*at);
                self.out.push_str(text);
            }
            TemplateNode::Action(pipe) => {
                let value = self.pipeline(pipe, dot)?;
                if pipe.variables.is_empty() {
                    self.print(pipe, &value)?;
                }
            }
            TemplateNode::If(branch) => return self.nested(|run| run.branch(branch, dot, false)),
            TemplateNode::With(branch) => return self.nested(|run| run.branch(branch, dot, true)),
            TemplateNode::Range(branch) => {
                self.nested(|run| run.range(branch, dot))?;
            }
            TemplateNode::Template { at, name, pipe } => {
                self.here = MessageContext::Template(*at, name, pipe.as_ref());
                self.nested(|run| run.invoke(name, pipe.as_ref(), dot))?;
            }
            TemplateNode::Break => return Ok(LoopFlow::Break),
            TemplateNode::Continue => return Ok(LoopFlow::Continue),
        }
        Ok(LoopFlow::Next)
    }

    fn print(&mut self, pipe: &'a Pipe, value: &TemplateItem) -> Run1<()> {
        self.here = MessageContext::Action(pipe);
        self.mark_action(pipe);
        let mut printer = Printer {
            out: std::mem::take(&mut self.out),
            budget: self.call.budget,
            context: self.call.context,
        };
        let printed = match value {
            // Helm removes it from what it prints.
            TemplateItem::Missing if self.template.chart.is_some() => Ok(()),
            TemplateItem::Missing => printer.push("<no value>"),
            item => printer.plain(item),
        };
        self.out = std::mem::take(&mut printer.out);
        printed.map_err(|exhausted| self.exhausted(exhausted))
    }

    fn branch(&mut self, branch: &'a TemplateBranch, dot: &TemplateItem, is_with: bool) -> Run1<LoopFlow> {
        let mark = self.stack.len();
        let value = self.pipeline(&branch.pipe, dot)?;
        let flow = if is_item_true(&value) {
            let outer = self.enter_dot(is_with.then_some(&branch.pipe), None);
            let flow = self.nodes(&branch.then, if is_with { &value } else { dot });
            self.leave_dot(outer);
            flow
        } else {
            branch.otherwise.as_ref().map_or(Ok(LoopFlow::Next), |nodes| self.nodes(nodes, dot))
        };
        self.stack.truncate(mark);
        flow
    }

    fn range(&mut self, branch: &'a TemplateBranch, dot: &TemplateItem) -> Run1<()> {
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
    fn rounds(&mut self, branch: &'a TemplateBranch, value: &TemplateItem) -> Run1<bool> {
        if let TemplateItem::Int(_, count) = value {
            if branch.pipe.variables.len() > 1 {
                let message = format!("can't use {count} to iterate over more than one variable");
                return Err(self.error(&message));
            }
            for number in 0..*count {
                let TemplateItem::Int(width, _) = value else { break };
                if self.round(branch, TemplateItem::Missing, TemplateItem::Int(*width, number))? {
                    break;
                }
            }
            return Ok(*count > 0);
        }
        if let Some(length) = value.list_len() {
            for index in 0..length {
                let element = value.element(index).unwrap_or(TemplateItem::Nil);
                let position = i64::try_from(index).unwrap_or(i64::MAX);
                if self.round(branch, TemplateItem::int(position), element)? {
                    break;
                }
            }
            return Ok(length > 0);
        }
        if let Some(length) = value.map_len() {
            self.call.charge_list(length).map_err(|failure| self.failed(failure))?;
            for (key, element) in value.sorted_entries().unwrap_or_default() {
                if self.round(branch, TemplateItem::Text(key), element)? {
                    break;
                }
            }
            return Ok(length > 0);
        }
        if matches!(value, TemplateItem::Missing) {
            return Ok(false);
        }
        let shown =
            self.call.print(|printer| printer.plain(value)).map_err(|failure| self.failed(failure))?;
        Err(self.error(&format!("range can't iterate over {shown}")))
    }

    /// Executes the body for one element; returns whether it said `break`.
    fn round(
        &mut self,
        branch: &'a TemplateBranch,
        index: TemplateItem,
        element: TemplateItem,
    ) -> Run1<bool> {
        self.limit(|call| call.budget.step(1))?;
        let element = self.call.settle(element).map_err(|failure| self.failed(failure))?;
        let outer = self.enter_dot(Some(&branch.pipe), Some(&index));
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
        self.leave_dot(outer);
        Ok(flow? == LoopFlow::Break)
    }

    fn invoke(&mut self, name: &'a Text, pipe: Option<&'a Pipe>, dot: &TemplateItem) -> Run1<()> {
        let Some(nodes) = self.template.tree(name) else {
            return Err(self.error(&format!("template {name:?} not defined")));
        };
        let value = match pipe {
            Some(pipe) => self.pipeline(pipe, dot)?,
            None => TemplateItem::Missing,
        };
        let outer_stack = std::mem::take(&mut self.stack);
        let outer_root = std::mem::replace(&mut self.root, value.clone());
        let outer = std::mem::replace(&mut self.current, name);
        let frame = self.enter_template(pipe);
        self.nodes(nodes, &value)?;
        self.leave_template(frame);
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

    fn set_top(&mut self, from_top: usize, item: TemplateItem) {
        let place = self.stack.len().checked_sub(from_top);
        if let Some((_, value)) = place.and_then(|place| self.stack.get_mut(place)) {
            *value = item;
        }
    }

    /// Sets the innermost variable of that name.
    pub(super) fn assign(&mut self, variable: VariableId, item: TemplateItem) -> Run1<()> {
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
    pub(super) fn undefined(&self, variable: VariableId) -> Box<GoTemplateError> {
        let name = self.template.names.get(variable as usize).map_or("$", Text::as_str);
        self.error(&format!("undefined variable: {name}"))
    }

    pub(super) fn limit(
        &mut self,
        charge: impl FnOnce(&mut FunctionCall<'a>) -> Result<(), Exhausted>,
    ) -> Run1<()> {
        charge(&mut self.call).map_err(|exhausted| self.exhausted(exhausted))
    }

    fn exhausted(&self, exhausted: Exhausted) -> Box<GoTemplateError> {
        let mut error = self.error(&exhausted.to_string());
        error.kind = GoTemplateErrorKind::Limit;
        error
    }

    pub(super) fn failed(&self, failure: CallFailure) -> Box<GoTemplateError> {
        match failure {
            CallFailure::Exhausted(exhausted) => self.exhausted(exhausted),
            CallFailure::Message(message) => self.error(&message),
        }
    }

    /// Makes an error as Go words it, about what is being evaluated.
    pub(super) fn error(&self, message: &str) -> Box<GoTemplateError> {
        let names = &self.template.names;
        let (at, shown) = match self.here {
            MessageContext::Start => (0, None),
            MessageContext::Action(pipe) => (pipe.at, Some(format!("{{{{{}}}}}", show_pipe(pipe, names)))),
            MessageContext::Pipe(pipe) => (pipe.at, Some(show_pipe(pipe, names))),
            MessageContext::Command(command) => {
                (command.words.first().map_or(0, |word| word.at), Some(show_command(command, names)))
            }
            MessageContext::Expression(expression) => {
                (expression.at, Some(show_expression(expression, names)))
            }
            MessageContext::Template(at, name, pipe) => {
                let given = pipe.map(|pipe| format!(" {}", show_pipe(pipe, names))).unwrap_or_default();
                (at, Some(format!("{{{{template {}{given}}}}}", kubewright_golib::quote::quote_go(name))))
            }
        };
        let place = shown.map(|shown| format!(" at <{shown}>")).unwrap_or_default();
        Box::new(GoTemplateError {
            kind: GoTemplateErrorKind::Execute,
            message: format!("executing {:?}{place}: {message}", self.current),
            position: Position::of(&self.template.text, at as usize),
            template: self.template.name.clone(),
        })
    }
}
