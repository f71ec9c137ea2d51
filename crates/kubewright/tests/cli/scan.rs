//! `scan` without a cluster: arguments, and errors that say what to do. With one: tests/scan.rs.

use super::check;

#[test]
fn help_of_scan_has_examples_and_exit_codes() {
    check("help-scan", "scan --help");
}

#[test]
fn scan_without_a_cluster_says_how_to_name_one() {
    check("scan-no-kubeconfig", "scan --kubeconfig missing.yaml");
}

#[test]
fn scan_refuses_arguments_that_cannot_be() {
    check("scan-shard-beyond", "scan --shard 3/3");
    check("scan-shard-without-job", "scan --shard auto/3");
    check("scan-format", "scan -o jsonlines");
    check("scan-severity", "scan --fail-on hihg");
    check("scan-results", "scan --report-results fail,broken");
    check("scan-interval", "scan --serve --interval 5s");
    check("scan-serve-namespace", "scan --serve --namespace shop");
    check("scan-two-outputs", "scan --kubeconfig missing.yaml -o json -o jsonl");
}
