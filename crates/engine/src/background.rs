//! What rules do apart from admission: objects that they make and keep, and objects that they delete by schedule.
//!
//! A decision says what is to be written for one object. A controller also has to know which objects to watch, and
//! what becomes of what was made: that is the same for all objects and is found when the policy is compiled.

use std::sync::Arc;

use kubewright_k8s::{CronSchedule, Operation};
use kubewright_value::Text;

use crate::{KindOrResource, RuleId, WebhookRule};

/// The work of one rule in the background.
#[derive(Debug, Clone, PartialEq)]
pub enum BackgroundProgram {
    /// The rule makes objects because of others.
    Generate(GenerateProgram),
    /// The rule changes existing objects because of others.
    Mutate(MutateProgram),
    /// The rule deletes objects by schedule.
    Delete(DeleteProgram),
}

impl BackgroundProgram {
    /// Returns the rule that is evaluated for each object.
    #[must_use]
    pub fn rule(&self) -> &Arc<RuleId> {
        match self {
            Self::Generate(program) => &program.rule,
            Self::Mutate(program) => &program.rule,
            Self::Delete(program) => &program.rule,
        }
    }

    /// Returns the triggers that only a webhook sees: requests of which the rule reads who made them, and requests about
    /// parts of objects, of which nothing is stored.
    #[must_use]
    pub fn handed_triggers(&self) -> Vec<WebhookRule> {
        match self {
            Self::Generate(program) => handed_triggers(&program.triggers, program.reads_requester),
            Self::Mutate(program) => handed_triggers(&program.triggers, program.reads_requester),
            Self::Delete(_) => Vec::new(),
        }
    }

    /// Returns the updates that only a webhook sees because they change nothing, so that nothing is stored. Rules that change
    /// existing objects are triggered by them all the same; what others make is there already.
    #[must_use]
    pub fn unchanged_triggers(&self) -> Vec<WebhookRule> {
        match self {
            Self::Mutate(program) if !program.reads_requester => {
                program.triggers.iter().filter_map(unchanged_trigger).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the updates of `rule`. Those of every kind of the cluster are not worth a webhook.
fn unchanged_trigger(rule: &WebhookRule) -> Option<WebhookRule> {
    let (KindOrResource::Kind(name) | KindOrResource::Resource(name)) = &rule.name;
    let is_watched = !is_part(rule) && !name.contains('*') && rule.operations.contains(Operation::Update);
    is_watched.then(|| WebhookRule {
        subresource: Text::default(),
        operations: [Operation::Update].into_iter().collect(),
        ..rule.clone()
    })
}

fn handed_triggers(triggers: &[WebhookRule], reads_requester: bool) -> Vec<WebhookRule> {
    triggers.iter().filter(|rule| reads_requester || is_part(rule)).cloned().collect()
}

/// A rule that makes objects (downstreams) because of others (triggers).
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateProgram {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The kinds and operations of triggers.
    pub triggers: Vec<WebhookRule>,
    /// What it makes, as far as that is known before a trigger is; empty where expressions alone say it.
    pub downstreams: Vec<DownstreamTemplate>,
    /// Whether a downstream is kept equal to what the rule says, and is deleted with its trigger.
    pub synchronizes: bool,
    /// Whether downstreams stay when the policy or the rule is deleted.
    pub orphans_downstream: bool,
    /// Whether objects that exist when the policy is stored are triggers too.
    pub generates_existing: bool,
    /// Whether objects are written by server-side apply.
    pub uses_server_side_apply: bool,
    /// Whether the rule makes objects when a trigger is deleted. Otherwise the deletion of a trigger deletes them.
    pub generates_on_delete: bool,
    /// Whether what the rule no longer wants for a trigger that it still has is deleted. Otherwise it stays, without the
    /// labels of the policy.
    pub deletes_stale_downstream: bool,
    /// Whether what rules wrote in the background is no trigger of it.
    pub skips_background_requests: bool,
    /// Whether each trigger applies what is there again, though it is not kept.
    pub reapplies: bool,
    /// Whether the rule reads who made a request, which no stored object tells.
    pub reads_requester: bool,
}

fn is_part(rule: &WebhookRule) -> bool {
    !matches!(rule.subresource.as_str(), "" | "*")
}

/// A rule that changes existing objects (targets) because of others (triggers).
#[derive(Debug, Clone, PartialEq)]
pub struct MutateProgram {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The kinds and operations of triggers.
    pub triggers: Vec<WebhookRule>,
    /// The kinds of targets, as far as they are known before a trigger is. Their operations do not count.
    pub targets: Vec<WebhookRule>,
    /// Whether objects that exist when the policy is stored are triggers too.
    pub mutates_existing: bool,
    /// Whether what rules wrote in the background is no trigger of it.
    pub skips_background_requests: bool,
    /// Whether the rule reads who made a request, which no stored object tells.
    pub reads_requester: bool,
    /// Whether scans judge its targets, and not its triggers.
    pub is_judged_by_targets: bool,
}

/// A downstream as far as the policy says it. A field that depends on the trigger is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DownstreamTemplate {
    /// `apiVersion`
    pub api_version: Option<Text>,
    /// `kind`
    pub kind: Option<Text>,
    /// The namespace; empty for an object without one.
    pub namespace: Option<Text>,
    /// The name.
    pub name: Option<Text>,
    /// The object that is copied; nothing where the content is in the policy.
    pub source: Option<CloneSource>,
}

/// The object that a downstream is a copy of. A field that depends on the trigger is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloneSource {
    /// The namespace.
    pub namespace: Option<Text>,
    /// The name; nothing where all objects of the kind are copied that a selector selects.
    pub name: Option<Text>,
}

/// A rule that deletes objects by schedule: those for which its outcome asks for a deletion.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteProgram {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The kinds that are listed. Their operations do not count.
    pub targets: Vec<WebhookRule>,
    /// The namespace of the policy, outside of which it deletes nothing.
    pub namespace: Option<Text>,
    /// When objects are looked at.
    pub schedule: CronSchedule,
    /// What becomes of the dependents of a deleted object; nothing for the default of its kind.
    pub propagation: Option<DeletionPropagation>,
}

/// What becomes of the dependents of a deleted object: `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeletionPropagation {
    /// They are deleted first.
    Foreground,
    /// They are deleted later.
    Background,
    /// They stay.
    Orphan,
}

impl DeletionPropagation {
    /// Every one of them, with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("Foreground", Self::Foreground), ("Background", Self::Background), ("Orphan", Self::Orphan)];

    /// Returns the name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use kubewright_k8s::Operations;

    use super::*;

    fn trigger(kind: &str, part: &str, operations: &[Operation]) -> WebhookRule {
        WebhookRule {
            group: "*".into(),
            version: "*".into(),
            name: KindOrResource::Kind(kind.into()),
            subresource: part.into(),
            operations: operations.iter().copied().collect::<Operations>(),
        }
    }

    #[test]
    fn only_updates_of_named_kinds_are_worth_a_webhook_though_they_change_nothing() {
        let both = [Operation::Create, Operation::Update];
        let mut program = MutateProgram {
            rule: Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: "r".into() }),
            triggers: vec![
                trigger("Secret", "", &both),
                trigger("Pod", "eviction", &both),
                trigger("*", "", &both),
                trigger("Service", "", &[Operation::Create]),
            ],
            targets: Vec::new(),
            mutates_existing: false,
            skips_background_requests: true,
            reads_requester: false,
            is_judged_by_targets: false,
        };
        let unchanged = BackgroundProgram::Mutate(program.clone()).unchanged_triggers();
        assert_eq!(unchanged, [trigger("Secret", "", &[Operation::Update])]);
        // Those are handed over anyway.
        program.reads_requester = true;
        assert_eq!(BackgroundProgram::Mutate(program).unchanged_triggers(), []);
    }
}
