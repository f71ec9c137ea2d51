//! How many requests of which kind were allowed and refused.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use kubewright_k8s::Operation;
use kubewright_value::Text;

use super::MAX_SERIES;
use super::text::{Exposition, MAX_LABEL_BYTES, escape_label};
use crate::shorten::shorten_text;

/// Kinds and webhooks come from outside; the rest of the series belongs to rules.
const MAX_REQUEST_SERIES: usize = MAX_SERIES / 5;

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
        let key = match counts.len() < MAX_REQUEST_SERIES {
            true => {
                RequestKey { webhook: shortened_label(key.webhook), kind: shortened_label(key.kind), ..key }
            }
            false => RequestKey { webhook: "other".into(), kind: "other".into(), ..key },
        };
        counts.entry(key).or_default().fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn expose(&self, text: &mut Exposition, name: &str) {
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<(String, u64)> = counts
            .iter()
            .map(|(key, count)| {
                let (webhook, kind) = (escape_label(&key.webhook), escape_label(&key.kind));
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
fn shortened_label(name: Text) -> Text {
    if name.len() <= MAX_LABEL_BYTES { name } else { shorten_text(&name, MAX_LABEL_BYTES).into() }
}
