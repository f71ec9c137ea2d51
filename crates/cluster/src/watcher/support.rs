//! Where the API server does not send lists as the first events of a watch.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_k8s::ApiPath;
use kubewright_value::Text;

/// After how long it is tried again: the API server may have been upgraded.
const FALLBACK_TTL: Duration = Duration::from_secs(3600);

/// How many groups and versions are remembered.
const MAX_REMEMBERED: usize = 4096;

/// The groups and versions whose server does not send lists as watches. One process may be behind several servers:
/// those of aggregated APIs answer for their groups only.
#[derive(Debug, Default)]
pub(crate) struct WatchListSupport {
    unsupported: Mutex<BTreeMap<(Text, Text), Instant>>,
}

impl WatchListSupport {
    pub(crate) fn is_expected(&self, path: &ApiPath) -> bool {
        let unsupported = self.unsupported.lock().unwrap_or_else(PoisonError::into_inner);
        let since = unsupported.get(&(path.group.clone(), path.version.clone()));
        since.is_none_or(|since| since.elapsed() >= FALLBACK_TTL)
    }

    pub(crate) fn remember_unsupported(&self, path: &ApiPath) {
        let mut unsupported = self.unsupported.lock().unwrap_or_else(PoisonError::into_inner);
        if unsupported.len() >= MAX_REMEMBERED {
            unsupported.clear();
        }
        unsupported.insert((path.group.clone(), path.version.clone()), Instant::now());
    }
}
