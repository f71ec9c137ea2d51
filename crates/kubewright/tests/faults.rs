//! What happens to requests when something breaks: faults on a real control plane, under load, and a table of what was
//! lost and how long it took until all was well again.
//!
//! `KUBEWRIGHT_FAULTS=long` makes each last as long as it would outside; a word chooses the faults that contain it.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "faults/api_server.rs"]
mod api_server;
#[path = "faults/certificates.rs"]
mod certificates;
#[path = "faults/installation.rs"]
mod installation;
#[path = "faults/link.rs"]
mod link;
#[path = "faults/load.rs"]
mod load;
#[path = "faults/lossy.rs"]
mod lossy;
#[path = "faults/names.rs"]
mod names;
#[path = "faults/network.rs"]
mod network;
#[path = "faults/panics.rs"]
mod panics;
#[path = "faults/replicas.rs"]
mod replicas;
#[path = "faults/resources.rs"]
mod resources;
#[path = "faults/rules.rs"]
mod rules;
#[path = "faults/soak.rs"]
mod soak;
#[path = "faults/stage.rs"]
mod stage;
#[path = "faults/table.rs"]
mod table;
#[path = "faults/webhooks.rs"]
mod webhooks;

use std::process::ExitCode;

use kubewright_controlplane::{ControlPlaneComponent, TestCluster};

use stage::Stage;
use table::{Row, print};

/// A fault, by name.
type Fault = (&'static str, fn(&mut Stage<'_>) -> Row);

const FAULTS: &[Fault] = &[
    ("a replica is killed", replicas::one_is_killed),
    ("replicas are replaced in turn", replicas::all_are_replaced),
    ("all replicas are gone", replicas::all_are_gone),
    ("the API server is away", api_server::is_away),
    ("watches are too old", api_server::has_forgotten),
    ("certificates change", certificates::change),
    ("the Secret is deleted", certificates::are_deleted),
    ("webhook configurations are deleted", webhooks::are_deleted),
    ("webhook configurations are edited", webhooks::are_edited),
    ("a rule does not compile", rules::one_does_not_compile),
    ("a rule does not end", rules::one_does_not_end),
    ("a rule panics", panics::one_panics),
    ("the API server is slow", network::is_slow),
    ("a replica is partitioned", network::one_is_partitioned),
    ("connections are half open", network::is_half_open),
    ("packets are lost", network::loses_packets),
    ("names are not resolved", names::are_not_resolved),
    ("a replica is stopped", resources::one_is_stopped),
    ("a replica is starved", resources::one_is_starved),
    ("memory is short", resources::memory_is_short),
    ("the clock jumps", resources::the_clock_jumps),
    ("the disk is full", resources::the_disk_is_full),
];

fn main() -> ExitCode {
    let wish = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_meant = |name: &str| wish.as_ref().is_none_or(|wish| name.contains(wish.as_str()));
    // So that an old version is soon gone.
    let cluster = TestCluster::builder()
        .flag(ControlPlaneComponent::ApiServer, "--etcd-compaction-interval=2s")
        .start();
    let Some(cluster) = cluster else { return ExitCode::SUCCESS };
    let mut stage = Stage::set(&cluster);
    if let Some(length) = soak::wanted() {
        let row = Row { name: "soak", ..soak::soak(&mut stage, length) };
        return if print(&[row]) { ExitCode::SUCCESS } else { stage.keep_logs() };
    }
    let mut rows = Vec::new();
    for (name, fault) in FAULTS.iter().filter(|(name, _)| is_meant(name)) {
        eprintln!("{name} …");
        let row = Row { name, ..fault(&mut stage) };
        eprintln!("{}", row.line());
        rows.push(row);
        stage.recover();
    }
    if print(&rows) { ExitCode::SUCCESS } else { stage.keep_logs() }
}
