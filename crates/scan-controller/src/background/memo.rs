//! Answers of lookups that many triggers share: a source that is copied for each of them is read once in a while.
//!
//! An answer is never older than the event that led to the question: it counts only for work that was queued before it was
//! asked for, for a moment, and until a watch says that its object has changed. Secrets are not kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_engine::Query;
use kubewright_scan::{ObjectKey, is_query_about};
use kubewright_value::Value;

/// For how long an answer counts.
const MEMO_TIME: Duration = Duration::from_secs(1);

/// How many answers are kept.
const MAX_MEMO_ANSWERS: usize = 64;

/// The last answers.
#[derive(Debug, Default)]
pub(crate) struct LookupMemo {
    answers: Mutex<HashMap<Query, (Instant, Option<Value>)>>,
}

impl LookupMemo {
    /// Returns the answer to `query`, for work that was queued at `since`.
    pub(crate) fn answer(&self, query: &Query, since: Instant) -> Option<Option<Value>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, answer) = answers.get(query)?;
        (*asked >= since && asked.elapsed() < MEMO_TIME).then(|| answer.clone())
    }

    /// Takes up an answer to what was asked at `asked`.
    pub(crate) fn keep(&self, query: &Query, asked: Instant, answer: &Option<Value>) {
        let Query::Object(name) = query else { return };
        if name.kind == "Secret" {
            return;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_MEMO_ANSWERS {
            answers.clear();
        }
        answers.insert(query.clone(), (asked, answer.clone()));
    }

    /// Forgets what was said about an object that has changed.
    pub(crate) fn forget(&self, changed: &ObjectKey) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|query, _| !is_query_about(query, changed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str) -> ObjectKey {
        ObjectKey { kind: kind.into(), namespace: "a".into(), name: "b".into(), ..ObjectKey::default() }
    }

    #[test]
    fn an_answer_counts_for_work_that_was_queued_before_it() {
        let (memo, query) = (LookupMemo::default(), Query::Object(key("ConfigMap")));
        let queued = Instant::now();
        memo.keep(&query, Instant::now(), &Some(Value::Bool(true)));
        assert_eq!(memo.answer(&query, queued), Some(Some(Value::Bool(true))));
        assert_eq!(memo.answer(&query, Instant::now() + MEMO_TIME), None, "queued later");
        memo.forget(&key("ConfigMap"));
        assert_eq!(memo.answer(&query, queued), None, "changed");
    }

    #[test]
    fn secrets_are_not_kept() {
        let (memo, query) = (LookupMemo::default(), Query::Object(key("Secret")));
        let queued = Instant::now();
        memo.keep(&query, Instant::now(), &Some(Value::Bool(true)));
        assert_eq!(memo.answer(&query, queued), None);
    }
}
