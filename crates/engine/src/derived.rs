//! What a rule made of an object, for the other rules of the same decision.

use std::cell::RefCell;

use kubewright_value::{Budget, Exhausted, Value};

/// The last value that was made of an object.
#[derive(Debug, Default)]
pub struct DerivedCache {
    last: RefCell<Option<DerivedValue>>,
}

#[derive(Debug)]
struct DerivedValue {
    name: &'static str,
    object: Value,
    value: Option<Value>,
    steps: u64,
    bytes: u64,
}

impl DerivedCache {
    /// Returns what `derive` makes of `object` under `name`, unless a rule of the decision has asked for it just before.
    /// The budget pays for it each time, so that no rule depends on what another one has asked for.
    ///
    /// # Errors
    /// Those of `derive`, and when the budget does not suffice.
    pub fn get_or_derive<E: From<Exhausted>>(
        &self,
        (name, object): (&'static str, &Value),
        budget: &mut Budget,
        derive: impl FnOnce(&Value, &mut Budget) -> Result<Option<Value>, E>,
    ) -> Result<Option<Value>, E> {
        let is_known = |last: &&DerivedValue| last.name == name && last.object.is_same(object);
        if let Some(last) = self.last.borrow().as_ref().filter(is_known) {
            budget.step(last.steps)?;
            budget.produce(usize::try_from(last.bytes).unwrap_or(usize::MAX))?;
            return Ok(last.value.clone());
        }
        let (steps, bytes) = (budget.steps_used(), budget.bytes_used());
        let value = derive(object, budget)?;
        *self.last.borrow_mut() = Some(DerivedValue {
            name,
            object: object.clone(),
            value: value.clone(),
            steps: budget.steps_used().saturating_sub(steps),
            bytes: budget.bytes_used().saturating_sub(bytes),
        });
        Ok(value)
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
        let mut ask = |name, object: &Value| {
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
        assert_eq!(ask("images", &one), (Ok(Some(1_i64.into())), 1));
        assert_eq!(ask("images", &one), (Ok(Some(1_i64.into())), 1));
        assert_eq!(ask("other", &one), (Ok(Some(1_i64.into())), 2));
        assert_eq!(ask("other", &other), (Ok(Some(1_i64.into())), 3), "another object, though an equal one");
    }
}
