//! What becomes of the downstreams of one rule and one trigger: a pure function of what the rule says now and what there is.
//!
//! The plan is about states and not about events, so it does not matter what was missed: doing it twice, or half and
//! then again, ends in the same state.

use std::collections::BTreeSet;

use kubewright_scan::ObjectKey;
use kubewright_value::{Text, Value};

use super::downstream::Downstream;

/// What a rule says about one trigger.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RuleAnswer {
    /// It wants these objects.
    Wants(Vec<Value>),
    /// It wants these objects and perhaps others: it could not say everything.
    WantsAtLeast(Vec<Value>),
    /// The trigger is gone, or is none of the rule any more.
    NotTriggered,
}

/// How a rule treats what it made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DownstreamCare {
    /// Downstreams are kept equal to what the rule says.
    pub(crate) synchronizes: bool,
    /// What the rule no longer wants for a trigger that it still has is deleted; otherwise it is let go.
    pub(crate) deletes_stale: bool,
}

/// One thing to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DownstreamStep {
    /// The object is made; one that is there is replaced if `replaces`, and otherwise left as it is.
    Make { object: Value, replaces: bool },
    /// The object is deleted.
    Delete(Downstream),
    /// The object stays and is no longer the rule's.
    Release(Downstream),
    /// The object stays the rule's, and does not go with it.
    Unkeep(Downstream),
}

/// Returns what is to be done, given the `observed` downstreams of the rule and the trigger, of which copies of
/// `gone_sources` have lost what they are copies of.
pub(crate) fn plan_downstreams(
    care: DownstreamCare,
    answer: RuleAnswer,
    observed: &[Downstream],
    gone_sources: &BTreeSet<Text>,
) -> Vec<DownstreamStep> {
    let (wanted, is_whole) = match answer {
        RuleAnswer::Wants(wanted) => (wanted, true),
        RuleAnswer::WantsAtLeast(wanted) => (wanted, false),
        RuleAnswer::NotTriggered => {
            let step = |found: &Downstream| match care.synchronizes {
                true => Some(DownstreamStep::Delete(found.clone())),
                false => unkept(found),
            };
            return observed.iter().filter_map(step).collect();
        }
    };
    let keys: BTreeSet<ObjectKey> = wanted.iter().map(ObjectKey::of).collect();
    let stale = observed.iter().filter(|found| !keys.contains(&found.key));
    let mut steps: Vec<DownstreamStep> = stale
        .filter_map(|found| {
            let is_source_gone = gone_sources.contains(&found.labels.source_uid);
            match (care.synchronizes, is_source_gone, is_whole) {
                (false, ..) => unkept(found),
                (true, true, _) => Some(DownstreamStep::Delete(found.clone())),
                (true, false, true) if care.deletes_stale => Some(DownstreamStep::Delete(found.clone())),
                (true, false, true) => Some(DownstreamStep::Release(found.clone())),
                (true, false, false) => None,
            }
        })
        .collect();
    if !care.synchronizes {
        steps.extend(observed.iter().filter(|found| keys.contains(&found.key)).filter_map(unkept));
    }
    let make = |object| DownstreamStep::Make { object, replaces: care.synchronizes };
    steps.extend(wanted.into_iter().map(make));
    steps
}

fn unkept(found: &Downstream) -> Option<DownstreamStep> {
    (!found.labels.kept_for.is_empty()).then(|| DownstreamStep::Unkeep(found.clone()))
}

#[cfg(test)]
mod tests;
