//! What a rule made of an object, for the other rules of the same decision.

use std::cell::RefCell;

use kubewright_value::{Budget, Exhausted, Text, Value};

/// How many values of one object are kept. Those of further names are made each time.
const MAX_DERIVED_VALUES: usize = 16;

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
}

#[derive(Debug)]
struct DerivedValue {
    name: &'static str,
    expression: Text,
    number: u64,
    value: Option<Value>,
    steps: u64,
    bytes: u64,
}

/// What a value is called: by what it is, and by the expression that makes it where there are several.
#[derive(Debug, Clone, Copy)]
pub struct DerivedName<'n> {
    /// What it is.
    pub name: &'static str,
    /// The expression; empty where there is none.
    pub expression: &'n Text,
    /// The number of what makes it, which nothing else in this process has or had, where no text tells it apart; otherwise 0.
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
            budget.step(known.steps)?;
            budget.produce(usize::try_from(known.bytes).unwrap_or(usize::MAX))?;
            return Ok(known.value.clone());
        }
        let (steps, bytes) = (budget.steps_used(), budget.bytes_used());
        let value = derive(object, budget)?;
        self.last.borrow_mut().add(
            object,
            DerivedValue {
                name: name.name,
                expression: name.expression.clone(),
                number: name.number,
                value: value.clone(),
                steps: budget.steps_used().saturating_sub(steps),
                bytes: budget.bytes_used().saturating_sub(bytes),
            },
        );
        Ok(value)
    }
}

impl DerivedObject {
    fn find(&self, name: DerivedName<'_>, object: &Value) -> Option<&DerivedValue> {
        let is_known = |value: &&DerivedValue| {
            value.number == name.number && value.name == name.name && value.expression == *name.expression
        };
        self.object.is_same(object).then(|| self.values.iter().find(is_known))?
    }

    fn add(&mut self, object: &Value, value: DerivedValue) {
        if !self.object.is_same(object) {
            self.object = object.clone();
            self.values.clear();
        }
        if self.values.len() < MAX_DERIVED_VALUES {
            self.values.push(value);
        }
    }
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
