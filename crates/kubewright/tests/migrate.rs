//! `kubewright migrate` on a real API server: what is proven there, and `--apply` step by step.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![cfg(feature = "serve")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use kubewright_controlplane::TestCluster;
use kubewright_serve::Snapshot;
use kubewright_value::{Value, json};

/// A cluster with two policies and a few objects.
struct MigrationStage {
    cluster: TestCluster,
}

/// What a run of the command printed.
struct MigrationRun {
    code: i32,
    out: String,
    err: String,
}

impl MigrationStage {
    /// Starts a cluster and fills it; nothing where there can be none.
    fn start(policies: &str) -> Option<Self> {
        let cluster = TestCluster::builder().api_server_only().start()?;
        let snapshot = Snapshot::empty();
        let definitions: Vec<&str> =
            snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
        let stage = Self { cluster };
        stage.apply(&definitions.join("\n---\n"));
        stage.apply(include_str!("migrate/objects.yaml"));
        stage.cluster.wait_until("the policies are accepted", || {
            stage.cluster.kubectl(&["apply", "--server-side", "-f", "-"], policies).is_success()
        });
        Some(stage)
    }

    fn apply(&self, text: &str) {
        self.cluster
            .kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], text)
            .expect_success();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        command.arg("migrate").args(arguments).arg("--kubeconfig").arg(self.cluster.kubeconfig());
        command.stdin(Stdio::null());
        command
    }

    fn migrate(&self, arguments: &[&str]) -> MigrationRun {
        let output = self.command(arguments).output().expect("the binary starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().expect("an exit code");
        MigrationRun { code, out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Returns an object; nothing where there is none.
    fn get(&self, resource: &str, name: &str) -> Option<Value> {
        let text =
            self.cluster.kubectl(&["get", resource, name, "-o", "json", "--ignore-not-found"], "").success();
        (!text.trim().is_empty()).then(|| json::parse(&text).expect("JSON"))
    }

    fn action(&self, name: &str) -> String {
        let policy = self.get("validatingpolicies", name).expect("a policy");
        let phase = policy.str_at(&["metadata", "annotations", "migrate.kubewright.dev/phase"]).to_owned();
        let actions = policy.at(&["spec", "validationActions"]).map(json::to_string).unwrap_or_default();
        format!("{phase} {actions}")
    }

    /// Says, as a controller does, that a policy is evaluated.
    fn mark_ready(&self, name: &str) {
        self.set_status("validatingpolicies", name, r#"{"conditionStatus": {"ready": true}}"#);
    }

    /// Says that a policy is evaluated as it is now, and not as it will be.
    fn mark_current(&self, resource: &str, name: &str) {
        let policy = self.get(resource, name).expect("a policy");
        let generation =
            policy.at(&["metadata", "generation"]).and_then(Value::as_i64).expect("a generation");
        let condition =
            format!(r#"{{"type": "Ready", "status": "True", "observedGeneration": {generation}}}"#);
        self.set_status(
            resource,
            name,
            &format!(r#"{{"conditionStatus": {{"conditions": [{condition}]}}}}"#),
        );
    }

    fn set_status(&self, resource: &str, name: &str, status: &str) {
        let status = format!(r#"{{"status": {status}}}"#);
        let patch = ["patch", resource, name, "--subresource=status", "--type=merge", "-p", &status];
        self.cluster.kubectl(&patch, "").expect_success();
    }

    /// Returns the phase of a successor, and the name of its first condition.
    fn phase(&self, resource: &str, name: &str) -> (String, String) {
        let policy = self.get(resource, name).expect("a policy");
        let phase = policy.str_at(&["metadata", "annotations", "migrate.kubewright.dev/phase"]).to_owned();
        let lists = ["matchConditions", "conditions"].map(|key| policy.at(&["spec", key]));
        let first = lists.into_iter().flatten().find_map(|list| list.as_array()?.first());
        (phase, first.map(|condition| condition.str_at(&["name"]).to_owned()).unwrap_or_default())
    }
}

#[test]
fn policies_move_one_safe_step_after_the_other() {
    let Some(stage) = MigrationStage::start(include_str!("migrate/policies.yaml")) else { return };
    everything_is_compared_on_every_object(&stage);
    a_dry_run_changes_nothing(&stage);
    successors_are_made_without_effect(&stage);
    what_is_not_ready_gets_no_action(&stage);
    a_source_that_changes_starts_over(&stage);
    the_source_goes_after_its_successor_acts(&stage);
    what_was_stopped_in_between_is_finished(&stage);
    policies_of_others_stay(&stage);
}

fn everything_is_compared_on_every_object(stage: &MigrationStage) {
    let run = stage.migrate(&["-o", "json"]);
    assert_eq!(run.code, 1, "{}", run.err);
    let document = json::parse(&run.out).expect("JSON");
    let rows = document.get("rules").and_then(Value::as_array).expect("rules");
    let row = |rule: &str| rows.iter().find(|row| row.str_at(&["rule"]) == rule).expect("a row");
    assert_eq!(row("team").str_at(&["result"]), "migrated");
    assert_eq!(row("team").get("objects").and_then(Value::as_i64), Some(3));
    assert_eq!(row("known-port").str_at(&["result"]), "remains");
    assert_eq!(row("no-node-port").str_at(&["result"]), "migrated");
}

fn a_dry_run_changes_nothing(stage: &MigrationStage) {
    let run = stage.migrate(&["--apply", "--dry-run"]);
    assert!(run.out.contains("would create ValidatingPolicy/require-team: without effect"), "{}", run.out);
    assert!(stage.get("validatingpolicies", "require-team").is_none());
}

fn successors_are_made_without_effect(stage: &MigrationStage) {
    let run = stage.migrate(&["--apply"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("create ValidatingPolicy/ports-no-node-port"), "{}", run.out);
    assert!(run.err.contains("remains ports/known-port: the rule reads a ConfigMap"), "{}", run.err);
    assert_eq!(stage.action("require-team"), r#"audit ["Audit"]"#);
}

fn what_is_not_ready_gets_no_action(stage: &MigrationStage) {
    let run = stage.migrate(&["--apply"]);
    assert!(run.out.contains("wait ValidatingPolicy/require-team: no controller"), "{}", run.out);
    assert_eq!(stage.action("require-team"), r#"audit ["Audit"]"#);
    assert!(stage.get("clusterpolicies", "require-team").is_some());
}

fn a_source_that_changes_starts_over(stage: &MigrationStage) {
    stage.mark_ready("require-team");
    let changed = include_str!("migrate/policies.yaml").replace("the label `team` is missing", "no team");
    stage.apply(&changed);
    let run = stage.migrate(&["--apply"]);
    assert!(run.out.contains("start over ValidatingPolicy/require-team"), "{}", run.out);
    assert_eq!(stage.action("require-team"), r#"audit ["Audit"]"#);
    let stored = stage.get("validatingpolicies", "require-team").map(|policy| json::to_string(&policy));
    assert!(stored.is_some_and(|text| text.contains("no team")));
    assert!(stage.get("clusterpolicies", "require-team").is_some());
}

fn the_source_goes_after_its_successor_acts(stage: &MigrationStage) {
    stage.mark_ready("require-team");
    let run = stage.migrate(&["--apply"]);
    let steps: Vec<&str> = run.out.lines().filter(|line| line.contains("require-team")).collect();
    assert_eq!(
        steps,
        [
            "enforce ValidatingPolicy/require-team: it agrees with its source, and gets its action: Deny",
            "delete ClusterPolicy/require-team: its successors have its action",
            "done ValidatingPolicy/require-team: its source is gone",
        ],
        "{}",
        run.err
    );
    assert_eq!(stage.action("require-team"), r#"done ["Deny"]"#);
    assert!(stage.get("clusterpolicies", "require-team").is_none());
    // Of the other one only the rule that is replaced goes.
    stage.mark_ready("ports-no-node-port");
    let run = stage.migrate(&["--apply"]);
    assert!(run.out.contains("remove ClusterPolicy/ports: rules no-node-port"), "{}", run.out);
    let left = stage.get("clusterpolicies", "ports").expect("the policy");
    let rules = left.at(&["spec", "rules"]).and_then(Value::as_array).expect("rules");
    let names: Vec<&str> = rules.iter().map(|rule| rule.str_at(&["name"])).collect();
    assert_eq!(names, ["known-port"]);
    // Once more changes nothing.
    let run = stage.migrate(&["--apply"]);
    assert_eq!(run.out, "", "{}", run.err);
}

/// A run that was killed between the deletion of the source and the note of it.
fn what_was_stopped_in_between_is_finished(stage: &MigrationStage) {
    let phase = "migrate.kubewright.dev/phase=enforcing";
    let annotate = ["annotate", "--overwrite", "validatingpolicies", "require-team", phase];
    stage.cluster.kubectl(&annotate, "").expect_success();
    let run = stage.migrate(&["--apply"]);
    assert_eq!(run.out, "done ValidatingPolicy/require-team: its source is gone\n", "{}", run.err);
    assert_eq!(stage.action("require-team"), r#"done ["Deny"]"#);
}

fn policies_of_others_stay(stage: &MigrationStage) {
    // The source comes back, and its successor is all that is left of the first one.
    stage.apply(include_str!("migrate/policies.yaml"));
    let run = stage.migrate(&["--apply"]);
    assert!(run.out.contains("skip ValidatingPolicy/require-team: it was migrated before"), "{}", run.out);
    assert_eq!(stage.action("require-team"), r#"done ["Deny"]"#);
    assert!(stage.get("clusterpolicies", "require-team").is_some());
}

/// The condition with which a successor does nothing.
const OFF: &str = "migration-is-not-finished";

#[test]
fn rules_that_change_make_and_delete_objects_move_too() {
    let Some(stage) = MigrationStage::start(include_str!("migrate/changes.yaml")) else { return };
    let run = stage.migrate(&["--apply"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let successors = [
        ("mutatingpolicies", "add-owner", "MutatingPolicy", "ClusterPolicy"),
        ("generatingpolicies", "quota", "GeneratingPolicy", "ClusterPolicy"),
        ("deletingpolicies", "old-settings", "DeletingPolicy", "ClusterCleanupPolicy"),
    ];
    for (resource, name, kind, _) in successors {
        assert!(run.out.contains(&format!("create {kind}/{name}: without effect")), "{}", run.out);
        assert_eq!(stage.phase(resource, name), ("audit".to_owned(), OFF.to_owned()));
    }
    what_is_killed_between_two_writes_is_continued(&stage);
    for (resource, name, kind, source) in successors.into_iter().skip(1) {
        stage.set_status(resource, name, r#"{"conditionStatus": {"ready": true}}"#);
        let run = stage.migrate(&["--apply"]);
        let steps: Vec<&str> = run.out.lines().filter(|line| line.contains(name)).collect();
        assert_eq!(
            steps,
            [
                format!("enforce {kind}/{name}: it agrees with its source, and acts in its place"),
                format!("delete {source}/{name}: its successors have its action"),
                format!("done {kind}/{name}: its source is gone"),
            ],
            "{}",
            run.err
        );
        let (phase, condition) = stage.phase(resource, name);
        assert!(phase == "done" && condition != OFF, "{phase} {condition}");
    }
    assert_eq!(stage.migrate(&["--apply"]).out, "");
}

/// The run waits for a controller, because the successor is ready only as it was before it got its action.
fn what_is_killed_between_two_writes_is_continued(stage: &MigrationStage) {
    stage.mark_current("mutatingpolicies", "add-owner");
    let mut run = stage.command(&["--apply"]).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let lines = BufReader::new(run.stdout.take().expect("a pipe")).lines();
    let first = lines.map_while(Result::ok).find(|line| line.starts_with("enforce"));
    assert_eq!(
        first.as_deref(),
        Some("enforce MutatingPolicy/add-owner: it agrees with its source, and acts in its place")
    );
    stage
        .cluster
        .wait_until("it is written", || stage.phase("mutatingpolicies", "add-owner").0 == "enforcing");
    run.kill().expect("it is killed");
    run.wait().expect("it ends");
    assert!(stage.get("clusterpolicies", "add-owner").is_some(), "both are there");
    assert_ne!(stage.phase("mutatingpolicies", "add-owner").1, OFF);
    let waiting = stage.migrate(&["--apply"]);
    assert!(waiting.out.contains("wait MutatingPolicy/add-owner"), "{}", waiting.out);
    stage.mark_current("mutatingpolicies", "add-owner");
    let run = stage.migrate(&["--apply"]);
    assert!(
        run.out.contains("delete ClusterPolicy/add-owner: its successors have its action"),
        "{}",
        run.out
    );
    assert_eq!(stage.phase("mutatingpolicies", "add-owner").0, "done");
    assert!(stage.get("clusterpolicies", "add-owner").is_none());
}
