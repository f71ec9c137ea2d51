//! The wording of Events about what rules did.

use kubewright_k8s::{ObjectName, object_title};

/// The `action` of an Event about a request that was refused.
pub const BLOCKED_ACTION: &str = "Resource Blocked";

/// What a rule did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// It refused the request.
    Refused,
    /// It found a violation and let it pass.
    Reported,
    /// It could not answer.
    Failed,
    /// It left the object alone because of an exception.
    Excepted,
    /// All rules of the rule object that had something to say were content.
    Applied,
}

/// What an Event is to say.
#[derive(Debug, Clone, Copy)]
pub struct EventOccasion<'o> {
    /// What happened.
    pub kind: NoticeKind,
    /// The object of the request.
    pub subject: &'o ObjectName,
    /// The rule; empty where it is about the whole rule object.
    pub rule: &'o str,
    /// What the rule said; empty for a Secret.
    pub message: &'o str,
    /// Whether the object was changed.
    pub is_mutation: bool,
}

/// The fields of an Event for which a rule language has its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventWords {
    /// `reason`.
    pub reason: &'static str,
    /// `action`; empty for none.
    pub action: &'static str,
    /// `reportingComponent`.
    pub component: &'static str,
    /// `message`.
    pub message: String,
}

impl EventOccasion<'_> {
    /// Returns the kind, namespace and name of the subject.
    #[must_use]
    pub fn subject_title(&self) -> String {
        let ObjectName { kind, namespace, name, .. } = self.subject;
        let name = if name.is_empty() { "(no name yet)" } else { name.as_str() };
        object_title(kind, namespace, name)
    }

    /// Returns the words that alerts about policies look for. `component` is what reports.
    #[must_use]
    pub fn policy_words(&self, component: &'static str) -> EventWords {
        let title = self.subject_title();
        let (reason, word) = match self.kind {
            NoticeKind::Refused => ("PolicyViolation", "fail (blocked)"),
            NoticeKind::Reported => ("PolicyViolation", "fail"),
            NoticeKind::Failed => ("PolicyError", "error"),
            NoticeKind::Excepted => ("PolicySkipped", "skip"),
            NoticeKind::Applied => ("PolicyApplied", "pass"),
        };
        let mut message = match (self.kind, self.is_mutation) {
            (NoticeKind::Applied, true) => format!("{title} is successfully mutated"),
            (NoticeKind::Applied, false) => format!("{title}: {word}"),
            _ => format!("{title}: [{}] {word}", self.rule),
        };
        if !self.message.is_empty() && self.kind != NoticeKind::Applied {
            message.push_str("; ");
            message.push_str(self.message);
        }
        let action = match (self.kind, self.is_mutation) {
            (NoticeKind::Refused, _) => BLOCKED_ACTION,
            (_, true) => "Resource Mutated",
            _ => "Resource Passed",
        };
        EventWords { reason, action, component, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_the_rule_and_whether_it_blocked() {
        let subject = ObjectName { kind: "Namespace".into(), name: "shop".into(), ..ObjectName::default() };
        let words = |kind| {
            EventOccasion { kind, subject: &subject, rule: "labels", message: "no team", is_mutation: false }
                .policy_words("example-admission")
        };
        assert_eq!(words(NoticeKind::Refused).message, "Namespace shop: [labels] fail (blocked); no team");
        assert_eq!(words(NoticeKind::Refused).action, "Resource Blocked");
        assert_eq!(words(NoticeKind::Reported).message, "Namespace shop: [labels] fail; no team");
        assert_eq!(words(NoticeKind::Applied).message, "Namespace shop: pass");
        assert_eq!(words(NoticeKind::Excepted).reason, "PolicySkipped");
    }
}
