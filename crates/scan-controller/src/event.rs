//! Events about the scan itself. They are about its Lease, which both replicas and their users know.

use std::time::SystemTime;

use kubewright_cluster::{Client, GroupVersionResource};
use kubewright_serve::clock::rfc3339_seconds;
use kubewright_value::Map;

use crate::lease::LeaseSettings;

/// Writes Events about the scan.
#[derive(Debug, Clone)]
pub(crate) struct ControllerEvents {
    client: Client,
    lease: LeaseSettings,
}

impl ControllerEvents {
    pub(crate) fn new(client: Client, lease: LeaseSettings) -> Self {
        Self { client, lease }
    }

    /// Writes a warning. One that is refused is lost: the log and the metrics say the same.
    pub(crate) async fn write(&self, reason: &str, message: &str) {
        let now = SystemTime::now();
        let time = rfc3339_seconds(now);
        let nanoseconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let LeaseSettings { namespace, name, identity, .. } = &self.lease;
        let involved = Map::from([
            ("apiVersion", "coordination.k8s.io/v1".into()),
            ("kind", "Lease".into()),
            ("namespace", namespace.as_str().into()),
            ("name", name.as_str().into()),
        ]);
        let metadata = Map::from([
            ("name", format!("{name}.{nanoseconds:x}").into()),
            ("namespace", namespace.as_str().into()),
        ]);
        let event = Map::from([
            ("apiVersion", "v1".into()),
            ("kind", "Event".into()),
            ("metadata", metadata.into()),
            ("type", "Warning".into()),
            ("reason", reason.into()),
            ("message", message.into()),
            ("involvedObject", involved.into()),
            ("count", 1_i64.into()),
            ("firstTimestamp", time.as_str().into()),
            ("lastTimestamp", time.as_str().into()),
            (
                "source",
                Map::from([("component", "kubewright".into()), ("host", identity.as_str().into())]).into(),
            ),
            ("reportingComponent", "kubewright.dev/scan".into()),
            ("reportingInstance", identity.as_str().into()),
        ]);
        let events = GroupVersionResource::new("", "v1", "events").within(namespace);
        let _ = self.client.create(&events, &event.into()).await;
    }
}
