//! A network that is slow, cut off or silent between replicas and the API server.
//!
//! A request is judged by what a replica knows, so that none of this may cost one; only changes of rules come late.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::api_server::{LIVE, change_a_rule, is_denied_by, make_rule};
use crate::installation::ReplicaPlace;
use crate::link::Link;
use crate::lossy::{LossyNetwork, NEAR};
use crate::resources::slowest;
use crate::stage::Stage;
use crate::table::Row;

/// After how long without a byte a watch counts as dead, and the time to begin a new one.
const SILENCE: Duration = Duration::from_secs(90 + 30);

/// Everything to and from the API server takes long.
pub(crate) fn is_slow(stage: &mut Stage<'_>) -> Row {
    let link = Link::to(stage.cluster);
    replace_all_by(stage, &link);
    let delays: &[u64] = if stage.is_long { &[100, 1_000, 10_000, 30_000] } else { &[100, 1_000] };
    let time = stage.seconds(2, 35);
    let (run, (fault, ready)) = stage.load.during(|start| {
        let fault = start.elapsed();
        let mut ready = Vec::new();
        for delay in delays {
            link.delay(Duration::from_millis(*delay));
            sleep(time);
            ready.push(stage.installation.ready());
        }
        (fault, ready)
    });
    link.delay(Duration::ZERO);
    let mut row = Row::of(&run).recovered(&run, fault);
    row.notes.push(format!("with delays of {delays:?} ms, replicas that were ready: {ready:?}"));
    row.expect(ready.iter().all(|ready| *ready == 3), "a replica was not ready");
    row.expect(row.right == row.requests, "a request went wrong");
    // What is on its way has still to arrive.
    let live = change_a_rule(stage, "slow");
    row.notes.push(format!("a changed rule was live {live:.2?} after it"));
    replace_all(stage);
    row
}

/// One of three replicas hears nothing of the API server: it judges by the rules that it knows, and has the new ones soon
/// after the network is back.
pub(crate) fn one_is_partitioned(stage: &mut Stage<'_>) -> Row {
    let link = Link::to(stage.cluster);
    replace_one_by(stage, &link);
    let time = stage.seconds(3, 60);
    let (run, (fault, ready)) = stage.load.during(|start| {
        let fault = start.elapsed();
        link.hold(true);
        sleep(time);
        (fault, stage.installation.ready())
    });
    make_rule(stage.cluster, "partitioned");
    link.hold(false);
    let back = Instant::now();
    stage.await_that("all replicas have the rule", |stage| all_deny(stage, "partitioned"));
    let mut row = Row::of(&run).recovered(&run, fault);
    let live = back.elapsed();
    row.notes.push(format!("{time:?} apart; a changed rule was live in all replicas {live:.2?} after it"));
    row.expect(ready == 3, format!("{ready} replicas were ready meanwhile"));
    row.expect(row.right == row.requests, "a request went wrong");
    row.expect(live < LIVE * 2, "a changed rule was live too late");
    stage.cluster.kubectl(&["delete", "clusterpolicy", "partitioned"], "").expect_success();
    replace_all(stage);
    row
}

/// Connections to the API server lead nowhere, and neither side is told, as behind a router that was started again. Only
/// in `make test-faults`: it takes as long as a silence must last to count as an end.
pub(crate) fn is_half_open(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    if !stage.is_long {
        row.notes.push("only in `make test-faults`".to_owned());
        return row;
    }
    let link = Link::to(stage.cluster);
    replace_all_by(stage, &link);
    let (run, (fault, live)) = stage.load.during(|start| {
        let fault = start.elapsed();
        link.swallow();
        make_rule(stage.cluster, "silent");
        let made = Instant::now();
        while !is_denied_by(stage, "silent") && made.elapsed() < SILENCE * 2 {
            sleep(Duration::from_millis(500));
        }
        (fault, made.elapsed())
    });
    row = Row::of(&run).recovered(&run, fault);
    row.notes.push(format!("a changed rule was live {live:.1?} after it"));
    row.expect(live < SILENCE, "a changed rule was live too late");
    row.expect(row.right == row.requests, "a request went wrong");
    stage.cluster.kubectl(&["delete", "clusterpolicy", "silent"], "").expect_success();
    replace_all(stage);
    row
}

/// Of all packets between replicas and everything else, 5 % are lost and 10 % come late, behind others. Requests may take
/// longer; none is lost, and watches go on.
pub(crate) fn loses_packets(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    let network = match LossyNetwork::make() {
        Ok(network) => network,
        Err(reason) => {
            row.notes.push(format!("skipped: {reason}"));
            return row;
        }
    };
    let link = Link::beginning_at(NEAR, stage.cluster);
    stage.installation.place = network.replica_place();
    replace_all_by(stage, &link);
    stage.installation.place = ReplicaPlace::default();
    let time = stage.seconds(4, 60);
    network.lose(true);
    let (run, (fault, live)) = stage.load.during(|start| {
        let fault = start.elapsed();
        sleep(time / 2);
        let live = change_a_rule(stage, "lossy");
        sleep(time / 2);
        (fault, live)
    });
    network.lose(false);
    let [passed, lost, delayed] = network.counts();
    row = Row::of(&run).recovered(&run, fault);
    row.notes.push(format!("{passed} packets passed, {lost} were lost, {delayed} came late"));
    row.notes.push(format!("the slowest answer took {:.1?}", slowest(&run)));
    row.notes.push(format!("a changed rule was live {live:.2?} after it"));
    row.expect(lost > 50 && delayed > 100, "hardly a packet was lost or late, so nothing was tested");
    row.expect(row.right == row.requests, "a request went wrong");
    row.expect(live < LIVE * 3, "a changed rule was live too late");
    replace_all(stage);
    row
}

/// Asks each replica, which a new connection for each question does.
fn all_deny(stage: &Stage<'_>, rule: &str) -> bool {
    (0..3).all(|_| {
        stage.installation.cut();
        is_denied_by(stage, rule)
    })
}

fn replace_all_by(stage: &mut Stage<'_>, link: &Link) {
    stage.installation.kill_all();
    let own = stage.installation.kubeconfig.clone();
    stage.installation.kubeconfig = link.kubeconfig(stage.cluster, &own);
    stage.recover();
    stage.installation.kubeconfig = own;
}

fn replace_one_by(stage: &mut Stage<'_>, link: &Link) {
    let mut old = stage.installation.take_oldest();
    old.server.kill();
    stage.installation.forget(&old);
    let own = stage.installation.kubeconfig.clone();
    stage.installation.kubeconfig = link.kubeconfig(stage.cluster, &own);
    stage.recover();
    stage.installation.kubeconfig = own;
}

/// Replicas that talk to the API server directly, for the next fault.
fn replace_all(stage: &mut Stage<'_>) {
    stage.installation.kill_all();
    stage.recover();
}
