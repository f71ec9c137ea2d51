//! `kubewright migrate` on a real API server: what is proven there, and `--apply` step by step.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![cfg(feature = "serve")]

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
    fn start() -> Option<Self> {
        let cluster = TestCluster::builder().api_server_only().start()?;
        let snapshot = Snapshot::empty();
        let definitions: Vec<&str> =
            snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
        let stage = Self { cluster };
        stage.apply(&definitions.join("\n---\n"));
        stage.apply(include_str!("migrate/objects.yaml"));
        let policies = include_str!("migrate/policies.yaml");
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

    fn migrate(&self, arguments: &[&str]) -> MigrationRun {
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("migrate")
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig())
            .stdin(Stdio::null())
            .output()
            .expect("the binary starts");
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
        let status = r#"{"status": {"conditionStatus": {"ready": true}}}"#;
        let patch =
            ["patch", "validatingpolicies", name, "--subresource=status", "--type=merge", "-p", status];
        self.cluster.kubectl(&patch, "").expect_success();
    }
}

#[test]
fn policies_move_one_safe_step_after_the_other() {
    let Some(stage) = MigrationStage::start() else { return };
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
