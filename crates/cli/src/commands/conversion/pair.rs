//! A converted policy beside the rules that it replaces, so that both can be asked about the same requests.

use kubewright_convert::ConvertedPolicy;
#[cfg(feature = "serve")]
use kubewright_engine::Query;
use kubewright_engine::{Decision, DecisionSettings, Dialect, Engine, Rule, RuleAction, World};
use kubewright_files as files;
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Document, Text};

use super::verdict::CombinedVerdict;
use crate::fixtures::is_rule;

/// Rules, and the policy that replaces them.
pub(in crate::commands) struct ConversionPair {
    source: Engine,
    converted: Engine,
}

/// What both say about a request.
pub(in crate::commands) struct PairDecision {
    /// The decision of the rules.
    pub(in crate::commands) source: Decision,
    /// The decision of the policy that replaces them.
    pub(in crate::commands) converted: Decision,
    /// Whether the rules change, make or delete objects.
    is_change: bool,
    /// Whether the rules judge objects.
    is_check: bool,
}

impl ConversionPair {
    /// Returns the rules of `policy` that `written` replaces, compiled by `dialects`, beside what `text` holds, which is
    /// read as from a file.
    pub(in crate::commands) fn new(
        dialects: &[Box<dyn Dialect>],
        policy: &Document,
        written: &ConvertedPolicy,
        text: &str,
    ) -> Self {
        let is_meant = |rule: &Text, name: &Text| match written.covers_controllers {
            true => is_rule(rule, name),
            false => rule == name,
        };
        let mut source = kubewright_dialects::load_documents(dialects, std::slice::from_ref(policy)).rules;
        source.retain(|rule| written.rules.iter().any(|name| is_meant(&rule.id.rule, name)));
        let converted = files::parse_documents("converted", text);
        let converted = kubewright_dialects::load_documents(dialects, &converted).rules;
        Self { source: Engine::new(source), converted: Engine::new(converted) }
    }

    /// Returns the rules that are replaced.
    pub(in crate::commands) fn source_rules(&self) -> &[std::sync::Arc<Rule>] {
        self.source.rules()
    }

    /// Returns all rules, those that are replaced and those that replace them.
    #[cfg(feature = "serve")]
    pub(in crate::commands) fn rules(&self) -> impl Iterator<Item = &std::sync::Arc<Rule>> {
        self.source.rules().iter().chain(self.converted.rules())
    }

    /// Returns whether the rules are about stored objects, and not about requests.
    #[cfg(feature = "serve")]
    pub(in crate::commands) fn is_about_stored(&self) -> bool {
        self.source.rules().iter().all(|rule| rule.action == RuleAction::Delete)
    }

    /// Compares both on `requests`: on how many the rules judge anything, and where the policy says something else.
    #[cfg(feature = "serve")]
    pub(in crate::commands) fn compare(
        &self,
        requests: &[AdmissionRequest],
        world: &dyn World,
        settings: &DecisionSettings,
    ) -> (usize, Vec<String>) {
        let (mut judged, mut differences) = (0, Vec::new());
        for request in requests {
            // What was made of the policy reads the object before an update like any other field.
            let known = AdmissionRequest { is_old_object_assumed: false, ..request.clone() };
            let (before, after) = self.decide(&known, world, settings).verdicts();
            let differs = !before.agrees(&after, known.operation);
            judged += usize::from(differs || before.is_judgement());
            if differs {
                let what = before.difference(&after);
                differences.push(format!("{} {}: {what}", known.operation, known.subject()));
            }
        }
        (judged, differences)
    }

    /// Asks both about `request`.
    pub(in crate::commands) fn decide(
        &self,
        request: &AdmissionRequest,
        world: &dyn World,
        settings: &DecisionSettings,
    ) -> PairDecision {
        let is_any =
            |wanted: fn(RuleAction) -> bool| self.source.rules().iter().any(|rule| wanted(rule.action));
        PairDecision {
            source: self.source.decide(request, world, settings),
            converted: self.converted.decide(request, world, settings),
            is_change: is_any(|action| action != RuleAction::Validate),
            is_check: is_any(|action| action == RuleAction::Validate),
        }
    }
}

impl PairDecision {
    /// Returns what both say in short.
    pub(in crate::commands) fn verdicts(&self) -> (CombinedVerdict, CombinedVerdict) {
        let verdict = |decision| CombinedVerdict::of(decision, self.is_change, self.is_check);
        (verdict(&self.source), verdict(&self.converted))
    }

    /// Takes what must be looked up before both can answer.
    #[cfg(feature = "serve")]
    pub(in crate::commands) fn take_queries(&mut self) -> Vec<Query> {
        let mut queries = std::mem::take(&mut self.source.queries);
        queries.append(&mut self.converted.queries);
        queries
    }
}
