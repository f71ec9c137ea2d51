//! A cluster with rules, services and a scan in this process.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Config, GroupVersionResource, PatchType};
use kubewright_controlplane::TestCluster;
use kubewright_report::cluster_report::ReportApi;
use kubewright_scan_controller::lease::{LeaseSettings, request_scan};
use kubewright_scan_controller::{ScanController, ScanControllerSettings, ScanMetrics, ScanView};
use kubewright_serve::{ServeSettings, Snapshot};
use kubewright_value::{Map, Value};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// A policy about services in production.
pub(crate) const NAMESPACE_POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: in-prod}, spec: \
     {background: true, rules: [{name: rule, match: {any: [{resources: {kinds: [Service], namespaceSelector: \
     {matchLabels: {env: prod}}}}]}, validate: {message: in prod, pattern: {metadata: {labels: {team: '?*'}}}}}]}}";

/// A policy about services in `shop` and `lab` that reads a ConfigMap.
pub(crate) const CONFIG_MAP_POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: by-config-map}, \
     spec: {background: true, rules: [{name: rule, match: {any: [{resources: {kinds: [Service], namespaces: [shop, lab]}}]}, \
     context: [{name: teams, configMap: {name: teams, namespace: shop}}], validate: {message: needed, deny: {conditions: \
     {any: [{key: '{{ teams.data.needed }}', operator: Equals, value: 'yes'}]}}}}]}}";

/// An exception of one service from it.
pub(crate) const EXCEPTION: &str = "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: web, namespace: shop}, \
     spec: {match: {any: [{resources: {kinds: [Service], names: [web]}}]}, exceptions: [{policyName: by-config-map, \
     ruleNames: [rule]}]}}";

/// A report with our label, and a name that we give to none.
pub(crate) const FOREIGN_REPORT: &str = "{apiVersion: openreports.io/v1alpha1, kind: Report, metadata: {name: \
     kubewright-of-another-program, namespace: shop, labels: {app.kubernetes.io/managed-by: kubewright}}, source: other, \
     summary: {fail: 1}}";

/// A policy that wants a label `team` on services.
pub(crate) fn policy(name: &str, message: &str, exclude: &str) -> String {
    let exclude = if exclude.is_empty() { String::new() } else { format!("{exclude}, ") };
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{background: true, rules: \
         [{{name: rule, match: {{any: [{{resources: {{kinds: [Service], namespaces: [shop]}}}}]}}, {exclude}validate: \
         {{message: {message}, pattern: {{metadata: {{labels: {{team: '?*'}}}}}}}}}}]}}}}"
    )
}

/// A policy that refuses one service.
pub(crate) fn second_policy(service: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: second}}, spec: {{background: true, rules: \
         [{{name: rule, match: {{any: [{{resources: {{kinds: [Service], names: [{service}]}}}}]}}, validate: {{message: \
         again, deny: {{}}}}}}]}}}}"
    )
}

/// A cluster, and a client of it.
pub(crate) struct Stage {
    pub(crate) cluster: TestCluster,
    runtime: Runtime,
    client: Client,
}

impl Stage {
    /// Starts a cluster with the definitions of rules and reports.
    pub(crate) fn start() -> Option<Self> {
        let cluster = TestCluster::builder().api_server_only().start()?;
        let snapshot = Snapshot::empty();
        let mut definitions: Vec<&str> =
            snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
        definitions.push(ReportApi::OpenReports.definitions());
        let definitions = definitions.join("\n---\n");
        cluster.kubectl(&["apply", "--server-side", "-f", "-"], &definitions).expect_success();
        let runtime = Runtime::new().expect("a runtime");
        let config = Config::find(Some(&cluster.kubeconfig()), None).expect("a kubeconfig");
        let client = Client::new(config).expect("a client");
        let stage = Self { cluster, runtime, client };
        stage.namespace("kubewright-system", "{}");
        stage.cluster.wait_until("the definitions are served", || {
            let policies = GroupVersionResource::new("kyverno.io", "v1", "clusterpolicies").all();
            let reports = GroupVersionResource::new("openreports.io", "v1alpha1", "reports").all();
            [policies, reports].iter().all(|path| stage.runtime.block_on(stage.client.list(path)).is_ok())
        });
        Some(stage)
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) {
        self.cluster.kubectl(arguments, "").expect_success();
    }

    pub(crate) fn apply(&self, manifest: &str) {
        self.cluster
            .kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], manifest)
            .expect_success();
    }

    pub(crate) fn namespace(&self, name: &str, labels: &str) {
        self.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {labels}}}}}"
        ));
    }

    pub(crate) fn service(&self, namespace: &str, name: &str, labels: &str) {
        self.apply(&format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: {name}, namespace: {namespace}, labels: {labels}}}, \
             spec: {{ports: [{{port: 80}}]}}}}"
        ));
    }

    /// Returns the reports that are ours by name, sorted.
    pub(crate) fn reports(&self) -> Vec<Value> {
        let mut reports = self.list("openreports.io", "v1alpha1", "reports");
        reports.retain(|report| report.at(&["scope", "name"]).is_some());
        reports
    }

    /// Returns all objects of a resource; none where it is not served.
    pub(crate) fn list(&self, group: &str, version: &str, resource: &str) -> Vec<Value> {
        let path = GroupVersionResource::new(group, version, resource).all();
        self.runtime.block_on(self.client.list(&path)).map(|list| list.items).unwrap_or_default()
    }

    /// Creates objects of a core resource, 16 at a time, and returns how long that took.
    pub(crate) fn create_all(&self, resource: &'static str, objects: Vec<Value>) -> Duration {
        let begun = Instant::now();
        let waiting = Arc::new(Mutex::new(objects));
        self.runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..16 {
                let (client, waiting) = (self.client.clone(), Arc::clone(&waiting));
                let next = move || waiting.lock().expect("a list").pop();
                tasks.spawn(async move {
                    while let Some(object) = next() {
                        let resource = GroupVersionResource::new("", "v1", resource);
                        let path = match object.str_at(&["metadata", "namespace"]) {
                            "" => resource.all(),
                            namespace => resource.within(namespace),
                        };
                        client.create(&path, &object).await.expect("it is created");
                    }
                });
            }
            while let Some(done) = tasks.join_next().await {
                done.expect("all are created");
            }
        });
        begun.elapsed()
    }

    /// Returns whether objects of a resource can be listed.
    pub(crate) fn can_list(&self, group: &str, version: &str, resource: &str) -> bool {
        let path = GroupVersionResource::new(group, version, resource).all();
        self.runtime.block_on(self.client.list(&path)).is_ok()
    }

    /// Returns an object, if it is there.
    pub(crate) fn get(
        &self,
        group: &str,
        version: &str,
        resource: &str,
        (namespace, name): (&str, &str),
    ) -> Option<Value> {
        let path = GroupVersionResource::new(group, version, resource).named(namespace, name);
        self.runtime.block_on(self.client.get(&path)).ok()
    }

    /// Writes a value of the data of a ConfigMap as another program does that applies it and takes its fields over.
    pub(crate) fn take_over(&self, namespace: &str, name: &str, value: &str) {
        let path = GroupVersionResource::new("", "v1", "configmaps").named(namespace, name);
        let metadata = Map::from([("name", name.into()), ("namespace", namespace.into())]);
        let object = Map::from([
            ("apiVersion", "v1".into()),
            ("kind", "ConfigMap".into()),
            ("metadata", metadata.into()),
            ("data", Map::from([("value", value.into())]).into()),
        ]);
        let patch = PatchType::Apply { manager: "another", force: true };
        self.runtime.block_on(self.client.patch(&path, patch, &object.into())).expect("a write");
    }

    /// Returns a report of the namespace `shop`.
    pub(crate) fn report(&self, name: &str) -> Value {
        let path = GroupVersionResource::new("openreports.io", "v1alpha1", "reports").named("shop", name);
        self.runtime.block_on(self.client.get(&path)).expect("a report")
    }

    /// Returns the rows about the service called `name`, as `result policy message`.
    pub(crate) fn rows(&self, name: &str) -> Vec<String> {
        let reports = self.reports();
        let rows =
            reports.iter().filter(|report| report.str_at(&["scope", "name"]) == name).flat_map(rows_of);
        let text = |row: &Value, key: &str| row.str_at(&[key]).to_owned();
        rows.map(|row| {
            let message = text(row, "message");
            // Kyverno's words around the message of a rule with a pattern.
            let message = message.strip_prefix("validation error: ").unwrap_or(&message);
            let message = message.split(". rule ").next().unwrap_or_default();
            format!("{} {} {message}", text(row, "result"), text(row, "policy"))
        })
        .collect()
    }

    /// Asks the leader for a full pass.
    pub(crate) fn request_scan(&self) {
        let LeaseSettings { namespace, name, .. } = LeaseSettings::default();
        self.runtime.block_on(request_scan(&self.client, &namespace, &name)).expect("a lease");
    }

    /// Waits until `is_so`, and says how long that took.
    #[track_caller]
    pub(crate) fn within(&self, what: &str, time: Duration, mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < time, "not within {time:?}: {what}\n{:#?}", self.reports());
            std::thread::sleep(Duration::from_millis(50));
        }
        println!("{what}: {:?}", begun.elapsed());
    }

    /// Starts a scan.
    pub(crate) fn scan(&self, identity: &str) -> Scan {
        self.scan_with(identity, |_| {})
    }

    /// Starts a scan with the rights of a ServiceAccount of the namespace `kubewright-system`.
    pub(crate) fn scan_as(&self, identity: &str, account: &str) -> Scan {
        self.scan_of(&self.cluster.kubeconfig_of("kubewright-system", account), identity, |_| {})
    }

    /// Starts a scan whose settings `change` changes.
    pub(crate) fn scan_with(&self, identity: &str, change: impl FnOnce(&mut ScanControllerSettings)) -> Scan {
        self.scan_of(&self.cluster.kubeconfig(), identity, change)
    }

    fn scan_of(
        &self,
        kubeconfig: &Path,
        identity: &str,
        change: impl FnOnce(&mut ScanControllerSettings),
    ) -> Scan {
        let port = self.cluster.reserve_address();
        let mut settings = ScanControllerSettings {
            lease: LeaseSettings { identity: identity.to_owned(), ..LeaseSettings::default() },
            health_address: port,
            lookups: ServeSettings { exception_namespaces: vec!["*".to_owned()], ..ServeSettings::default() },
            ..ScanControllerSettings::default()
        };
        change(&mut settings);
        let config = Config::find(Some(kubeconfig), None).expect("a kubeconfig");
        let runtime = Runtime::new().expect("a runtime");
        let client = Client::new(config).expect("a client");
        let controller = runtime.block_on(async { ScanController::start(settings, client).expect("a scan") });
        let (metrics, view) = (controller.metrics(), controller.view());
        let (stop, stopped) = oneshot::channel();
        let (kill, killed) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = controller.run(async { drop(stopped.await) }) => {}
                    _ = killed => {}
                }
            });
            runtime.shutdown_background();
        });
        Scan { address: port.to_string(), metrics, view, stop, kill, thread }
    }
}

/// A scan that runs in this process.
pub(crate) struct Scan {
    address: String,
    metrics: Arc<ScanMetrics>,
    /// What pages about the scan see.
    pub(crate) view: ScanView,
    stop: oneshot::Sender<()>,
    kill: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Scan {
    /// Returns whether its health port says that it is ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.call("GET", "/readyz", "").starts_with("HTTP/1.1 200")
    }

    /// Calls its health port, and returns the whole answer.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> String {
        use std::io::{Read as _, Write as _};
        let Ok(mut stream) = std::net::TcpStream::connect(&self.address) else { return String::new() };
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}");
        let mut answer = String::new();
        let sent = stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
        let _ = sent.and_then(|()| stream.read_to_string(&mut answer));
        answer
    }

    /// Returns whether a series has `value`.
    pub(crate) fn has_metric(&self, series: &str, value: u64) -> bool {
        self.metrics.exposition().contains(&format!("{series} {value}\n"))
    }

    /// Returns the value of a series.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let answer = self.call("GET", "/metrics", "");
        let line = answer.lines().find_map(|line| line.strip_prefix(series)).expect("a series");
        line.trim().parse().expect("a number")
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(self) {
        self.stop.send(()).expect("a scan that runs");
        self.thread.join().expect("a scan that ends");
        drop(self.metrics);
    }

    /// Ends it as it is: the Lease is not given back.
    pub(crate) fn kill(self) {
        self.kill.send(()).expect("a scan that runs");
        self.thread.join().expect("a scan that ends");
    }
}

/// Returns since when the row of `policy` about `service` is so.
pub(crate) fn since(reports: &[Value], service: &str, policy: &str) -> Option<i64> {
    let report = reports.iter().find(|report| report.str_at(&["scope", "name"]) == service)?;
    let row = rows_of(report).iter().find(|row| row.str_at(&["policy"]) == policy)?;
    row.at(&["timestamp", "seconds"])?.as_i64()
}

fn rows_of(report: &Value) -> &[Value] {
    report.get("results").and_then(Value::as_array).unwrap_or_default()
}
