//! Certificates that change all the time, and a Secret that is deleted.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::installation::NAMESPACE;
use crate::stage::Stage;
use crate::table::Row;

const SECRET: &str = "kubewright-tls";

/// A Secret that was deleted must be there again so soon.
const BACK: Duration = Duration::from_secs(5);

/// A new certificate every five seconds, and a new authority with it.
pub(crate) fn change(stage: &mut Stage<'_>) -> Row {
    begin_anew(stage, &["--certificate-life", "7500ms", "--certificate-grace", "1s"]);
    let lasting = stage.seconds(17, 120);
    let mut seen = std::collections::BTreeSet::new();
    let (run, ()) = stage.load.during(|start| {
        while start.elapsed() < lasting {
            let fields = ["get", "secret", SECRET, "-n", NAMESPACE, "-o", r"jsonpath={.data.tls\.crt}"];
            seen.insert(stage.cluster.kubectl(&fields, "").stdout);
            sleep(Duration::from_millis(500));
        }
    });
    let mut row = Row::of(&run).recovered(&run, Duration::ZERO);
    row.notes.push(format!("{} certificates in {} s", seen.len(), lasting.as_secs()));
    row.expect(seen.len() >= 3, "the certificate did not change");
    row.expect(row.right == row.requests, "a request went wrong");
    begin_anew(stage, &[]);
    row
}

/// It is made again from memory, so that nothing else changes.
pub(crate) fn are_deleted(stage: &mut Stage<'_>) -> Row {
    let after = stage.seconds(2, 10);
    let (run, (fault, back)) = stage.load.during(|start| {
        sleep(Duration::from_secs(1));
        let fault = start.elapsed();
        stage.cluster.kubectl(&["delete", "secret", SECRET, "-n", NAMESPACE], "").expect_success();
        let deleted = Instant::now();
        stage.await_that("the Secret is there again", |stage| {
            stage.cluster.kubectl(&["get", "secret", SECRET, "-n", NAMESPACE], "").is_success()
        });
        let back = deleted.elapsed();
        sleep(after);
        (fault, back)
    });
    let mut row = Row::of(&run).recovered(&run, fault);
    row.recovery = row.recovery.max(back);
    row.expect(back < BACK, format!("the Secret was away for {back:?}"));
    row.expect(row.right == row.requests, "a request went wrong");
    row
}

/// Lets all replicas start again with `flags` and without certificates.
pub(crate) fn begin_anew(stage: &mut Stage<'_>, flags: &[&str]) {
    stage.installation.kill_all();
    stage.cluster.kubectl(&["delete", "secret", SECRET, "-n", NAMESPACE], "").expect_success();
    stage.installation.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    stage.recover();
}
