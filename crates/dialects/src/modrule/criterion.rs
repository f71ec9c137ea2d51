//! One item of `match`: what is selected, and what it is compared with.
//!
//! The order of the questions is KubeMod's: nothing selected is "no"; a single boolean is the answer itself;
//! anything else is a list of texts of which any or all must pass one test.

use std::ops::ControlFlow;

use kubewright_engine::{EvalError, TraceNode, Verdict};
use kubewright_lang::goregex::Regex;
use kubewright_lang::jsonpath::{self, EvalErrorKind, Expression, Item, Select};
use kubewright_value::{Budget, Exhausted, Location, Step, Text, Value};

use super::source::MatchFor;

/// A compiled criterion.
#[derive(Debug)]
pub struct Criterion {
    pub(super) text: String,
    pub(super) select: Expression,
    /// The same expression, when it is a bare path: finds where in the object a value stands.
    pub(super) path: Option<Select>,
    pub(super) test: Test,
    pub(super) match_for: MatchFor,
    pub(super) is_negated: bool,
    pub(super) location: Location,
    /// What is said of a rule whose first unmet criterion is this one.
    pub(super) unmet: Text,
}

/// What each selected value is compared with. The first one that the rule names decides alone.
#[derive(Debug)]
pub(super) enum Test {
    /// Being there is enough.
    Present,
    Equals(Text),
    OneOf(Vec<Text>),
    Matches(Regex),
}

/// What a criterion found.
#[derive(Debug)]
pub struct Finding<'v> {
    /// Whether the criterion is met.
    pub is_met: bool,
    /// Why the select could not be evaluated, which counts as selecting nothing.
    pub error: Option<String>,
    /// What was selected.
    pub found: Item<'v>,
}

impl Criterion {
    /// Returns whether `view` meets the criterion, and what was found.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn look<'v>(&'v self, view: &'v Value, budget: &mut Budget) -> Result<Finding<'v>, EvalError> {
        match self.select.evaluate_ref(view, budget) {
            Ok(found) => {
                let is_passed = self
                    .judge(&found, budget)
                    .map_err(|limit| EvalError::limit(limit.to_string()).at(self.location.clone()))?;
                Ok(Finding { is_met: is_passed != self.is_negated, error: None, found })
            }
            Err(error) if error.kind == EvalErrorKind::Limit => {
                Err(EvalError::limit(error.message).at(self.location.clone()))
            }
            Err(error) => {
                Ok(Finding { is_met: self.is_negated, error: Some(error.message), found: Item::Undefined })
            }
        }
    }

    fn judge(&self, found: &Item<'_>, budget: &mut Budget) -> Result<bool, Exhausted> {
        match (found, found.as_value()) {
            (Item::Many(items), _) => self.judge_list(items.iter().map(Member::Item), budget),
            (_, None | Some(Value::Null)) => Ok(false),
            (_, Some(Value::Bool(answer))) => Ok(*answer),
            (_, Some(Value::Array(items))) => self.judge_list(items.iter().map(Member::Value), budget),
            (_, Some(value)) => self.test.passes(value, budget),
        }
    }

    fn judge_list<'v>(
        &self,
        members: impl Iterator<Item = Member<'v>>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let (mut any, mut all, mut is_empty) = (false, true, true);
        for member in members {
            // An undefined member cannot pass, and does not make the list non-empty.
            let passes = match member {
                Member::Item(Item::Undefined) => false,
                Member::Item(Item::Many(_)) => match member.to_value() {
                    Some(value) => self.test.passes(&value, budget)?,
                    None => false,
                },
                Member::Item(item) => match item.as_value() {
                    Some(value) => self.test.passes(value, budget)?,
                    None => false,
                },
                Member::Value(value) => self.test.passes(value, budget)?,
            };
            is_empty &= matches!(member, Member::Item(Item::Undefined));
            any |= passes;
            all &= passes;
        }
        Ok(!is_empty
            && match self.match_for {
                MatchFor::Any => any,
                MatchFor::All => all,
            })
    }

    /// Returns the place in the object that made a met criterion met, as well as it can be told.
    pub(super) fn place(&self, view: &Value, budget: &mut Budget) -> Option<Vec<Step>> {
        if let Some(steps) = self.select.plain_path() {
            return Some(steps.to_vec());
        }
        let items = self.path.as_ref()?.places(view, budget).ok()?;
        let mut is_decisive =
            |value: &Value| self.test.passes(value, budget).is_ok_and(|passes| passes != self.is_negated);
        let decisive = items.into_iter().find(|(_, value)| is_decisive(value))?;
        Some(decisive.0)
    }

    /// Returns the line of a trace for a finding.
    pub(super) fn describe(&self, finding: &Finding<'_>) -> TraceNode {
        let found = match &finding.error {
            Some(error) => format!("error: {error}"),
            None => show(&finding.found),
        };
        let verdict = match (&finding.error, finding.is_met) {
            (Some(_), false) => Verdict::Error,
            (_, true) => Verdict::Yes,
            (_, false) => Verdict::No,
        };
        TraceNode {
            what: self.text.clone(),
            found,
            wanted: self.wanted(finding),
            verdict,
            location: Some(self.location.clone()),
            children: Vec::new(),
        }
    }

    fn wanted(&self, finding: &Finding<'_>) -> String {
        let not = if self.is_negated { "not " } else { "" };
        let is_boolean = matches!(finding.found.as_value(), Some(Value::Bool(_)));
        match &self.test {
            _ if is_boolean => format!("is {not}true"),
            Test::Present => format!("is {not}there"),
            test => {
                let which = match self.match_for {
                    MatchFor::Any => "any",
                    MatchFor::All => "every one",
                };
                format!("{not}{which} {test}")
            }
        }
    }
}

impl Test {
    /// Returns whether one selected value passes. A number passes in either of its two spellings,
    /// because KubeMod's users had to write `1e+06` and meant `1000000`.
    ///
    /// # Errors
    /// When the budget is used up.
    fn passes(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        if let Self::Present = self {
            return Ok(true);
        }
        if let Value::String(text) = value {
            return self.passes_text(text, budget);
        }
        Ok(self.passes_text(&jsonpath::text(value), budget)?
            || self.passes_text(&jsonpath::text_go(value), budget)?)
    }

    fn passes_text(&self, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            Self::Present => Ok(true),
            Self::Equals(wanted) => {
                budget.step(1 + text.len() as u64 / 64)?;
                Ok(text == wanted)
            }
            Self::OneOf(wanted) => {
                budget.step(1 + wanted.len() as u64 / 16 + text.len() as u64 / 64)?;
                Ok(wanted.iter().any(|wanted| wanted == text))
            }
            Self::Matches(regex) => regex.is_match(text, budget),
        }
    }
}

impl std::fmt::Display for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Present => f.write_str("is there"),
            Self::Equals(wanted) => write!(f, "equals {wanted:?}"),
            Self::OneOf(wanted) => write!(f, "is one of {wanted:?}"),
            Self::Matches(regex) => write!(f, "matches /{}/", regex.as_str()),
        }
    }
}

/// One of several selected values.
enum Member<'v> {
    Item(&'v Item<'v>),
    Value(&'v Value),
}

impl Member<'_> {
    fn to_value(&self) -> Option<Value> {
        match self {
            Self::Item(item) => (*item).clone().into_value(),
            Self::Value(value) => Some((*value).clone()),
        }
    }
}

fn show(found: &Item<'_>) -> String {
    match found {
        Item::Undefined => "undefined".to_owned(),
        Item::Many(items) if items.is_empty() => "nothing".to_owned(),
        Item::Many(items) => {
            let mut shown: Vec<String> = items.iter().take(5).map(show).collect();
            if items.len() > 5 {
                shown.push(format!("… {} more", items.len() - 5));
            }
            shown.join(", ")
        }
        item => item.as_value().map_or_else(String::new, TraceNode::show),
    }
}

/// Looks at the criteria one after the other until one is not met.
pub(super) fn all_met(
    criteria: &[Criterion],
    view: &Value,
    budget: &mut Budget,
    mut say: impl FnMut(&Criterion, &Finding<'_>),
) -> Result<bool, EvalError> {
    let met = criteria.iter().try_for_each(|criterion| match criterion.look(view, budget) {
        Ok(finding) => {
            say(criterion, &finding);
            if finding.is_met { ControlFlow::Continue(()) } else { ControlFlow::Break(Ok(false)) }
        }
        Err(error) => ControlFlow::Break(Err(error)),
    });
    match met {
        ControlFlow::Continue(()) => Ok(true),
        ControlFlow::Break(answer) => answer,
    }
}
