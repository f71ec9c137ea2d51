//! Executing a parsed template: pipelines, fields, variables and calls.

use kubewright_golib::utf8::lossy;
use kubewright_value::{Text, Value};

use super::ast::{Command, Expression, Pipe, ROOT, Term, show};
use super::call::Failure;
use super::functions::{Function, Type};
use super::item::Item;
use super::literal::Literal;
use super::run::{Here, Run, Run1};
use super::truth::is_true;

impl<'a> Run<'a> {
    /// Evaluates a pipeline and declares or sets its variables.
    pub(super) fn pipeline(&mut self, pipe: &'a Pipe, dot: &Item) -> Run1<Item> {
        self.here = Here::Pipe(pipe);
        let mut value: Option<Item> = None;
        for command in &pipe.commands {
            let next = self.command(command, dot, value.take())?;
            // A nil that comes out of a container is no value from here on.
            value = Some(if matches!(next, Item::Nil) { Item::Missing } else { next });
        }
        let value = value.unwrap_or(Item::Missing);
        let value = self.call.settle(value).map_err(|failure| self.failed(failure))?;
        for variable in &pipe.variables {
            if pipe.is_assign {
                self.assign(*variable, value.clone())?;
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
        if !matches!(first.kind, Term::Pipe(_)) {
            self.here = Here::Expression(first);
        }
        match &first.kind {
            Term::Field(fields) => self.fields(dot, fields, Arguments { words: arguments, last, dot }),
            Term::Chain(inner, fields) => {
                self.chain(first, inner, fields, Arguments { words: arguments, last, dot })
            }
            Term::Variable(variable, fields) => {
                let value = self.variable(*variable)?;
                if fields.is_empty() {
                    self.not_a_function(first, arguments, last.is_some())?;
                    return Ok(value);
                }
                self.fields(&value, fields, Arguments { words: arguments, last, dot })
            }
            Term::Function(function) => self.invoke_function(
                function,
                first,
                Some(command),
                Arguments { words: arguments, last, dot },
            ),
            other => {
                self.not_a_function(first, arguments, last.is_some())?;
                match other {
                    Term::Nil => Err(self.error("nil is not a command")),
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
        Err(self.error(&format!("can't give argument to non-function {shown}")))
    }

    /// Evaluates an expression that takes no arguments.
    fn plain(&mut self, expression: &'a Expression, dot: &Item) -> Run1<Item> {
        let none = Arguments { words: &[], last: None, dot };
        self.here = Here::Expression(expression);
        match &expression.kind {
            Term::Dot => Ok(dot.clone()),
            Term::Nil => Ok(Item::Nil),
            Term::Bool(value) => Ok(Item::Bool(*value)),
            Term::Text(text) => Ok(Item::Text(text.clone())),
            Term::Number(literal) => self.constant(literal),
            Term::Field(fields) => self.fields(dot, fields, none),
            Term::Variable(variable, fields) if fields.is_empty() => self.variable(*variable),
            Term::Variable(variable, fields) => {
                let value = self.variable(*variable)?;
                self.fields(&value, fields, none)
            }
            Term::Chain(inner, fields) => self.chain(expression, inner, fields, none),
            Term::Function(function) => self.invoke_function(function, expression, None, none),
            Term::Pipe(pipe) => self.nested(|run| run.pipeline(pipe, dot)),
        }
    }

    fn constant(&self, literal: &Literal) -> Run1<Item> {
        if literal.is_complex {
            return Err(self.error("complex numbers are not supported"));
        }
        if literal.is_float() {
            return Ok(Item::Float(literal.float.unwrap_or_default()));
        }
        match literal.integer {
            Some(integer) => Ok(Item::int(integer)),
            None => Err(self.error(&format!("{} overflows int", literal.text))),
        }
    }

    fn variable(&mut self, variable: u32) -> Run1<Item> {
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
        expression: &'a Expression,
        inner: &'a Expression,
        fields: &'a [Text],
        arguments: Arguments<'a, '_>,
    ) -> Run1<Item> {
        if matches!(inner.kind, Term::Nil) {
            let shown = show(expression, &self.template.names);
            return Err(self.error(&format!("indirection through explicit nil in {shown}")));
        }
        let receiver = self.plain(inner, arguments.dot)?;
        self.fields(&receiver, fields, arguments)
    }

    /// Follows `fields` from `receiver`; JSON is walked in place.
    fn fields(&mut self, receiver: &Item, fields: &'a [Text], arguments: Arguments<'a, '_>) -> Run1<Item> {
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
                return self.walk(start, rest);
            }
        }
        let mut current = receiver.clone();
        let mut of_interface = false;
        for field in path {
            // Only what the caller made keeps the type it was made with.
            of_interface = !matches!(current, Item::Root) || self.call.context.plain(field).is_some();
            current = self.field(current, field, None, of_interface)?;
        }
        self.field(current, last, Some(arguments), of_interface)
    }

    fn walk(&self, start: &Value, fields: &[Text]) -> Run1<Item> {
        let mut value = start;
        for field in fields {
            match value {
                Value::Object(map) => match map.get(field) {
                    Some(found) => value = found,
                    None => return Ok(Item::Missing),
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
        Ok(Item::json(value))
    }

    fn field(
        &mut self,
        receiver: Item,
        field: &Text,
        arguments: Option<Arguments<'a, '_>>,
        of_interface: bool,
    ) -> Run1<Item> {
        let receiver = self.call.settle(receiver).map_err(|failure| self.failed(failure))?;
        if let Item::Missing = receiver {
            return Ok(Item::Missing);
        }
        if let Item::Nil = receiver {
            return Err(self.error(&format!("nil pointer evaluating interface {{}}.{field}")));
        }
        let has_arguments = arguments.as_ref().is_some_and(|a| !a.is_empty());
        let found = match &receiver {
            Item::Time(_) | Item::Version(_) => return self.method(&receiver, field, arguments),
            Item::Root => self.call.context.field(field),
            other => other.entry(field),
        };
        match found {
            Some(_) if has_arguments && matches!(receiver, Item::Root) => {
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

    fn method(&mut self, receiver: &Item, name: &Text, arguments: Option<Arguments<'a, '_>>) -> Run1<Item> {
        let mut values = Vec::new();
        if let Some(arguments) = arguments {
            for word in arguments.words {
                values.push(self.plain(word, arguments.dot)?);
            }
            values.extend(arguments.last);
        }
        let result = match receiver {
            Item::Time(time) => super::time_methods::call_method(time, name, &values),
            Item::Version(version) => version.method(name, &values),
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
        function: &'static Function,
        expression: &'a Expression,
        command: Option<&'a Command>,
        arguments: Arguments<'a, '_>,
    ) -> Run1<Item> {
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
        let looked_at: usize = values.iter().filter_map(Item::as_bytes).map(<[u8]>::len).sum();
        self.limit(|call| call.budget.step(1 + looked_at as u64 / 8))?;
        let result = (function.run)(&mut self.call, &values).and_then(|item| {
            self.call.charge_container(&item)?;
            if let Some(made) = item.as_bytes() {
                self.call.budget.produce(made.len())?;
            }
            Ok(item)
        });
        result.map_err(|failure| {
            self.here = command.map_or(Here::Expression(expression), Here::Command);
            self.failed(match failure {
                Failure::Message(message) => {
                    Failure::Message(format!("error calling {}: {message}", function.name))
                }
                exhausted @ Failure::Exhausted(_) => exhausted,
            })
        })
    }

    fn check_count(&self, function: &Function, count: usize, written: usize) -> Run1<()> {
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
        self.here = Here::Expression(expression);
        let literal = match (&expression.kind, wanted) {
            (Term::Nil, Type::Any) => return Ok(Item::Nil),
            (Term::Nil, Type::Raw | Type::Dict) => return Ok(Item::Missing),
            (Term::Nil, _) => {
                return Err(self.error(&format!("cannot assign nil to {}", wanted.name())));
            }
            (Term::Bool(_) | Term::Text(_) | Term::Number(_), Type::Any | Type::Raw) => {
                return self.plain(expression, dot);
            }
            (Term::Bool(value), Type::Bool) => Item::Bool(*value),
            (Term::Text(text), Type::Text | Type::Bytes) => Item::Text(text.clone()),
            (Term::Number(Literal { integer: Some(integer), .. }), Type::Int) => Item::int(*integer),
            (Term::Number(Literal { unsigned: Some(unsigned), .. }), Type::Uint32) => {
                Item::int(i64::from(*unsigned as u32))
            }
            (Term::Number(Literal { float: Some(float), .. }), Type::Float) => Item::Float(*float),
            (Term::Bool(_) | Term::Text(_) | Term::Number(_), _) => {
                let shown = show(expression, &self.template.names);
                let message = match wanted {
                    Type::Bool => format!("expected bool; found {shown}"),
                    Type::Text | Type::Bytes => format!("expected string; found {shown}"),
                    Type::Int => format!("expected integer; found {shown}"),
                    Type::Uint32 => format!("expected unsigned integer; found {shown}"),
                    Type::Float => format!("expected float; found {shown}"),
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
    fn checked(&mut self, item: Item, wanted: Type) -> Run1<Item> {
        let item = self.call.settle(item).map_err(|failure| self.failed(failure))?;
        match (wanted, &item) {
            (Type::Any, Item::Missing) => Ok(Item::Nil),
            (Type::Any | Type::Raw, _) | (Type::Dict, Item::Missing) => Ok(item),
            (_, Item::Missing) => Err(self.error(&format!("invalid value; expected {}", wanted.name()))),
            (Type::Text, Item::Bytes(bytes)) => Ok(Item::text(lossy(bytes))),
            _ if wanted.takes(&item) => Ok(item),
            _ => {
                let got = if matches!(item, Item::Nil) { "interface {}" } else { item.type_name() };
                let message = format!("wrong type for value; expected {}; got {got}", wanted.name());
                Err(self.error(&message))
            }
        }
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
