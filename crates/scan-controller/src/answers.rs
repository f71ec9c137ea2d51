//! What rules read besides the object: from watch caches where there are any, otherwise looked up and remembered until a
//! watch announces a change.
//!
//! An answer is forgotten before the objects that depend on it are judged again, and what is looked up after that is at
//! least as new as the change.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use kubewright_engine::{ApiCall, Query, QueryAnswer, World};
use kubewright_k8s::kind_of_resource;
use kubewright_scan::{ObjectKey, is_credential_kind};
use kubewright_serve::CachedWorld;
use kubewright_value::{Text, Value, json};

/// How long an answer is remembered: what is not watched is looked up again then.
const ANSWER_TTL: Duration = Duration::from_secs(60);

/// How long an answer about credentials is remembered, which no watch announces changes of.
const CREDENTIAL_TTL: Duration = Duration::from_secs(5);

/// How long a failure is remembered.
const FAILURE_TTL: Duration = Duration::from_secs(5);

/// How many bytes of answers are remembered. When there are more, all are forgotten.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// The world of the scan.
#[derive(Debug)]
pub(crate) struct ScanWorld {
    caches: CachedWorld,
    answers: RwLock<RememberedAnswers>,
}

#[derive(Debug, Default)]
struct RememberedAnswers {
    all: HashMap<Query, (QueryAnswer, Instant)>,
    /// The API groups that were called.
    calls: HashSet<Text>,
    bytes: usize,
}

impl ScanWorld {
    pub(crate) fn new(caches: CachedWorld) -> Self {
        Self { caches, answers: RwLock::default() }
    }

    /// Remembers the answer to `query`.
    pub(crate) fn learn(&self, query: Query, answer: QueryAnswer) {
        let bytes = match &answer {
            QueryAnswer::Found(value) => json::to_string(value).len().saturating_mul(2),
            _ => 64,
        };
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        if answers.bytes.saturating_add(bytes) > MAX_ANSWER_BYTES {
            *answers = RememberedAnswers::default();
        }
        answers.bytes += bytes;
        if let Query::Api(ApiCall { path: Some(path), .. }) = &query {
            answers.calls.insert(path.group.clone());
        }
        answers.all.insert(query, (answer, Instant::now()));
    }

    /// Forgets what may depend on `changed`.
    pub(crate) fn forget(&self, changed: &ObjectKey) {
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        let is_known = answers.all.contains_key(&Query::Object(changed.clone()))
            || answers.calls.contains(&changed.group);
        drop(answers);
        // Most changes are about nothing that was looked up.
        if is_known {
            let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
            answers.all.retain(|query, _| !may_depend(query, changed));
        }
    }

    /// Forgets everything about shared entries.
    pub(crate) fn forget_shared(&self) {
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.all.retain(|query, _| !matches!(query, Query::Shared(_)));
    }

    /// Returns whether `object` is remembered in just this version, so that its appearance in a list is no change.
    pub(crate) fn has_version(&self, key: &ObjectKey, object: &Value) -> bool {
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        let version = |object: &Value| object.at(&["metadata", "resourceVersion"]).cloned();
        match answers.all.get(&Query::Object(key.clone())) {
            Some((QueryAnswer::Found(known), _)) => version(known) == version(object),
            _ => false,
        }
    }
}

impl World for ScanWorld {
    fn get(&self, query: &Query) -> QueryAnswer {
        match self.caches.get(query) {
            QueryAnswer::Unknown => {}
            known => return known,
        }
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        match answers.all.get(query) {
            Some((answer @ QueryAnswer::Failed(_), at)) if at.elapsed() < FAILURE_TTL => answer.clone(),
            Some((QueryAnswer::Failed(_), _)) | None => QueryAnswer::Unknown,
            Some((answer, at)) if at.elapsed() < answer_ttl(query) => answer.clone(),
            Some(_) => QueryAnswer::Unknown,
        }
    }
}

fn answer_ttl(query: &Query) -> Duration {
    let is_credential = match query {
        Query::Object(name) => is_credential_kind(&name.group, &name.kind),
        Query::Api(ApiCall { path: Some(path), .. }) => {
            kind_of_resource(&path.resource).is_some_and(|kind| is_credential_kind(&path.group, kind))
        }
        _ => false,
    };
    if is_credential { CREDENTIAL_TTL } else { ANSWER_TTL }
}

/// Returns whether the answer to `query` may be another one because `changed` has changed.
fn may_depend(query: &Query, changed: &ObjectKey) -> bool {
    match query {
        Query::Object(name) => name == changed,
        // The kind of a resource is not always known, so all calls of the group count.
        Query::Api(call) => call.path.as_ref().is_some_and(|path| {
            path.group == changed.group
                && (path.namespace.is_empty()
                    || path.namespace == changed.namespace
                    || changed.namespace.is_empty())
        }),
        Query::Http(_) | Query::Image(_) | Query::Shared(_) => false,
    }
}
