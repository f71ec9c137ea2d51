//! Executing a parsed template: pipelines, fields, variables and calls.

use kubewright_golib::utf8::decode_utf8_lossy;
use kubewright_value::{Text, Value};

use super::ast::{Pipe, PipeCommand, ROOT, TemplateExpression, TemplateTerm, show_expression};
use super::call::CallFailure;
use super::functions::{ParameterType, TemplateFunction};
use super::item::TemplateItem;
use super::literal::Literal;
use super::run::{MessageContext, Run1, TemplateRun};
use super::truth::is_item_true;

impl<'a> TemplateRun<'a> {
    /// Evaluates a pipeline and declares or sets its variables.
    pub(super) fn pipeline(&mut self, pipe: &'a Pipe, dot: &TemplateItem) -> Run1<TemplateItem> {
        self.here = MessageContext::Pipe(pipe);
        let mut value: Option<TemplateItem> = None;
        for command in &pipe.commands {
            let next = self.command(command, dot, value.take())?;
            // A nil from a container is treated as no value from here on.
            value = Some(if matches!(next, TemplateItem::Nil) { TemplateItem::Missing } else { next });
        }
        let value = value.unwrap_or(TemplateItem::Missing);
        let value = self.call.settle(value).map_err(|failure| self.failed(failure))?;
        for variable in &pipe.variables {
            if pipe.is_assign {
                self.assign(*variable, value.clone())?;
            } else {
                self.stack.push((*variable, value.clone()));
                self.declare_variable(pipe);
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        command: &'a PipeCommand,
        dot: &TemplateItem,
        last: Option<TemplateItem>,
    ) -> Run1<TemplateItem> {
        let Some((first, arguments)) = command.words.split_first() else {
            return Ok(TemplateItem::Missing);
        };
        if !matches!(first.kind, TemplateTerm::Pipe(_)) {
            self.here = MessageContext::Expression(first);
        }
        match &first.kind {
            TemplateTerm::Field(fields) => {
                self.fields(dot, fields, CommandArguments { words: arguments, last, dot })
            }
            TemplateTerm::Chain(inner, fields) => {
                self.chain(first, inner, fields, CommandArguments { words: arguments, last, dot })
            }
            TemplateTerm::Variable(variable, fields) => {
                let value = self.variable(*variable)?;
                if fields.is_empty() {
                    self.not_a_function(first, arguments, last.is_some())?;
                    return Ok(value);
                }
                self.fields(&value, fields, CommandArguments { words: arguments, last, dot })
            }
            TemplateTerm::Function(function) => self.invoke_function(
                function,
                first,
                Some(command),
                CommandArguments { words: arguments, last, dot },
            ),
            other => {
                self.not_a_function(first, arguments, last.is_some())?;
                match other {
                    TemplateTerm::Nil => Err(self.error("nil is not a command")),
                    _ => self.plain(first, dot),
                }
            }
        }
    }

    fn not_a_function(
        &self,
        first: &TemplateExpression,
        arguments: &[TemplateExpression],
        has_last: bool,
    ) -> Run1<()> {
        if arguments.is_empty() && !has_last {
            return Ok(());
        }
        let shown = show_expression(first, &self.template.names);
        Err(self.error(&format!("can't give argument to non-function {shown}")))
    }

    /// Evaluates an expression that takes no arguments.
    fn plain(&mut self, expression: &'a TemplateExpression, dot: &TemplateItem) -> Run1<TemplateItem> {
        let none = CommandArguments { words: &[], last: None, dot };
        self.here = MessageContext::Expression(expression);
        match &expression.kind {
            TemplateTerm::Dot => Ok(dot.clone()),
            TemplateTerm::Nil => Ok(TemplateItem::Nil),
            TemplateTerm::Bool(value) => Ok(TemplateItem::Bool(*value)),
            TemplateTerm::Text(text) => Ok(TemplateItem::Text(text.clone())),
            TemplateTerm::Number(literal) => self.constant(literal),
            TemplateTerm::Field(fields) => self.fields(dot, fields, none),
            TemplateTerm::Variable(variable, fields) if fields.is_empty() => self.variable(*variable),
            TemplateTerm::Variable(variable, fields) => {
                let value = self.variable(*variable)?;
                self.fields(&value, fields, none)
            }
            TemplateTerm::Chain(inner, fields) => self.chain(expression, inner, fields, none),
            TemplateTerm::Function(function) => self.invoke_function(function, expression, None, none),
            TemplateTerm::Pipe(pipe) => self.nested(|run| run.pipeline(pipe, dot)),
        }
    }

    fn constant(&self, literal: &Literal) -> Run1<TemplateItem> {
        if literal.is_complex {
            return Err(self.error("complex numbers are not supported"));
        }
        if literal.is_float() {
            return Ok(TemplateItem::Float(literal.float.unwrap_or_default()));
        }
        match literal.integer {
            Some(integer) => Ok(TemplateItem::int(integer)),
            None => Err(self.error(&format!("{} overflows int", literal.text))),
        }
    }

    fn variable(&mut self, variable: u32) -> Run1<TemplateItem> {
        self.charge_lookup()?;
        let found = self.stack.iter().rev().find(|(name, _)| *name == variable);
        match found {
            Some((_, item)) => Ok(item.clone()),
            None if variable == ROOT => Ok(self.root.clone()),
            None => Err(self.undefined(variable)),
        }
    }

    fn chain(
        &mut self,
        expression: &'a TemplateExpression,
        inner: &'a TemplateExpression,
        fields: &'a [Text],
        arguments: CommandArguments<'a, '_>,
    ) -> Run1<TemplateItem> {
        if matches!(inner.kind, TemplateTerm::Nil) {
            let shown = show_expression(expression, &self.template.names);
            return Err(self.error(&format!("indirection through explicit nil in {shown}")));
        }
        let receiver = self.plain(inner, arguments.dot)?;
        self.fields(&receiver, fields, arguments)
    }

    /// Follows `fields` from `receiver`; JSON is walked in place.
    fn fields(
        &mut self,
        receiver: &TemplateItem,
        fields: &'a [Text],
        arguments: CommandArguments<'a, '_>,
    ) -> Run1<TemplateItem> {
        let Some((last, path)) = fields.split_last() else {
            return Ok(receiver.clone());
        };
        if !self.call.has_overlays() && arguments.is_empty() {
            let context = self.call.context;
            let (start, rest) = match (receiver, fields) {
                (TemplateItem::Root, [first, rest @ ..]) => (context.plain(first), rest),
                (TemplateItem::Object(map), [first, rest @ ..]) => match map.get(first) {
                    None => return Ok(TemplateItem::Missing),
                    found => (found, rest),
                },
                _ => (None, fields),
            };
            if let Some(start) = start {
                return self.walk(start, rest);
            }
        }
        let mut current = receiver.clone();
        let mut of_interface = false;
        for field in path {
            // Only what the caller made keeps the type it was made with.
            of_interface = !matches!(current, TemplateItem::Root) || self.call.context.plain(field).is_some();
            current = self.field(current, field, None, of_interface)?;
        }
        self.field(current, last, Some(arguments), of_interface)
    }

    fn walk(&self, start: &Value, fields: &[Text]) -> Run1<TemplateItem> {
        let mut value = start;
        for field in fields {
            match value {
                Value::Object(map) => match map.get(field) {
                    Some(found) => value = found,
                    None => return Ok(TemplateItem::Missing),
                },
                Value::Null => {
                    return Err(self.error(&format!("nil pointer evaluating interface {{}}.{field}")));
                }
                _ => {
                    let message = format!("can't evaluate field {field} in type interface {{}}");
                    return Err(self.error(&message));
                }
            }
        }
        Ok(TemplateItem::json(value))
    }

    fn field(
        &mut self,
        receiver: TemplateItem,
        field: &Text,
        arguments: Option<CommandArguments<'a, '_>>,
        of_interface: bool,
    ) -> Run1<TemplateItem> {
        let receiver = self.call.settle(receiver).map_err(|failure| self.failed(failure))?;
        if let TemplateItem::Missing = receiver {
            return Ok(TemplateItem::Missing);
        }
        if let TemplateItem::Nil = receiver {
            return Err(self.error(&format!("nil pointer evaluating interface {{}}.{field}")));
        }
        let has_arguments = arguments.as_ref().is_some_and(|a| !a.is_empty());
        if has_arguments && self.template.chart.is_some() && matches!(field.as_str(), "Has" | "Get") {
            return self.chart_method(&receiver, field, arguments);
        }
        let found = match &receiver {
            TemplateItem::Time(_) | TemplateItem::Version(_) => {
                return self.method(&receiver, field, arguments);
            }
            TemplateItem::Root => self.call.context.field(field),
            other => other.entry(field),
        };
        match found {
            Some(_) if has_arguments && matches!(receiver, TemplateItem::Root) => {
                Err(self.error(&format!("{field} has arguments but cannot be invoked as function")))
            }
            Some(_) if has_arguments => {
                Err(self.error(&format!("{field} is not a method but has arguments")))
            }
            Some(item) => Ok(item),
            None => {
                let name = if of_interface { "interface {}" } else { receiver.type_name() };
                Err(self.error(&format!("can't evaluate field {field} in type {name}")))
            }
        }
    }

    /// Returns the values of arguments.
    pub(super) fn argument_values(
        &mut self,
        arguments: Option<CommandArguments<'a, '_>>,
    ) -> Run1<Vec<TemplateItem>> {
        let mut values = Vec::new();
        if let Some(arguments) = arguments {
            for word in arguments.words {
                values.push(self.plain(word, arguments.dot)?);
            }
            values.extend(arguments.last);
        }
        Ok(values)
    }

    fn method(
        &mut self,
        receiver: &TemplateItem,
        name: &Text,
        arguments: Option<CommandArguments<'a, '_>>,
    ) -> Run1<TemplateItem> {
        let values = self.argument_values(arguments)?;
        let result = match receiver {
            TemplateItem::Time(time) => super::time_methods::call_method(time, name, &values),
            TemplateItem::Version(version) => version.method(name, &values),
            _ => None,
        };
        match result {
            Some(Ok(item)) => Ok(item),
            Some(Err(message)) => Err(self.error(&message)),
            None => {
                let type_name = receiver.type_name();
                Err(self.error(&format!("can't evaluate field {name} in type {type_name}")))
            }
        }
    }

    fn invoke_function(
        &mut self,
        function: &'static TemplateFunction,
        expression: &'a TemplateExpression,
        command: Option<&'a PipeCommand>,
        arguments: CommandArguments<'a, '_>,
    ) -> Run1<TemplateItem> {
        let count = arguments.words.len() + usize::from(arguments.last.is_some());
        self.check_count(function, count, arguments.words.len())?;
        if let "and" | "or" = function.name {
            return self.and_or(function.name == "or", arguments);
        }
        let mut values = Vec::with_capacity(count);
        for (i, word) in arguments.words.iter().enumerate() {
            let wanted = function.parameter(i);
            values.push(self.argument(word, wanted, arguments.dot)?);
        }
        if let Some(last) = arguments.last {
            let wanted = function.parameter(values.len());
            values.push(self.checked(last, wanted)?);
        }
        // Looking at long text takes time, whatever comes of it.
        let looked_at: usize = values.iter().filter_map(TemplateItem::as_bytes).map(<[u8]>::len).sum();
        self.limit(|call| call.budget.step(1 + looked_at as u64 / 8))?;
        if let Some(result) = self.chart_function(function.name, &values) {
            return result;
        }
        let result = (function.run)(&mut self.call, &values).and_then(|item| {
            self.call.charge_container(&item)?;
            if let Some(made) = item.as_bytes() {
                self.call.budget.produce(made.len())?;
            }
            Ok(item)
        });
        result.map_err(|failure| {
            self.here = command.map_or(MessageContext::Expression(expression), MessageContext::Command);
            self.failed(match failure {
                CallFailure::Message(message) => {
                    CallFailure::Message(format!("error calling {}: {message}", function.name))
                }
                exhausted @ CallFailure::Exhausted(_) => exhausted,
            })
        })
    }

    fn check_count(&self, function: &TemplateFunction, count: usize, written: usize) -> Run1<()> {
        let wanted = function.parameters.len();
        let message = if function.rest.is_some() {
            if count >= wanted {
                return Ok(());
            }
            format!("wrong number of args for {}: want at least {wanted} got {written}", function.name)
        } else {
            if count == wanted {
                return Ok(());
            }
            format!("wrong number of args for {}: want {wanted} got {count}", function.name)
        };
        Err(self.error(&message))
    }

    fn and_or(&mut self, is_or: bool, arguments: CommandArguments<'a, '_>) -> Run1<TemplateItem> {
        let mut value = TemplateItem::Missing;
        for word in arguments.words {
            value = self.argument(word, ParameterType::Raw, arguments.dot)?;
            if is_item_true(&value) == is_or {
                return Ok(value);
            }
        }
        Ok(arguments.last.unwrap_or(value))
    }

    /// Evaluates an argument for a parameter of type `wanted`.
    fn argument(
        &mut self,
        expression: &'a TemplateExpression,
        wanted: ParameterType,
        dot: &TemplateItem,
    ) -> Run1<TemplateItem> {
        self.here = MessageContext::Expression(expression);
        let literal = match (&expression.kind, wanted) {
            (TemplateTerm::Nil, ParameterType::Any) => return Ok(TemplateItem::Nil),
            (TemplateTerm::Nil, ParameterType::Raw | ParameterType::Dict) => {
                return Ok(TemplateItem::Missing);
            }
            (TemplateTerm::Nil, _) => {
                return Err(self.error(&format!("cannot assign nil to {}", wanted.name())));
            }
            (
                TemplateTerm::Bool(_) | TemplateTerm::Text(_) | TemplateTerm::Number(_),
                ParameterType::Any | ParameterType::Raw,
            ) => {
                return self.plain(expression, dot);
            }
            (TemplateTerm::Bool(value), ParameterType::Bool) => TemplateItem::Bool(*value),
            (TemplateTerm::Text(text), ParameterType::Text | ParameterType::Bytes) => {
                TemplateItem::Text(text.clone())
            }
            (TemplateTerm::Number(Literal { integer: Some(integer), .. }), ParameterType::Int) => {
                TemplateItem::int(*integer)
            }
            (TemplateTerm::Number(Literal { unsigned: Some(unsigned), .. }), ParameterType::Uint32) => {
                TemplateItem::int(i64::from(*unsigned as u32))
            }
            (TemplateTerm::Number(Literal { float: Some(float), .. }), ParameterType::Float) => {
                TemplateItem::Float(*float)
            }
            (TemplateTerm::Bool(_) | TemplateTerm::Text(_) | TemplateTerm::Number(_), _) => {
                let shown = show_expression(expression, &self.template.names);
                let message = match wanted {
                    ParameterType::Bool => format!("expected bool; found {shown}"),
                    ParameterType::Text | ParameterType::Bytes => format!("expected string; found {shown}"),
                    ParameterType::Int => format!("expected integer; found {shown}"),
                    ParameterType::Uint32 => format!("expected unsigned integer; found {shown}"),
                    ParameterType::Float => format!("expected float; found {shown}"),
                    other => format!("can't handle {shown} for arg of type {}", other.name()),
                };
                return Err(self.error(&message));
            }
            _ => {
                let value = self.plain(expression, dot)?;
                return self.checked(value, wanted);
            }
        };
        Ok(literal)
    }

    /// Returns `item` if a parameter of type `wanted` takes it.
    fn checked(&mut self, item: TemplateItem, wanted: ParameterType) -> Run1<TemplateItem> {
        let item = self.call.settle(item).map_err(|failure| self.failed(failure))?;
        match (wanted, &item) {
            (ParameterType::Any, TemplateItem::Missing) => Ok(TemplateItem::Nil),
            (ParameterType::Any | ParameterType::Raw, _) | (ParameterType::Dict, TemplateItem::Missing) => {
                Ok(item)
            }
            (_, TemplateItem::Missing) => {
                Err(self.error(&format!("invalid value; expected {}", wanted.name())))
            }
            (ParameterType::Text, TemplateItem::Bytes(bytes)) => {
                Ok(TemplateItem::text(decode_utf8_lossy(bytes)))
            }
            _ if wanted.takes(&item) => Ok(item),
            _ => {
                let got = if matches!(item, TemplateItem::Nil) { "interface {}" } else { item.type_name() };
                let message = format!("wrong type for value; expected {}; got {got}", wanted.name());
                Err(self.error(&message))
            }
        }
    }
}

/// The arguments after the first word of a command, and the piped value.
pub(super) struct CommandArguments<'a, 'd> {
    words: &'a [TemplateExpression],
    last: Option<TemplateItem>,
    dot: &'d TemplateItem,
}

impl CommandArguments<'_, '_> {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.last.is_none()
    }
}
