//! What the variables of a rule can read: the request, what the caller gives, context entries and elements.
//!
//! Nothing is made before a variable asks for it. An entry is loaded when an expression names it, at most
//! once, and sees only what was declared before it. All parts share memory with what they come from.

mod entry;
mod given;
mod load;
mod root;

use std::sync::Arc;

pub(super) use entry::Entry;
use kubewright_engine::{EvalError, Evaluation, Operation, Request, RuleId, World};
use kubewright_lang::jmespath::{EvalErrorKind, Expression, Found, is_true};
use kubewright_value::{Budget, Exhausted, Map, Text, Value};

use super::images;
use super::mixed::{Mixed, joined};
use super::template::{Choice, Compiled, Query};
use given::Given;

/// How many bytes of JSON all context entries of a rule may be together.
const MAX_LOADED: usize = 2 << 20;

/// What the variables of one rule stand for, for one request.
pub(super) struct Context<'a> {
    request: &'a Request,
    world: &'a dyn World,
    budget: &'a mut Budget,
    rule: &'a RuleId,
    /// The namespace of a namespaced policy.
    home: Option<&'a Text>,
    object: Value,
    given: Option<Given>,
    images: Option<Result<Option<Value>, Unresolved>>,
    // INVARIANT: never empty; the first one is the rule, each further one an element of a loop in it.
    scopes: Vec<Scope>,
    declared: Vec<Declared<'a>>,
    /// The scope whose names count, and how many declarations: all, unless an entry is being loaded.
    view: Option<View>,
    /// How many bytes all entries are that were loaded.
    loaded: usize,
}

/// A value and whether somebody else than the author of the policy may have written it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sourced {
    pub(super) value: Value,
    pub(super) is_foreign: bool,
    /// Who wrote what in it, if parts of it are the author's.
    parts: Option<Arc<Mixed>>,
}

/// Why a variable stands for nothing.
#[derive(Debug, Clone)]
pub(super) enum Unresolved {
    /// An object does not have a key; the message says which.
    Missing(String),
    Error(EvalError),
}

struct Scope {
    /// What expressions are evaluated on, but for context entries; made when it is first needed.
    root: Option<Value>,
    /// How many entries were declared when the scope began.
    first: usize,
    /// Whether its element may have been written by somebody else than the author.
    is_foreign: bool,
}

struct Declared<'a> {
    entry: &'a Entry,
    scope: usize,
    loaded: Option<Result<Sourced, Unresolved>>,
}

#[derive(Debug, Clone, Copy)]
struct View {
    scope: usize,
    declared: usize,
}

impl<'a> Context<'a> {
    /// Returns the context of `rule` for the request of `evaluation`, whose object is by now `object`.
    /// `home` is the namespace of a namespaced policy.
    pub(super) fn new(
        evaluation: &'a mut Evaluation<'_>,
        object: &Value,
        rule: &'a RuleId,
        home: Option<&'a Text>,
    ) -> Self {
        Self {
            request: evaluation.request,
            world: evaluation.world,
            budget: evaluation.budget,
            rule,
            home,
            object: object.clone(),
            given: None,
            images: None,
            scopes: vec![Scope { root: None, first: 0, is_foreign: true }],
            declared: Vec::new(),
            view: None,
            loaded: 0,
        }
    }

    /// Declares context entries; they are loaded when they are named.
    pub(super) fn declare(&mut self, entries: &'a [Entry]) {
        let scope = self.scopes.len().saturating_sub(1);
        for entry in entries {
            // What the caller gives takes the place of what would be looked up.
            if entry.is_looked_up() && self.given().has(entry.name()) {
                continue;
            }
            self.declared.push(Declared { entry, scope, loaded: None });
        }
    }

    /// Begins an element of a loop; [`Context::restore`] ends it.
    pub(super) fn checkpoint(&mut self) {
        let root = Some(self.root(self.scopes.len().saturating_sub(1)));
        self.scopes.push(Scope { root, first: self.declared.len(), is_foreign: true });
    }

    /// Forgets what was entered and declared since the last [`Context::checkpoint`].
    pub(super) fn restore(&mut self) {
        if self.scopes.len() > 1
            && let Some(scope) = self.scopes.pop()
        {
            self.declared.truncate(scope.first);
        }
    }

    /// Sets the element of a loop that is `nesting` loops deep.
    pub(super) fn enter(&mut self, element: &Value, index: usize, nesting: usize) {
        self.enter_sourced(&Sourced::foreign(element.clone()), index, nesting);
    }

    /// Sets the element of a loop over a list of which it is known who wrote it.
    pub(super) fn enter_sourced(&mut self, element: &Sourced, index: usize, nesting: usize) {
        let last = self.scopes.len().saturating_sub(1);
        let outer = last.checked_sub(1).and_then(|outer| self.scopes.get(outer));
        // `element0` of an outer loop stays readable, so one that is foreign makes all of them so.
        let is_foreign = element.is_foreign || last > 1 && outer.is_none_or(|outer| outer.is_foreign);
        let mut root = self.root(last);
        if let Some(map) = root.as_object_mut() {
            map.insert("element".into(), element.value.clone());
            map.insert(format!("element{nesting}").into(), element.value.clone());
            map.insert("elementIndex".into(), index.into());
            map.insert(format!("elementIndex{nesting}").into(), index.into());
        }
        self.given().put_elements_into(&mut root);
        if let Some(scope) = self.scopes.get_mut(last) {
            scope.root = Some(root);
            scope.is_foreign = is_foreign;
        }
    }

    /// Returns what `query` finds.
    pub(super) fn find(&mut self, query: &Query) -> Result<Sourced, Unresolved> {
        query.find(self)
    }

    /// Returns what may be spent.
    pub(super) fn budget(&mut self) -> &mut Budget {
        self.budget
    }

    /// Returns what is asked.
    pub(super) fn request(&self) -> &'a Request {
        self.request
    }

    /// Returns whether the object is about to be deleted.
    pub(super) fn is_deletion(&self) -> bool {
        self.request.operation == Operation::Delete
    }

    /// Charges for text that was made.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Unresolved> {
        self.budget.step(1)?;
        Ok(self.budget.produce(bytes)?)
    }

    /// Evaluates an expression on everything that it names.
    pub(super) fn search(&mut self, compiled: &Compiled, is_deletion: bool) -> Result<Sourced, Unresolved> {
        let view = self.view();
        let mut root = self.root(view.scope);
        let mut is_foreign = compiled.roots.takes_all;
        let mut parts = None;
        for name in &compiled.roots.names {
            if let Some(found) = self.named(name, view)? {
                is_foreign |= found.is_foreign;
                parts = found.parts;
                if let Some(map) = root.as_object_mut() {
                    map.insert(name.clone(), found.value);
                }
            } else {
                is_foreign |= self.is_foreign(name, view.scope);
            }
        }
        let choice = compiled.choice(is_deletion);
        if let (Some(parts), Some(path)) = (parts, choice.whole.plain_path()) {
            return self.search_parts(&choice.whole, &path, &root, &parts);
        }
        let (value, is_default) = choose(choice, &root, is_foreign, self.budget)
            .map_err(|unresolved| unresolved.within("JMESPath query failed: "))?;
        Ok(Sourced { is_foreign: is_foreign && !is_default, ..Sourced::foreign(value) })
    }

    /// Follows a path into a value of which it is known who wrote what.
    fn search_parts(
        &mut self,
        expression: &Expression,
        path: &[Text],
        root: &Value,
        parts: &Mixed,
    ) -> Result<Sourced, Unresolved> {
        let found = find(expression, root, self.budget)
            .map_err(|unresolved| unresolved.within("JMESPath query failed: "))?;
        let mut at = Some(parts.clone());
        for key in path.iter().skip(1) {
            at = at.and_then(|at| entry_of(&at, key));
        }
        Ok(at.map_or_else(|| Sourced::foreign(found), Sourced::from))
    }

    /// Evaluates an expression on `value` alone.
    pub(super) fn search_in(
        &mut self,
        expression: &Expression,
        value: &Sourced,
    ) -> Result<Sourced, Unresolved> {
        let found = find(expression, &value.value, self.budget)?;
        Ok(Sourced { is_foreign: value.is_foreign, ..Sourced::foreign(found) })
    }

    fn view(&self) -> View {
        self.view
            .unwrap_or(View { scope: self.scopes.len().saturating_sub(1), declared: self.declared.len() })
    }

    /// Returns the value of a name that is not in the root: a context entry, or the images of the object.
    fn named(&mut self, name: &Text, view: View) -> Result<Option<Sourced>, Unresolved> {
        let seen = self.declared.iter().take(view.declared).enumerate();
        let place = seen.rev().find(|(_, declared)| declared.entry.name() == name).map(|(place, _)| place);
        if let Some(place) = place {
            return self.load(place).map(Some);
        }
        if name != "images" {
            return Ok(None);
        }
        let images = self.images()?;
        Ok(images.map(Sourced::foreign))
    }

    fn images(&mut self) -> Result<Option<Value>, Unresolved> {
        if self.images.is_none() {
            let found = match self.is_deletion() {
                true => Ok(None),
                false => images::of(&self.object, self.budget),
            };
            self.images = Some(found.map(|found| {
                let mut images = found?;
                if let Some(given) = self.root(0).get("images") {
                    images = given::merged(given, &images);
                }
                Some(images)
            }));
        }
        self.images.clone().unwrap_or(Ok(None))
    }

    /// Returns whether `name`, which is no context entry, can be written by somebody else than the author.
    fn is_foreign(&mut self, name: &str, scope: usize) -> bool {
        match name {
            "request" | "images" | "image" | "serviceAccountName" | "serviceAccountNamespace" | "target" => {
                true
            }
            name if name.starts_with("element") && scope > 0 => {
                self.scopes.get(scope).is_none_or(|scope| scope.is_foreign)
            }
            _ => false,
        }
    }

    fn root(&mut self, scope: usize) -> Value {
        if let Some(root) = self.scopes.get(scope).and_then(|scope| scope.root.as_ref()) {
            return root.clone();
        }
        let mut root = root::of(self.request, &self.object);
        self.given().put_into(&mut root);
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.root = Some(root.clone());
        }
        root
    }

    fn given(&mut self) -> &Given {
        let (world, rule, request) = (self.world, self.rule, self.request);
        self.given.get_or_insert_with(|| Given::new(world.given(rule, request)))
    }
}

/// Returns `object` with what the caller gives for it, which is `request.object` or another `key` of the request.
pub(super) fn overlaid(object: &Value, key: &str, given: Vec<(Text, Value)>) -> Value {
    let mut root = Value::from(Map::from([("request", Map::from([(key, object.clone())]).into())]));
    Given::new(given).put_into(&mut root);
    root.at(&["request", key]).cloned().unwrap_or_default()
}

/// Evaluates `choice`, and tells whether the result is one of its constants.
fn choose(
    choice: &Choice,
    root: &Value,
    is_foreign: bool,
    budget: &mut Budget,
) -> Result<(Value, bool), Unresolved> {
    match &choice.split {
        Some((reading, constant)) if is_foreign => match find(reading, root, budget) {
            Ok(value) if is_true(&value) => Ok((value, false)),
            Ok(_) | Err(Unresolved::Missing(_)) => Ok((find(constant, root, budget)?, true)),
            Err(unresolved) => Err(unresolved),
        },
        _ => Ok((find(&choice.whole, root, budget)?, false)),
    }
}

/// Returns the value under `key`.
fn entry_of(mixed: &Mixed, key: &str) -> Option<Mixed> {
    match mixed {
        Mixed::Own(value) => value.get(key).cloned().map(Mixed::Own),
        Mixed::Foreign(value) => value.get(key).cloned().map(Mixed::Foreign),
        Mixed::Map(entries) => {
            entries.iter().find(|(name, _)| joined(name) == key).map(|(_, value)| value.clone())
        }
        Mixed::Text(_) | Mixed::List(_) => None,
    }
}

/// Evaluates `expression`, with the words that messages have for what is missing.
fn find(expression: &Expression, root: &Value, budget: &mut Budget) -> Result<Value, Unresolved> {
    match expression.find(root, budget) {
        Ok(Found::Value(value)) => Ok(value.into_owned()),
        Ok(Found::Missing(key)) => Err(Unresolved::Missing(format!("Unknown key \"{key}\" in path"))),
        Err(error) if error.kind == EvalErrorKind::Limit => {
            Err(Unresolved::Error(EvalError::limit(error.message)))
        }
        Err(error) => Err(Unresolved::Error(EvalError::new(error.message))),
    }
}

impl Sourced {
    /// Returns a value that the author wrote.
    pub(super) fn own(value: Value) -> Self {
        Self { value, is_foreign: false, parts: None }
    }

    /// Returns a value that somebody else may have written.
    pub(super) fn foreign(value: Value) -> Self {
        Self { value, is_foreign: true, parts: None }
    }

    /// Returns the value as one that is not the author's if `is_tainted`.
    pub(super) fn tainted(self, is_tainted: bool) -> Self {
        if is_tainted { Self::foreign(self.value) } else { self }
    }

    /// Returns the items of an array, each with who wrote it; nothing for anything else.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        if let Some(Mixed::List(items)) = self.parts.as_deref() {
            return Some(items.iter().cloned().map(Self::from).collect());
        }
        let item = |value: &Value| Self { value: value.clone(), is_foreign: self.is_foreign, parts: None };
        self.value.as_array().map(|items| items.iter().map(item).collect())
    }

    pub(super) fn into_mixed(self) -> Mixed {
        match self.parts {
            Some(parts) => Arc::unwrap_or_clone(parts),
            None if self.is_foreign => Mixed::Foreign(self.value),
            None => Mixed::Own(self.value),
        }
    }
}

impl From<Mixed> for Sourced {
    fn from(mixed: Mixed) -> Self {
        match mixed {
            Mixed::Own(value) => Self::own(value),
            Mixed::Foreign(value) => Self::foreign(value),
            mixed => {
                Self { parts: Some(Arc::new(mixed.clone())), ..Self::foreign(mixed.plain().into_owned()) }
            }
        }
    }
}

impl Unresolved {
    /// Returns the same with `prefix` before its message.
    #[must_use]
    pub(super) fn within(self, prefix: &str) -> Self {
        match self {
            Self::Missing(message) => Self::Missing(format!("{prefix}{message}")),
            Self::Error(error) => {
                Self::Error(EvalError { message: format!("{prefix}{}", error.message), ..error })
            }
        }
    }

    /// Returns the message.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Missing(message) => message,
            Self::Error(error) => &error.message,
        }
    }

    /// Returns whether the rule itself is at fault, rather than a limit or something that nobody knows yet.
    fn is_of_the_rule(&self) -> bool {
        match self {
            Self::Missing(_) => true,
            Self::Error(error) => error.kind == kubewright_engine::EvalErrorKind::Evaluation,
        }
    }
}

impl From<Exhausted> for Unresolved {
    fn from(exhausted: Exhausted) -> Self {
        Self::Error(exhausted.into())
    }
}

impl From<Unresolved> for EvalError {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::Missing(message) => Self::new(message),
            Unresolved::Error(error) => error,
        }
    }
}

#[cfg(test)]
mod tests;
