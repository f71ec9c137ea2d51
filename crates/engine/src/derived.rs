//! What a rule made of an object, for the other rules of the same decision.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};

use kubewright_value::{Budget, Exhausted, Limits, Text, Value};

/// How many values of one object are kept. Those of further names are made each time.
const MAX_DERIVED_VALUES: usize = 16;

/// How many verdicts about one object are kept, each at a place of its own.
const VERDICT_PLACES: usize = 16;

/// How often a value is asked for before it is summarised, which pays off where many rules ask.
const MIN_SUMMARISED_USES: u32 = 3;

/// The values that were made of an object, until they are made of another one.
#[derive(Debug, Default)]
pub struct DerivedCache {
    last: RefCell<DerivedObject>,
}

#[derive(Debug, Default)]
struct DerivedObject {
    // Kept, so that its allocation is not used for another object meanwhile.
    object: Value,
    values: Vec<DerivedValue>,
    // At the remainder of their numbers.
    verdicts: [Option<KeptVerdict>; VERDICT_PLACES],
}

/// The answer to a question that several rules ask about the object.
#[derive(Debug, Clone, Copy)]
struct KeptVerdict {
    number: u64,
    is_yes: bool,
    cost: DerivationCost,
}

#[derive(Debug)]
struct DerivedValue {
    name: &'static str,
    expression: Text,
    number: u64,
    value: Option<Value>,
    cost: DerivationCost,
    uses: Cell<u32>,
    summary: OnceCell<Box<dyn Any + Send>>,
}

/// What making a value takes of a budget.
#[derive(Debug, Clone, Copy, Default)]
pub struct DerivationCost {
    steps: u64,
    bytes: u64,
}

impl DerivationCost {
    /// Returns what was taken from `budget` since it was `before`.
    #[must_use]
    pub fn since(before: BudgetMark, budget: &Budget) -> Self {
        Self {
            steps: budget.steps_used().saturating_sub(before.steps),
            bytes: budget.bytes_used().saturating_sub(before.bytes),
        }
    }

    /// Returns the cost with `steps` more.
    #[must_use]
    pub fn with_steps(self, steps: u64) -> Self {
        Self { steps: self.steps.saturating_add(steps), ..self }
    }

    /// Returns the cost of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { steps: self.steps.saturating_add(other.steps), bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// Returns whether `budget` suffices.
    #[must_use]
    pub fn fits(self, budget: &Budget) -> bool {
        budget.steps_left() >= self.steps && budget.bytes_left() >= self.bytes
    }

    /// Returns the steps and the bytes, if `limits` suffice.
    pub(crate) fn within(self, limits: Limits) -> Option<(u64, u64)> {
        (self.steps <= limits.steps && self.bytes <= limits.bytes).then_some((self.steps, self.bytes))
    }

    /// Takes it from `budget`.
    ///
    /// # Errors
    /// When the budget does not suffice.
    pub fn charge(self, budget: &mut Budget) -> Result<(), Exhausted> {
        budget.step(self.steps)?;
        budget.produce(usize::try_from(self.bytes).unwrap_or(usize::MAX))
    }
}

/// How much of a budget was used at some moment.
#[derive(Debug, Clone, Copy)]
pub struct BudgetMark {
    steps: u64,
    bytes: u64,
}

impl BudgetMark {
    /// Returns what of `budget` is used now.
    #[must_use]
    pub fn of(budget: &Budget) -> Self {
        Self { steps: budget.steps_used(), bytes: budget.bytes_used() }
    }
}

/// What a value is called: by what it is, and by the expression that makes it where there are several.
#[derive(Debug, Clone, Copy)]
pub struct DerivedName<'n> {
    /// What it is.
    pub name: &'static str,
    /// The expression; empty where there is none.
    pub expression: &'n Text,
    /// The number of what makes it, which nothing else of this name in this process has or had, where no text tells it apart;
    /// otherwise 0.
    pub number: u64,
}

impl DerivedCache {
    /// Returns what `derive` makes of `object` under `name`, unless a rule of the decision has asked for it before and none
    /// has asked about another object since. The budget pays for it each time, so that no rule depends on what another
    /// one has asked for.
    ///
    /// # Errors
    /// Those of `derive`, and when the budget does not suffice.
    pub fn get_or_derive<E: From<Exhausted>>(
        &self,
        (name, object): (DerivedName<'_>, &Value),
        budget: &mut Budget,
        derive: impl FnOnce(&Value, &mut Budget) -> Result<Option<Value>, E>,
    ) -> Result<Option<Value>, E> {
        if let Some(known) = self.last.borrow().find(name, object) {
            known.uses.set(known.uses.get().saturating_add(1));
            known.cost.charge(budget)?;
            return Ok(known.value.clone());
        }
        let before = BudgetMark::of(budget);
        let value = derive(object, budget)?;
        self.last.borrow_mut().add(
            object,
            DerivedValue {
                name: name.name,
                expression: name.expression.clone(),
                number: name.number,
                value: value.clone(),
                cost: DerivationCost::since(before, budget),
                uses: Cell::new(1),
                summary: OnceCell::new(),
            },
        );
        Ok(value)
    }

    /// Returns the verdict of the question `number` about `object`, and takes from `budget` what it cost. Nothing where it is
    /// not kept, or the budget does not suffice: judging again says where that ends.
    ///
    /// # Errors
    /// When the deadline of the budget has passed.
    #[inline]
    pub fn known_verdict(
        &self,
        (number, object): (u64, &Value),
        budget: &mut Budget,
    ) -> Option<Result<bool, Exhausted>> {
        let (is_yes, cost) = self.kept_verdict((number, object)).filter(|(_, cost)| cost.fits(budget))?;
        Some(cost.charge(budget).map(|()| is_yes))
    }

    /// Returns the verdict of the question `number` about `object`, if it is kept, and what it costs.
    #[must_use]
    #[inline]
    pub fn kept_verdict(&self, (number, object): (u64, &Value)) -> Option<(bool, DerivationCost)> {
        let last = self.last.borrow();
        let kept = last.verdicts.get(verdict_place(number))?.as_ref()?;
        let is_known = kept.number == number && last.object.is_same(object);
        is_known.then_some((kept.is_yes, kept.cost))
    }

    /// Keeps the verdict of the question `number`, which nothing else in this process has or had, about `object` for other
    /// rules of the decision that ask it. What came first stays.
    pub fn keep_verdict(&self, (number, object): (u64, &Value), is_yes: bool, cost: DerivationCost) {
        let mut last = self.last.borrow_mut();
        last.begin(object);
        if let Some(place @ None) = last.verdicts.get_mut(verdict_place(number)) {
            *place = Some(KeptVerdict { number, is_yes, cost });
        }
    }

    /// Returns what `answer` says to the summary of a value that several rules have asked for, and to what it cost. Nothing
    /// where few have, or the value is not there. All that ask about values of one name make the same sort of summary.
    pub fn ask_summary<S: Any + Send, T>(
        &self,
        (name, object): (DerivedName<'_>, &Value),
        summarise: impl FnOnce(&Value) -> S,
        answer: impl FnOnce(&S, DerivationCost) -> Option<T>,
    ) -> Option<T> {
        let last = self.last.borrow();
        let known = last.find(name, object).filter(|known| known.uses.get() >= MIN_SUMMARISED_USES)?;
        let value = known.value.as_ref()?;
        let summary = known.summary.get_or_init(|| Box::new(summarise(value)));
        answer(summary.downcast_ref()?, known.cost)
    }
}

impl DerivedObject {
    fn find(&self, name: DerivedName<'_>, object: &Value) -> Option<&DerivedValue> {
        if !self.object.is_same(object) {
            return None;
        }
        // Each language numbers its own values.
        let is_of_name = |value: &&DerivedValue| {
            value.number == name.number && (std::ptr::eq(value.name, name.name) || value.name == name.name)
        };
        let mut values = self.values.iter().filter(is_of_name);
        match name.number {
            0 => values.find(|value| value.expression == *name.expression),
            // Nothing else of this name has the number.
            _ => values.next(),
        }
    }

    /// Forgets what is known about any other object.
    fn begin(&mut self, object: &Value) {
        if !self.object.is_same(object) {
            self.object = object.clone();
            self.values.clear();
            self.verdicts = [None; VERDICT_PLACES];
        }
    }

    fn add(&mut self, object: &Value, value: DerivedValue) {
        self.begin(object);
        if self.values.len() < MAX_DERIVED_VALUES {
            self.values.push(value);
        }
    }
}

fn verdict_place(number: u64) -> usize {
    usize::try_from(number % VERDICT_PLACES as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Limits, json};

    use super::*;

    #[test]
    fn a_value_is_derived_once_and_paid_for_each_time() {
        let cache = DerivedCache::default();
        let [one, other] = [r#"{"a": 1}"#, r#"{"a": 1}"#].map(|text| json::parse(text).unwrap());
        let mut derivations = 0;
        let mut ask = |expression: &str, object: &Value| {
            let name = DerivedName { name: "images", expression: &expression.into(), number: 0 };
            let mut budget = Budget::new(Limits { steps: 10, bytes: 10, ..Limits::default() });
            let value = cache.get_or_derive((name, object), &mut budget, |object, budget| {
                derivations += 1;
                budget.step(3)?;
                budget.produce(4)?;
                Ok::<_, Exhausted>(object.get("a").cloned())
            });
            assert_eq!((budget.steps_used(), budget.bytes_used()), (3, 4));
            (value, derivations)
        };
        assert_eq!(ask("", &one), (Ok(Some(1_i64.into())), 1));
        assert_eq!(ask("", &one), (Ok(Some(1_i64.into())), 1));
        assert_eq!(ask("other", &one), (Ok(Some(1_i64.into())), 2));
        assert_eq!(ask("", &one), (Ok(Some(1_i64.into())), 2), "both are kept");
        assert_eq!(ask("other", &other), (Ok(Some(1_i64.into())), 3), "another object, though an equal one");
        assert_eq!(ask("other", &one), (Ok(Some(1_i64.into())), 4), "and back");
    }

    #[test]
    fn values_of_two_names_with_one_number_are_two() {
        let cache = DerivedCache::default();
        let object = json::parse(r#"{"a": 1, "b": 2}"#).unwrap();
        let ask = |kind: &'static str, key: &str| {
            let name = DerivedName { name: kind, expression: &Text::default(), number: 7 };
            let value = |object: &Value, _: &mut Budget| Ok::<_, Exhausted>(object.get(key).cloned());
            cache.get_or_derive((name, &object), &mut Budget::default(), value).unwrap()
        };
        for _ in 0..2 {
            assert_eq!(ask("select of one language", "a"), Some(1_i64.into()));
            assert_eq!(ask("query of another", "b"), Some(2_i64.into()));
        }
    }

    #[test]
    fn a_value_that_is_asked_for_often_is_summarised_once() {
        let cache = DerivedCache::default();
        let object = json::parse(r#"{"a": [1, 2]}"#).unwrap();
        let name = DerivedName { name: "list", expression: &"a".into(), number: 0 };
        let mut summaries = 0;
        let mut ask = || {
            let list = |object: &Value, budget: &mut Budget| {
                budget.step(3)?;
                Ok::<_, Exhausted>(object.get("a").cloned())
            };
            cache.get_or_derive((name, &object), &mut Budget::default(), list).unwrap();
            let answer = cache.ask_summary(
                (name, &object),
                |value| {
                    summaries += 1;
                    value.as_array().map_or(0, <[Value]>::len)
                },
                |length, cost| {
                    let mut budget = Budget::default();
                    cost.charge(&mut budget).ok()?;
                    Some((*length, budget.steps_used()))
                },
            );
            (answer, summaries)
        };
        assert_eq!(
            [ask(), ask(), ask(), ask()],
            [(None, 0), (None, 0), (Some((2, 3)), 1), (Some((2, 3)), 1)]
        );
    }

    #[test]
    fn a_verdict_is_kept_for_one_object_and_paid_for_each_time() {
        let cache = DerivedCache::default();
        let [one, other] = [r#"{"a": 1}"#, r#"{"a": 1}"#].map(|text| json::parse(text).unwrap());
        let cost = DerivationCost { steps: 3, bytes: 4 };
        let ask = |number: u64, object: &Value, steps: u64| {
            let mut budget = Budget::new(Limits { steps, bytes: 10, ..Limits::default() });
            let verdict = cache.known_verdict((number, object), &mut budget);
            (verdict, budget.steps_used(), budget.bytes_used())
        };
        assert_eq!(ask(1, &one, 10), (None, 0, 0));
        cache.keep_verdict((1, &one), true, cost);
        cache.keep_verdict((2, &one), false, cost);
        cache.keep_verdict((1 + VERDICT_PLACES as u64, &one), false, cost);
        assert_eq!(ask(1, &one, 10), (Some(Ok(true)), 3, 4));
        assert_eq!(ask(2, &one, 10), (Some(Ok(false)), 3, 4));
        assert_eq!(ask(1 + VERDICT_PLACES as u64, &one, 10), (None, 0, 0), "the first one stays");
        assert_eq!(ask(1, &one, 2), (None, 0, 0), "the budget does not suffice");
        assert_eq!(ask(1, &other, 10), (None, 0, 0), "another object, though an equal one");
        cache.keep_verdict((2, &other), true, cost);
        assert_eq!((ask(2, &other, 10).0, ask(1, &one, 10).0), (Some(Ok(true)), None));
    }

    #[test]
    fn more_values_than_are_kept_are_made_each_time() {
        let cache = DerivedCache::default();
        let object = json::parse("{}").unwrap();
        let mut derivations = 0;
        let mut ask = |number: usize| {
            let name = DerivedName { name: "select", expression: &number.to_string().into(), number: 0 };
            let value = cache.get_or_derive((name, &object), &mut Budget::default(), |_, _| {
                derivations += 1;
                Ok::<_, Exhausted>(Some(Value::from(number as u64)))
            });
            assert_eq!(value, Ok(Some(Value::from(number as u64))));
            derivations
        };
        (0..MAX_DERIVED_VALUES + 2).for_each(|number| assert_eq!(ask(number), number + 1));
        assert_eq!(ask(0), MAX_DERIVED_VALUES + 2);
        assert_eq!(ask(MAX_DERIVED_VALUES), MAX_DERIVED_VALUES + 3);
    }
}
