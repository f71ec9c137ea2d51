//! `/scan`: how far the scan is and whether reports changed, as events; and `/blocked`: the last refused requests.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use kubewright_scan_controller::{BlockedAdmission, ScanProgress, ScanView};
use kubewright_ui::{PageContent, PageEvent, PageEventSender, PageRequest, page_events};
use kubewright_value::{Map, Value, json};

use super::super::answers::PageAnswers;
use super::ClusterPage;

/// How often reports are looked at where this process does not write them.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// How long after a change the next one is told, so that a first pass does not flood a page.
const QUIET_TIME: Duration = Duration::from_secs(1);

impl ClusterPage {
    /// Adds the stream of events to `answers`.
    pub(super) fn add_events(self: &Arc<Self>, answers: &mut PageAnswers) {
        let page = Arc::clone(self);
        answers.events("/scan", move |_| {
            let (sender, answer) = page_events();
            match page.view.clone() {
                Some(view) => drop(page.connection.handle().spawn(follow_scan(view, sender))),
                None => {
                    let handle = page.connection.handle().clone();
                    drop(handle.spawn(poll_reports(Arc::clone(&page), sender)));
                }
            }
            answer
        });
    }

    /// Answers a request for the last refused admissions.
    pub(super) fn answer_blocked(&self, _request: &PageRequest) -> Result<Value, PageContent> {
        let rows: Vec<Value> = match &self.view {
            Some(view) => view.blocked.newest_first().iter().map(blocked_value).collect(),
            None => self.blocked_events()?.iter().map(blocked_value).collect(),
        };
        Ok(Map::from([("rows", Value::array(rows))]).into())
    }
}

/// Sends what the scan of this process does.
async fn follow_scan(mut view: ScanView, sender: PageEventSender) {
    let mut judged: Option<(std::time::Instant, u64)> = None;
    loop {
        let progress = view.progress.borrow_and_update().clone();
        let speed = speed_since(&mut judged, progress.judged);
        let version = *view.report_version.borrow_and_update();
        let is_there =
            sender.send(progress_event(&progress, speed)) && sender.send(version_event(&version.to_string()));
        if !is_there {
            return;
        }
        tokio::time::sleep(QUIET_TIME).await;
        let changed = async {
            tokio::select! {
                changed = view.progress.changed() => changed.is_ok(),
                changed = view.report_version.changed() => changed.is_ok(),
            }
        };
        if let Ok(false) = tokio::time::timeout(POLL_INTERVAL, changed).await {
            return;
        }
    }
}

/// Sends a version whenever reports changed.
async fn poll_reports(page: Arc<ClusterPage>, sender: PageEventSender) {
    let mut last = String::new();
    if !sender.send(progress_event(&ScanProgress::default(), 0)) {
        return;
    }
    while !sender.is_closed() {
        let asked = Arc::clone(&page);
        let version = tokio::task::spawn_blocking(move || asked.reports_version()).await;
        if let Ok(Ok(version)) = version
            && version != last
        {
            if !sender.send(version_event(&version)) {
                return;
            }
            last = version;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns how many objects were judged in a second since the last time.
fn speed_since(last: &mut Option<(std::time::Instant, u64)>, judged: u64) -> u64 {
    let now = std::time::Instant::now();
    let speed = last.map_or(0, |(then, before)| {
        let millis = u64::try_from(now.duration_since(then).as_millis()).unwrap_or(u64::MAX).max(1);
        judged.saturating_sub(before).saturating_mul(1000) / millis
    });
    *last = Some((now, judged));
    speed
}

fn progress_event(progress: &ScanProgress, speed: u64) -> PageEvent {
    let last_pass = progress.last_pass.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let last_pass = last_pass.map(|since| since.as_secs());
    let data = Map::from([
        ("phase", Value::from(progress.phase.name())),
        ("judged", progress.judged.into()),
        ("total", progress.total.into()),
        ("objectsPerSecond", speed.into()),
        ("pending", progress.pending.into()),
        ("lastPass", last_pass.into()),
        ("leader", progress.leader.clone().into()),
        ("isLeader", progress.is_leader.into()),
    ]);
    PageEvent { name: "progress", data: json::to_string(&data.into()) }
}

fn version_event(version: &str) -> PageEvent {
    let data = Map::from([("version", Value::from(version))]);
    PageEvent { name: "reports", data: json::to_string(&data.into()) }
}

fn blocked_value(blocked: &BlockedAdmission) -> Value {
    let object = Map::from([
        ("kind", Value::from(blocked.subject.kind.clone())),
        ("namespace", blocked.subject.namespace.clone().into()),
        ("name", blocked.subject.name.clone().into()),
    ]);
    Map::from([
        ("time", Value::from(blocked.time.clone())),
        ("count", blocked.count.into()),
        ("object", object.into()),
        ("policy", blocked.policy.name.clone().into()),
        ("rule", blocked.rule.clone().into()),
        ("message", blocked.message.clone().into()),
    ])
    .into()
}
