//! A Lease as the API server stores it.

use std::time::{Duration, SystemTime};

use kubewright_serve::clock::rfc3339_micros;
use kubewright_value::{Map, Text, Value};

use super::LeaseSettings;

/// What a Lease says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LeaseRecord {
    /// The name of the leader; empty where the last one has given it back.
    pub(super) holder: Text,
    pub(super) duration: Duration,
    pub(super) transitions: i64,
    pub(super) acquired: Text,
    /// Changes with every renewal.
    pub(super) resource_version: Text,
}

impl LeaseRecord {
    pub(super) fn of(lease: &Value) -> Self {
        let number = |key| lease.at(&["spec", key]).and_then(Value::as_i64).unwrap_or_default();
        Self {
            holder: lease.str_at(&["spec", "holderIdentity"]).into(),
            duration: Duration::from_secs(u64::try_from(number("leaseDurationSeconds")).unwrap_or_default()),
            transitions: number("leaseTransitions"),
            acquired: lease.str_at(&["spec", "acquireTime"]).into(),
            resource_version: lease.str_at(&["metadata", "resourceVersion"]).into(),
        }
    }

    /// Returns `lease` as its leader writes it at `time`; a Lease that is not there yet is `Null`.
    pub(super) fn held(lease: &Value, settings: &LeaseSettings, time: SystemTime) -> Value {
        let before = Self::of(lease);
        let is_new = before.holder != settings.identity;
        let transitions = before.transitions + i64::from(is_new && !lease.is_null());
        let acquired = match is_new {
            true => rfc3339_micros(time),
            false => before.acquired.to_string(),
        };
        let duration = i64::try_from(settings.duration.as_secs()).unwrap_or(i64::MAX);
        let spec = Map::from([
            ("holderIdentity", settings.identity.as_str().into()),
            ("leaseDurationSeconds", duration.into()),
            ("acquireTime", acquired.into()),
            ("renewTime", rfc3339_micros(time).into()),
            ("leaseTransitions", transitions.into()),
        ]);
        with_spec(lease, settings, spec)
    }

    /// Returns `lease` as its leader gives it back, so that another one need not wait.
    pub(super) fn released(lease: &Value, settings: &LeaseSettings, time: SystemTime) -> Value {
        let spec = Map::from([
            ("holderIdentity", "".into()),
            // The API server refuses 0.
            ("leaseDurationSeconds", 1_i64.into()),
            ("acquireTime", rfc3339_micros(time).into()),
            ("renewTime", rfc3339_micros(time).into()),
            ("leaseTransitions", Self::of(lease).transitions.into()),
        ]);
        with_spec(lease, settings, spec)
    }
}

/// The metadata stays as it is, with the version that makes a lost race a conflict.
fn with_spec(lease: &Value, settings: &LeaseSettings, spec: Map) -> Value {
    let metadata = lease.get("metadata").cloned().unwrap_or_else(|| {
        let labels = Map::from([("app.kubernetes.io/managed-by", "kubewright".into())]);
        Map::from([
            ("name", settings.name.as_str().into()),
            ("namespace", settings.namespace.as_str().into()),
            ("labels", labels.into()),
        ])
        .into()
    });
    Map::from([
        ("apiVersion", "coordination.k8s.io/v1".into()),
        ("kind", "Lease".into()),
        ("metadata", metadata),
        ("spec", spec.into()),
    ])
    .into()
}
