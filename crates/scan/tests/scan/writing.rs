//! What reports say of rules that write because of objects, and of rules that would change them.

use kubewright_report::cluster_report::ReportResult;
use kubewright_scan::{GENERATED_PROPERTY, PATCHED_PROPERTY, ScanRuleOptions, ScanRules, ScanSettings};

use super::cluster::{SimulatedCluster, documents, every_status, key, object, settings};
use super::rules;

/// Reports that show what passes, too.
fn with_passes() -> ScanSettings {
    ScanSettings { report_results: every_status(), ..settings() }
}

fn namespace(name: &str) -> String {
    format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n")
}

fn pod(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: a}}\nspec: {{containers: [{{name: c, image: x}}]}}\n"
    )
}

fn config_map(name: &str, labels: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: a, labels: {labels}}}\ndata: {{a: b}}\n"
    )
}

/// Returns the only row about an object.
#[track_caller]
fn row(cluster: &SimulatedCluster, kind: &str, namespace: &str, name: &str) -> ReportResult {
    let mut rows = cluster.scanner.results_of(&key(kind, namespace, name)).expect("results").results;
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows.remove(0)
}

fn property<'r>(row: &'r ReportResult, name: &str) -> Option<&'r str> {
    row.properties.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str())
}

#[test]
fn policy_that_generates_says_what_it_makes_and_whom_it_excuses() {
    let objects = [namespace("a"), namespace("b")].join("---\n");
    let mut cluster = SimulatedCluster::new(with_passes(), rules::GENERATE, &objects);
    assert_eq!(
        cluster.rows(),
        ["Namespace /a settings/settings pass", "Namespace /b settings/settings pass"]
    );
    let made = row(&cluster, "Namespace", "", "a");
    assert_eq!(made.message, "policy evaluated successfully");
    assert_eq!(property(&made, GENERATED_PROPERTY), Some("/v1, Kind=ConfigMap Name=settings Namespace=a"));
    cluster.changes();
    cluster.put_exception(rules::GENERATE_EXCEPTION);
    assert_eq!(
        cluster.rows(),
        ["Namespace /a settings/exception skip", "Namespace /b settings/settings pass"]
    );
    assert_eq!(property(&row(&cluster, "Namespace", "", "a"), "exceptions"), Some("not-a"));
    assert_eq!(cluster.changes(), ["Namespace /a: 1"]);
    let passing = rules::GENERATE_EXCEPTION.replace("spec:\n", "spec:\n  reportResult: pass\n");
    cluster.put_exception(&passing);
    let excused = row(&cluster, "Namespace", "", "a");
    assert_eq!((excused.result.name(), property(&excused, "exceptions")), ("pass", Some("not-a")));
    cluster.delete_rules(|key| key.name == "settings");
    assert_eq!(cluster.rows(), Vec::<String>::new());
}

#[test]
fn passes_have_no_rows_unless_they_are_asked_for() {
    let all = [rules::GENERATE, rules::LABEL_TARGETS, rules::MUTATE_EXISTING].join("---\n");
    let objects = [namespace("a"), pod("p"), config_map("c", "{seen: 'yes'}")].join("---\n");
    let cluster = SimulatedCluster::new(settings(), &all, &objects);
    // The trigger of the last one is changed at admission as well.
    assert_eq!(cluster.rows(), ["Namespace /a existing fail"]);
}

#[test]
fn version_that_no_kind_can_have_is_an_error() {
    let wrong = rules::GENERATE.replace("dyn('v1')", "dyn('apps/b/v1')");
    let cluster = SimulatedCluster::new(settings(), &wrong, &namespace("a"));
    let failed = row(&cluster, "Namespace", "", "a");
    assert_eq!(failed.result.name(), "error");
    assert_eq!(failed.message, "failed to evaluate policy: unexpected GroupVersion string: apps/b/v1");
    let wrong = rules::COPY.replace("apiVersion: v1\n      kind", "apiVersion: a/b/v1\n      kind");
    let cluster = SimulatedCluster::new(settings(), &wrong, &pod("p"));
    assert_eq!(row(&cluster, "Pod", "a", "p").message, "unexpected GroupVersion string: a/b/v1");
}

#[test]
fn source_that_appears_ends_the_error_of_its_copies() {
    let mut cluster = SimulatedCluster::new(with_passes(), rules::COPY, &pod("p"));
    assert_eq!(cluster.rows(), ["Pod a/p copy/registries error"]);
    let before = cluster.counts();
    cluster.put(object(&config_map("registries", "{}")));
    assert_eq!(cluster.rows(), ["Pod a/p copy/registries pass"]);
    assert_eq!(cluster.counts().dependency - before.dependency, 1);
    let copied = row(&cluster, "Pod", "a", "p");
    assert_eq!(property(&copied, GENERATED_PROPERTY), Some("/v1, Kind=ConfigMap Name=of-p Namespace=a"));
    cluster.delete(&key("ConfigMap", "a", "registries"));
    assert_eq!(cluster.rows(), ["Pod a/p copy/registries error"]);
}

#[test]
fn object_that_is_older_than_the_policy_is_no_trigger_of_it() {
    let created = |text: &str, time: &str| {
        text.replacen("metadata: {", &format!("metadata: {{creationTimestamp: '{time}', "), 1)
    };
    let policy = created(rules::GENERATE, "2026-01-02T00:00:00Z");
    let objects =
        [created(&namespace("a"), "2026-01-01T23:59:59Z"), created(&namespace("b"), "2026-01-02T00:00:00Z")]
            .join("---\n");
    let mut cluster = SimulatedCluster::new(with_passes(), &policy, &objects);
    assert_eq!(cluster.rows(), ["Namespace /b settings/settings pass"]);
    let existing = policy.replace("spec:\n", "spec:\n  evaluation: {generateExisting: {enabled: true}}\n");
    cluster.put_rules(&existing);
    assert_eq!(cluster.rows().len(), 2);
    // A policy that takes the place of an equal one is another one.
    cluster.put_rules(&policy);
    cluster.put_rules(&created(rules::GENERATE, "2026-01-01T00:00:00Z"));
    assert_eq!(cluster.rows().len(), 2);
}

#[test]
fn objects_that_rules_made_are_no_triggers() {
    let made = namespace("a").replace("name: a", "name: a, labels: {generate.kyverno.io/policy-name: other}");
    let cluster = SimulatedCluster::new(with_passes(), rules::GENERATE, &made);
    assert_eq!(cluster.rows(), Vec::<String>::new());
    let chained =
        rules::GENERATE.replace("spec:\n", "spec:\n  evaluation: {skipBackgroundRequests: false}\n");
    let cluster = SimulatedCluster::new(with_passes(), &chained, &made);
    assert_eq!(cluster.rows().len(), 1);
}

#[test]
fn target_is_told_by_the_trigger_and_the_row_is_the_same_after_the_change() {
    let objects = [pod("p"), config_map("c", "{}")].join("---\n");
    let mut cluster = SimulatedCluster::new(with_passes(), rules::LABEL_TARGETS, &objects);
    let before = row(&cluster, "Pod", "a", "p");
    assert_eq!(before.message, "mutated ConfigMap/c in namespace a");
    assert_eq!(property(&before, PATCHED_PROPERTY), Some("/v1, Kind=ConfigMap Name=c Namespace=a"));
    cluster.changes();
    cluster.put(object(&config_map("c", "{seen: 'yes'}")));
    assert_eq!(row(&cluster, "Pod", "a", "p"), before);
    assert_eq!(cluster.changes(), Vec::<String>::new());
    cluster.delete(&key("ConfigMap", "a", "c"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
}

#[test]
fn target_of_a_mutating_policy_passes_once_it_is_changed() {
    let mut cluster = SimulatedCluster::new(with_passes(), rules::MUTATE_EXISTING, &config_map("c", "{}"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
    cluster.put(object(&config_map("c", "{seen: 'yes'}")));
    assert_eq!(cluster.rows(), ["ConfigMap a/c existing/mutate-existing pass"]);
    assert_eq!(row(&cluster, "ConfigMap", "a", "c").message, "success");
    cluster.put(object(&config_map("other", "{seen: 'yes'}")));
    assert_eq!(cluster.rows().len(), 1, "the condition of targets does not hold");
    let both = rules::MUTATE_EXISTING.replace("resources: [namespaces]", "resources: [configmaps]");
    cluster.put_rules(&both);
    assert_eq!(
        cluster.rows(),
        ["ConfigMap a/c existing pass", "ConfigMap a/other existing pass"],
        "one row each"
    );
    // What becomes of a target may depend on the request because of which it is changed.
    cluster.put_rules(&rules::MUTATE_EXISTING.replace("seen: \"yes\"", "seen: string(request.name)"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
}

/// A rule that gives Pods called `p…` a label.
const ADD_LABEL: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: add-label}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {(name): 'p*', labels: {PATCH}}}}
";

#[test]
fn object_that_has_what_a_rule_adds_passes() {
    let labelled = pod("p").replace("name: p,", "name: p, labels: {foo: bar},");
    for patch in ["foo: bar", "+(foo): other"] {
        let rule = ADD_LABEL.replace("PATCH", patch);
        let cluster = SimulatedCluster::new(with_passes(), &rule, &labelled);
        assert_eq!(cluster.rows(), ["Pod a/p add-label/label pass"], "{patch}");
        assert_eq!(row(&cluster, "Pod", "a", "p").message, "mutated Pod/p in namespace a");
        let cluster = SimulatedCluster::new(with_passes(), &rule, &pod("p"));
        assert_eq!(cluster.rows(), ["Pod a/p add-label/label warn"], "{patch}");
        let other = labelled.replace("name: p,", "name: q,");
        let cluster = SimulatedCluster::new(with_passes(), &rule, &other);
        assert_eq!(cluster.rows(), Vec::<String>::new(), "the condition does not hold: {patch}");
    }
}

#[test]
fn rule_that_reads_who_asked_says_nothing_about_stored_objects() {
    let rule =
        rules::COPY.replace("of-{{ request.object.metadata.name }}", "of-{{ request.userInfo.username }}");
    let rule = rule.replace("spec:\n", "spec:\n  background: false\n");
    let cluster = SimulatedCluster::new(with_passes(), &rule, &pod("p"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
}

#[test]
fn object_whose_name_depends_on_the_time_is_not_named() {
    let rule = rules::COPY.replace("of-{{ request.object.metadata.name }}", "{{ time_now_utc() }}");
    let objects = [pod("p"), config_map("registries", "{}")].join("---\n");
    let cluster = SimulatedCluster::new(with_passes(), &rule, &objects);
    let made = row(&cluster, "Pod", "a", "p");
    assert_eq!((made.result.name(), made.message.as_str()), ("pass", ""));
    assert_eq!(property(&made, GENERATED_PROPERTY), None);
}

#[test]
fn policy_without_reports_still_works_in_the_background() {
    let quiet = rules::GENERATE.replace(
        "metadata: {name: settings}",
        "metadata: {name: settings, labels: {reports.kyverno.io/disabled: ''}}",
    );
    let cluster = SimulatedCluster::new(with_passes(), &quiet, &namespace("a"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
    let rules = ScanRules::compile(&documents(&quiet), &[], &ScanRuleOptions::default()).0;
    assert_eq!(rules.background().len(), 1);
}

/// Makes an object whose name is a value of a Secret.
const NAMED_BY_SECRET: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: by-secret}
spec:
  rules:
  - name: make
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: token, apiCall: {urlPath: /api/v1/namespaces/a/secrets/token, jmesPath: data.value}}]
    generate: {apiVersion: v1, kind: ConfigMap, name: '{{ token }}', namespace: a, data: {data: {a: b}}}
";

#[test]
fn value_of_a_secret_is_in_no_row() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: a}\ndata: {value: aHVzaA==}\n";
    let objects = [pod("p"), secret.to_owned()].join("---\n");
    let cluster = SimulatedCluster::new(with_passes(), NAMED_BY_SECRET, &objects);
    let made = row(&cluster, "Pod", "a", "p");
    assert_eq!(made.result.name(), "pass");
    assert!(!format!("{made:?}").contains("aHVzaA=="), "{made:?}");
    assert_eq!(property(&made, GENERATED_PROPERTY), None);
}
