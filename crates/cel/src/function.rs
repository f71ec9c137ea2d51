//! Which functions may be called, and how one is chosen.
//!
//! A function is a name with overloads. Which one is called depends on whether there is a receiver,
//! on the number of arguments and on their types, which may only be known when it is called.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use kubewright_golib::inputs::Inputs;
use kubewright_golib::regex::{self, Regex};
use kubewright_value::{Budget, Exhausted, Limits};

use super::cost::{Cost, Exceeded};
use super::error::{EvalErrorKind, Failure};
use super::val::{Kind, Val};

/// How large a pattern that is made while a rule runs may become.
const PATTERN_SIZE: usize = 256 << 10;

/// The work of compiling a pattern that turns out to be none.
const FAILED_PATTERN: usize = 300_000;

/// How many patterns that are made while a rule runs are kept.
const KEPT_PATTERNS: usize = 16;

/// What a function does: the arguments, a receiver first, have the types of the overload.
pub type Body = for<'a> fn(&[Val<'a>], &mut Call<'_, 'a>) -> Result<Val<'a>, Failure>;

/// What a call costs, by its arguments and its result.
pub type CallCost = fn(&[Val<'_>], &Val<'_>) -> u64;

/// One way to call a function.
#[derive(Clone)]
pub struct Overload {
    name: &'static str,
    is_method: bool,
    is_variadic: bool,
    parameters: &'static [Kind],
    result: Kind,
    body: Body,
    cost: Option<CallCost>,
    is_cost_certain: bool,
    pattern: Option<usize>,
    items: Option<&'static [Kind]>,
    values: Option<Kind>,
    help: &'static str,
}

impl Overload {
    /// Returns a function that is called as `name(a, b)`; a name with dots is called as it is written.
    #[must_use]
    pub fn function(name: &'static str, parameters: &'static [Kind], result: Kind, body: Body) -> Self {
        Self {
            name,
            is_method: false,
            is_variadic: false,
            parameters,
            result,
            body,
            cost: None,
            is_cost_certain: true,
            pattern: None,
            items: None,
            values: None,
            help: "",
        }
    }

    /// Returns a function that is called as `a.name(b)`; the receiver is the first parameter.
    #[must_use]
    pub fn method(name: &'static str, parameters: &'static [Kind], result: Kind, body: Body) -> Self {
        Self { is_method: true, ..Self::function(name, parameters, result, body) }
    }

    /// Sets what a call costs; without, it is 1.
    #[must_use]
    pub fn cost(self, cost: CallCost) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Sets what a call costs where it is known beforehand that this overload is called; otherwise it is 1.
    #[must_use]
    pub fn cost_if_known(self, cost: CallCost) -> Self {
        Self { cost: Some(cost), is_cost_certain: false, ..self }
    }

    /// Says that the argument at `index` is a regular expression: a constant one is compiled once.
    #[must_use]
    pub fn pattern(self, index: usize) -> Self {
        Self { pattern: Some(index), ..self }
    }

    /// Says of which types the items of the list may be that comes first. A result of any type is one of them.
    #[must_use]
    pub fn items(self, items: &'static [Kind]) -> Self {
        Self { items: Some(items), ..self }
    }

    /// Says of which type the values of the map are that comes last.
    #[must_use]
    pub fn values(self, values: Kind) -> Self {
        Self { values: Some(values), ..self }
    }

    /// Says that the last parameter may be given any number of times, at least once.
    #[must_use]
    pub fn variadic(self) -> Self {
        Self { is_variadic: true, ..self }
    }

    /// Sets the line that explains it.
    #[must_use]
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the line that explains it.
    #[must_use]
    pub fn help_line(&self) -> &'static str {
        self.help
    }

    pub(super) fn is_method(&self) -> bool {
        self.is_method
    }

    pub(super) fn result(&self) -> Kind {
        self.result
    }

    pub(super) fn pattern_index(&self) -> Option<usize> {
        self.pattern
    }

    pub(super) fn takes(&self, count: usize) -> bool {
        match self.is_variadic {
            true => count >= self.parameters.len(),
            false => count == self.parameters.len(),
        }
    }

    /// Returns whether arguments of these types can be given.
    pub(super) fn accepts(&self, mut kinds: impl Iterator<Item = Kind>) -> bool {
        let last = self.parameters.last().copied().unwrap_or(Kind::Any);
        let mut parameters = self.parameters.iter().copied().chain(std::iter::repeat(last));
        kinds.all(|kind| {
            let wanted = parameters.next().unwrap_or(Kind::Any);
            wanted == Kind::Any || kind == Kind::Any || wanted == kind
        })
    }

    /// Returns whether a list of such items can be given first.
    pub(super) fn accepts_items(&self, item: Kind) -> bool {
        item == Kind::Any || self.items.is_none_or(|items| items.contains(&item))
    }

    /// Returns whether a map of such values can be given last.
    pub(super) fn accepts_values(&self, value: Kind) -> bool {
        value == Kind::Any || self.values.is_none_or(|values| values == value)
    }

    /// Returns whether the result is of the type of the items of the list that comes first.
    pub(super) fn gives_item(&self) -> bool {
        self.items.is_some() && self.result == Kind::Any
    }

    /// Calls it and charges for that.
    #[inline]
    pub(super) fn call<'a>(
        &self,
        arguments: &[Val<'a>],
        call: &mut Call<'_, 'a>,
        is_known: bool,
    ) -> Result<Val<'a>, Failure> {
        // The API server charges many functions by their receiver alone, or after the call.
        let looked_at = arguments.iter().map(Val::long_text).fold(0, usize::saturating_add);
        call.work(looked_at.saturating_mul(2))?;
        let result = (self.body)(arguments, call)?;
        call.cost.produce(result.text_bytes())?;
        let cost = self.cost.filter(|_| self.is_cost_certain || is_known);
        call.cost.charge(cost.map_or(1, |cost| cost(arguments, &result)))?;
        Ok(result)
    }

    /// Returns `string.charAt(int) -> string`.
    #[must_use]
    pub fn signature(&self) -> String {
        let names: Vec<String> = self.parameters.iter().map(Kind::to_string).collect();
        let more = if self.is_variadic { ", ..." } else { "" };
        match (self.is_method, names.split_first()) {
            (true, Some((receiver, rest))) => {
                format!("{receiver}.{}({}{more}) -> {}", self.name, rest.join(", "), self.result)
            }
            _ => format!("{}({}{more}) -> {}", self.name, names.join(", "), self.result),
        }
    }
}

/// What a function may use besides its arguments.
pub struct Call<'r, 'a> {
    /// What the evaluation costs; a function that does more than its cost says charges work here.
    pub cost: &'r mut Cost,
    pub(super) regex: Option<&'r Regex>,
    pub(super) patterns: &'r Patterns,
    pub(super) host: Option<&'a dyn Host>,
    pub(super) inputs: Inputs,
}

impl<'r, 'a> Call<'r, 'a> {
    /// Returns the regular expression of the parameter that [`Overload::pattern`] names.
    ///
    /// # Errors
    /// When `pattern` is none.
    pub fn regex(&mut self, pattern: &str) -> Result<Cow<'r, Regex>, Failure> {
        match self.regex {
            Some(regex) => Ok(Cow::Borrowed(regex)),
            None => self.patterns.compiled(pattern, self.cost).map(Cow::Owned),
        }
    }

    /// Returns the world outside, if there is one.
    #[must_use]
    pub fn host(&self) -> Option<&'a dyn Host> {
        self.host
    }

    /// Returns the present moment and the seed, as far as the caller gave them.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Counts `count` items made.
    ///
    /// # Errors
    /// When it is too much.
    pub fn make(&mut self, count: usize) -> Result<(), Exceeded> {
        self.cost.make(count)
    }

    /// Counts `count` items looked at.
    ///
    /// # Errors
    /// When it is too much.
    pub fn work(&mut self, count: usize) -> Result<(), Exceeded> {
        self.cost.work(count)
    }

    /// Counts `count` bytes of text or values, before they are made.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn produce(&mut self, count: usize) -> Result<(), Exceeded> {
        self.cost.produce(count)
    }

    /// Runs `make` with a budget that has what is left of bytes and work, and counts what it took.
    ///
    /// # Errors
    /// When it took more than there is.
    pub fn within<T>(
        &mut self,
        make: impl FnOnce(&mut Budget) -> Result<T, Exhausted>,
    ) -> Result<T, Exceeded> {
        let (bytes, steps) = (self.cost.bytes_left(), self.cost.work_left());
        let mut budget = Budget::new(Limits { bytes, steps, ..Limits::default() });
        let made = make(&mut budget);
        let take = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        self.cost.work(take(budget.steps_used()))?;
        self.cost.produce(take(budget.bytes_used()))?;
        made.map_err(|exhausted| match exhausted {
            Exhausted::Bytes(_) => self.cost.too_many_bytes(),
            Exhausted::Steps(_) | Exhausted::Depth(_) | Exhausted::Deadline => self.cost.too_much_work(),
        })
    }
}

/// The world outside of an expression, for functions that ask it something.
pub trait Host {
    /// Answers `question`.
    ///
    /// # Errors
    /// When there is no answer; of [`EvalErrorKind::Host`](super::EvalErrorKind::Host) where the host wants to know its
    /// error again.
    fn ask(
        &self,
        question: &str,
        arguments: &[kubewright_value::Value],
    ) -> Result<kubewright_value::Value, Failure>;
}

/// Patterns that were compiled during this evaluation.
#[derive(Default)]
pub(super) struct Patterns(RefCell<Vec<(Box<str>, Regex)>>);

impl Patterns {
    fn compiled(&self, pattern: &str, cost: &mut Cost) -> Result<Regex, Failure> {
        let mut kept = self.0.borrow_mut();
        if let Some((_, regex)) = kept.iter().find(|(known, _)| **known == *pattern) {
            return Ok(regex.clone());
        }
        // Compiling is slow, whatever the API server charges for it.
        cost.work(5_000 + pattern.len().saturating_mul(64))?;
        let regex = match regex::compile_regex_within(pattern, PATTERN_SIZE) {
            Ok(regex) => regex,
            Err(error) => {
                // One that is too large was compiled up to the limit, and nothing remembers it.
                cost.work(FAILED_PATTERN)?;
                return Err(Failure::new(EvalErrorKind::Value, format!("invalid regex: {error}")));
            }
        };
        cost.work(usize::try_from(regex.compiling_cost()).unwrap_or(usize::MAX))?;
        if kept.len() == KEPT_PATTERNS {
            kept.remove(0);
        }
        kept.push((pattern.into(), regex.clone()));
        Ok(regex)
    }
}

/// The functions by name.
#[derive(Clone, Default)]
pub struct Functions {
    by_name: HashMap<&'static str, Vec<Arc<Overload>>>,
}

impl Functions {
    /// Adds an overload; calls that several take go to the one added first.
    pub fn add(&mut self, overload: Overload) {
        self.by_name.entry(overload.name).or_default().push(Arc::new(overload));
    }

    /// Takes the overloads of `name` with these parameters away.
    pub fn remove(&mut self, name: &str, parameters: &[Kind]) {
        if let Some(overloads) = self.by_name.get_mut(name) {
            overloads.retain(|overload| overload.parameters != parameters);
        }
    }

    /// Changes what calls of `name` cost, whatever their arguments are.
    pub fn set_cost(&mut self, name: &str, cost: CallCost) {
        for overload in self.by_name.get_mut(name).into_iter().flatten() {
            Arc::make_mut(overload).cost = Some(cost);
        }
    }

    /// Returns all overloads, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Overload> {
        let mut names: Vec<_> = self.by_name.keys().collect();
        names.sort_unstable();
        names.into_iter().filter_map(|name| self.by_name.get(name)).flatten().map(AsRef::as_ref)
    }

    pub(super) fn named(&self, name: &str) -> &[Arc<Overload>] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.by_name.keys().copied()
    }
}
