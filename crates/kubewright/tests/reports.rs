//! The reports of `apply` and `detect` piped to `kubectl apply`: taken whole, and unchanged by a second run.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use kubewright_controlplane::TestCluster;
use kubewright_report::cluster_report::ReportApi;
use kubewright_value::{Source, Value, json, yaml};

/// What the binary prints for the files of `tests/fixtures`.
fn reports(arguments: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
    let output =
        command.args(arguments.split(' ')).current_dir(fixtures).output().expect("the binary starts");
    String::from_utf8(output.stdout).expect("text")
}

fn documents(stream: &str) -> Vec<Value> {
    let reading = yaml::read(&Source::new("reports", stream));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.into_iter().map(|document| document.value).collect()
}

/// Makes the namespaces in which `reports` are.
fn make_namespaces(cluster: &TestCluster, reports: &[Value]) {
    let names: BTreeSet<&str> = reports
        .iter()
        .map(|report| report.str_at(&["metadata", "namespace"]))
        .filter(|name| !name.is_empty())
        .collect();
    for name in names {
        let manifest = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
        cluster.kubectl(&["apply", "-f", "-"], &manifest).expect_success();
    }
}

/// Checks that the cluster has what `report` says.
#[track_caller]
fn check_stored(cluster: &TestCluster, api: ReportApi, report: &Value) {
    let (namespace, name) = (report.str_at(&["metadata", "namespace"]), report.str_at(&["metadata", "name"]));
    let resource = format!("{}.{}", api.resource(!namespace.is_empty()), api.group());
    let place = if namespace.is_empty() { "default" } else { namespace };
    let stored = cluster.kubectl(&["get", &resource, name, "-n", place, "-o", "json"], "").success();
    let stored = json::parse(&stored).expect("json");
    for key in ["source", "configuration", "scope", "summary", "results"] {
        assert_eq!(stored.get(key), report.get(key), "{key} of {name}");
    }
}

#[test]
fn reports_can_be_piped_to_kubectl() {
    let Some(cluster) = TestCluster::start() else { return };
    for (api, format) in [(ReportApi::OpenReports, "openreports"), (ReportApi::WgPolicy, "policyreport")] {
        cluster.kubectl(&["apply", "-f", "-"], api.definitions()).expect_success();
        for is_namespaced in [true, false] {
            let list = format!("{}.{}", api.resource(is_namespaced), api.group());
            cluster.wait_until("reports can be listed", || {
                cluster.kubectl(&["get", &list, "-A"], "").is_success()
            });
        }
        for command in [
            "apply rules -r manifests",
            "apply kyverno/labels/policy.yaml -r kyverno/labels/resources.yaml",
            "detect detect/patterns -r detect/databases.yaml",
        ] {
            let stream = reports(&format!("{command} -o {format}"));
            let found = documents(&stream);
            assert!(!found.is_empty(), "{command}");
            make_namespaces(&cluster, &found);
            cluster.kubectl(&["apply", "--validate=strict", "-f", "-"], &stream).expect_success();
            found.iter().for_each(|report| check_stored(&cluster, api, report));
            let again = reports(&format!("{command} -o {format}"));
            let again = cluster.kubectl(&["apply", "-f", "-"], &again).success();
            assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
        }
    }
}
