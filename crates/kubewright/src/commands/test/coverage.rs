//! Which rules the cases were about.

use std::collections::BTreeMap;

use std::sync::Arc;

use kubewright_engine::{Rule, RuleId};
use kubewright_value::{Map, Value};

/// Rules by place and name, over all files, and whether a case was about them.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    rules: BTreeMap<(String, String), bool>,
}

impl Coverage {
    /// Adds the rules of one test file.
    pub(super) fn add(&mut self, rules: &[Rule], exercised: &[Arc<RuleId>]) {
        for rule in rules {
            let known = self.rules.entry((rule.location.to_string(), rule.id.to_string())).or_default();
            *known |= exercised.contains(&rule.id);
        }
    }

    /// Returns how many rules there are.
    pub(super) fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Returns the place and the name of each rule that no case was about.
    pub(super) fn missing(&self) -> Vec<(&str, &str)> {
        let missing = self.rules.iter().filter(|(_, is_exercised)| !**is_exercised);
        missing.map(|((place, rule), _)| (place.as_str(), rule.as_str())).collect()
    }

    /// Returns all of it as JSON.
    pub(super) fn to_value(&self) -> Value {
        let missing = self.missing();
        let rows = missing
            .iter()
            .map(|(place, rule)| Map::from([("rule", Value::from(*rule)), ("place", (*place).into())]))
            .collect::<Vec<_>>();
        Map::from([
            ("rules", Value::from(self.rules())),
            ("exercised", (self.rules() - missing.len()).into()),
            ("missing", rows.into()),
        ])
        .into()
    }
}
