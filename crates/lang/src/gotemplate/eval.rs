//! Executing a parsed template: pipelines, fields, variables and calls.

use kubewright_value::{Text, Value};

use super::ast::{Command, Expression, Pipe, Term, show, show_command};
use super::call::Failure;
use super::functions::{Function, Type};
use super::item::Item;
use super::literal::Literal;
use super::run::{Run, Run1};
use super::truth::is_true;

impl<'a> Run<'a> {
    /// Evaluates a pipeline and declares or sets its variables.
    pub(super) fn pipeline(&mut self, pipe: &'a Pipe, dot: &Item) -> Run1<Item> {
        let mut value: Option<Item> = None;
        for command in &pipe.commands {
            let next = self.command(command, dot, value.take())?;
            // A nil that comes out of a container is no value from here on.
            value = Some(if matches!(next, Item::Nil) { Item::Missing } else { next });
        }
        let value = value.unwrap_or(Item::Missing);
        for variable in &pipe.variables {
            if pipe.is_assign {
                self.assign(*variable, value.clone());
            } else {
                self.stack.push((*variable, value.clone()));
            }
        }
        Ok(value)
    }

    fn command(&mut self, command: &'a Command, dot: &Item, last: Option<Item>) -> Run1<Item> {
        let Some((first, arguments)) = command.words.split_first() else {
            return Ok(Item::Missing);
        };
        match &first.kind {
            Term::Field(fields) => self.fields(first, dot, fields, Arguments { words: arguments, last, dot }),
            Term::Chain(inner, fields) => self.chain(first, inner, fields, Arguments { words: arguments, last, dot }),
            Term::Variable(variable, fields) => {
                let value = self.variable(*variable);
                if fields.is_empty() {
                    self.not_a_function(first, arguments, last.is_some())?;
                    return Ok(value);
                }
                self.fields(first, &value, fields, Arguments { words: arguments, last, dot })
            }
            Term::Function(function) => {
                self.invoke_function(function, first, Some(command), Arguments { words: arguments, last, dot })
            }
            other => {
                self.not_a_function(first, arguments, last.is_some())?;
                match other {
                    Term::Nil => Err(self.error_at(first, "nil is not a command".to_owned())),
                    _ => self.plain(first, dot),
                }
            }
        }
    }

    fn not_a_function(&self, first: &Expression, arguments: &[Expression], has_last: bool) -> Run1<()> {
        if arguments.is_empty() && !has_last {
            return Ok(());
        }
        let shown = show(first, &self.template.names);
        Err(self.error_at(first, format!("can't give argument to non-function {shown}")))
    }

    /// Evaluates an expression that takes no arguments.
    fn plain(&mut self, expression: &'a Expression, dot: &Item) -> Run1<Item> {
        let none = Arguments { words: &[], last: None, dot };
        match &expression.kind {
            Term::Dot => Ok(dot.clone()),
            Term::Nil => Ok(Item::Nil),
            Term::Bool(value) => Ok(Item::Bool(*value)),
            Term::Text(text) => Ok(Item::Text(text.clone())),
            Term::Number(literal) => self.constant(expression, literal),
            Term::Field(fields) => self.fields(expression, dot, fields, none),
            Term::Variable(variable, fields) if fields.is_empty() => Ok(self.variable(*variable)),
            Term::Variable(variable, fields) => {
                let value = self.variable(*variable);
                self.fields(expression, &value, fields, none)
            }
            Term::Chain(inner, fields) => self.chain(expression, inner, fields, none),
            Term::Function(function) => self.invoke_function(function, expression, None, none),
            Term::Pipe(pipe) => self.nested(expression.at, |run| run.pipeline(pipe, dot)),
        }
    }

    fn constant(&self, expression: &Expression, literal: &Literal) -> Run1<Item> {
        if literal.is_complex {
            return Err(self.error_at(expression, "complex numbers are not supported".to_owned()));
        }
        if literal.is_float() {
            return Ok(Item::Float(literal.float.unwrap_or_default()));
        }
        match literal.integer {
            Some(integer) => Ok(Item::int(integer)),
            None => Err(self.error_at(expression, format!("{} overflows int", literal.text))),
        }
    }

    fn variable(&self, variable: u32) -> Item {
        self.stack.iter().rev().find(|(name, _)| *name == variable).map_or(Item::Missing, |(_, item)| item.clone())
    }

    fn chain(
        &mut self,
        expression: &'a Expression,
        inner: &'a Expression,
        fields: &'a [Text],
        arguments: Arguments<'a, '_>,
    ) -> Run1<Item> {
        if matches!(inner.kind, Term::Nil) {
            let shown = show(expression, &self.template.names);
            return Err(self.error_at(expression, format!("indirection through explicit nil in {shown}")));
        }
        let receiver = self.plain(inner, arguments.dot)?;
        self.fields(expression, &receiver, fields, arguments)
    }

    /// Follows `fields` from `receiver`; JSON is walked in place.
    fn fields(
        &mut self,
        expression: &'a Expression,
        receiver: &Item,
        fields: &'a [Text],
        arguments: Arguments<'a, '_>,
    ) -> Run1<Item> {
        let Some((last, path)) = fields.split_last() else {
            return Ok(receiver.clone());
        };
        if !self.call.has_overlays() && arguments.is_empty() {
            let context = self.call.context;
            let (start, rest) = match (receiver, fields) {
                (Item::Root, [first, rest @ ..]) => (context.plain(first), rest),
                (Item::Object(map), [first, rest @ ..]) => match map.get(first) {
                    None => return Ok(Item::Missing),
                    found => (found, rest),
                },
                _ => (None, fields),
            };
            if let Some(start) = start {
                return self.walk(expression, start, rest);
            }
        }
        let mut current = receiver.clone();
        let mut of_interface = false;
        for field in path {
            current = self.field(expression, current, field, None, of_interface)?;
            of_interface = true;
        }
        self.field(expression, current, last, Some(arguments), of_interface)
    }

    fn walk(&self, expression: &Expression, start: &Value, fields: &[Text]) -> Run1<Item> {
        let mut value = start;
        for field in fields {
            match value {
                Value::Object(map) => match map.get(field) {
                    Some(found) => value = found,
                    None => return Ok(Item::Missing),
                },
                Value::Null => {
                    return Err(self.error_at(expression, format!("nil pointer evaluating interface {{}}.{field}")));
                }
                _ => {
                    let message = format!("can't evaluate field {field} in type interface {{}}");
                    return Err(self.error_at(expression, message));
                }
            }
        }
        Ok(Item::json(value))
    }

    fn field(
        &mut self,
        expression: &'a Expression,
        receiver: Item,
        field: &Text,
        arguments: Option<Arguments<'a, '_>>,
        of_interface: bool,
    ) -> Run1<Item> {
        let receiver = self.call.settle(receiver).map_err(|f| self.failed(expression.at as usize, f))?;
        if let Item::Missing = receiver {
            return Ok(Item::Missing);
        }
        if let Item::Nil = receiver {
            return Err(self.error_at(expression, format!("nil pointer evaluating interface {{}}.{field}")));
        }
        let has_arguments = arguments.as_ref().is_some_and(|a| !a.is_empty());
        let found = match &receiver {
            Item::Time(_) | Item::Version(_) => return self.method(expression, &receiver, field, arguments),
            Item::Root => self.call.context.field(field),
            other => other.entry(field),
        };
        match found {
            Some(_) if has_arguments && matches!(receiver, Item::Root) => {
                Err(self.error_at(expression, format!("{field} has arguments but cannot be invoked as function")))
            }
            Some(_) if has_arguments => {
                Err(self.error_at(expression, format!("{field} is not a method but has arguments")))
            }
            Some(item) => Ok(item),
            None => {
                let name = if of_interface { "interface {}" } else { receiver.type_name() };
                Err(self.error_at(expression, format!("can't evaluate field {field} in type {name}")))
            }
        }
    }

    fn method(
        &mut self,
        expression: &'a Expression,
        receiver: &Item,
        name: &Text,
        arguments: Option<Arguments<'a, '_>>,
    ) -> Run1<Item> {
        let mut values = Vec::new();
        if let Some(arguments) = arguments {
            for word in arguments.words {
                values.push(self.plain(word, arguments.dot)?);
            }
            values.extend(arguments.last);
        }
        let result = match receiver {
            Item::Time(time) => time.method(name, &values),
            Item::Version(version) => version.method(name, &values),
            _ => None,
        };
        match result {
            Some(Ok(item)) => Ok(item),
            Some(Err(message)) => Err(self.error_at(expression, message)),
            None => {
                let type_name = receiver.type_name();
                Err(self.error_at(expression, format!("can't evaluate field {name} in type {type_name}")))
            }
        }
    }

    fn invoke_function(
        &mut self,
        function: &'static Function,
        expression: &'a Expression,
        command: Option<&'a Command>,
        arguments: Arguments<'a, '_>,
    ) -> Run1<Item> {
        let count = arguments.words.len() + usize::from(arguments.last.is_some());
        self.check_count(function, expression, count, arguments.words.len())?;
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
            values.push(self.checked(last, wanted, expression)?);
        }
        self.limit(expression.at as usize, |call| call.budget.step(1))?;
        let result = (function.run)(&mut self.call, &values).and_then(|item| {
            if let Item::Text(text) = &item {
                self.call.budget.produce(text.len())?;
            }
            Ok(item)
        });
        result.map_err(|failure| match failure {
            Failure::Message(message) => {
                let message = format!("error calling {}: {message}", function.name);
                let shown = match command {
                    Some(command) => show_command(command, &self.template.names),
                    None => function.name.to_owned(),
                };
                self.error(expression.at as usize, Some(&shown), message)
            }
            exhausted @ Failure::Exhausted(_) => self.failed(expression.at as usize, exhausted),
        })
    }

    fn check_count(
        &self,
        function: &Function,
        expression: &Expression,
        count: usize,
        written: usize,
    ) -> Run1<()> {
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
        Err(self.error_at(expression, message))
    }

    fn and_or(&mut self, is_or: bool, arguments: Arguments<'a, '_>) -> Run1<Item> {
        let mut value = Item::Missing;
        for word in arguments.words {
            value = self.argument(word, Type::Raw, arguments.dot)?;
            if is_true(&value) == is_or {
                return Ok(value);
            }
        }
        Ok(arguments.last.unwrap_or(value))
    }

    /// Evaluates an argument for a parameter of type `wanted`.
    fn argument(&mut self, expression: &'a Expression, wanted: Type, dot: &Item) -> Run1<Item> {
        let literal = match (&expression.kind, wanted) {
            (Term::Nil, Type::Any) => return Ok(Item::Nil),
            (Term::Nil, Type::Raw | Type::Dict) => return Ok(Item::Missing),
            (Term::Nil, _) => {
                return Err(self.error_at(expression, format!("cannot assign nil to {}", wanted.name())));
            }
            (Term::Bool(_) | Term::Text(_) | Term::Number(_), Type::Any | Type::Raw) => {
                return self.plain(expression, dot);
            }
            (Term::Bool(value), Type::Bool) => Item::Bool(*value),
            (Term::Text(text), Type::Text) => Item::Text(text.clone()),
            (Term::Number(Literal { integer: Some(integer), .. }), Type::Int) => Item::int(*integer),
            (Term::Number(Literal { unsigned: Some(unsigned), .. }), Type::Uint32) => {
                Item::int(i64::from(*unsigned as u32))
            }
            (Term::Number(Literal { float: Some(float), .. }), Type::Float) => Item::Float(*float),
            (Term::Bool(_) | Term::Text(_) | Term::Number(_), _) => {
                let shown = show(expression, &self.template.names);
                let message = match wanted {
                    Type::Bool => format!("expected bool; found {shown}"),
                    Type::Text => format!("expected string; found {shown}"),
                    Type::Int => format!("expected integer; found {shown}"),
                    Type::Uint32 => format!("expected unsigned integer; found {shown}"),
                    Type::Float => format!("expected float; found {shown}"),
                    other => format!("can't handle {shown} for arg of type {}", other.name()),
                };
                return Err(self.error_at(expression, message));
            }
            _ => {
                let value = self.plain(expression, dot)?;
                return self.checked(value, wanted, expression);
            }
        };
        Ok(literal)
    }

    /// Returns `item` if a parameter of type `wanted` takes it.
    fn checked(&mut self, item: Item, wanted: Type, expression: &Expression) -> Run1<Item> {
        let item = self.call.settle(item).map_err(|f| self.failed(expression.at as usize, f))?;
        match (wanted, &item) {
            (Type::Any, Item::Missing) => Ok(Item::Nil),
            (Type::Any | Type::Raw, _) | (Type::Dict, Item::Missing) => Ok(item),
            (_, Item::Missing) => {
                Err(self.error_at(expression, format!("invalid value; expected {}", wanted.name())))
            }
            _ if wanted.takes(&item) => Ok(item),
            _ => {
                let got = if matches!(item, Item::Nil) { "interface {}" } else { item.type_name() };
                let message = format!("wrong type for value; expected {}; got {got}", wanted.name());
                Err(self.error_at(expression, message))
            }
        }
    }

    fn error_at(&self, expression: &Expression, message: String) -> Box<super::TemplateError> {
        let shown = show(expression, &self.template.names);
        self.error(expression.at as usize, Some(&shown), message)
    }
}

/// What stands after the first word of a command, and what was piped in.
struct Arguments<'a, 'd> {
    words: &'a [Expression],
    last: Option<Item>,
    dot: &'d Item,
}

impl Arguments<'_, '_> {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.last.is_none()
    }
}
