//! Webhook configurations that are deleted or edited.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::stage::Stage;
use crate::table::Row;

/// They must be as they were so soon.
const REPAIRED: Duration = Duration::from_secs(5);

pub(crate) fn are_deleted(stage: &mut Stage<'_>) -> Row {
    repaired_after(stage, |stage| {
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            stage.cluster.kubectl(&["delete", kind, "kubewright"], "").expect_success();
        }
    })
}

/// By a condition that is never true, which leaves everything else in place.
pub(crate) fn are_edited(stage: &mut Stage<'_>) -> Row {
    repaired_after(stage, |stage| {
        let never = r#"[{"op":"add","path":"/webhooks/0/matchConditions","value":[{"name":"never","expression":"false"}]}]"#;
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            stage
                .cluster
                .kubectl(&["patch", kind, "kubewright", "--type=json", "-p", never], "")
                .expect_success();
        }
    })
}

/// Until they are repaired the API server calls no webhook, and lets everything through.
fn repaired_after(stage: &mut Stage<'_>, fault: impl FnOnce(&Stage<'_>)) -> Row {
    let (run, done) = stage.load.during(|start| {
        sleep(Duration::from_secs(1));
        fault(stage);
        let done = start.elapsed();
        let deadline = Instant::now() + REPAIRED * 2;
        sleep(Duration::from_secs(1));
        while !(0..4).all(|number| stage.load.is_right(number)) && Instant::now() < deadline {
            sleep(Duration::from_millis(50));
        }
        sleep(Duration::from_secs(1));
        done
    });
    let mut row = Row::of(&run).recovered(&run, done);
    row.expect(row.recovery < REPAIRED, "it took too long");
    row.expect(row.lost == 0, "a request was lost");
    row
}
