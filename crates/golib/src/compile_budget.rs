//! The budget for compiling rules: bytes that stay as long as the rules do, and steps.
//!
//! A few bytes of a regular expression can compile to megabytes of automata, so each rule, each document and all rules
//! together have a limit. The loader of rules owns a [`CompileBudget`] and compiles each document inside of it. It is
//! not handed through the parsers of five languages but is there for as long as a document is compiled, so that none
//! of them can forget it: [`compile_regex`](crate::regex::compile_regex) charges whatever budget is open.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use crate::regex::Regex;

/// The limits of compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    /// Bytes of the automata of one rule.
    pub rule_bytes: usize,
    /// Bytes of the automata of one document.
    pub document_bytes: usize,
    /// Bytes of the automata of all documents.
    pub total_bytes: usize,
    /// Steps for one document.
    pub document_steps: u64,
    /// Steps for all documents.
    pub total_steps: u64,
}

/// Some hundred times what the largest published rules need.
impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            rule_bytes: 2 << 20,
            document_bytes: 8 << 20,
            total_bytes: 64 << 20,
            document_steps: 5_000_000,
            total_steps: 50_000_000,
        }
    }
}

/// A limit of compiling was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CompileExceeded {
    /// By one rule.
    #[error("the rule needs more than {} KiB compiled", .0 >> 10)]
    RuleBytes(usize),
    /// By one document.
    #[error("the document needs more than {} KiB compiled", .0 >> 10)]
    DocumentBytes(usize),
    /// By all documents together.
    #[error("all rules together need more than {} KiB compiled", .0 >> 10)]
    TotalBytes(usize),
    /// By one document.
    #[error("compiling the document takes more than {0} steps")]
    DocumentSteps(u64),
    /// By all documents together.
    #[error("compiling all rules takes more than {0} steps")]
    TotalSteps(u64),
}

/// The bytes and steps that compiling has taken so far.
#[derive(Debug, Default)]
pub struct CompileBudget {
    limits: CompileLimits,
    rule: usize,
    document: CompileUsage,
    total: CompileUsage,
    exceeded: Option<CompileExceeded>,
    /// Expressions by their pattern: rules that are written alike share them, and pay once.
    shared: HashMap<Box<str>, Regex>,
    /// Expressions that were compiled within other budgets.
    known: Option<SharedRegexes>,
}

/// Expressions that several budgets share. Each is compiled once, and is charged to a budget as if it were compiled
/// within it, so that a rule meets its limits whatever was compiled before.
#[derive(Debug, Clone, Default)]
pub struct SharedRegexes(Arc<Mutex<KnownRegexes>>);

#[derive(Debug, Default)]
struct KnownRegexes {
    by_pattern: HashMap<Box<str>, Regex>,
    bytes: usize,
}

/// The bytes of the automata that budgets share; what is compiled beyond that is not shared.
const MAX_SHARED_BYTES: usize = 16 << 20;

impl SharedRegexes {
    fn find(&self, pattern: &str) -> Option<Regex> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_pattern.get(pattern).cloned()
    }

    fn add(&self, regex: &Regex) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = known.bytes.saturating_add(regex.heap_bytes());
        if bytes <= MAX_SHARED_BYTES
            && known.by_pattern.insert(regex.as_str().into(), regex.clone()).is_none()
        {
            known.bytes = bytes;
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct CompileUsage {
    bytes: usize,
    steps: u64,
}

thread_local! {
    static OPEN: RefCell<Option<CompileBudget>> = const { RefCell::new(None) };
}

impl CompileBudget {
    /// Returns a budget with all of `limits` left.
    #[must_use]
    pub fn new(limits: CompileLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns this budget, within which no expression is compiled that is among `known`.
    #[must_use]
    pub fn sharing(self, known: &SharedRegexes) -> Self {
        Self { known: Some(known.clone()), ..self }
    }

    /// Compiles one document with `compile`. Returns what that gives, and the first limit that was reached.
    pub fn document<T>(&mut self, compile: impl FnOnce() -> T) -> (T, Option<CompileExceeded>) {
        self.document = CompileUsage::default();
        self.rule = 0;
        self.exceeded = None;
        let before = OPEN.replace(Some(std::mem::take(self)));
        let closing = BudgetGuard { budget: self, before };
        let compiled = compile();
        drop(closing);
        (compiled, self.exceeded)
    }

    /// Returns how many bytes the automata of all documents take.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.total.bytes
    }

    fn charge(&mut self, bytes: usize, steps: u64) -> Result<(), CompileExceeded> {
        let limits = self.limits;
        self.rule = self.rule.saturating_add(bytes);
        for used in [&mut self.document, &mut self.total] {
            used.bytes = used.bytes.saturating_add(bytes);
            used.steps = used.steps.saturating_add(steps);
        }
        let exceeded = match () {
            () if self.total.bytes > limits.total_bytes => CompileExceeded::TotalBytes(limits.total_bytes),
            () if self.total.steps > limits.total_steps => CompileExceeded::TotalSteps(limits.total_steps),
            () if self.document.bytes > limits.document_bytes => {
                CompileExceeded::DocumentBytes(limits.document_bytes)
            }
            () if self.document.steps > limits.document_steps => {
                CompileExceeded::DocumentSteps(limits.document_steps)
            }
            () if self.rule > limits.rule_bytes => CompileExceeded::RuleBytes(limits.rule_bytes),
            () => return Ok(()),
        };
        self.exceeded.get_or_insert(exceeded);
        Err(exceeded)
    }

    /// Gives back what was charged for something that is not kept; steps were taken all the same.
    fn refund(&mut self, bytes: usize) {
        self.rule = self.rule.saturating_sub(bytes);
        self.document.bytes = self.document.bytes.saturating_sub(bytes);
        self.total.bytes = self.total.bytes.saturating_sub(bytes);
    }
}

/// Begins the allowance of a rule anew while `compile` runs; for documents with several rules.
pub fn with_rule_allowance<T>(compile: impl FnOnce() -> T) -> T {
    OPEN.with_borrow_mut(|open| open.iter_mut().for_each(|budget| budget.rule = 0));
    compile()
}

/// Returns the expression that was compiled from `pattern` before.
pub(crate) fn cached_regex(pattern: &str) -> Option<Regex> {
    OPEN.with_borrow(|open| open.as_ref()?.shared.get(pattern).cloned())
}

/// Returns the expression that was compiled from `pattern` within another budget that shares its expressions.
pub(crate) fn known_regex(pattern: &str) -> Option<Regex> {
    OPEN.with_borrow(|open| open.as_ref()?.known.as_ref()?.find(pattern))
}

/// Shares `regex` with other budgets, if the open one does so.
pub(crate) fn share_regex(regex: &Regex) {
    OPEN.with_borrow(|open| {
        if let Some(known) = open.as_ref().and_then(|budget| budget.known.as_ref()) {
            known.add(regex);
        }
    });
}

/// Charges the open budget, if there is one, for compiling `regex`.
pub(crate) fn charge_regex(regex: &Regex) -> Result<(), CompileExceeded> {
    OPEN.with_borrow_mut(|open| {
        let Some(budget) = open else { return Ok(()) };
        let bytes = regex.heap_bytes();
        let charged = budget.charge(bytes, regex.compiling_cost());
        match charged {
            Ok(()) => drop(budget.shared.insert(regex.as_str().into(), regex.clone())),
            Err(_) => budget.refund(bytes),
        }
        charged
    })
}

/// Charges the open budget, if there is one, for steps that made nothing.
///
/// # Errors
/// When none are left, so that no work starts that cannot be charged.
pub(crate) fn charge_compile_steps(steps: u64) -> Result<(), CompileExceeded> {
    OPEN.with_borrow_mut(|open| open.as_mut().map_or(Ok(()), |budget| budget.charge(0, steps)))
}

/// Gives the open budget back to its owner and opens the one of before, also when compiling panics.
struct BudgetGuard<'b> {
    budget: &'b mut CompileBudget,
    before: Option<CompileBudget>,
}

impl Drop for BudgetGuard<'_> {
    fn drop(&mut self) {
        *self.budget = OPEN.replace(self.before.take()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::compile_regex;

    fn limits(rule_bytes: usize, document_bytes: usize, total_bytes: usize) -> CompileLimits {
        CompileLimits { rule_bytes, document_bytes, total_bytes, ..CompileLimits::default() }
    }

    /// Compiles `patterns` as one document and returns how many could be.
    fn compiled(budget: &mut CompileBudget, patterns: &[&str]) -> (usize, Option<CompileExceeded>) {
        budget.document(|| patterns.iter().filter(|pattern| compile_regex(pattern).is_ok()).count())
    }

    #[test]
    fn each_limit_stops_where_it_says() {
        let each = compile_regex("a{10}").unwrap().heap_bytes() + 64;
        let patterns = ["a{10}", "b{10}", "c{10}", "d{10}"];
        let mut budget = CompileBudget::new(limits(each * 2, each * 8, each * 8));
        assert_eq!(compiled(&mut budget, &patterns), (2, Some(CompileExceeded::RuleBytes(each * 2))));
        let mut budget = CompileBudget::new(limits(each * 8, each * 3, each * 8));
        assert_eq!(compiled(&mut budget, &patterns), (3, Some(CompileExceeded::DocumentBytes(each * 3))));
        let mut budget = CompileBudget::new(limits(each * 8, each * 8, each * 3));
        assert_eq!(compiled(&mut budget, &["x{10}", "y{10}"]), (2, None));
        assert_eq!(compiled(&mut budget, &patterns), (1, Some(CompileExceeded::TotalBytes(each * 3))));
    }

    #[test]
    fn a_rule_that_needs_too_much_leaves_its_neighbours_standing() {
        let each = compile_regex("a{10}").unwrap().heap_bytes() + 64;
        let mut budget = CompileBudget::new(limits(each * 2, each * 8, each * 8));
        let (made, exceeded) = budget.document(|| {
            let first = with_rule_allowance(|| {
                ["a{10}", "b{10}", "c{10}"].map(|pattern| compile_regex(pattern).is_ok())
            });
            (first, with_rule_allowance(|| compile_regex("d{10}").is_ok()))
        });
        assert_eq!(made, ([true, true, false], true));
        assert!(exceeded.is_some());
    }

    #[test]
    fn expressions_that_are_written_alike_are_paid_once() {
        let each = compile_regex("a{10}").unwrap().heap_bytes() + 64;
        let mut budget = CompileBudget::new(limits(each, each, each));
        assert_eq!(compiled(&mut budget, &["a{10}"; 20]), (20, None));
        assert_eq!(compiled(&mut budget, &["a{10}"]), (1, None));
    }

    #[test]
    fn shared_expressions_are_compiled_once_and_paid_by_each_budget() {
        let each = compile_regex("a{10}").unwrap().heap_bytes() + 64;
        let known = SharedRegexes::default();
        let patterns = ["a{10}", "b{10}"];
        let mut first = CompileBudget::default().sharing(&known);
        assert_eq!(compiled(&mut first, &patterns), (2, None));
        assert!(patterns.iter().all(|pattern| known.find(pattern).is_some()));
        let mut second = CompileBudget::default().sharing(&known);
        assert_eq!(compiled(&mut second, &patterns), (2, None));
        assert_eq!(first.total_bytes(), second.total_bytes());
        let mut small = CompileBudget::new(limits(each, each, each)).sharing(&known);
        let exceeded = Some(CompileExceeded::TotalBytes(each));
        assert_eq!(compiled(&mut small, &patterns), (1, exceeded));
    }

    #[test]
    fn steps_run_out_too() {
        let limits = CompileLimits { document_steps: 10, ..CompileLimits::default() };
        let (count, exceeded) = compiled(&mut CompileBudget::new(limits), &["a", "b"]);
        assert_eq!((count, exceeded), (0, Some(CompileExceeded::DocumentSteps(10))));
    }

    #[test]
    fn a_panic_leaves_no_budget_behind() {
        let mut budget = CompileBudget::new(limits(1, 1, 1));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            budget.document(|| std::panic::resume_unwind(Box::new("hostile")))
        }));
        assert!(panicked.is_err());
        assert!(compile_regex("a").is_ok());
    }
}
