//! A world made of files: objects, answers to calls, and values of variables.

use kubewright_engine::{Answer, ClosedWorld, Query, Request, RuleId, World};
use kubewright_value::{Text, Value};

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
        self.values.given(rule, request)
    }
}
