//! The mark: up to which version triggers were worked on. It is an annotation of the Lease, so that the next leader knows
//! which triggers changed while there was none.
//!
//! Versions are compared as numbers, as the API server orders them. A trigger that is worked on twice does no harm.

use std::time::Duration;

use kubewright_cluster::{CallLimits, Client, Error, GroupVersionResource, PatchType};
use kubewright_k8s::ApiPath;
use kubewright_value::Map;

use super::times::version_of;
use crate::lease::LeaseSettings;

/// The annotation of the Lease.
const MARK_ANNOTATION: &str = "kubewright.dev/background-version";

/// How long one call may take.
const MARK_CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the mark. Without one everything that is there counts as worked on: it was there before the first leader.
pub(crate) async fn read_mark(client: &Client, lease: &LeaseSettings) -> u64 {
    let client = client.limited(CallLimits { time: MARK_CALL_TIMEOUT, ..CallLimits::default() });
    let Ok(stored) = client.get(&lease_path(lease)).await else { return u64::MAX };
    match stored.str_at(&["metadata", "annotations", MARK_ANNOTATION]) {
        "" => version_of(stored.str_at(&["metadata", "resourceVersion"])),
        mark => version_of(mark),
    }
}

/// Writes the mark.
pub(crate) async fn write_mark(client: &Client, lease: &LeaseSettings, mark: u64) -> Result<(), Error> {
    let annotations = Map::from([(MARK_ANNOTATION, mark.to_string().into())]);
    let patch = Map::from([("metadata", Map::from([("annotations", annotations.into())]).into())]);
    client.patch(&lease_path(lease), PatchType::Merge, &patch.into()).await.map(drop)
}

fn lease_path(lease: &LeaseSettings) -> ApiPath {
    GroupVersionResource::new("coordination.k8s.io", "v1", "leases").named(&lease.namespace, &lease.name)
}
