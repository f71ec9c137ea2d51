//! The last requests that rules refused, kept in memory: names, rules and messages, never objects.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use kubewright_engine::RuleId;
use kubewright_k8s::{ObjectName, Operation};
use kubewright_value::{Map, Text, Value, json};

use crate::clock::rfc3339_seconds;
use crate::events::{is_secret, truncated_text};
use crate::{Notice, NoticeKind};

/// Where the health port shows them, as JSON.
pub const BLOCKED_PAGE: &str = "/blocked";

/// How many are kept.
const MAX_BLOCKED_REQUESTS: usize = 1_000;

/// How many of the latest a refusal is compared with.
const MAX_COMPARED_REQUESTS: usize = 16;

/// How long a message may be.
const MAX_BLOCKED_MESSAGE_BYTES: usize = 1_024;

/// The last requests that rules refused, the newest last.
#[derive(Debug, Default)]
pub struct BlockedRequests {
    kept: Mutex<VecDeque<BlockedRequest>>,
}

#[derive(Debug)]
struct BlockedRequest {
    time: SystemTime,
    operation: Operation,
    subject: ObjectName,
    rule: Arc<RuleId>,
    message: Text,
}

impl BlockedRequests {
    /// Adds those of `notices` that are about a refusal; the oldest make room for them. Of a Secret no message is kept.
    ///
    /// Controllers try what is refused again and again, so most messages are there already. They are kept once, and
    /// `notices` get the kept ones: memory that is held for long is not in a processor's cache when it is needed again.
    pub(crate) fn add(&self, notices: &mut [Notice], operation: Operation, time: SystemTime) {
        let mut refusals = notices.iter_mut().filter(|notice| notice.kind == NoticeKind::Refused).peekable();
        if refusals.peek().is_none() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in refusals {
            let latest = kept.iter().rev().take(MAX_COMPARED_REQUESTS);
            let mut equal = latest.filter(|request| request.says_the_same(notice));
            if let Some(request) = equal.next() {
                notice.message = request.message.clone();
            }
            if kept.len() >= MAX_BLOCKED_REQUESTS {
                kept.pop_front();
            }
            kept.push_back(BlockedRequest::of(notice, operation, time));
        }
    }

    /// Returns them as a JSON list, the newest first.
    #[must_use]
    pub fn to_json(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let list: Vec<Value> = kept.iter().rev().map(BlockedRequest::to_value).collect();
        drop(kept);
        json::to_string(&Value::array(list)) + "\n"
    }
}

impl BlockedRequest {
    fn says_the_same(&self, notice: &Notice) -> bool {
        Arc::ptr_eq(&self.rule, &notice.rule) && self.message == notice.message
    }

    fn of(notice: &Notice, operation: Operation, time: SystemTime) -> Self {
        let message = match is_secret(&notice.subject) {
            true => Text::default(),
            false => truncated_text(&notice.message, MAX_BLOCKED_MESSAGE_BYTES),
        };
        let (subject, rule) = (notice.subject.clone(), Arc::clone(&notice.rule));
        Self { time, operation, subject, rule, message }
    }

    fn to_value(&self) -> Value {
        let ObjectName { group, kind, namespace, name } = &self.subject;
        Map::from([
            ("time", rfc3339_seconds(self.time).into()),
            ("operation", self.operation.name().into()),
            ("group", group.clone().into()),
            ("kind", kind.clone().into()),
            ("namespace", namespace.clone().into()),
            ("name", name.clone().into()),
            ("rule", self.rule.to_string().into()),
            ("message", self.message.clone().into()),
        ])
        .into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::EventWording;

    fn notice(kind: &str, name: &str) -> Notice {
        let subject = ObjectName { kind: kind.into(), name: name.into(), ..ObjectName::default() };
        let rule = Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: "r".into() });
        Notice {
            rule,
            document: ObjectName::default(),
            subject,
            kind: NoticeKind::Refused,
            message: "why".into(),
            wording: EventWording::Plain,
        }
    }

    #[test]
    fn only_the_last_thousand_are_kept_and_nothing_of_a_secret() {
        let blocked = BlockedRequests::default();
        for number in 0..MAX_BLOCKED_REQUESTS + 5 {
            blocked.add(&mut [notice("Pod", &format!("p{number}"))], Operation::Create, UNIX_EPOCH);
        }
        blocked.add(&mut [notice("Secret", "s")], Operation::Update, UNIX_EPOCH);
        let list = json::parse(&blocked.to_json()).unwrap_or_default();
        let list = list.as_array().unwrap_or_default();
        assert_eq!(list.len(), MAX_BLOCKED_REQUESTS);
        let text = |place: usize, key: &str| list.get(place).map(|item| item.str_at(&[key]).to_owned());
        assert_eq!((text(0, "name"), text(0, "message")), (Some("s".to_owned()), Some(String::new())));
        assert_eq!((text(1, "name"), text(1, "message")), (Some("p1004".to_owned()), Some("why".to_owned())));
        assert_eq!(text(MAX_BLOCKED_REQUESTS - 1, "name"), Some("p6".to_owned()));
    }

    #[test]
    fn equal_messages_of_a_rule_are_kept_once() {
        let blocked = BlockedRequests::default();
        let long = "a message that is too long to be kept without memory of its own";
        let rule = Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: "r".into() });
        let address = |rule: &Arc<RuleId>, message: &str| {
            let mut told = [Notice { rule: Arc::clone(rule), message: message.into(), ..notice("Pod", "p") }];
            blocked.add(&mut told, Operation::Create, UNIX_EPOCH);
            let [told] = told;
            assert_eq!(told.message, message);
            told.message.as_ptr()
        };
        let first = address(&rule, long);
        assert_eq!(address(&rule, long), first);
        assert_ne!(address(&rule, &long.replace("too", "2")), first);
        assert_ne!(address(&Arc::new((*rule).clone()), long), first, "of another rule");
        assert_eq!(address(&rule, long), first);
    }
}
