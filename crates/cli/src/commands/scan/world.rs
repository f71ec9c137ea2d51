//! What rules may read beyond the object: looked up in the cluster on demand, and kept for the pass.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use kubewright_cluster::GroupVersionResource;
use kubewright_dialects::DialectOptions;
use kubewright_engine::{Query, QueryAnswer, WatchedResource, World};
use kubewright_serve::{ClusterLookup, Lookup as _, ServeSettings};
use kubewright_value::{Value, json};
use tokio::runtime::Handle;

use super::cluster::ScanCluster;
use crate::arguments::ScanRuleArguments;

/// The longest lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);

/// How many bytes of answers are kept. When there are more, all are forgotten and looked up again.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The world of one pass.
pub(in crate::commands) struct PassWorld {
    lookup: ClusterLookup,
    handle: Handle,
    namespaces: HashMap<Query, QueryAnswer>,
    learnt: RwLock<LearntAnswers>,
}

#[derive(Default)]
struct LearntAnswers {
    answers: HashMap<Query, QueryAnswer>,
    bytes: usize,
}

impl PassWorld {
    /// Returns the world of `cluster`. Namespaces are read at once, because nearly every object needs one.
    pub(in crate::commands) fn new(
        cluster: &ScanCluster,
        options: &DialectOptions,
        shared: &[(WatchedResource, Value)],
        arguments: &ScanRuleArguments,
    ) -> Self {
        let settings = ServeSettings {
            options: options.clone(),
            allowed_hosts: arguments.allowed_hosts.clone(),
            allowed_registries: arguments.allowed_registries.clone(),
            ..ServeSettings::default()
        };
        let lookup =
            ClusterLookup::with_entries(&cluster.client, &cluster.discovery, shared.to_vec(), &settings);
        // If they may not be listed, each is read when a rule asks for it.
        let namespaces =
            cluster.list(&GroupVersionResource::new("", "v1", "namespaces").all()).unwrap_or_default();
        let namespaces = namespaces.into_iter().map(|namespace| {
            let query = Query::namespace(namespace.str_at(&["metadata", "name"]));
            (query, QueryAnswer::Found(namespace))
        });
        Self {
            lookup,
            handle: cluster.handle().clone(),
            namespaces: namespaces.collect(),
            learnt: RwLock::default(),
        }
    }

    /// Looks `query` up, unless another worker did meanwhile. Waits for the answer.
    pub(in crate::commands) fn learn(&self, query: Query) {
        if self.get(&query) != QueryAnswer::Unknown {
            return;
        }
        let deadline = Instant::now() + LOOKUP_TIMEOUT;
        let looking =
            async { tokio::time::timeout(LOOKUP_TIMEOUT, self.lookup.look_up(&query, deadline)).await };
        let answer = match self.handle.block_on(looking) {
            Ok(Ok(Some(value))) => QueryAnswer::Found(value),
            Ok(Ok(None)) => QueryAnswer::Absent,
            Ok(Err(why)) => QueryAnswer::Failed(why.into()),
            Err(_) => QueryAnswer::Failed("the lookup timed out".into()),
        };
        self.keep(query, answer);
    }

    /// Makes `query` an error of the rules that ask it.
    pub(in crate::commands) fn refuse(&self, query: Query) {
        self.keep(query, QueryAnswer::Failed("too many lookups".into()));
    }

    fn keep(&self, query: Query, answer: QueryAnswer) {
        let bytes = match &answer {
            QueryAnswer::Found(value) => answer_bytes(value),
            _ => 0,
        };
        let mut learnt = self.learnt.write().unwrap_or_else(PoisonError::into_inner);
        if learnt.bytes.saturating_add(bytes) > MAX_ANSWER_BYTES {
            *learnt = LearntAnswers::default();
        }
        learnt.bytes += bytes;
        learnt.answers.insert(query, answer);
    }
}

impl World for PassWorld {
    fn get(&self, query: &Query) -> QueryAnswer {
        if let Some(known) = self.namespaces.get(query) {
            return known.clone();
        }
        let learnt = self.learnt.read().unwrap_or_else(PoisonError::into_inner);
        learnt.answers.get(query).cloned().unwrap_or(QueryAnswer::Unknown)
    }
}

/// Returns about how much memory an answer takes.
fn answer_bytes(value: &Value) -> usize {
    json::to_string(value).len().saturating_mul(2)
}
