//! How many requests of which kind were allowed and refused.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use kubewright_k8s::Operation;
use kubewright_value::Text;

use super::SERIES;
use super::text::{Exposition, MAX_LABEL_BYTES, escaped};
use crate::shorten::shortened;

/// Kinds and webhooks come from outside; the rest of the series belongs to rules.
const MOST: usize = SERIES / 5;

/// What requests are counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    pub(crate) is_allowed: bool,
    pub(crate) webhook: Text,
    pub(crate) kind: Text,
    pub(crate) operation: Operation,
}

#[derive(Debug, Default)]
pub(super) struct Requests {
    counts: RwLock<HashMap<RequestKey, AtomicU64>>,
}

impl Requests {
    pub(super) fn count(&self, key: RequestKey) {
        {
            let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = counts.get(&key) {
                count.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        let mut counts = self.counts.write().unwrap_or_else(PoisonError::into_inner);
        let key = match counts.len() < MOST {
            true => RequestKey { webhook: short(key.webhook), kind: short(key.kind), ..key },
            false => RequestKey { webhook: "other".into(), kind: "other".into(), ..key },
        };
        counts.entry(key).or_default().fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn expose(&self, text: &mut Exposition) {
        let name = "kubewright_admission_requests_total";
        text.family(name, "counter", "Requests that were decided.");
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<(String, u64)> = counts
            .iter()
            .map(|(key, count)| {
                let (webhook, kind) = (escaped(&key.webhook), escaped(&key.kind));
                let RequestKey { is_allowed, operation, .. } = key;
                let labels = format!(
                    "allowed=\"{is_allowed}\",webhook=\"{webhook}\",kind=\"{kind}\",operation=\"{operation}\""
                );
                (labels, count.load(Ordering::Relaxed))
            })
            .collect();
        lines.sort();
        for (labels, count) in lines {
            text.sample(name, &labels, count);
        }
    }
}

/// Returns what is kept of `name`: series live as long as the process.
fn short(name: Text) -> Text {
    if name.len() <= MAX_LABEL_BYTES { name } else { shortened(&name, MAX_LABEL_BYTES).into() }
}
