//! ModRules through the binary: what lint says of them, what a program's way is chosen with, and keys that templates make.

use std::collections::BTreeSet;

use super::{check, kubewright};

#[test]
fn hints_are_shown_by_lint_alone_and_never_denied() {
    check("modrule-hints", "lint modrule/hints.yaml --deny-warnings");
    check("modrule-hints-json", "lint modrule/hints.yaml --deny-warnings -o json");
    check("modrule-hints-github", "lint modrule/hints.yaml -o github");
    check("modrule-hints-apply", "apply modrule/hints.yaml -r modrule/objects.yaml");
}

#[test]
fn a_rule_without_a_value_is_refused() {
    check("modrule-no-value", "lint modrule/no-value.yaml");
    check("modrule-no-value-apply", "apply modrule/no-value.yaml -r modrule/objects.yaml");
}

#[test]
fn rules_are_read_as_the_program_reads_them_where_that_is_asked_for() {
    check("modrule-compat", "apply modrule/compat.yaml -r modrule/objects.yaml --diff --compat kubemod");
    check("modrule-no-compat", "apply modrule/compat.yaml -r modrule/objects.yaml --diff");
    check("modrule-compat-lint", "lint modrule/compat.yaml --compat kubemod");
    check("modrule-compat-unknown", "lint modrule/compat.yaml --compat kubemode");
}

#[test]
fn a_cluster_namespace_of_ones_own_is_ignored_too() {
    check(
        "modrule-cluster-namespace",
        "apply modrule/cluster.yaml -r modrule/platform.yaml --cluster-rules-namespace platform",
    );
}

#[test]
fn keys_are_refused_unless_allowed_and_the_same_in_every_run() {
    check("modrule-keys-refused", "apply modrule/keys.yaml -r modrule/objects.yaml");
    let allowed = "apply modrule/keys.yaml -r modrule/objects.yaml -o json --allow-function genPrivateKey \
                   --allow-function genSelfSignedCertWithKey --allow-function uuidv4";
    let run = || String::from_utf8_lossy(&kubewright(allowed, "").stdout).into_owned();
    let first = run();
    assert_eq!(first, run());
    // How often something of this length is there, and how many different ones.
    let count = |start: &str, length: usize| {
        let all = first.match_indices(start).filter_map(|(at, _)| first.get(at..at + length));
        (all.clone().count(), all.collect::<BTreeSet<_>>().len())
    };
    // Two objects, each with two operations that show the same key, in the patch of the object and in that of the rule.
    assert_eq!(count("BEGIN EC PRIVATE KEY", 120), (8, 2), "{first}");
    assert_eq!(count("uuid-", 41), (4, 2), "{first}");
}
