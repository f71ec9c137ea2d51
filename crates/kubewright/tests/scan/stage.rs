//! A cluster with rules of every language and a shop that violates them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use kubewright_controlplane::{CommandOutput, ControlPlaneComponent, TestCluster};
use kubewright_serve::Snapshot;
use kubewright_value::{Map, Value, json};

/// The kinds that the rules of rules.yaml are about.
const JUDGED_KINDS: &str = "configmaps,daemonsets,deployments,pods,replicasets,services,namespaces";

/// The kinds of the rules.
const RULE_KINDS: &str = "clusterpolicies,policies.kyverno.io,validatingpolicies,validatingadmissionpolicies,\
                          validatingadmissionpolicybindings,modrules";

pub(crate) struct Stage {
    pub(crate) cluster: TestCluster,
}

/// What one rule says about one object, or one finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Outcome {
    object: String,
    rule: String,
    status: String,
    message: String,
    path: String,
}

impl Stage {
    /// Starts a cluster and fills it; nothing where there can be none.
    pub(crate) fn start() -> Option<Self> {
        let cluster = TestCluster::builder().api_server_only().start()?;
        let snapshot = Snapshot::empty();
        let mut definitions: Vec<&str> =
            snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
        definitions.push(include_str!("definitions.yaml"));
        let apply = |text: &str| cluster.kubectl(&["apply", "--server-side", "-f", "-"], text);
        apply(&definitions.join("\n---\n")).expect_success();
        apply(include_str!("objects.yaml")).expect_success();
        cluster.wait_until("the rules are accepted", || apply(include_str!("rules.yaml")).is_success());
        let stage = Self { cluster };
        stage.apply_example_role();
        Some(stage)
    }

    /// Scans as an administrator.
    pub(crate) fn scan(&self, flags: &[&str]) -> CommandOutput {
        self.scan_with(&self.cluster.kubeconfig(), flags)
    }

    /// Scans with another kubeconfig.
    pub(crate) fn scan_with(&self, kubeconfig: &Path, flags: &[&str]) -> CommandOutput {
        finished(self.command(flags).arg("--kubeconfig").arg(kubeconfig))
    }

    /// Scans as the Pod `index` of the Job of the example.
    pub(crate) fn scan_as_job(&self, index: u32, flags: &[&str]) -> CommandOutput {
        let mut command = self.command(flags);
        command.arg("--kubeconfig").arg(self.example_account());
        finished(command.env("JOB_COMPLETION_INDEX", index.to_string()))
    }

    /// Starts a scan.
    pub(crate) fn spawn(&self, flags: &[&str]) -> Child {
        let mut command = self.command(flags);
        command.arg("--kubeconfig").arg(self.cluster.kubeconfig());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    }

    /// Starts a scan while the API server does not answer, asks it to stop, and lets the API server go on.
    pub(crate) fn scan_and_stop(&self, flags: &[&str]) -> CommandOutput {
        self.cluster.pause(ControlPlaneComponent::ApiServer);
        let mut command = self.command(flags);
        command.arg("--kubeconfig").arg(self.cluster.kubeconfig());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        thread::sleep(Duration::from_secs(1));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
        thread::sleep(Duration::from_millis(200));
        self.cluster.resume(ControlPlaneComponent::ApiServer);
        command_output(&child.wait_with_output().expect("it ends"))
    }

    /// Returns a kubeconfig of the account of the example.
    pub(crate) fn example_account(&self) -> PathBuf {
        self.cluster.kubeconfig_of("kubewright-scan", "kubewright-scan")
    }

    /// Applies the role of the example.
    pub(crate) fn apply_example_role(&self) {
        let role = example("rbac.yaml");
        self.cluster.kubectl(&["apply", "-f", "-"], &role).expect_success();
        let job = example("job.yaml");
        self.cluster.kubectl(&["apply", "--dry-run=server", "-f", "-"], &job).expect_success();
    }

    /// Returns what `apply` says about the same objects with the same rules.
    pub(crate) fn applied_outcomes(&self) -> BTreeSet<Outcome> {
        let file = |name: &str, kinds: &str| {
            let dump = self.cluster.kubectl(&["get", kinds, "-A", "-o", "yaml"], "").success();
            let path = self.cluster.folder().join(name);
            fs::write(&path, dump).expect("it is written");
            path.display().to_string()
        };
        let (rules, objects) = (file("rules.yaml", RULE_KINDS), file("objects.yaml", JUDGED_KINDS));
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        command.args(["apply", &rules, "-r", &objects, "--world", &objects, "--background", "-o", "json"]);
        let applied = finished(&mut command);
        let report = json::parse(&applied.stdout).unwrap_or_else(|error| panic!("{error}: {applied}"));
        let rows = report.get("objects").and_then(Value::as_array).expect("rows");
        rows.iter().flat_map(row_outcomes).collect()
    }

    /// Returns all reports, without what is different in every cluster and at every time.
    pub(crate) fn reports(&self) -> Vec<String> {
        let mut reports: Vec<String> = self.report_objects().into_iter().map(comparable).collect();
        reports.sort();
        reports
    }

    /// Returns the names and versions of all reports.
    pub(crate) fn report_versions(&self) -> Vec<String> {
        let version = |report: &Value| {
            format!(
                "{} {}",
                report.str_at(&["metadata", "name"]),
                report.str_at(&["metadata", "resourceVersion"])
            )
        };
        self.report_objects().iter().map(version).collect()
    }

    /// Deletes all reports.
    pub(crate) fn delete_reports(&self) {
        self.cluster.kubectl(&["delete", "reports,clusterreports", "--all", "-A"], "").expect_success();
    }

    fn report_objects(&self) -> Vec<Value> {
        let listed =
            self.cluster.kubectl(&["get", "reports,clusterreports", "-A", "-o", "json"], "").success();
        let listed = json::parse(&listed).expect("a list");
        listed.get("items").and_then(Value::as_array).unwrap_or_default().to_vec()
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        command.arg("scan").args(flags);
        command
    }
}

impl Outcome {
    /// Whether it is about a rule, and not about a pattern.
    pub(crate) fn is_of_rule(&self) -> bool {
        !self.status.is_empty()
    }

    /// Whether something is wrong or would be changed.
    pub(crate) fn is_remarkable(&self) -> bool {
        !["pass", "skip"].contains(&self.status.as_str())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.as_str() {
            "" => write!(f, "{} {}", self.rule, self.object),
            status => write!(f, "{} {} {status}", self.object, self.rule),
        }
    }
}

/// Returns the outcomes and findings of JSON Lines.
pub(crate) fn outcomes_of(lines: &str) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for line in lines.lines() {
        let row = json::parse(line).expect("JSON");
        if row.get("outcomes").is_some() {
            outcomes.extend(row_outcomes(&row));
        } else {
            let leader =
                row.get("resources").and_then(Value::as_array).and_then(<[Value]>::first).expect("a leader");
            outcomes.push(Outcome {
                object: format!("{}/{}", leader.str_at(&["namespace"]), leader.str_at(&["name"])),
                rule: row.str_at(&["pattern"]).to_owned(),
                status: String::new(),
                message: row.str_at(&["message"]).to_owned(),
                path: String::new(),
            });
        }
    }
    outcomes
}

fn row_outcomes(row: &Value) -> Vec<Outcome> {
    let outcomes = row.get("outcomes").and_then(Value::as_array).unwrap_or_default();
    let outcome = |outcome: &Value| {
        let is_patch = outcome.get("patch").and_then(Value::as_array).is_some_and(|patch| !patch.is_empty());
        Outcome {
            object: object_name(row),
            rule: outcome.str_at(&["rule"]).to_owned(),
            status: if is_patch { "patch" } else { outcome.str_at(&["status"]) }.to_owned(),
            message: outcome.str_at(&["message"]).to_owned(),
            path: outcome.str_at(&["path"]).to_owned(),
        }
    };
    outcomes.iter().map(outcome).collect()
}

/// Returns `resource/namespace/name` of a row.
fn object_name(row: &Value) -> String {
    let kind = row.str_at(&["kind"]).to_lowercase();
    let group = row.str_at(&["apiVersion"]).split_once('/').map(|(group, _)| format!(".{group}"));
    let namespace = match row.str_at(&["namespace"]) {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    format!("{kind}s{}/{namespace}{}", group.unwrap_or_default(), row.str_at(&["name"]))
}

fn comparable(mut report: Value) -> String {
    let map = report.as_object_mut().expect("a report");
    if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(key);
        }
    }
    let results = map.get("results").and_then(Value::as_array).unwrap_or_default();
    let without_time = |result: &Value| {
        let mut result: Map = result.as_object().cloned().unwrap_or_default();
        result.remove("timestamp");
        Value::from(result)
    };
    let results = Value::array(results.iter().map(without_time).collect());
    map.insert("results".into(), results);
    json::to_string(&report)
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scan-job").join(name);
    fs::read_to_string(path).expect("an example")
}

fn finished(command: &mut Command) -> CommandOutput {
    command_output(&command.output().expect("it runs"))
}

fn command_output(output: &std::process::Output) -> CommandOutput {
    CommandOutput {
        command: "kubewright".to_owned(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
