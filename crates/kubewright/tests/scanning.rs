//! `kubewright scan --serve` as processes that are killed, frozen and cut off: the reports afterwards are those of a fresh
//! run. `KUBEWRIGHT_FAULTS=long` makes faults last as long as they would outside.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "scanning/faults.rs"]
mod faults;
#[path = "scanning/proxy.rs"]
mod proxy;
#[path = "scanning/stage.rs"]
mod stage;

use std::time::Duration;

use kubewright_controlplane::ControlPlaneComponent;
use stage::{POLICY, Stage};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_process_that_is_killed_in_the_middle_leaves_the_reports_of_a_fresh_run() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(POLICY);
    stage.services(0..40, "{}");
    let scan = stage.serve("one", &["--writes-per-second", "5"]);
    stage.within("some reports are written", 60 * SECOND, || stage.reports().len() >= 13);
    scan.kill();
    let written = stage.reports().len();
    assert!(written < 40, "{written} reports: it was not in the middle");
    stage.services(0..5, "{team: a}");
    stage.delete_services(5..10);

    let scan = stage.serve("two", &[]);
    stage.within("all reports are right", 60 * SECOND, || stage.reports().len() == 30 && scan.is_ready());
    let after = stage.reports();
    scan.kill();
    stage.delete_reports();
    let scan = stage.serve("three", &[]);
    stage.within("a fresh run writes all", 60 * SECOND, || stage.reports().len() == 30);
    assert_eq!(stage::without_times(&after), stage::without_times(&stage.reports()));
    scan.kill();
}

#[test]
fn a_leader_that_was_frozen_past_its_lease_writes_nothing_any_more() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(POLICY);
    stage.services(0..60, "{}");
    let one = stage.serve("one", &["--writes-per-second", "2"]);
    stage.within("some reports are written", 60 * SECOND, || stage.reports().len() >= 8);
    let two = stage.serve("two", &[]);
    stage.within("the second one is ready", 30 * SECOND, || two.is_ready());
    one.signal("STOP");
    stage.within("the second one writes the rest", 60 * SECOND, || stage.reports().len() == 60);
    stage.kubectl(&["delete", "clusterpolicy", "require-team"]);
    stage.within("without a rule there are no reports", 30 * SECOND, || stage.reports().is_empty());
    one.signal("CONT");
    for _ in 0..10 {
        std::thread::sleep(SECOND / 2);
        assert!(stage.reports().is_empty(), "the frozen one wrote: {:?}", stage.reports());
    }
    assert_eq!((one.metric("kubewright_leader"), two.metric("kubewright_leader")), (0, 1));
    two.kill();
    one.kill();
}

#[test]
fn an_api_server_that_was_away_is_followed_again() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(POLICY);
    stage.services(0..3, "{}");
    let scan = stage.serve("one", &[]);
    stage.within("there are reports", 60 * SECOND, || stage.reports().len() == 3);
    stage.cluster.pause(ControlPlaneComponent::ApiServer);
    std::thread::sleep(stage::lasting(20, 180));
    stage.cluster.resume(ControlPlaneComponent::ApiServer);
    stage.services(2..5, "{}");
    stage.services(0..1, "{team: a}");
    stage.within("the reports are right again", 60 * SECOND, || stage.reports().len() == 4);
    assert!(scan.log().contains("lease not renewed"), "{}", scan.log());
    stage.within("it is the leader", 20 * SECOND, || scan.metric("kubewright_leader") == 1);
    scan.terminate();
    let lease = stage
        .cluster
        .kubectl(&["get", "lease", "kubewright-scan", "-o", "jsonpath={.spec.holderIdentity}"], "");
    assert_eq!(lease.success(), "", "the Lease is given back");
}
