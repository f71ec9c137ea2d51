//! An API server that is away, and one that no longer knows what it said before.

use std::thread::sleep;
use std::time::{Duration, Instant};

use kubewright_controlplane::{CommandOutput, ControlPlaneComponent, TestCluster};

use crate::stage::Stage;
use crate::table::Row;

/// A change of a rule must be live so soon after the API server has it.
pub(crate) const LIVE: Duration = Duration::from_secs(5);

/// Stopped, and started again: replicas stay ready meanwhile, requests are judged as soon as the API server answers
/// for them, and changes of rules are seen.
pub(crate) fn is_away(stage: &mut Stage<'_>) -> Row {
    let away = stage.seconds(5, 60);
    let (run, (fault, back, ready)) = stage.load.during(|start| {
        sleep(Duration::from_secs(1));
        let fault = start.elapsed();
        stage.cluster.stop(ControlPlaneComponent::ApiServer);
        sleep(away);
        let ready = stage.installation.ready();
        stage.cluster.start_again(ControlPlaneComponent::ApiServer).expect("the API server");
        let back = start.elapsed();
        sleep(Duration::from_secs(2));
        (fault, back, ready)
    });
    let mut row = Row::of(&run).recovered(&run, back);
    row.notes.push(format!("it was away for {:.1?}", back.saturating_sub(fault)));
    row.expect(ready == 3, format!("{ready} replicas were ready meanwhile"));
    row.expect(row.lost + row.unjudged == 0, "a request was lost");
    let live = change_a_rule(stage, "away");
    row.notes.push(format!("a changed rule was live {live:.2?} after it"));
    row.expect(live < LIVE, "a changed rule was live too late");
    row
}

/// Replicas that slept while rules were changed and all old versions were forgotten: their watches end with 410, and
/// what they know afterwards is what a new list says.
pub(crate) fn has_forgotten(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    make_rule(stage.cluster, "before");
    stage.await_that("the first rule is live", |stage| is_denied_by(stage, "before"));
    let asleep: Vec<u32> = stage.installation.replicas().iter().map(|replica| replica.server.id()).collect();
    asleep.iter().for_each(|id| signal("STOP", *id));
    // Rules cannot be checked: the webhook for that is one of those that fail.
    let hidden = ["delete", "validatingwebhookconfiguration", "--all"];
    stage.cluster.kubectl(&hidden, "").expect_success();
    stage.cluster.kubectl(&["delete", "clusterpolicy", "before"], "").expect_success();
    make_rule(stage.cluster, "after");
    for number in 0..20 {
        let name = format!("churn-{number}");
        stage.cluster.kubectl(&["create", "configmap", &name, "-n", "default"], "").expect_success();
    }
    // Two intervals of compaction.
    sleep(Duration::from_secs(6));
    stage.cluster.kill(ControlPlaneComponent::ApiServer);
    stage.cluster.start_again(ControlPlaneComponent::ApiServer).expect("the API server");
    asleep.iter().for_each(|id| signal("CONT", *id));
    let awake = Instant::now();
    stage.await_that("the new rule is live", |stage| is_denied_by(stage, "after"));
    stage.await_that("the old rule is gone", |stage| !is_denied_by(stage, "before"));
    stage.await_judged();
    row.recovery = awake.elapsed();
    let logs = stage.installation.logs();
    let expired = logs.lines().filter(|line| line.contains("too old resource version")).count();
    row.notes.push(format!("{expired} watches were told that they are too old"));
    row.expect(expired > 0, "no watch was too old, so nothing was tested");
    stage.cluster.kubectl(&["delete", "clusterpolicy", "after"], "").expect_success();
    row
}

/// Makes a rule and returns how long it took until it was live.
pub(crate) fn change_a_rule(stage: &Stage<'_>, name: &str) -> Duration {
    make_rule(stage.cluster, name);
    let made = Instant::now();
    stage.await_that("the rule is live", |stage| is_denied_by(stage, name));
    let live = made.elapsed();
    stage.cluster.kubectl(&["delete", "clusterpolicy", name], "").expect_success();
    live
}

/// Makes a rule that denies ConfigMaps which are called as it is.
pub(crate) fn make_rule(cluster: &TestCluster, name: &str) {
    apply_rule(cluster, name).expect_success();
}

/// Tries to make the rule of [`make_rule`].
pub(crate) fn apply_rule(cluster: &TestCluster, name: &str) -> CommandOutput {
    let rule = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: {name},
          match: {{any: [{{resources: {{kinds: [ConfigMap], names: [{name}]}}}}]}},
          validate: {{failureAction: Enforce, message: no {name}, deny: {{}}}}}}]}}}}"
    );
    cluster.kubectl(&["apply", "-f", "-"], &rule)
}

pub(crate) fn is_denied_by(stage: &Stage<'_>, name: &str) -> bool {
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"faults"}},"data":{{"verdict":"allow"}}}}"#
    );
    let answer = stage.load.post("/api/v1/namespaces/faults/configmaps?dryRun=All", body);
    answer.is_ok_and(|(status, text)| status == 403 && text.contains(&format!("no {name}")))
}

pub(crate) fn signal(name: &str, id: u32) {
    let script = r#"kill "-$1" "$2""#;
    let arguments = ["-c", script, "signal", name, &id.to_string()];
    let _ = std::process::Command::new("sh").args(arguments).status();
}
