//! Functions, their overloads, and what a call may use.
//!
//! A function is a name with overloads. Which overload is called depends on whether there is a receiver,
//! on the number of arguments and on their types, which may be known only at evaluation.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use kubewright_golib::inputs::Inputs;
use kubewright_golib::regex::{self, Regex};
use kubewright_value::{Budget, Exhausted, Limits};

use super::cost::{CelCost, CostExceeded};
use super::error::{CelErrorKind, CelFailure};
use super::val::{CelKind, Val};

/// The largest compiled size of a regular expression that is not a constant.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// The work that is charged for a regular expression that does not compile.
const FAILED_PATTERN_WORK: usize = 300_000;

/// The regular expressions that one evaluation keeps compiled.
const MAX_CACHED_PATTERNS: usize = 16;

/// The body of a function. The arguments, the receiver first, have the types of the overload.
pub type CelFunctionBody = for<'a> fn(&[Val<'a>], &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure>;

/// The cost of a call, from its arguments and its result.
pub type CallCost = fn(&[Val<'_>], &Val<'_>) -> u64;

/// An overload of a function.
#[derive(Clone)]
pub struct CelOverload {
    name: &'static str,
    is_method: bool,
    is_variadic: bool,
    parameters: &'static [CelKind],
    result: CelKind,
    body: CelFunctionBody,
    cost: Option<CallCost>,
    is_cost_certain: bool,
    pattern: Option<usize>,
    items: Option<&'static [CelKind]>,
    values: Option<CelKind>,
    help: &'static str,
}

impl CelOverload {
    /// Returns an overload that is called as `name(a, b)`; the name may have dots.
    #[must_use]
    pub fn function(
        name: &'static str,
        parameters: &'static [CelKind],
        result: CelKind,
        body: CelFunctionBody,
    ) -> Self {
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

    /// Returns an overload that is called as `a.name(b)`; the receiver is the first parameter.
    #[must_use]
    pub fn method(
        name: &'static str,
        parameters: &'static [CelKind],
        result: CelKind,
        body: CelFunctionBody,
    ) -> Self {
        Self { is_method: true, ..Self::function(name, parameters, result, body) }
    }

    /// Sets the cost of a call; the default is 1.
    #[must_use]
    pub fn cost(self, cost: CallCost) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Sets the cost of a call whose overload is known at compile time; other calls cost 1.
    #[must_use]
    pub fn cost_if_known(self, cost: CallCost) -> Self {
        Self { cost: Some(cost), is_cost_certain: false, ..self }
    }

    /// Declares the argument at `index` a regular expression: a constant one is compiled once.
    #[must_use]
    pub fn pattern(self, index: usize) -> Self {
        Self { pattern: Some(index), ..self }
    }

    /// Restricts the items of the first argument, a list. If the result is of any type, it is one of the items.
    #[must_use]
    pub fn items(self, items: &'static [CelKind]) -> Self {
        Self { items: Some(items), ..self }
    }

    /// Restricts the values of the last argument, a map.
    #[must_use]
    pub fn values(self, values: CelKind) -> Self {
        Self { values: Some(values), ..self }
    }

    /// Allows the last parameter one or more times.
    #[must_use]
    pub fn variadic(self) -> Self {
        Self { is_variadic: true, ..self }
    }

    /// Sets the one-line description.
    #[must_use]
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the one-line description.
    #[must_use]
    pub fn help_line(&self) -> &'static str {
        self.help
    }

    pub(super) fn is_method(&self) -> bool {
        self.is_method
    }

    pub(super) fn result(&self) -> CelKind {
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

    /// Returns whether it takes arguments of these types.
    pub(super) fn accepts(&self, mut kinds: impl Iterator<Item = CelKind>) -> bool {
        let last = self.parameters.last().copied().unwrap_or(CelKind::Any);
        let mut parameters = self.parameters.iter().copied().chain(std::iter::repeat(last));
        kinds.all(|kind| {
            let wanted = parameters.next().unwrap_or(CelKind::Any);
            wanted == CelKind::Any || kind == CelKind::Any || wanted == kind
        })
    }

    /// Returns whether its first argument may be a list of such items.
    pub(super) fn accepts_items(&self, item: CelKind) -> bool {
        item == CelKind::Any || self.items.is_none_or(|items| items.contains(&item))
    }

    /// Returns whether its last argument may be a map of such values.
    pub(super) fn accepts_values(&self, value: CelKind) -> bool {
        value == CelKind::Any || self.values.is_none_or(|values| values == value)
    }

    /// Returns whether the result has the type of the items of the first argument.
    pub(super) fn gives_item(&self) -> bool {
        self.items.is_some() && self.result == CelKind::Any
    }

    /// Calls the function and charges for it.
    #[inline]
    pub(super) fn call<'a>(
        &self,
        arguments: &[Val<'a>],
        call: &mut CelCallContext<'_, 'a>,
        is_known: bool,
    ) -> Result<Val<'a>, CelFailure> {
        // The API server charges many functions by their receiver alone, or after the call.
        let looked_at = arguments.iter().map(Val::long_text).fold(0, usize::saturating_add);
        call.work(looked_at.saturating_mul(2))?;
        let result = (self.body)(arguments, call)?;
        call.cost.produce(result.text_bytes())?;
        let cost = self.cost.filter(|_| self.is_cost_certain || is_known);
        call.cost.charge(cost.map_or(1, |cost| cost(arguments, &result)))?;
        Ok(result)
    }

    /// Returns the signature, such as `string.charAt(int) -> string`.
    #[must_use]
    pub fn signature(&self) -> String {
        let names: Vec<String> = self.parameters.iter().map(CelKind::to_string).collect();
        let more = if self.is_variadic { ", ..." } else { "" };
        match (self.is_method, names.split_first()) {
            (true, Some((receiver, rest))) => {
                format!("{receiver}.{}({}{more}) -> {}", self.name, rest.join(", "), self.result)
            }
            _ => format!("{}({}{more}) -> {}", self.name, names.join(", "), self.result),
        }
    }
}

/// The context of a call: what a function may use besides its arguments.
pub struct CelCallContext<'r, 'a> {
    /// The cost of the evaluation. A function that does more than its cost covers charges work here.
    pub cost: &'r mut CelCost,
    pub(super) regex: Option<&'r Regex>,
    pub(super) patterns: &'r PatternCache,
    pub(super) host: Option<&'a dyn Host>,
    pub(super) inputs: Inputs,
}

impl<'r, 'a> CelCallContext<'r, 'a> {
    /// Returns the regular expression of the parameter that [`CelOverload::pattern`] names.
    ///
    /// # Errors
    /// When `pattern` is not a valid regular expression.
    pub fn regex(&mut self, pattern: &str) -> Result<Cow<'r, Regex>, CelFailure> {
        match self.regex {
            Some(regex) => Ok(Cow::Borrowed(regex)),
            None => self.patterns.compiled(pattern, self.cost).map(Cow::Owned),
        }
    }

    /// Returns the host, if the bindings have one.
    #[must_use]
    pub fn host(&self) -> Option<&'a dyn Host> {
        self.host
    }

    /// Returns the current time and the random seed, as far as the caller set them.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Counts `count` new items.
    ///
    /// # Errors
    /// When it is too much.
    pub fn make(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.cost.make(count)
    }

    /// Counts `count` visited items.
    ///
    /// # Errors
    /// When it is too much.
    pub fn work(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.cost.work(count)
    }

    /// Counts `count` bytes of strings or values before they are allocated.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn produce(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.cost.produce(count)
    }

    /// Runs `make` with a budget of the bytes and work that are left, and charges what it used.
    ///
    /// # Errors
    /// When it used more than is left.
    pub fn within<T>(
        &mut self,
        make: impl FnOnce(&mut Budget) -> Result<T, Exhausted>,
    ) -> Result<T, CostExceeded> {
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

/// The host of an evaluation: answers the queries of functions such as `resource.get` and `http.get`.
pub trait Host {
    /// Answers the query `question`.
    ///
    /// # Errors
    /// When there is no answer. An error of [`CelErrorKind::Host`](super::CelErrorKind::Host) has a number by which the
    /// host finds its own error again.
    fn ask(
        &self,
        question: &str,
        arguments: &[kubewright_value::Value],
    ) -> Result<kubewright_value::Value, CelFailure>;
}

/// The regular expressions that were compiled during this evaluation.
#[derive(Default)]
pub(super) struct PatternCache(RefCell<Vec<(Box<str>, Regex)>>);

impl PatternCache {
    fn compiled(&self, pattern: &str, cost: &mut CelCost) -> Result<Regex, CelFailure> {
        let mut kept = self.0.borrow_mut();
        if let Some((_, regex)) = kept.iter().find(|(known, _)| **known == *pattern) {
            return Ok(regex.clone());
        }
        // Compiling is slow, whatever the API server charges for it.
        cost.work(5_000 + pattern.len().saturating_mul(64))?;
        let regex = match regex::compile_regex_within(pattern, MAX_PATTERN_BYTES) {
            Ok(regex) => regex,
            Err(error) => {
                // A pattern that is too large was compiled up to the limit, and failures are not cached.
                cost.work(FAILED_PATTERN_WORK)?;
                return Err(CelFailure::new(CelErrorKind::Value, format!("invalid regex: {error}")));
            }
        };
        cost.work(usize::try_from(regex.compiling_cost()).unwrap_or(usize::MAX))?;
        if kept.len() == MAX_CACHED_PATTERNS {
            kept.remove(0);
        }
        kept.push((pattern.into(), regex.clone()));
        Ok(regex)
    }
}

/// The functions by name. Cheap to clone: there are hundreds, and every policy has an environment.
#[derive(Clone, Default)]
pub struct CelFunctions {
    by_name: Arc<HashMap<&'static str, Vec<Arc<CelOverload>>>>,
}

impl CelFunctions {
    /// Adds an overload. A call that several overloads accept goes to the one added first.
    pub fn add(&mut self, overload: CelOverload) {
        Arc::make_mut(&mut self.by_name).entry(overload.name).or_default().push(Arc::new(overload));
    }

    /// Removes the overloads of `name` with these parameters.
    pub fn remove(&mut self, name: &str, parameters: &[CelKind]) {
        if let Some(overloads) = Arc::make_mut(&mut self.by_name).get_mut(name) {
            overloads.retain(|overload| overload.parameters != parameters);
        }
    }

    /// Sets the cost of all overloads of `name`.
    pub fn set_cost(&mut self, name: &str, cost: CallCost) {
        for overload in Arc::make_mut(&mut self.by_name).get_mut(name).into_iter().flatten() {
            Arc::make_mut(overload).cost = Some(cost);
        }
    }

    /// Returns all overloads, by name.
    pub fn iter(&self) -> impl Iterator<Item = &CelOverload> {
        let mut names: Vec<_> = self.by_name.keys().collect();
        names.sort_unstable();
        names.into_iter().filter_map(|name| self.by_name.get(name)).flatten().map(AsRef::as_ref)
    }

    pub(super) fn named(&self, name: &str) -> &[Arc<CelOverload>] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.by_name.keys().copied()
    }
}
