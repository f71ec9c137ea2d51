//! What is deleted by schedule or by age.

use std::time::{Duration, SystemTime};

use crate::objects::{QUIET, SOON};
use crate::stage::Stage;

/// Returns a DeletingPolicy that runs every minute.
fn deleting(name: &str, condition: &str) -> String {
    format!(
        r#"{{apiVersion: policies.kyverno.io/v1, kind: DeletingPolicy, metadata: {{name: {name}}}, spec: {{schedule: "*/1 * * * *",
         matchConstraints: {{resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}}]}},
         conditions: [{{name: wanted, expression: "{condition}"}}], deletionPropagationPolicy: Background}}}}"#
    )
}

fn last_run(stage: &Stage, policy: &str) -> String {
    let stored = stage.get("policies.kyverno.io", "v1", "deletingpolicies", ("", policy)).unwrap_or_default();
    stored.str_at(&["status", "lastExecutionTime"]).to_owned()
}

#[test]
fn schedules_run_in_time_also_after_a_restart() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("schedules", "{}");
    stage.put_config_map("schedules", "old", "{temporary: 'yes'}", "{}");
    stage.put_config_map("schedules", "kept", "{}", "{}");
    let condition = "has(object.metadata.labels) && 'temporary' in object.metadata.labels";
    stage.apply(&deleting("temporary", condition));
    stage.put_config_map("schedules", "outdated", "{cleaned: 'yes'}", "{}");
    stage.put_config_map("schedules", "spared", "{cleaned: 'yes', spared: 'yes'}", "{}");
    stage.apply(
        "{apiVersion: kyverno.io/v2, kind: ClusterCleanupPolicy, metadata: {name: cleaned}, spec: {schedule: '*/1 * * * *', match: \
         {any: [{resources: {kinds: [ConfigMap], selector: {matchLabels: {cleaned: 'yes'}}}}]}, conditions: {all: [{key: \
         \"{{ target.metadata.labels.spared || 'no' }}\", operator: NotEquals, value: 'yes'}]}}}",
    );
    let scan = stage.scan("one");
    stage.within("the policies have run", Duration::from_secs(120), || {
        stage.config_map("schedules", "outdated").is_none()
            && stage.config_map("schedules", "old").is_none()
            && !last_run(&stage, "temporary").is_empty()
    });
    assert!(stage.config_map("schedules", "kept").is_some(), "what the policy does not name stays");
    assert!(stage.config_map("schedules", "spared").is_some(), "what does not meet the conditions stays");
    stage.within("an Event tells", SOON, || {
        stage.event_reasons("temporary").contains(&"PolicyApplied".to_owned())
    });
    assert!(scan.metric("kubewright_background_deletions_total{cause=\"schedule\"}") >= 1);
    scan.stop();

    // The next run is missed.
    stage.put_config_map("schedules", "second", "{temporary: 'yes'}", "{}");
    let first = last_run(&stage, "temporary");
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() % 60;
    std::thread::sleep(Duration::from_secs(62 - seconds));
    let scan = stage.scan("two");
    stage.within("a missed run is made at the start", 2 * SOON, || {
        stage.config_map("schedules", "second").is_none()
    });
    stage.within("its time is stored", SOON, || last_run(&stage, "temporary") > first);
    scan.stop();
}

#[test]
fn labels_give_objects_an_age() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("ages", "{}");
    let scan = stage.scan("one");
    stage.put_config_map("ages", "short", "{cleanup.kyverno.io/ttl: 5s}", "{}");
    stage.put_config_map("ages", "past", "{cleanup.kyverno.io/ttl: '2020-01-01'}", "{}");
    stage.put_config_map("ages", "long", "{cleanup.kyverno.io/ttl: 1h}", "{}");
    stage.put_config_map("ages", "later", "{cleanup.kyverno.io/ttl: '2999-01-01T000000Z'}", "{}");
    stage.put_config_map("ages", "wrong", "{cleanup.kyverno.io/ttl: soon}", "{}");
    stage.within("what has expired is deleted", 3 * SOON, || {
        ["short", "past"].iter().all(|name| stage.config_map("ages", name).is_none())
    });
    std::thread::sleep(QUIET);
    assert!(["long", "later", "wrong"].iter().all(|name| stage.config_map("ages", name).is_some()));
    stage.put_config_map("ages", "long", "{cleanup.kyverno.io/ttl: 1s}", "{}");
    stage.within("a label that changes counts", SOON, || stage.config_map("ages", "long").is_none());
    assert_eq!(scan.metric("kubewright_background_deletions_total{cause=\"ttl\"}"), 3);
    scan.stop();
}
