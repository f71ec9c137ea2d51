//! Notices: what rules did in a review, for Events and the statuses of rules.

use std::sync::Arc;
use std::time::Duration;

pub use kubewright_engine::NoticeKind;
use kubewright_engine::{EventOccasion, EventWords, RuleId};
use kubewright_k8s::ObjectName;
use kubewright_value::Text;
use tokio::sync::mpsc::Receiver;

use crate::events::is_secret;

/// The notices of how many reviews wait to be taken, and for how long they gather meanwhile: waking the reader for each
/// costs a review more than the notices do.
pub(crate) const MAX_QUEUED_REVIEWS: usize = 1000;
const GATHERING_TIME: Duration = Duration::from_millis(20);

/// Waits for notices and hands them to `take`; returns whether more can come.
pub(crate) async fn take_notices(notices: &mut Receiver<Vec<Notice>>, take: impl FnMut(Notice)) -> bool {
    let mut taken = Vec::new();
    if notices.recv_many(&mut taken, MAX_QUEUED_REVIEWS).await == 0 {
        return false;
    }
    taken.into_iter().flatten().for_each(take);
    tokio::time::sleep(GATHERING_TIME).await;
    true
}

/// Something that a rule did, for Events and the rule's status. Never of a dry run.
#[derive(Debug, Clone)]
pub struct Notice {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The rule object that it was read from.
    pub document: ObjectName,
    /// The object that was reviewed.
    pub subject: ObjectName,
    /// What it did.
    pub kind: NoticeKind,
    /// Why, without a value of a Secret.
    pub message: Text,
    /// The words of an Event about it.
    pub wording: EventWording,
}

/// In which words an Event says something.
#[derive(Debug, Clone)]
pub enum EventWording {
    /// Ours.
    Plain,
    /// Those that alerts about policies look for. They are made when an Event is written, which most notices are not.
    Policy {
        /// The `reportingComponent`.
        component: &'static str,
        /// Whether the rule changed the object.
        is_mutation: bool,
    },
    /// These.
    Given(EventWords),
}

impl Notice {
    /// Returns the words of an Event; nothing for ours.
    #[must_use]
    pub fn words(&self) -> Option<EventWords> {
        match &self.wording {
            EventWording::Plain => None,
            EventWording::Given(words) => Some(words.clone()),
            EventWording::Policy { component, is_mutation } => {
                let occasion = EventOccasion {
                    kind: self.kind,
                    subject: &self.subject,
                    rule: &self.rule.rule,
                    message: if is_secret(&self.subject) { "" } else { &self.message },
                    is_mutation: *is_mutation,
                };
                Some(occasion.policy_words(component))
            }
        }
    }
}
