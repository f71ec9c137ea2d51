//! The rights of an installation are what its programs use, on a real control plane: no request of theirs is refused, and
//! none of their rights could be taken away without refusing one. The audit log of the API server has the requests.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "rights/audit.rs"]
mod audit;
#[path = "rights/roles.rs"]
mod roles;
#[path = "rights/stage.rs"]
mod stage;

use std::collections::BTreeSet;

use roles::{ApiRequest, Right};
use stage::Stage;

const WEBHOOK: &str = "kubewright";
const SCANNER: &str = "kubewright-scan";

/// The rights without which no request would be refused.
fn unneeded<'r>(rights: &'r BTreeSet<Right>, requests: &BTreeSet<ApiRequest>) -> Vec<&'r Right> {
    let is_needed = |right: &&Right| {
        requests.iter().any(|request| {
            right.allows(request) && !rights.iter().any(|other| other != *right && other.allows(request))
        })
    };
    rights.iter().filter(|right| !is_needed(right)).collect()
}

#[test]
fn every_right_is_used_and_none_is_missing() {
    let Some(stage) = Stage::start() else { return };
    let started = std::time::Instant::now();
    stage.act();
    for account in [WEBHOOK, SCANNER] {
        let rights = stage.rights(account);
        let audited = stage.audit.read(account);
        println!(
            "{account}: {} rights, {} requests, {:?}",
            rights.len(),
            audited.allowed.len(),
            started.elapsed()
        );
        for right in unneeded(&rights, &audited.allowed) {
            println!("  unneeded {right}");
        }
        for request in &audited.refused {
            println!("  refused {request:?}");
        }
    }
}
