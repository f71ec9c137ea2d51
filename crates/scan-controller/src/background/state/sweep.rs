//! From downstreams to work: those that were not compared yet, those whose trigger is gone, and those whose rule is.

use std::collections::BTreeSet;

use kubewright_k8s::Operation;
use kubewright_scan::KindKey;
use kubewright_value::Text;

use super::{BackgroundState, WatchPurpose};
use crate::background::downstream::Downstream;
use crate::background::queue::TriggerWork;

/// After how many sweeps what was lost is made again.
const LOST_SWEEPS: u32 = 3;

impl BackgroundState {
    /// Queues what is to be done for downstreams, as far as everything is known that it depends on.
    pub(crate) fn sweep(&mut self) {
        if !self.has_policies {
            return;
        }
        self.sweep_lost();
        let mut unchecked = std::mem::take(&mut self.unchecked);
        unchecked.retain(|key| match self.downstreams.get(key).cloned().map(|found| self.work_for(&found)) {
            Some(SweptDownstream::Work(uid, work)) => {
                self.queue.add(uid, *work);
                false
            }
            Some(SweptDownstream::NotKnownYet) => true,
            Some(SweptDownstream::Fine) | None => false,
        });
        self.unchecked = unchecked;
    }

    /// Asks rules again that lost a downstream. Not at once: who deletes it may have changed the policy just before, and
    /// that takes a moment to get here.
    fn sweep_lost(&mut self) {
        for ((rule, trigger_uid), sweeps) in std::mem::take(&mut self.lost) {
            match sweeps >= LOST_SWEEPS {
                true => self.ask_again(&rule, &trigger_uid),
                false => drop(self.lost.insert((rule, trigger_uid), sweeps + 1)),
            }
        }
    }

    /// Returns the work for a downstream that was not compared yet.
    fn work_for(&self, found: &Downstream) -> SweptDownstream {
        let labels = &found.labels;
        let Some((_, rule)) = self.policies.rule(&labels.rule) else {
            if labels.kept_for.is_empty() || self.policies.has_rule(&labels.rule, &labels.kept_for) {
                return SweptDownstream::Fine;
            }
            let key = found.key.clone();
            let work = TriggerWork { key: key.clone(), orphan: Some(key), ..TriggerWork::default() };
            return SweptDownstream::Work(format!("orphan/{}", found.uid).into(), Box::new(work));
        };
        if rule.reads_requester() {
            // It is not known who would ask now.
            return SweptDownstream::Fine;
        }
        let is_kept = !labels.kept_for.is_empty();
        if !rule.synchronizes() && !is_kept {
            return SweptDownstream::Fine;
        }
        if let Some(trigger) = self.triggers.get(&labels.trigger_uid) {
            let rules = BTreeSet::from([labels.rule.clone()]);
            let work = TriggerWork { key: trigger.key.clone(), rules, ..TriggerWork::default() };
            return SweptDownstream::Work(labels.trigger_uid.clone(), Box::new(work));
        }
        let kind = KindKey { group: labels.trigger_group.clone(), kind: labels.trigger_kind.clone() };
        let is_known = self.synced.contains(&(WatchPurpose::Triggers, kind.clone()));
        if rule.generate().is_some_and(|program| program.generates_on_delete) {
            return SweptDownstream::Fine;
        }
        if !is_known {
            return SweptDownstream::NotKnownYet;
        }
        let key = kubewright_scan::ObjectKey { group: kind.group, kind: kind.kind, ..Default::default() };
        let event = Some(Operation::Delete);
        let work = TriggerWork { key, event, ..TriggerWork::default() };
        SweptDownstream::Work(labels.trigger_uid.clone(), Box::new(work))
    }
}

/// What a look at a downstream leads to.
enum SweptDownstream {
    Work(Text, Box<TriggerWork>),
    /// Its trigger may be gone, or not listed yet.
    NotKnownYet,
    Fine,
}
