//! `kubewright scan` on a real API server: rules of every language, shards, reports, and what may not be read.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![cfg(feature = "serve")]

#[path = "scan/stage.rs"]
mod stage;

use std::collections::BTreeSet;

use stage::{Outcome, Stage, outcomes_of};

/// What the rules of rules.yaml say about the objects of objects.yaml, apart from what passes.
const WANT: [&str; 11] = [
    "configmaps/shop/tiers modrule/shop/mark patch",
    "deployments.apps/shop/web kyverno/require-team/autogen-team fail",
    "deployments.apps/shop/web vap/no-host-network/no-host-network fail",
    "deployments.apps/shop/web vpol/production-replicas fail",
    "pods/bank/by-hand kyverno/require-team/team fail",
    "selects-nothing default/kubernetes",
    "selects-nothing shop-test/web",
    "selects-nothing shop/nobody",
    "selects-nothing shop/web",
    "services/shop/nobody kyverno/allowed-tiers/tier fail",
    "services/shop/nobody kyverno/shop/few-services/at-most-one fail",
];

#[test]
fn rules_of_every_language_judge_the_objects_of_the_cluster() {
    let Some(stage) = Stage::start() else { return };
    every_language_is_heard(&stage);
    answers_are_those_of_apply(&stage);
    shards_together_are_the_whole(&stage);
    what_may_not_be_listed_is_named(&stage);
    a_scan_that_is_stopped_says_so(&stage);
    reports_are_written_once(&stage);
    a_killed_scan_leaves_nothing_wrong(&stage);
    an_exclusion_removes_the_row(&stage);
}

fn every_language_is_heard(stage: &Stage) {
    let scan = stage.scan(&["-o", "jsonl"]);
    assert_eq!(scan.code, Some(1), "{scan}");
    let mut found: Vec<String> =
        outcomes_of(&scan.stdout).iter().filter(|one| one.is_remarkable()).map(ToString::to_string).collect();
    found.sort();
    let mut want: Vec<String> = WANT.map(str::to_owned).to_vec();
    want.push("services/shop/web kyverno/shop/few-services/at-most-one fail".to_owned());
    want.push("services/shop/web modrule/kubemod-system/reject-node-ports fail".to_owned());
    want.sort();
    assert_eq!(found, want);
    assert!(!scan.stdout.contains("at-admission-only"), "{}", scan.stdout);
    assert!(!scan.stdout.contains("secrets/"), "{}", scan.stdout);
    // Only what is asked for: a kind, a namespace, a severity.
    let one = stage.scan(&["--kinds", "pod", "-n", "bank", "-o", "jsonl"]);
    assert_eq!(one.stdout.lines().count(), 1, "{one}");
    assert_eq!(stage.scan(&["--kinds", "Pod", "--fail-on", "high"]).code, Some(0));
    assert_eq!(stage.scan(&["--kinds", "Pod", "--fail-on", "low"]).code, Some(1));
    assert_eq!(stage.scan(&["--fail-on", "never"]).code, Some(0));
    // Every format has the findings beside the rows of objects.
    for format in ["table", "json", "junit", "sarif", "github", "markdown", "policyreport", "openreports"] {
        let text = stage.scan(&["-o", format]).stdout;
        assert!(text.contains("selects-nothing") && text.contains("production-replicas"), "{format}: {text}");
    }
}

/// The same objects in files, judged by `apply` as in the background, and by `detect`.
fn answers_are_those_of_apply(stage: &Stage) {
    let scanned: BTreeSet<Outcome> =
        outcomes_of(&stage.scan(&["-o", "jsonl"]).stdout).into_iter().filter(Outcome::is_of_rule).collect();
    let applied = stage.applied_outcomes();
    let differences: Vec<&Outcome> = scanned.symmetric_difference(&applied).collect();
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(scanned.len() >= 15, "{scanned:?}");
}

fn shards_together_are_the_whole(stage: &Stage) {
    let whole = stage.scan(&["-o", "jsonl"]).stdout;
    let mut lines: Vec<String> = Vec::new();
    for index in 0..3 {
        let part = stage.scan_as_job(index, &["--shard", "auto/3", "-o", "jsonl"]);
        lines.extend(part.stdout.lines().map(str::to_owned));
    }
    // What `LC_ALL=C sort` does.
    lines.sort_unstable();
    assert_eq!(lines.join("\n") + "\n", whole);
}

fn what_may_not_be_listed_is_named(stage: &Stage) {
    // The role of the example lacks nothing.
    let kubeconfig = stage.example_account();
    let scan = stage.scan_with(&kubeconfig, &["-o", "jsonl"]);
    assert_eq!(scan.code, Some(1), "{scan}");
    assert_eq!(scan.stdout, stage.scan(&["-o", "jsonl"]).stdout);
    // Without Services the others are judged, and the scan is not clean.
    stage
        .cluster
        .kubectl(&["patch", "clusterrole", "kubewright-scan", "--type=json", "-p", NO_SERVICES], "")
        .expect_success();
    let mut scan = stage.scan_with(&kubeconfig, &["-o", "jsonl"]);
    stage.cluster.wait_until("Services are forbidden", || {
        scan = stage.scan_with(&kubeconfig, &["--fail-on", "never", "-o", "jsonl"]);
        scan.code == Some(2)
    });
    assert_eq!(
        scan.stderr.matches("error[KW-S001]: objects of `services` could not be read").count(),
        1,
        "{scan}"
    );
    assert!(scan.stderr.contains("= help: allow `list` on `services`"), "{scan}");
    assert!(
        scan.stdout.contains("deployments.apps/shop/web") && !scan.stdout.contains("services/"),
        "{scan}"
    );
    stage.apply_example_role();
}

/// Takes Services out of the rule about core kinds.
const NO_SERVICES: &str =
    r#"[{"op":"replace","path":"/rules/5/resources","value":["namespaces","configmaps","pods"]}]"#;

fn a_scan_that_is_stopped_says_so(stage: &Stage) {
    let scan = stage.scan_and_stop(&["-o", "json", "--write-reports"]);
    assert_eq!(scan.code, Some(2), "{scan}");
    assert!(scan.stderr.contains("error[KW-S003]: the scan was stopped"), "{scan}");
    assert!(kubewright_value::json::parse(&scan.stdout).is_ok(), "{scan}");
    assert_eq!(stage.reports(), Vec::<String>::new(), "a part of a scan writes no reports");
}

fn reports_are_written_once(stage: &Stage) {
    let first = stage.scan(&["--write-reports", "-o", "jsonl"]);
    assert!(first.stderr.contains("reports in the cluster written or deleted"), "{first}");
    let reports = stage.reports();
    assert!(reports.len() >= 5, "{reports:?}");
    let versions = stage.report_versions();
    let again = stage.scan(&["--write-reports", "-o", "jsonl"]);
    assert!(again.stderr.contains("0 reports in the cluster written or deleted"), "{again}");
    for index in 0..3 {
        let shard = stage.scan_as_job(index, &["--shard", "auto/3", "--write-reports", "-o", "jsonl"]);
        assert!(shard.stderr.contains("0 reports in the cluster written or deleted"), "{shard}");
    }
    assert_eq!(stage.report_versions(), versions);
    // The same reports by three processes as by one.
    stage.delete_reports();
    for index in 0..3 {
        stage.scan_as_job(index, &["--shard", "auto/3", "--write-reports", "-o", "jsonl"]);
    }
    assert_eq!(stage.reports(), reports);
}

fn a_killed_scan_leaves_nothing_wrong(stage: &Stage) {
    let want = stage.reports();
    stage.delete_reports();
    let flags = ["--write-reports", "--writes-per-second", "1", "-o", "jsonl"];
    let mut child = stage.spawn(&flags);
    stage.cluster.wait_until("a report is written", || !stage.reports().is_empty());
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let left = stage.reports().len();
    assert!(left < want.len(), "killed too late: {left} of {}", want.len());
    stage.scan(&["--write-reports", "-o", "jsonl"]);
    assert_eq!(stage.reports(), want);
}

fn an_exclusion_removes_the_row(stage: &Stage) {
    let before = stage.reports().join("\n");
    assert!(before.contains("require-team"), "{before}");
    stage.cluster.kubectl(&["delete", "clusterpolicy", "require-team"], "").expect_success();
    stage.scan(&["--write-reports", "-o", "jsonl"]);
    let after = stage.reports().join("\n");
    assert!(!after.contains("require-team") && after.contains("production-replicas"), "{after}");
    // One shard deletes nothing of another.
    stage.cluster.kubectl(&["delete", "pattern", "selects-nothing"], "").expect_success();
    for index in 0..3 {
        stage.scan_as_job(index, &["--shard", "auto/3", "--write-reports", "-o", "jsonl"]);
    }
    let after = stage.reports().join("\n");
    assert!(!after.contains("selects-nothing") && after.contains("production-replicas"), "{after}");
}
