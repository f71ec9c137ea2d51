//! Reports beside those of Kyverno's reports controller, in one namespace of a real API server: neither touches the
//! other's, while both write them and while both clean them up.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::{
    ClusterError, ClusterProgram, ControlPlaneComponent, KyvernoReportsController, TestCluster,
    announce_skipped, install_kyverno_definitions,
};
use kubewright_engine::RuleStatus;
use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::{
    ObjectResults, ReportApi, ReportChange, ReportObject, ReportResult, ReportScope, ReportSource,
    StatusFilter, StoredReport, report_changes, report_objects,
};
use kubewright_value::{Value, json};

/// How long Kyverno may take: it scans 30 s after a change and merges 10 s after that.
const KYVERNO_TIMEOUT: Duration = Duration::from_secs(240);

const POLICY: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team-label}
spec:
  background: true
  rules:
    - name: team
      match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
      exclude: {any: [{resources: {names: [kube-root-ca.crt]}}]}
      validate:
        failureAction: Audit
        message: a team is required
        pattern: {metadata: {labels: {team: '?*'}}}
";

/// A namespace with ConfigMaps on which Kyverno and we report.
struct SharedNamespace<'c> {
    cluster: &'c TestCluster,
    api: ReportApi,
}

impl SharedNamespace<'_> {
    fn list(&self, resource: &str) -> Vec<Value> {
        let text = self.cluster.kubectl(&["get", resource, "-n", "shop", "-o", "json"], "").success();
        let list = json::parse(&text).expect("JSON");
        list.get("items").and_then(Value::as_array).expect("items").to_vec()
    }

    fn reports(&self) -> Vec<Value> {
        self.list(&format!("{}.{}", self.api.resource(true), self.api.group()))
    }

    /// The stored reports of one of the two, by name, each as its whole text.
    fn reports_of(&self, manager: &str) -> BTreeMap<String, String> {
        let label = ["metadata", "labels", "app.kubernetes.io/managed-by"];
        let reports = self.reports().into_iter().filter(|report| report.str_at(&label) == manager);
        reports
            .map(|report| (report.str_at(&["metadata", "name"]).to_owned(), json::to_string(&report)))
            .collect()
    }

    /// What we want to be stored about the ConfigMaps.
    fn wanted(&self, message: &str) -> Vec<ReportObject> {
        let config_maps = self.list("configmaps").into_iter();
        let ours = config_maps.filter(|object| object.str_at(&["metadata", "name"]) != "kube-root-ca.crt");
        ours.flat_map(|object| report_objects(self.api, &results(&object, message))).collect()
    }

    /// Writes `wanted` as the scanner does, and returns how many writes that took.
    fn write(&self, wanted: &[ReportObject]) -> usize {
        let stored: Vec<StoredReport> =
            self.reports().iter().map(|report| StoredReport::read(self.api, report)).collect();
        let changes = report_changes(wanted, &stored);
        for change in &changes {
            let (arguments, manifest) = match change {
                ReportChange::Create(wanted) => (vec!["create", "-f", "-"], json::to_string(&wanted.value)),
                ReportChange::Replace { wanted, .. } => {
                    (vec!["replace", "-f", "-"], json::to_string(&wanted.value))
                }
                ReportChange::Delete(stored) => {
                    let resource =
                        format!("{}.{}/{}", self.api.resource(true), self.api.group(), stored.name);
                    self.cluster.kubectl(&["delete", "-n", "shop", &resource], "").expect_success();
                    continue;
                }
            };
            self.cluster.kubectl(&arguments, &manifest).expect_success();
        }
        changes.len()
    }

    /// Waits until Kyverno has `count` reports and no others to merge.
    #[track_caller]
    fn await_kyverno(&self, kyverno: &mut ClusterProgram<'_>, count: usize) {
        let start = Instant::now();
        while self.reports_of("kyverno").len() != count || !self.list("ephemeralreports").is_empty() {
            kyverno.check().expect("it runs");
            let log = kyverno.log();
            assert!(start.elapsed() < KYVERNO_TIMEOUT, "{:?}\n{log}", self.reports_of("kyverno").keys());
            thread::sleep(Duration::from_millis(500));
        }
    }
}

/// One failing row about an object.
fn results(object: &Value, message: &str) -> ObjectResults {
    let text = |keys: &[&str]| object.str_at(keys).into();
    let scope = ReportScope {
        api_version: text(&["apiVersion"]),
        kind: text(&["kind"]),
        namespace: text(&["metadata", "namespace"]),
        name: text(&["metadata", "name"]),
        uid: text(&["metadata", "uid"]),
    };
    let row = ReportResult {
        policy: "team-label".into(),
        rule: "team".into(),
        message: message.into(),
        category: "Ownership".into(),
        severity: "medium".into(),
        result: RuleStatus::Fail,
        is_scored: true,
        properties: Vec::new(),
        since: 1_700_000_000,
    };
    let counts = OutcomeCounts { fail: 1, ..OutcomeCounts::default() };
    ObjectResults {
        scope,
        source: ReportSource::Rules,
        counts,
        statuses: StatusFilter::default(),
        results: vec![row],
    }
}

fn check_beside_kyverno(api: ReportApi) {
    let builder = TestCluster::builder().without(ControlPlaneComponent::Scheduler);
    let Some(cluster) = builder.start() else { return };
    match install_kyverno_definitions(&cluster) {
        Err(ClusterError::Unavailable(reason)) => return announce_skipped(&reason),
        other => other.expect("definitions"),
    }
    cluster.create_namespace("shop");
    for name in ["orders", "customers", "invoices"] {
        cluster.kubectl(&["create", "configmap", name, "-n", "shop"], "").expect_success();
    }
    let shop = SharedNamespace { cluster: &cluster, api };
    assert_eq!(shop.write(&shop.wanted("a team is required")), 3);
    let ours = shop.reports_of("kubewright");
    assert_eq!(ours.len(), 3);

    // Kyverno scans the same objects, and later cleans up because there is no policy any more.
    cluster.kubectl(&["apply", "-f", "-"], POLICY).expect_success();
    let is_openreports = api == ReportApi::OpenReports;
    let controller = KyvernoReportsController { is_openreports, scan_interval: Duration::from_secs(3_600) };
    let Some(mut kyverno) = controller.start(&cluster) else { return };
    shop.await_kyverno(&mut kyverno, 3);
    assert_eq!(shop.reports_of("kubewright"), ours, "Kyverno's scan changed our reports");

    // We replace two of ours and delete the third.
    let theirs = shop.reports_of("kyverno");
    let mut wanted = shop.wanted("a team is missing");
    wanted.pop();
    assert_eq!(shop.write(&wanted), 3);
    let ours = shop.reports_of("kubewright");
    assert_eq!(ours.len(), 2);
    assert_eq!(shop.reports_of("kyverno"), theirs, "our writes changed Kyverno's reports");

    cluster.kubectl(&["delete", "clusterpolicy", "team-label"], "").expect_success();
    shop.await_kyverno(&mut kyverno, 0);
    assert_eq!(shop.reports_of("kubewright"), ours, "Kyverno's cleaning changed our reports");
    assert_eq!(shop.write(&wanted), 0, "what is stored is still what is wanted");
}

#[test]
fn policy_reports_of_both_stay_apart() {
    check_beside_kyverno(ReportApi::WgPolicy);
}

#[test]
fn open_reports_of_both_stay_apart() {
    check_beside_kyverno(ReportApi::OpenReports);
}
