//! One item of `match`: the selection, and the tests of the selected values.
//!
//! Nothing selected is "no"; a single boolean is the answer itself, also as the only member of a list; anything else is a
//! list of texts. Where a criterion has several tests, one of them is enough, each for any or for all of the texts.

use std::borrow::{Borrow, Cow};
use std::ops::ControlFlow;

use kubewright_engine::{
    BudgetMark, DerivationCost, DerivedCache, DerivedName, EvalError, TraceNode, TraceVerdict,
};
use kubewright_golib::regex::{Regex, SearchedTexts};
use kubewright_jsonpath::{
    self as jsonpath, JsonPathError, JsonPathErrorKind, JsonPathExpression, JsonPathItem, JsonPathSelector,
};
use kubewright_value::{Budget, Exhausted, Limits, Location, Step, Text, Value, json};

use super::hint;
use super::shared::QuestionNumber;
use super::source::MatchFor;

/// A compiled criterion.
#[derive(Debug)]
pub struct CompiledCriterion {
    pub(super) text: Text,
    /// The number of the question whether an object meets the criterion.
    pub(super) number: QuestionNumber,
    /// The number of the question what the select finds.
    pub(super) select_number: QuestionNumber,
    pub(super) select: JsonPathExpression,
    /// The same expression when it is a bare path: locates a value in the object.
    pub(super) path: Option<JsonPathSelector>,
    /// The tests of the selected values; without any test, existence is enough.
    pub(super) tests: Vec<CriterionTest>,
    pub(super) match_for: MatchFor,
    /// Whether a boolean in a list is the answer if it is alone there. To KubeMod's program it is text.
    pub(super) unwraps_booleans: bool,
    pub(super) is_negated: bool,
    pub(super) location: Location,
    /// The message of a rule whose first unmet criterion is this one.
    pub(super) unmet: Text,
}

/// A test of a selected value.
#[derive(Debug)]
pub(super) enum CriterionTest {
    /// `matchValue` and `matchValues`: equals one of these.
    Equals(Vec<WantedText>),
    /// `matchRegex`
    Matches(Regex),
}

/// A text of `matchValue` or `matchValues`.
#[derive(Debug, Clone)]
pub(super) struct WantedText {
    /// As it is written in the rule.
    written: Text,
    /// The decoded text, where it is a JSON string: `true` of `"true"`.
    unquoted: Option<Text>,
}

impl WantedText {
    /// Reads a text of a rule. `unquotes`: a JSON string also matches its decoded text.
    pub(super) fn new(written: Text, unquotes: bool) -> Self {
        let is_quoted = unquotes && written.len() > 1 && written.starts_with('"') && written.ends_with('"');
        let unquoted = match is_quoted.then(|| json::parse(&written)) {
            Some(Ok(Value::String(text))) => Some(text),
            _ => None,
        };
        Self { written, unquoted }
    }

    /// Returns the decoded text where it is a JSON string.
    pub(super) fn unquoted(&self) -> Option<&Text> {
        self.unquoted.as_ref()
    }

    fn equals(&self, text: &str) -> bool {
        self.written == text || self.unquoted.as_ref().is_some_and(|unquoted| unquoted == text)
    }

    /// Returns every text that equals it, the likeliest first.
    pub(super) fn spellings(&self) -> impl Iterator<Item = &Text> {
        self.unquoted.iter().chain([&self.written])
    }
}

/// The limits of finding out which value a criterion is not met by.
const EXPLANATION_LIMITS: Limits = Limits { steps: 200_000, bytes: 1 << 20, depth: 128 };

/// Why a select finds nothing.
enum FailedSelect {
    /// The budget is used up.
    Limit(String),
    /// It does not fit the object.
    Error(String),
}

impl From<Exhausted> for FailedSelect {
    fn from(limit: Exhausted) -> Self {
        Self::Limit(limit.to_string())
    }
}

impl From<JsonPathError> for FailedSelect {
    fn from(error: JsonPathError) -> Self {
        match error.kind {
            JsonPathErrorKind::Limit => Self::Limit(error.message),
            _ => Self::Error(error.message),
        }
    }
}

/// The result of a criterion.
#[derive(Debug)]
#[non_exhaustive]
pub struct CriterionResult<'v> {
    /// Whether the criterion is met.
    pub is_met: bool,
    /// Why the select could not be evaluated, which counts as selecting nothing.
    pub error: Option<String>,
    /// The selected values.
    pub found: JsonPathItem<'v>,
}

impl CompiledCriterion {
    /// Returns whether `view` meets the criterion, with the selected values.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn look<'v>(
        &'v self,
        view: &'v Value,
        budget: &mut Budget,
    ) -> Result<CriterionResult<'v>, EvalError> {
        match self.select.evaluate_ref(view, budget).map_err(FailedSelect::from) {
            Ok(found) => {
                let is_passed = self
                    .judge(&found, budget)
                    .map_err(|limit| EvalError::limit(limit.to_string()).at(self.location.clone()))?;
                Ok(CriterionResult { is_met: is_passed != self.is_negated, error: None, found })
            }
            Err(FailedSelect::Limit(message)) => Err(EvalError::limit(message).at(self.location.clone())),
            Err(FailedSelect::Error(message)) => Ok(CriterionResult {
                is_met: self.is_negated,
                error: Some(message),
                found: JsonPathItem::Undefined,
            }),
        }
    }

    /// Returns whether `view` meets the criterion, as [`CompiledCriterion::look`] does, and keeps nothing of what it finds.
    /// A list that other rules select too is taken from `selected`, and so is the verdict of an equal criterion.
    fn is_met(
        &self,
        view: &Value,
        selected: Option<&DerivedCache>,
        budget: &mut Budget,
    ) -> Result<bool, EvalError> {
        let Some(selected) = selected else {
            return self.verdict(self.judge_selected(view, None, budget));
        };
        let question = (*self.number, view);
        if let Some(known) = selected.known_verdict(question, budget) {
            return self.verdict(known.map(|is_met| is_met != self.is_negated).map_err(FailedSelect::from));
        }
        // Where the budget does not suffice, searching says where it ends.
        if let Some(cost) = self.known_in_vain(view, selected).filter(|cost| cost.fits(budget)) {
            return self.verdict(cost.charge(budget).map(|()| false).map_err(FailedSelect::from));
        }
        let before = BudgetMark::of(budget);
        let is_met = self.verdict(self.judge_selected(view, Some(selected), budget))?;
        selected.keep_verdict(question, is_met, DerivationCost::since(before, budget));
        Ok(is_met)
    }

    /// Returns whether the criterion is met, if its tests were `judged` so.
    fn verdict(&self, judged: Result<bool, FailedSelect>) -> Result<bool, EvalError> {
        match judged {
            Ok(is_passed) => Ok(is_passed != self.is_negated),
            Err(FailedSelect::Limit(message)) => Err(EvalError::limit(message).at(self.location.clone())),
            Err(FailedSelect::Error(_)) => Ok(self.is_negated),
        }
    }

    fn judge_selected(
        &self,
        view: &Value,
        selected: Option<&DerivedCache>,
        budget: &mut Budget,
    ) -> Result<bool, FailedSelect> {
        if let Some(judged) = self.judge_plain_text(view, budget) {
            return Ok(judged?);
        }
        match selected.filter(|_| self.select.is_list_path()) {
            Some(selected) => match self.shared_list(view, selected, budget)? {
                Some(Value::Array(items)) => Ok(self.judge_list(&items, false, budget)?),
                _ => Ok(false),
            },
            None => Ok(self.judge(&self.select.evaluate_ref(view, budget)?, budget)?),
        }
    }

    /// Judges the text that a select like `$.kind` finds, which is what most criteria look at; nothing where it is another
    /// sort of select, or finds something else.
    fn judge_plain_text(&self, view: &Value, budget: &mut Budget) -> Option<Result<bool, Exhausted>> {
        let (text, keys) = self.select.plain_text(view)?;
        // One step for each key, and one for the value.
        let cost = keys as u64 + 1;
        if budget.steps_left() < cost {
            return None;
        }
        Some(budget.step(cost).and_then(|()| {
            let passes = |test: &CriterionTest| test.passes_text(text, budget);
            if self.tests.is_empty() { Ok(true) } else { any_passes(&self.tests, passes) }
        }))
    }

    /// Returns whether `view` meets the criterion and what finding it out costs, if other rules have made that known.
    pub(super) fn known_answer(
        &self,
        view: &Value,
        selected: &DerivedCache,
    ) -> Option<(bool, DerivationCost)> {
        // The question of a regular expression is mostly asked by one rule alone, so that no verdict is kept.
        match self.known_in_vain(view, selected) {
            Some(cost) => Some((self.is_negated, cost)),
            None => selected.kept_verdict((*self.number, view)),
        }
    }

    /// Returns what it costs to find out that the regular expression of the criterion matches nothing, if that is known.
    #[inline]
    fn known_in_vain(&self, view: &Value, selected: &DerivedCache) -> Option<DerivationCost> {
        match self.tests.as_slice() {
            [CriterionTest::Matches(regex)] => self.cost_in_vain(regex, view, selected),
            _ => None,
        }
    }

    /// Returns what it costs to search a list that several rules have selected, if it is known that `regex`, the only test of
    /// the criterion, matches nothing in it.
    fn cost_in_vain(&self, regex: &Regex, view: &Value, selected: &DerivedCache) -> Option<DerivationCost> {
        if self.match_for != MatchFor::Any || !self.select.is_list_path() {
            return None;
        }
        selected.ask_summary((self.list_name(), view), searched_texts, |searched, cost| {
            let (texts, count) = searched.as_ref()?;
            Some(cost.with_steps(count + regex.steps_in_vain(texts)?))
        })
    }

    /// Returns the name of what the select finds.
    fn list_name(&self) -> DerivedName<'static> {
        static NONE: Text = Text::new_static("");
        DerivedName { name: "modrule select", expression: &NONE, number: *self.select_number }
    }

    /// Returns the list that the select finds in `view`; rules with an equal select find it once.
    fn shared_list(
        &self,
        view: &Value,
        selected: &DerivedCache,
        budget: &mut Budget,
    ) -> Result<Option<Value>, FailedSelect> {
        selected.get_or_derive((self.list_name(), view), budget, |view, budget| {
            self.select.evaluate_ref(view, budget).map(JsonPathItem::into_value).map_err(FailedSelect::from)
        })
    }

    fn judge(&self, found: &JsonPathItem<'_>, budget: &mut Budget) -> Result<bool, Exhausted> {
        match (found, found.as_value()) {
            (JsonPathItem::Many(items), _) => {
                let made: Vec<Option<Cow<'_, Value>>> = items.iter().map(list_member).collect();
                let values: Vec<&Value> = made.iter().flatten().map(AsRef::as_ref).collect();
                self.judge_list(&values, values.len() < made.len(), budget)
            }
            (_, None | Some(Value::Null)) => Ok(false),
            (_, Some(Value::Array(items))) => self.judge_list(items, false, budget),
            (_, Some(Value::Bool(answer))) => Ok(*answer),
            (_, Some(value)) => self.judge_list(&[value], false, budget),
        }
    }

    /// Judges the values of a list. `lacks_some`: other members of it are undefined.
    fn judge_list<V: Borrow<Value>>(
        &self,
        values: &[V],
        lacks_some: bool,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        match values {
            [] => return Ok(false),
            [value]
                if self.unwraps_booleans
                    && let Value::Bool(answer) = value.borrow() =>
            {
                return Ok(*answer);
            }
            _ if lacks_some && self.match_for == MatchFor::All => return Ok(false),
            _ => {}
        }
        budget.step(values.len() as u64)?;
        if self.tests.is_empty() {
            return Ok(true);
        }
        any_passes(&self.tests, |test| self.passes_test(test, values, budget))
    }

    fn passes_test<V: Borrow<Value>>(
        &self,
        test: &CriterionTest,
        values: &[V],
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        // The first value that passes decides for `Any`, the first that does not for `All`.
        let decisive = self.match_for == MatchFor::Any;
        for value in values {
            if test.passes(value.borrow(), budget)? == decisive {
                return Ok(decisive);
            }
        }
        Ok(!decisive)
    }

    /// Returns whether one value would meet the criterion if it were the only one.
    fn passes_alone(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        self.judge_list(&[value], false, budget)
    }

    /// Returns the place in the object that made a met criterion met, as well as it can be told.
    pub(super) fn place(&self, view: &Value, budget: &mut Budget) -> Option<Vec<Step>> {
        if let Some(steps) = self.select.plain_path() {
            return Some(steps.to_vec());
        }
        let items = self.path.as_ref()?.places(view, budget).ok()?;
        let mut is_decisive =
            |value: &Value| self.passes_alone(value, budget).is_ok_and(|passes| passes != self.is_negated);
        let decisive = items.into_iter().find(|(_, value)| is_decisive(value))?;
        Some(decisive.0)
    }

    /// Returns the line of a trace for a finding.
    pub(super) fn describe(&self, finding: &CriterionResult<'_>, view: &Value) -> TraceNode {
        let mut reach = hint::follow_keys(&self.text, view);
        let blamed = if finding.is_met { None } else { self.blamed(view) };
        let found = match &finding.error {
            Some(error) => format!("error: {error}"),
            None => show_item(&finding.found),
        };
        let verdict = match (&finding.error, finding.is_met) {
            (Some(_), false) => TraceVerdict::Error,
            (_, true) => TraceVerdict::Yes,
            (_, false) => TraceVerdict::No,
        };
        let mut wanted = self.wanted(finding);
        if let Some((path, value)) = blamed {
            reach.reached = path;
            wanted = format!("{wanted}: {} does not", TraceNode::show(&value));
        }
        if self.is_negated && !finding.is_met {
            wanted = format!("{wanted}, and `negate` wants the opposite");
        }
        TraceNode {
            what: self.text.to_string(),
            found,
            wanted,
            verdict,
            location: Some(self.location.clone()),
            subject: reach.reached,
            help: if finding.is_met { String::new() } else { reach.help },
            ..TraceNode::default()
        }
    }

    /// Returns the first of several values that does not pass where all must, and its path.
    fn blamed(&self, view: &Value) -> Option<(Vec<Step>, Value)> {
        let path = self.path.as_ref().filter(|_| self.match_for == MatchFor::All && !self.is_negated)?;
        let mut budget = Budget::new(EXPLANATION_LIMITS);
        let items = path.places(view, &mut budget).ok().filter(|items| items.len() > 1)?;
        let fails =
            |value: &Value, budget: &mut Budget| self.passes_alone(value, budget).is_ok_and(|passes| !passes);
        items.into_iter().find(|(_, value)| fails(value, &mut budget))
    }

    fn wanted(&self, finding: &CriterionResult<'_>) -> String {
        let is_met = finding.is_met || finding.error.is_some();
        // What is not as wanted is said as it is.
        let not = if self.is_negated == is_met { "not " } else { "" };
        if is_single_boolean(&finding.found, self.unwraps_booleans) {
            return format!("is {not}true");
        }
        if self.tests.is_empty() {
            return format!("is {not}there");
        }
        let (which, join) = match (self.match_for, not.is_empty()) {
            (MatchFor::Any, true) => ("any", " or "),
            (MatchFor::Any, false) => ("none", " and "),
            (MatchFor::All, true) => ("every one", " or "),
            (MatchFor::All, false) => ("not every one", " and "),
        };
        let tests: Vec<String> = self.tests.iter().map(|test| format!("{which} {test}")).collect();
        tests.join(join)
    }
}

impl CriterionTest {
    /// Returns whether one selected value passes. A number passes in either of its two spellings,
    /// because KubeMod's users had to write `1e+06` and meant `1000000`.
    ///
    /// # Errors
    /// When the budget is used up.
    fn passes(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        if let Value::String(text) = value {
            return self.passes_text(text, budget);
        }
        Ok(self.passes_text(&jsonpath::render_text(value), budget)?
            || self.passes_text(&jsonpath::render_go_text(value), budget)?)
    }

    fn passes_text(&self, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            Self::Equals(wanted) => {
                budget.step(1 + wanted.len() as u64 / 16 + text.len() as u64 / 64)?;
                Ok(wanted.iter().any(|wanted| wanted.equals(text)))
            }
            Self::Matches(regex) => regex.is_match(text, budget),
        }
    }
}

impl std::fmt::Display for CriterionTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equals(wanted) => match wanted.as_slice() {
                [one] => write!(f, "equals {:?}", one.written),
                all => {
                    let texts: Vec<&Text> = all.iter().map(|one| &one.written).collect();
                    write!(f, "is one of {texts:?}")
                }
            },
            Self::Matches(regex) => write!(f, "matches /{}/", regex.as_str()),
        }
    }
}

/// Returns the texts of a list and how many there are, if it has nothing else.
fn searched_texts(list: &Value) -> Option<(SearchedTexts, u64)> {
    let items = list.as_array()?;
    let is_searched = !items.is_empty() && items.iter().all(|item| item.as_str().is_some());
    let texts = items.iter().filter_map(Value::as_str);
    is_searched.then(|| (SearchedTexts::new(texts), items.len() as u64))
}

/// Returns a member of a list; nothing for an undefined one.
fn list_member<'v>(item: &'v JsonPathItem<'_>) -> Option<Cow<'v, Value>> {
    match item {
        JsonPathItem::Undefined => None,
        JsonPathItem::Many(_) => item.clone().into_value().map(Cow::Owned),
        item => item.as_value().map(Cow::Borrowed),
    }
}

/// Returns whether the select yields one boolean and nothing else, by itself or, if `unwraps`, in a list.
fn is_single_boolean(found: &JsonPathItem<'_>, unwraps: bool) -> bool {
    let is_boolean = |value: &Value| matches!(value, Value::Bool(_));
    match (found, found.as_value()) {
        (JsonPathItem::Many(_), _) | (_, Some(Value::Array(_))) if !unwraps => false,
        (JsonPathItem::Many(items), _) => {
            let mut defined = items.iter().filter(|item| !item.is_undefined());
            let first = defined.next();
            defined.next().is_none() && first.and_then(JsonPathItem::as_value).is_some_and(is_boolean)
        }
        (_, Some(Value::Array(items))) => matches!(items.as_slice(), [Value::Bool(_)]),
        (_, value) => value.is_some_and(is_boolean),
    }
}

fn show_item(found: &JsonPathItem<'_>) -> String {
    match found {
        JsonPathItem::Undefined => "undefined".to_owned(),
        JsonPathItem::Many(items) if items.is_empty() => "nothing".to_owned(),
        JsonPathItem::Many(items) => {
            let mut shown: Vec<String> = items.iter().take(5).map(show_item).collect();
            if items.len() > 5 {
                shown.push(format!("… {} more", items.len() - 5));
            }
            shown.join(", ")
        }
        item => item.as_value().map_or_else(String::new, TraceNode::show),
    }
}

/// Returns whether one of `tests` passes.
fn any_passes(
    tests: &[CriterionTest],
    mut passes: impl FnMut(&CriterionTest) -> Result<bool, Exhausted>,
) -> Result<bool, Exhausted> {
    for test in tests {
        if passes(test)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the first criterion that is not met.
pub(super) fn first_unmet<'c>(
    criteria: &'c [CompiledCriterion],
    (view, selected): (&Value, Option<&DerivedCache>),
    budget: &mut Budget,
) -> Result<Option<&'c CompiledCriterion>, EvalError> {
    for criterion in criteria {
        if !criterion.is_met(view, selected, budget)? {
            return Ok(Some(criterion));
        }
    }
    Ok(None)
}

/// Looks at the criteria one after the other until one is not met.
pub(super) fn all_met(
    criteria: &[CompiledCriterion],
    view: &Value,
    budget: &mut Budget,
    mut say: impl FnMut(&CompiledCriterion, &CriterionResult<'_>),
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
