//! The policies that write in the background, arranged for the worker.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kubewright_engine::{
    BackgroundProgram, DeleteProgram, Engine, GenerateProgram, MutateProgram, WebhookRule,
};
use kubewright_k8s::{Operation, Operations};
use kubewright_scan::{BackgroundPolicy, ObjectKey};
use kubewright_value::{Text, Value};

use super::labels::LabelledRule;
use super::plan::DownstreamCare;
use super::times::seconds_of;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct BackgroundPolicies {
    pub(crate) triggered: Vec<Arc<TriggeredPolicy>>,
    pub(crate) scheduled: Vec<Arc<ScheduledPolicy>>,
    /// Every policy that was read, also those that do nothing in the background.
    pub(crate) documents: HashMap<ObjectKey, Value>,
}

/// Who a policy is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PolicyIdentity {
    pub(crate) key: ObjectKey,
    pub(crate) api_version: Text,
    pub(crate) uid: Text,
    /// When it was created, in seconds since 1970.
    pub(crate) created: i64,
    /// The version in which it was read, as a number.
    pub(crate) version: u64,
    pub(crate) digest: u64,
    /// The part of Kyverno that reports about such a policy.
    pub(crate) component: &'static str,
}

/// A policy with rules that objects trigger.
#[derive(Debug)]
pub(crate) struct TriggeredPolicy {
    pub(crate) identity: PolicyIdentity,
    /// The rules of the policy that write, which are asked together.
    pub(crate) engine: Engine,
    pub(crate) rules: Vec<TriggeredRule>,
    pub(crate) reads_old_object: bool,
}

/// A rule that objects trigger.
#[derive(Debug)]
pub(crate) struct TriggeredRule {
    /// The name of the rule in outcomes.
    pub(crate) name: Text,
    pub(crate) key: LabelledRule,
    pub(crate) program: TriggeredProgram,
    /// Whether the webhook hands requests to it.
    pub(crate) takes_handed: bool,
    /// Whether the webhook hands updates to it that change nothing.
    pub(crate) takes_unchanged: bool,
}

/// What it does.
#[derive(Debug)]
pub(crate) enum TriggeredProgram {
    Generate(GenerateProgram),
    Mutate(MutateProgram),
}

/// A policy that deletes by schedule.
#[derive(Debug)]
pub(crate) struct ScheduledPolicy {
    pub(crate) identity: PolicyIdentity,
    pub(crate) engine: Engine,
    pub(crate) program: DeleteProgram,
}

impl TriggeredRule {
    pub(crate) fn triggers(&self) -> &[WebhookRule] {
        match &self.program {
            TriggeredProgram::Generate(program) => &program.triggers,
            TriggeredProgram::Mutate(program) => &program.triggers,
        }
    }

    pub(crate) fn generate(&self) -> Option<&GenerateProgram> {
        match &self.program {
            TriggeredProgram::Generate(program) => Some(program),
            TriggeredProgram::Mutate(_) => None,
        }
    }

    /// Returns the operations on triggers that the rule is about.
    pub(crate) fn operations(&self) -> Operations {
        self.triggers().iter().fold(Operations::NONE, |all, rule| all.and(rule.operations))
    }

    /// Returns whether the rule is asked when `operation` is done to a trigger. A deletion is only a question to rules that
    /// make objects because of it; what others made goes.
    pub(crate) fn is_about(&self, operation: Operation) -> bool {
        let generates_on_delete = self.generate().is_none_or(|program| program.generates_on_delete);
        self.operations().contains(operation) && (operation != Operation::Delete || generates_on_delete)
    }

    /// Returns whether the rule reads who made a request, so that it is asked about requests and not about stored objects.
    pub(crate) fn reads_requester(&self) -> bool {
        match &self.program {
            TriggeredProgram::Generate(program) => program.reads_requester,
            TriggeredProgram::Mutate(program) => program.reads_requester,
        }
    }

    /// Returns the operation that stands for a trigger that is just there.
    pub(crate) fn standing_operation(&self) -> Option<Operation> {
        [Operation::Create, Operation::Update]
            .into_iter()
            .find(|operation| self.operations().contains(*operation))
    }

    pub(crate) fn handles_existing(&self) -> bool {
        match &self.program {
            TriggeredProgram::Generate(program) => program.generates_existing,
            TriggeredProgram::Mutate(program) => program.mutates_existing,
        }
    }

    pub(crate) fn skips_own_writes(&self) -> bool {
        match &self.program {
            TriggeredProgram::Generate(program) => program.skips_background_requests,
            TriggeredProgram::Mutate(program) => program.skips_background_requests,
        }
    }

    pub(crate) fn synchronizes(&self) -> bool {
        self.generate().is_some_and(|program| program.synchronizes)
    }

    pub(crate) fn care(&self) -> DownstreamCare {
        DownstreamCare {
            synchronizes: self.synchronizes(),
            deletes_stale: self.generate().is_some_and(|program| program.deletes_stale_downstream),
        }
    }

    /// Returns whether its downstreams go with it.
    pub(crate) fn takes_downstreams_along(&self) -> bool {
        self.generate().is_some_and(|program| program.synchronizes && !program.orphans_downstream)
    }
}

impl BackgroundPolicies {
    /// Arranges `policies`, which were read in `versions`. `documents` are all policies.
    pub(crate) fn of(
        policies: &[BackgroundPolicy],
        versions: &HashMap<ObjectKey, u64>,
        documents: HashMap<ObjectKey, Value>,
    ) -> Self {
        let mut all = Self { documents, ..Self::default() };
        for policy in policies {
            let identity = identity_of(policy, versions.get(&policy.key).copied().unwrap_or_default());
            let mut rules = Vec::new();
            for program in &policy.programs {
                let id = program.rule();
                let takes_handed = !program.handed_triggers().is_empty();
                let takes_unchanged = !program.unchanged_triggers().is_empty();
                let program = match program.clone() {
                    BackgroundProgram::Generate(program) => TriggeredProgram::Generate(program),
                    BackgroundProgram::Mutate(program) => TriggeredProgram::Mutate(program),
                    BackgroundProgram::Delete(program) => {
                        let engine = Engine::sharing(policy.rules.clone());
                        let scheduled = ScheduledPolicy { identity: identity.clone(), engine, program };
                        all.scheduled.push(Arc::new(scheduled));
                        continue;
                    }
                };
                let key = LabelledRule {
                    policy: policy.key.name.clone(),
                    namespace: policy.key.namespace.clone(),
                    rule: id.rule.clone(),
                };
                let name = id.rule.clone();
                rules.push(TriggeredRule { name, key, program, takes_handed, takes_unchanged });
            }
            if !rules.is_empty() {
                let engine = Engine::sharing(policy.rules.clone());
                let reads_old_object = mentions(&policy.document.value, "oldObject");
                all.triggered.push(Arc::new(TriggeredPolicy { identity, engine, rules, reads_old_object }));
            }
        }
        all
    }

    /// Returns all rules that objects trigger, each with its policy.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&Arc<TriggeredPolicy>, &TriggeredRule)> {
        self.triggered.iter().flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)))
    }

    /// Returns a rule by its labels.
    pub(crate) fn rule(&self, key: &LabelledRule) -> Option<(&Arc<TriggeredPolicy>, &TriggeredRule)> {
        self.rules().find(|(_, rule)| rule.key == *key)
    }

    /// Returns the digests of the policies, by rule.
    pub(crate) fn digests(&self) -> BTreeMap<LabelledRule, u64> {
        self.rules().map(|(policy, rule)| (rule.key.clone(), policy.identity.digest)).collect()
    }

    /// Returns whether a stored policy still has a rule, as far as its document says.
    pub(crate) fn has_rule(&self, key: &LabelledRule, policy_kind: &str) -> bool {
        if self.rule(key).is_some() {
            return true;
        }
        let is_policy = |policy: &&ObjectKey| {
            policy.kind == policy_kind && policy.name == key.policy && policy.namespace == key.namespace
        };
        let policy = self.documents.keys().find(is_policy).and_then(|policy| self.documents.get(policy));
        policy.is_some_and(|policy| match policy.at(&["spec", "rules"]).and_then(Value::as_array) {
            Some(rules) => rules.iter().any(|rule| rule.str_at(&["name"]) == key.rule),
            // A policy that is one rule.
            None => true,
        })
    }
}

fn identity_of(policy: &BackgroundPolicy, version: u64) -> PolicyIdentity {
    let document = &policy.document.value;
    PolicyIdentity {
        key: policy.key.clone(),
        api_version: document.str_at(&["apiVersion"]).into(),
        uid: document.str_at(&["metadata", "uid"]).into(),
        created: seconds_of(document.str_at(&["metadata", "creationTimestamp"])).unwrap_or_default(),
        version,
        digest: policy.digest,
        component: match policy.programs.first() {
            Some(BackgroundProgram::Mutate(_)) => "kyverno-mutate",
            Some(BackgroundProgram::Delete(_)) => "kyverno-cleanup",
            Some(BackgroundProgram::Generate(_)) | None => "kyverno-generate",
        },
    }
}

/// Returns whether a text in `value` contains `word`.
fn mentions(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word),
        Value::Array(items) => items.iter().any(|item| mentions(item, word)),
        Value::Object(map) => map.values().any(|item| mentions(item, word)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
