//! A world made of files: objects, answers to calls, and values of variables.

use kubewright_engine::{Answer, ClosedWorld, Operation, Query, Request, RuleId, World};
use kubewright_value::{Text, Value};

use super::values::OPERATION;
use super::{Answers, Values};

/// A world that is known completely, with values of variables.
#[derive(Debug, Default)]
pub(crate) struct GivenWorld {
    objects: ClosedWorld,
    answers: Answers,
    values: Values,
}

impl GivenWorld {
    /// Returns a world with `objects` in it. Namespaces that the values describe replace those among the objects.
    pub(crate) fn new(objects: impl IntoIterator<Item = Value>, answers: Answers, values: Values) -> Self {
        let namespaces = values.namespaces().cloned().collect::<Vec<_>>();
        let objects = ClosedWorld::new(objects.into_iter().chain(namespaces));
        Self { objects, answers, values }
    }

    /// Returns the values of variables.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }
}

impl World for GivenWorld {
    fn get(&self, query: &Query) -> Answer {
        self.answers.get(query).unwrap_or_else(|| self.objects.get(query))
    }

    fn given(&self, rule: &RuleId, request: &Request) -> Vec<(Text, Value)> {
        let mut given = self.values.given(rule, request);
        // The request says it itself, and may have it from elsewhere; only what no manifest can be about is a mere value.
        let is_selected = |value: &Value| {
            value.as_str().and_then(Operation::named).is_some_and(|o| o != Operation::Connect)
        };
        given.retain(|(name, value)| name != OPERATION || !is_selected(value));
        given
    }
}
