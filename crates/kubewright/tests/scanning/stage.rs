//! A cluster with services, and scans as processes.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Config, GroupVersionResource, PatchType};
use kubewright_controlplane::{CommandOutput, TestCluster};
use kubewright_report::cluster_report::ReportApi;
use kubewright_serve::Snapshot;
use kubewright_value::{Map, Source, Value, json, yaml};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// A policy that wants a label `team` on services.
pub(crate) const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: require-team}, spec: \
     {background: true, rules: [{name: rule, match: {any: [{resources: {kinds: [Service], namespaces: [shop]}}]}, validate: \
     {message: team is missing, pattern: {metadata: {labels: {team: '?*'}}}}}]}}";

/// How many calls a test makes at a time.
const PARALLEL_CALLS: usize = 16;

/// How long the API server may take for what a test asks of it, on a machine with other work.
const CALL_PATIENCE: Duration = Duration::from_secs(120);

/// Held by the test that runs, where faults last long: what they wait for must not be the other tests.
static RUNNING_TEST: Mutex<()> = Mutex::new(());

pub(crate) struct Stage {
    pub(crate) cluster: TestCluster,
    _alone: Option<MutexGuard<'static, ()>>,
    runtime: Runtime,
    client: Client,
}

impl Stage {
    /// Starts a cluster with the definitions of rules and reports.
    pub(crate) fn start() -> Option<Self> {
        let alone = is_long().then(|| RUNNING_TEST.lock().unwrap_or_else(PoisonError::into_inner));
        let cluster = TestCluster::builder().api_server_only().start()?;
        let snapshot = Snapshot::empty();
        let mut definitions: Vec<&str> =
            snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
        definitions.push(ReportApi::OpenReports.definitions());
        let config = Config::find(Some(&cluster.kubeconfig()), None).expect("a kubeconfig");
        let client = Client::new(config).expect("a client");
        let stage = Self { cluster, _alone: alone, runtime: Runtime::new().expect("a runtime"), client };
        stage.apply(&definitions.join("\n---\n"));
        stage.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
        stage.cluster.wait_until("rules and reports are served", || {
            let policies = stage.cluster.kubectl(&["get", "clusterpolicies"], "").is_success();
            policies && stage.cluster.kubectl(&["get", "reports"], "").is_success()
        });
        Some(stage)
    }

    pub(crate) fn apply(&self, manifests: &str) {
        self.patiently(|| {
            self.cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], manifests)
        });
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) {
        self.patiently(|| self.cluster.kubectl(arguments, ""));
    }

    /// Makes a call until it succeeds, and returns what it says: an API server that has just come back, or has no time, may
    /// refuse it.
    #[track_caller]
    fn patiently(&self, call: impl Fn() -> CommandOutput) -> String {
        let begun = Instant::now();
        loop {
            let output = call();
            if output.is_success() || begun.elapsed() > CALL_PATIENCE {
                return output.success();
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Creates or changes services.
    pub(crate) fn services(&self, numbers: Range<u32>, labels: &str) {
        let service = |number: u32| {
            format!(
                "{{apiVersion: v1, kind: Service, metadata: {{name: web-{number}, namespace: shop, labels: {labels}}}, \
                 spec: {{clusterIP: None, ports: [{{port: 80}}]}}}}"
            )
        };
        let services: Vec<String> = numbers.map(service).collect();
        self.apply(&services.join("\n---\n"));
    }

    pub(crate) fn delete_services(&self, numbers: Range<u32>) {
        let names: Vec<String> = numbers.map(|number| format!("web-{number}")).collect();
        let mut arguments = vec!["delete", "service", "-n", "shop", "--ignore-not-found"];
        arguments.extend(names.iter().map(String::as_str));
        self.kubectl(&arguments);
    }

    pub(crate) fn delete_reports(&self) {
        self.kubectl(&["delete", "reports", "-n", "shop", "--all"]);
    }

    /// Returns all reports, by name.
    pub(crate) fn reports(&self) -> Vec<Value> {
        let listed = self.patiently(|| self.cluster.get("/apis/openreports.io/v1alpha1/reports"));
        let list = json::parse(&listed).expect("JSON");
        list.get("items").and_then(Value::as_array).unwrap_or_default().to_vec()
    }

    /// Asks again and again until `is_so`, for `time`, or longer where faults last longer.
    #[track_caller]
    pub(crate) fn within(&self, what: &str, time: Duration, mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        let time = time * if is_long() { 4 } else { 1 };
        while !is_so() {
            assert!(begun.elapsed() < time, "not within {time:?}: {what}, {} reports", self.reports().len());
            std::thread::sleep(Duration::from_millis(100));
        }
        println!("{what}: {:?}", begun.elapsed());
    }

    /// Creates or changes ConfigMaps of the namespace `shop`.
    pub(crate) fn config_maps(&self, numbers: Range<u32>, labels: &str) {
        let labels = yaml::read(&Source::new("labels", labels)).documents.remove(0).value;
        let apply = |number: u32| {
            let name = format!("map-{number}");
            let metadata = Map::from([
                ("name", name.as_str().into()),
                ("namespace", "shop".into()),
                ("labels", labels.clone()),
            ]);
            let object = Map::from([
                ("apiVersion", "v1".into()),
                ("kind", "ConfigMap".into()),
                ("metadata", metadata.into()),
            ]);
            let (client, path) = (self.client.clone(), config_maps().named("shop", &name));
            async move {
                let apply = PatchType::Apply { manager: "test", force: true };
                client.patch(&path, apply, &object.into()).await.map(drop)
            }
        };
        self.all(numbers.map(apply));
    }

    pub(crate) fn delete_config_maps(&self, numbers: Range<u32>) {
        let delete = |number: u32| {
            let (client, path) = (self.client.clone(), config_maps().named("shop", &format!("map-{number}")));
            async move { client.raw("DELETE", &path, None).await.map(drop) }
        };
        self.all(numbers.map(delete));
    }

    /// Makes calls, several at a time.
    fn all<F>(&self, calls: impl Iterator<Item = F>)
    where
        F: Future<Output = Result<(), kubewright_cluster::Error>> + Send + 'static,
    {
        self.runtime.block_on(async {
            let mut under_way: JoinSet<Result<(), kubewright_cluster::Error>> = JoinSet::new();
            for call in calls {
                if under_way.len() >= PARALLEL_CALLS {
                    under_way.join_next().await.expect("a call").expect("no panic").expect("an answer");
                }
                under_way.spawn(call);
            }
            under_way.join_all().await.into_iter().for_each(|end| end.expect("an answer"));
        });
    }

    /// Returns the names of the ConfigMaps of the namespace `shop` without a label `team`, sorted.
    pub(crate) fn config_maps_without_team(&self) -> Vec<String> {
        let listed = self.runtime.block_on(self.client.list(&config_maps().all())).expect("a list");
        let is_meant = |map: &&Value| {
            map.str_at(&["metadata", "namespace"]) == "shop"
                && map.str_at(&["metadata", "name"]).starts_with("map-")
                && map.at(&["metadata", "labels", "team"]).is_none()
        };
        let meant = listed.items.iter().filter(is_meant);
        sorted(meant.map(|map| map.str_at(&["metadata", "name"]).to_owned()))
    }

    /// Returns the names of the objects that have reports, sorted.
    pub(crate) fn reported_names(&self) -> Vec<String> {
        sorted(self.reports().iter().map(|report| report.str_at(&["scope", "name"]).to_owned()))
    }

    /// Deletes all reports and returns those that one pass of a new process writes.
    pub(crate) fn fresh_reports(&self) -> Vec<Value> {
        self.delete_reports();
        let flags =
            ["scan", "--write-reports", "--writes-per-second", "500", "--fail-on", "never", "-o", "jsonl"];
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(flags)
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.reports()
    }

    /// Returns the results of the rows of a policy.
    pub(crate) fn rows_of_policy(&self, policy: &str) -> Vec<String> {
        let reports = self.reports();
        let rows = reports
            .iter()
            .flat_map(|report| report.get("results").and_then(Value::as_array).unwrap_or_default());
        rows.filter(|row| row.str_at(&["policy"]) == policy)
            .map(|row| row.str_at(&["result"]).to_owned())
            .collect()
    }

    /// Starts a scan.
    pub(crate) fn serve(&self, name: &str, flags: &[&str]) -> ScanProcess {
        self.serve_at(&self.cluster.kubeconfig(), name, flags)
    }

    /// Starts a scan with another kubeconfig.
    pub(crate) fn serve_at(&self, kubeconfig: &Path, name: &str, flags: &[&str]) -> ScanProcess {
        let address = self.cluster.reserve_address();
        let log = self.cluster.folder().join(format!("scan-{name}.log"));
        let child = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args([
                "scan",
                "--serve",
                "--lease-namespace",
                "default",
                "--health-address",
                &address.to_string(),
            ])
            .args(flags)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stderr(Stdio::from(File::create(&log).expect("a log")))
            .spawn()
            .expect("it starts");
        ScanProcess { child, address: address.to_string(), log }
    }
}

/// A scan as a process, which is killed when this is dropped.
pub(crate) struct ScanProcess {
    child: Child,
    address: String,
    log: PathBuf,
}

impl ScanProcess {
    pub(crate) fn is_ready(&self) -> bool {
        self.get("/readyz").is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    pub(crate) fn metric(&self, series: &str) -> u64 {
        let answer = self.get("/metrics").expect("metrics");
        let line = answer.lines().find_map(|line| line.strip_prefix(series)).expect("a series");
        line.trim().parse().expect("a number")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status().expect("a signal");
        assert!(sent.success());
    }

    /// Kills it as it is.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn terminate(mut self) {
        self.signal("TERM");
        let ended = self.child.wait().expect("an end");
        assert!(ended.success(), "{ended}: {}", self.log());
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

impl Drop for ScanProcess {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// Returns the seconds that a fault lasts, by default and in `make test-faults`.
pub(crate) fn lasting(short: u64, long: u64) -> Duration {
    Duration::from_secs(if is_long() { long } else { short })
}

fn is_long() -> bool {
    std::env::var("KUBEWRIGHT_FAULTS").is_ok_and(|length| length == "long")
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn config_maps() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "configmaps")
}

/// Returns what reports say, without what the API server adds and without the times of rows, one line each.
pub(crate) fn without_times(reports: &[Value]) -> Vec<String> {
    let said = |report: &Value| {
        let mut report = report.clone();
        let map = report.as_object_mut().expect("a report");
        let metadata = map.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
        for key in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(key);
        }
        for row in map.get_mut("results").and_then(Value::as_array_mut).expect("rows") {
            row.as_object_mut().expect("a row").remove("timestamp");
        }
        json::to_string(&report)
    };
    let mut all: Vec<String> = reports.iter().map(said).collect();
    all.sort();
    all
}
