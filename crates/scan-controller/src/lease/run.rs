//! The election: looks at the Lease, writes it, and opens or closes the fence.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use kubewright_cluster::{CallLimits, Client, Error, GroupVersionResource, jitter};
use kubewright_k8s::ApiPath;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_value::Value;
use tokio::sync::watch;

use super::record::LeaseRecord;
use super::step::{ElectionStep, LeaseView};
use super::{Leadership, LeaseFence, LeaseSettings, SCAN_NOW_ANNOTATION};

/// How long one call about the Lease may take.
const LEASE_CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Takes part in the election until `stopping` is true, then gives the Lease back. `fence` follows.
pub async fn run_leader_election(
    client: Client,
    settings: LeaseSettings,
    fence: Arc<LeaseFence>,
    log: Arc<Log>,
    mut stopping: watch::Receiver<bool>,
) {
    let client = client.limited(CallLimits {
        time: LEASE_CALL_TIMEOUT,
        throttle_wait: Duration::ZERO,
        ..Default::default()
    });
    let mut election = Election {
        path: GroupVersionResource::new("coordination.k8s.io", "v1", "leases")
            .named(&settings.namespace, &settings.name),
        client,
        settings,
        fence,
        log,
        view: LeaseView::default(),
        last_problem: String::new(),
    };
    while !*stopping.borrow_and_update() {
        election.take_part().await;
        let pause =
            election.settings.retry_period.mul_f64(0.9) + jitter(election.settings.retry_period.mul_f64(0.2));
        let _ = tokio::time::timeout(pause, stopping.wait_for(|stop| *stop)).await;
    }
    election.release().await;
}

struct Election {
    client: Client,
    settings: LeaseSettings,
    path: ApiPath,
    fence: Arc<LeaseFence>,
    log: Arc<Log>,
    view: LeaseView,
    last_problem: String,
}

impl Election {
    /// Looks at the Lease once, and writes it where it is ours or free.
    async fn take_part(&mut self) {
        match self.try_hold().await {
            Ok(leadership) => {
                self.last_problem.clear();
                self.announce(leadership);
            }
            Err(error) => {
                let problem = error.to_string();
                // The fence closes by itself when the last renewal is too old.
                if self.last_problem != problem {
                    self.log.line(LogLevel::Warn, "lease not renewed").shown("problem", &problem).write();
                    self.last_problem = problem;
                }
            }
        }
    }

    async fn try_hold(&mut self) -> Result<Leadership, Error> {
        let stored = match self.client.get(&self.path).await {
            Ok(lease) => lease,
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error),
        };
        self.fence.set_requested_scan(stored.str_at(&["metadata", "annotations", SCAN_NOW_ANNOTATION]));
        let record = (!stored.is_null()).then(|| LeaseRecord::of(&stored));
        self.fence.set_holder(record.as_ref().map_or("", |record| &record.holder));
        if self.view.step(record, &self.settings, Instant::now()) == ElectionStep::Wait {
            return Ok(Leadership::Standby);
        }
        // The times from before the call: the API server stored the renewal later than that.
        let (begun, time) = (Instant::now(), SystemTime::now());
        let wanted = LeaseRecord::held(&stored, &self.settings, time);
        let written = match stored.is_null() {
            true => {
                let all = ApiPath { name: "".into(), ..self.path.clone() };
                self.client.create(&all, &wanted).await
            }
            false => self.client.replace(&self.path, &wanted).await,
        };
        let written = match written {
            Ok(written) => LeaseRecord::of(&written),
            // Another replica wrote it; the next look tells which.
            Err(error) if error.is_conflict() => return Ok(*self.fence.leadership.borrow()),
            Err(error) => return Err(error),
        };
        self.fence.set_holder(&written.holder);
        let term = self.view.held(&LeaseRecord::of(&stored), &written, begun);
        let deadline = self.settings.renew_deadline;
        self.fence.allow_until(begun + deadline, time + deadline);
        Ok(Leadership::Leader { term })
    }

    fn announce(&self, leadership: Leadership) {
        let before = *self.fence.leadership.borrow();
        if leadership == Leadership::Standby {
            self.fence.close();
        }
        self.fence.set_leadership(leadership);
        if before != leadership {
            let message = match leadership {
                Leadership::Standby => "leadership lost",
                Leadership::Leader { .. } => "leadership acquired",
            };
            self.log.line(LogLevel::Info, message).text("identity", &self.settings.identity).write();
        }
    }

    /// Writes that the Lease has no holder, if this replica does.
    async fn release(&mut self) {
        self.fence.close();
        self.fence.set_leadership(Leadership::Standby);
        let Ok(stored) = self.client.get(&self.path).await else { return };
        if stored.str_at(&["spec", "holderIdentity"]) != self.settings.identity {
            return;
        }
        let released = LeaseRecord::released(&stored, &self.settings, SystemTime::now());
        if self.client.replace(&self.path, &released).await.is_ok() {
            self.fence.set_holder("");
            self.log.line(LogLevel::Info, "lease released").write();
        }
    }
}
