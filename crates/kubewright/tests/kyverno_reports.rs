//! Our reports beside those of Kyverno's reports controller, about the same objects and the same policy: neither
//! touches the other's, while both write them and while Kyverno cleans up.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::{
    ClusterError, ClusterProgram, ControlPlaneComponent, KyvernoReportsController, TestCluster,
    announce_skipped, install_kyverno_definitions,
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
    /// The flag of `kubewright scan`.
    reports: &'static str,
    /// The resource with its group.
    resource: &'static str,
}

impl SharedNamespace<'_> {
    fn list(&self, resource: &str) -> Vec<Value> {
        let text = self.cluster.kubectl(&["get", resource, "-n", "shop", "-o", "json"], "").success();
        let list = json::parse(&text).expect("JSON");
        list.get("items").and_then(Value::as_array).expect("items").to_vec()
    }

    /// The stored reports of one of the two, by name, each as its whole text with its resourceVersion.
    fn reports_of(&self, manager: &str) -> BTreeMap<String, String> {
        let label = ["metadata", "labels", "app.kubernetes.io/managed-by"];
        let reports = self.list(self.resource).into_iter().filter(|report| report.str_at(&label) == manager);
        let named =
            |report: Value| (report.str_at(&["metadata", "name"]).to_owned(), json::to_string(&report));
        reports.map(named).collect()
    }

    /// Runs `kubewright scan --write-reports`. Every ConfigMap breaks the policy, so it ends with 1.
    #[track_caller]
    fn scan(&self, flags: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["scan", "-n", "shop", "--write-reports", "--reports", self.reports])
            .args(flags)
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
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

fn check_beside_kyverno(reports: &'static str, resource: &'static str) {
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
    cluster.kubectl(&["apply", "-f", "-"], POLICY).expect_success();
    let shop = SharedNamespace { cluster: &cluster, reports, resource };
    shop.scan(&[]);
    let ours = shop.reports_of("kubewright");
    assert_eq!(ours.len(), 3, "{ours:?}");

    let is_openreports = reports == "openreports";
    let controller = KyvernoReportsController { is_openreports, scan_interval: Duration::from_secs(3_600) };
    let Some(mut kyverno) = controller.start(&cluster) else { return };
    shop.await_kyverno(&mut kyverno, 3);
    assert_eq!(shop.reports_of("kubewright"), ours, "Kyverno's scan changed our reports");

    // A rule that only we have replaces our reports.
    let theirs = shop.reports_of("kyverno");
    let rules = cluster.folder().join("owner-label.yaml");
    fs::write(&rules, POLICY.replace("team", "owner")).expect("a file");
    let own_rule = ["--rules", rules.to_str().expect("a path")];
    shop.scan(&own_rule);
    let ours = shop.reports_of("kubewright");
    assert!(ours.len() == 3 && ours.values().all(|report| report.contains("owner-label")), "{ours:?}");
    assert_eq!(shop.reports_of("kyverno"), theirs, "our writes changed Kyverno's reports");

    cluster.kubectl(&["delete", "clusterpolicy", "team-label"], "").expect_success();
    shop.await_kyverno(&mut kyverno, 0);
    assert_eq!(shop.reports_of("kubewright"), ours, "Kyverno's cleaning changed our reports");
    shop.scan(&own_rule);
    let ours = shop.reports_of("kubewright");
    assert!(ours.len() == 3 && ours.values().all(|report| !report.contains("team-label")), "{ours:?}");
    shop.scan(&own_rule);
    assert_eq!(shop.reports_of("kubewright"), ours, "a scan without a change wrote reports");
}

#[test]
fn policy_reports_of_both_stay_apart() {
    check_beside_kyverno("wgpolicy", "policyreports.wgpolicyk8s.io");
}

#[test]
fn open_reports_of_both_stay_apart() {
    check_beside_kyverno("openreports", "reports.openreports.io");
}
