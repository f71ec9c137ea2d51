//! Leader election with a Lease, as client-go does it, and the fence that every write passes.
//!
//! A replica that cannot renew its Lease stops writing before another one may take it: writes are allowed for
//! [`LeaseSettings::renew_deadline`] after the last successful renewal began, others wait for
//! [`LeaseSettings::duration`] after they saw it. Both clocks of the machine must agree, because the monotonic clock stands
//! still while a virtual machine is suspended, and the wall clock can be set back.

mod record;
mod run;
mod step;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kubewright_cluster::{Client, Error, GroupVersionResource, PatchType};
use kubewright_serve::clock::rfc3339_micros;
use kubewright_value::{Map, Text};
use tokio::sync::watch;

pub use run::run_leader_election;

/// The annotation of the Lease that asks for a full pass: the leader begins one whenever its value changes. A Lease is
/// guarded by RBAC, unlike a port.
pub const SCAN_NOW_ANNOTATION: &str = "kubewright.dev/scan-now";

/// The Lease of an installation, and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSettings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The name of this replica, which no other replica has.
    pub identity: String,
    /// For how long a Lease that is not renewed is still that of its holder.
    pub duration: Duration,
    /// For how long after a renewal the holder writes.
    pub renew_deadline: Duration,
    /// How often the Lease is renewed, and how often others look at it.
    pub retry_period: Duration,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self {
            namespace: "kubewright-system".to_owned(),
            name: "kubewright-scan".to_owned(),
            identity: "kubewright".to_owned(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Whether this replica is the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leadership {
    /// Another replica is the leader, or none is.
    Standby,
    /// This replica is the leader for the `term`th time in this process. It stays so while the API server is away and no
    /// other replica is known to have taken over, but writes only while the fence is open.
    Leader {
        /// Grows whenever another replica may have been the leader in between.
        term: u64,
    },
}

/// What lets a write pass: the Lease is ours, and will be until the write has ended.
#[derive(Debug)]
pub struct LeaseFence {
    open_until: Mutex<Option<(Instant, SystemTime)>>,
    leadership: watch::Sender<Leadership>,
    requested_scan: watch::Sender<Text>,
    holder: watch::Sender<Text>,
}

impl Default for LeaseFence {
    fn default() -> Self {
        Self {
            open_until: Mutex::new(None),
            leadership: watch::Sender::new(Leadership::Standby),
            requested_scan: watch::Sender::new(Text::default()),
            holder: watch::Sender::new(Text::default()),
        }
    }
}

impl LeaseFence {
    /// Returns a fence that is always open, for a process that is the only one.
    #[must_use]
    pub fn open() -> Self {
        let fence = Self::default();
        let far = Duration::from_secs(100 * 365 * 86_400);
        fence.allow_until(Instant::now() + far, SystemTime::now() + far);
        fence.leadership.send_replace(Leadership::Leader { term: 1 });
        fence
    }

    /// Returns whether a write that begins now is still the leader's when it ends.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open_at(Instant::now(), SystemTime::now())
    }

    /// Returns whether this replica is the leader, to wait for changes.
    #[must_use]
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Returns the value of [`SCAN_NOW_ANNOTATION`], to wait for changes.
    #[must_use]
    pub fn requested_scan(&self) -> watch::Receiver<Text> {
        self.requested_scan.subscribe()
    }

    /// Returns the identity of the replica that holds the Lease, as far as is known; empty for none.
    #[must_use]
    pub fn holder(&self) -> watch::Receiver<Text> {
        self.holder.subscribe()
    }

    fn set_requested_scan(&self, value: &str) {
        set_text(&self.requested_scan, value);
    }

    fn set_holder(&self, identity: &str) {
        set_text(&self.holder, identity);
    }

    fn is_open_at(&self, now: Instant, time: SystemTime) -> bool {
        let open_until = *self.open_until.lock().unwrap_or_else(PoisonError::into_inner);
        open_until.is_some_and(|(monotonic, wall)| now < monotonic && time < wall)
    }

    fn allow_until(&self, monotonic: Instant, wall: SystemTime) {
        *self.open_until.lock().unwrap_or_else(PoisonError::into_inner) = Some((monotonic, wall));
    }

    fn close(&self) {
        *self.open_until.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn set_leadership(&self, new: Leadership) {
        self.leadership.send_if_modified(|current| std::mem::replace(current, new) != new);
    }
}

fn set_text(sender: &watch::Sender<Text>, value: &str) {
    sender.send_if_modified(|current| {
        let is_new = current != value;
        *current = value.into();
        is_new
    });
}

/// Asks the leader for a full pass.
///
/// # Errors
/// When there is no Lease, because no scan runs, or it may not be changed.
pub async fn request_scan(client: &Client, namespace: &str, name: &str) -> Result<(), Error> {
    let lease = GroupVersionResource::new("coordination.k8s.io", "v1", "leases").named(namespace, name);
    let annotations = Map::from([(SCAN_NOW_ANNOTATION, rfc3339_micros(SystemTime::now()).into())]);
    let patch = Map::from([("metadata", Map::from([("annotations", annotations.into())]).into())]);
    client.patch(&lease, PatchType::Merge, &patch.into()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_open_only_while_both_clocks_say_so() {
        let (now, time) = (Instant::now(), SystemTime::now());
        let fence = LeaseFence::default();
        assert!(!fence.is_open_at(now, time), "not renewed yet");
        let second = Duration::from_secs(1);
        fence.allow_until(now + 10 * second, time + 10 * second);
        assert!(fence.is_open_at(now + 9 * second, time + 9 * second));
        assert!(!fence.is_open_at(now + 10 * second, time), "frozen and woken up again");
        assert!(!fence.is_open_at(now, time + 10 * second), "the machine was suspended");
        assert!(fence.is_open_at(now + second, time - 100 * second), "the clock was set back");
        fence.close();
        assert!(!fence.is_open_at(now, time));
    }
}
