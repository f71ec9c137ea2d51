//! What is judged again after a change, and what it changes.

use std::sync::Arc;

use kubewright_engine::{OpenWorld, Query, QueryAnswer, RuleId, RuleStatus, World};
use kubewright_report::cluster_report::{ReportResult, ReportSource};
use kubewright_scan::{JudgementCause, KindKey, Observation, ScanRuleOptions, ScanRules, Scanner};

use super::cluster::{SimulatedCluster, documents, key, object, settings};
use super::rules;

/// Returns a Pod in namespace `namespace`.
fn pod(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec: {{containers: [{{name: c, image: r1/x}}]}}\n"
    )
}

fn config_map(namespace: &str, name: &str, registry: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{registry: {registry}}}\n"
    )
}

#[test]
fn changed_config_map_judges_its_dependents_alone() {
    let objects = [
        config_map("a", "registries", "r1"),
        config_map("b", "registries", "r1"),
        pod("a", "p1"),
        pod("a", "p2"),
        pod("b", "p3"),
    ];
    let mut cluster = SimulatedCluster::new(settings(), rules::REGISTRIES, &objects.join("---\n"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
    let before = cluster.counts();
    cluster.put(object(&config_map("a", "registries", "r2")));
    assert_eq!(cluster.counts().dependency - before.dependency, 2);
    assert_eq!(cluster.rows(), ["Pod a/p1 registries/registry fail", "Pod a/p2 registries/registry fail"]);
    assert_eq!(cluster.changes(), ["Pod a/p1: 1", "Pod a/p2: 1"]);
    // One that rules do not look up.
    cluster.put(object(&config_map("a", "unrelated", "r2")));
    assert_eq!(cluster.counts().dependency - before.dependency, 2);
    // One that did not exist when it was looked up.
    cluster.delete(&key("ConfigMap", "b", "registries"));
    cluster.put(object(&config_map("b", "registries", "r1")));
    assert_eq!(cluster.counts().dependency - before.dependency, 4);
    assert_eq!(cluster.rows().len(), 2);
}

#[test]
fn list_depends_on_every_object_of_the_resource_in_its_namespace() {
    let objects = [config_map("a", "one", "r"), pod("a", "p1"), pod("b", "p2")];
    let mut cluster = SimulatedCluster::new(settings(), rules::COUNTED, &objects.join("---\n"));
    let before = cluster.counts();
    cluster.put(object(&config_map("a", "two", "r")));
    assert_eq!(cluster.rows(), ["Pod a/p1 counted/config-maps fail"]);
    cluster.delete(&key("ConfigMap", "a", "one"));
    assert_eq!(cluster.rows(), Vec::<String>::new());
    assert_eq!(cluster.counts().dependency - before.dependency, 2);
}

#[test]
fn namespace_label_judges_the_objects_that_read_the_namespace() {
    let namespace =
        |labels: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: a, labels: {labels}}}\n");
    let objects = [namespace("{}"), pod("a", "p1"), pod("b", "p2")];
    let mut cluster = SimulatedCluster::new(settings(), rules::TEAM, &objects.join("---\n"));
    let before = cluster.counts();
    cluster.put(object(&namespace("{team: red}")));
    assert_eq!(cluster.counts().dependency - before.dependency, 1);
    assert!(cluster.rows().contains(&"Pod a/p1 team fail".to_owned()), "{:?}", cluster.rows());
}

#[test]
fn row_is_gone_as_soon_as_an_exclusion_ends_it() {
    let mut cluster = SimulatedCluster::new(settings(), rules::REQUIRE_APP, &pod("a", "p1"));
    assert_eq!(cluster.changes(), ["Pod a/p1: 1"]);
    let excluding = rules::REQUIRE_APP
        .replace("    validate:", "    exclude: {any: [{resources: {names: [p1]}}]}\n    validate:");
    cluster.put_rules(&excluding);
    assert_eq!(cluster.rows(), Vec::<String>::new());
    assert_eq!(cluster.changes(), ["Pod a/p1: 0"]);
}

#[test]
fn exception_makes_a_skip_of_a_failure_and_judges_no_other_kind() {
    let config = config_map("a", "registries", "r1");
    let objects = [pod("a", "p0"), pod("a", "p1"), config];
    let all = [rules::REQUIRE_APP, rules::REGISTRIES].join("---\n");
    let mut cluster = SimulatedCluster::new(settings(), &all, &objects.join("---\n"));
    cluster.put_exception(rules::EXCEPTION);
    assert_eq!(cluster.rows(), ["Pod a/p0 require-app/app skip", "Pod a/p1 require-app/app fail"]);
    assert_eq!(cluster.counts().rule, 2);
    cluster.delete_exceptions();
    assert_eq!(cluster.rows(), ["Pod a/p0 require-app/app fail", "Pod a/p1 require-app/app fail"]);
}

#[test]
fn only_objects_of_changed_rules_are_targets() {
    let all = [rules::REQUIRE_APP, rules::CEILING, rules::CEILING_BINDING].join("---\n");
    let compile =
        |text: &str| Arc::new(ScanRules::compile(&documents(text), &[], &ScanRuleOptions::default()).0);
    let mut scanner = Scanner::new(settings());
    scanner.replace_rules(compile(&all));
    assert_eq!(scanner.replace_rules(compile(&all)), []);
    // A status is no change of a rule.
    let with_status =
        all.replace("spec:\n  failurePolicy", "status: {observedGeneration: 1}\nspec:\n  failurePolicy");
    assert_eq!(scanner.replace_rules(compile(&with_status)), []);
    let kinds = |targets: Vec<kubewright_scan::RescanTarget>| -> Vec<String> {
        targets.iter().filter_map(|target| Some(target.kind.as_ref()?.to_string())).collect()
    };
    let other_binding = all.replace("[Deny]", "[Audit]");
    assert_eq!(kinds(scanner.replace_rules(compile(&other_binding))), ["Deployment"]);
    let without = rules::REQUIRE_APP;
    assert_eq!(kinds(scanner.replace_rules(compile(without))), ["Deployment"]);
    let id = RuleId { dialect: "kyverno", policy: "require-app".into(), rule: "app".into() };
    assert!(scanner.rules().digest_of(&id).is_some());
}

#[test]
fn status_is_no_change_unless_a_rule_reads_it() {
    let with_phase = |phase: &str| object(&format!("{}status: {{phase: {phase}}}\n", pod("a", "p1")));
    for (rule, want) in [
        (rules::REQUIRE_APP.to_owned(), 0),
        (rules::REQUIRE_APP.replace("metadata: {labels: {app: '?*'}}", "status: {phase: Running}"), 1),
    ] {
        let mut cluster = SimulatedCluster::new(settings(), &rule, "");
        cluster.put(with_phase("Running"));
        let before = cluster.counts();
        cluster.put(with_phase("Pending"));
        assert_eq!(cluster.counts().object - before.object, want, "{rule}");
    }
}

#[test]
fn rule_that_would_change_an_object_warns_and_hides_nothing_from_other_rules() {
    let all = [rules::PATCH, rules::REJECT].join("---\n");
    let privileged =
        pod("a", "p1").replace("image: r1/x", "image: r1/x, securityContext: {privileged: true}");
    let cluster = SimulatedCluster::new(settings(), &all, &privileged);
    assert_eq!(cluster.rows(), ["Pod a/p1 a/annotate warn", "Pod a/p1 a/no-privileges fail"]);
    let results = cluster.scanner.results_of(&key("Pod", "a", "p1")).expect("results");
    let row = results.results.iter().find(|row| row.result == RuleStatus::Warn).expect("a row");
    assert_eq!(row.message, "the rule would change the object (1 change): /metadata/annotations/owner");
    let patch = row.properties.iter().find(|(name, _)| name == "patch").map(|(_, text)| text.as_str());
    assert_eq!(patch, Some(r#"{"op":"add","path":"/metadata/annotations/owner","value":"somewhere"}"#));
    // As the rule would have it.
    let annotated = pod("a", "p1").replace("namespace: a", "namespace: a, annotations: {owner: me}");
    let cluster = SimulatedCluster::new(settings(), &all, &annotated);
    assert_eq!(cluster.rows(), Vec::<String>::new());
}

#[test]
fn row_keeps_its_time_while_it_stays() {
    let since = |cluster: &SimulatedCluster| -> Vec<i64> {
        let results = cluster.scanner.results_of(&key("Pod", "a", "p1")).expect("results");
        results.results.iter().map(|row| row.since).collect()
    };
    let all = [rules::REQUIRE_APP, rules::PATCH].join("---\n");
    let mut cluster = SimulatedCluster::new(settings(), &all, &pod("a", "p1"));
    assert_eq!(since(&cluster), [1_000, 1_000]);
    cluster.now = 2_000;
    cluster.put(object(&pod("a", "p1").replace("r1/x", "r1/y")));
    assert_eq!(since(&cluster), [1_000, 1_000]);
    cluster.put_rules(&rules::REQUIRE_APP.replace("give", "set"));
    assert_eq!(since(&cluster), [1_000, 2_000]);
}

#[test]
fn time_of_a_row_is_taken_from_a_stored_report() {
    let stored = |message: &str| {
        let mut cluster = SimulatedCluster::new(settings(), rules::REQUIRE_APP, &pod("a", "other"));
        let row = cluster.scanner.results_of(&key("Pod", "a", "other")).expect("results").results.remove(0);
        let row = ReportResult { since: 77, message: message.into(), ..row };
        cluster.scanner.load_since(ReportSource::Rules, "u1".into(), vec![row]);
        cluster.put(object(&pod("a", "p1").replace("name: p1,", "name: p1, uid: u1,")));
        cluster.scanner.results_of(&key("Pod", "a", "p1")).expect("results").results.remove(0)
    };
    let real = stored("another message");
    assert_eq!(real.since, 1_000);
    assert_eq!(stored(&real.message).since, 77);
}

#[test]
fn what_a_list_does_not_have_is_gone() {
    let objects = [pod("a", "p1"), pod("a", "p2")].join("---\n");
    let mut cluster = SimulatedCluster::new(settings(), rules::REQUIRE_APP, &objects);
    cluster.changes();
    cluster.objects.remove(&key("Pod", "a", "p1"));
    cluster.list_all();
    assert_eq!(cluster.changes(), ["Pod a/p1: 0"]);
    assert_eq!(cluster.rows(), ["Pod a/p2 require-app/app fail"]);
    // A list that was not started removes nothing.
    cluster.scanner.end_list(&KindKey { group: "".into(), kind: "Pod".into() });
    assert_eq!(cluster.rows().len(), 1);
}

#[test]
fn object_that_was_made_again_has_a_report_of_its_own() {
    let with_uid =
        |uid: &str| object(&pod("a", "p1").replace("name: p1,", &format!("name: p1, uid: {uid},")));
    let mut cluster = SimulatedCluster::new(settings(), rules::REQUIRE_APP, "");
    cluster.put(with_uid("u1"));
    cluster.changes();
    cluster.put(with_uid("u2"));
    let changed = cluster.scanner.take_changed();
    let uids: Vec<(&str, bool)> =
        changed.iter().map(|changed| (changed.scope.uid.as_str(), changed.results.is_some())).collect();
    assert_eq!(uids, [("u1", false), ("u2", true)]);
}

#[test]
fn full_pass_lists_everything_once_in_a_period_and_changes_nothing() {
    let objects = [pod("a", "p1"), config_map("a", "registries", "r1")].join("---\n");
    let all = [rules::REQUIRE_APP, rules::TWO_WRITERS].join("---\n");
    let mut cluster = SimulatedCluster::new(settings(), &all, &objects);
    cluster.changes();
    assert_eq!(cluster.scanner.full_pass_slice(0, 600), []);
    let mut listed = Vec::new();
    for now in (0..=600).step_by(7).chain([600]) {
        listed.extend(cluster.scanner.full_pass_slice(now, 600));
    }
    listed.sort();
    let kinds: Vec<&str> = listed.iter().map(|list| list.kind.kind.as_str()).collect();
    assert_eq!(kinds, ["ConfigMap", "Pod"]);
    let before = cluster.counts();
    assert_eq!(cluster.observe(&key("Pod", "a", "p1"), JudgementCause::FullPass), Observation::Judged);
    assert_eq!(cluster.counts().full_pass - before.full_pass, 1);
    assert_eq!(cluster.changes(), Vec::<String>::new());
}

#[test]
fn full_pass_lists_a_kind_with_many_objects_by_namespace() {
    let mut cluster = SimulatedCluster::new(settings(), rules::REQUIRE_APP, "");
    let world = cluster.world();
    for number in 0..1_001 {
        let namespace = ["a", "a-b", "b"].get(number % 3).copied().unwrap_or_default();
        let pod = object(&pod(namespace, &format!("p{number}")));
        cluster.scanner.observe(&pod, JudgementCause::Object, &world, 0);
    }
    cluster.scanner.full_pass_slice(0, 60);
    // However long the pause was, everything is listed once.
    let listed = cluster.scanner.full_pass_slice(1_000, 60);
    let namespaces: Vec<Option<&str>> = listed.iter().map(|list| list.target.namespace.as_deref()).collect();
    assert_eq!(namespaces, [Some("a"), Some("a-b"), Some("b")]);
}

#[test]
fn rules_that_read_the_clock_are_due_again() {
    let mut cluster = SimulatedCluster::new(
        settings(),
        &[rules::CLOCK, rules::REQUIRE_APP].join("---\n"),
        &[config_map("a", "c", "r"), pod("a", "p1")].join("---\n"),
    );
    assert!(cluster.scanner.rules().captures_time());
    let due = cluster.scanner.next_due().expect("a time");
    assert!((1_600..1_751).contains(&due), "{due}");
    assert_eq!(cluster.scanner.due(due - 1), []);
    assert_eq!(cluster.scanner.due(due), [key("ConfigMap", "a", "c")]);
    assert_eq!(cluster.rows(), ["Pod a/p1 require-app/app fail"]);
    cluster.now = 4_000;
    // The same rules, compiled at another time, are no change.
    cluster.load_rules();
    assert_eq!(cluster.counts().rule, 0);
    cluster.observe(&key("ConfigMap", "a", "c"), JudgementCause::Clock);
    assert_eq!(cluster.rows(), ["ConfigMap a/c clock/age fail", "Pod a/p1 require-app/app fail"]);
    assert!(cluster.scanner.next_due().is_some_and(|due| due > 4_000));
}

#[test]
fn objects_are_due_at_once_after_the_clock_was_set_back() {
    let mut cluster = SimulatedCluster::new(settings(), rules::CLOCK, &config_map("a", "c", "r"));
    let object = key("ConfigMap", "a", "c");
    cluster.now = 1_000_000;
    cluster.observe(&object, JudgementCause::Clock);
    let due = cluster.scanner.next_due().expect("a time");
    assert_eq!(cluster.scanner.due(due - 600), [], "the clock goes as it should");
    cluster.now = due - 100_000;
    assert_eq!(cluster.scanner.due(cluster.now), std::slice::from_ref(&object));
    cluster.observe(&object, JudgementCause::Clock);
    assert_eq!(cluster.scanner.due(cluster.now), [], "judged once, and not all the time");
    assert!(cluster.scanner.next_due().is_some_and(|again| again < due - 90_000));
    // Once the clock is right again, the object is due once more, as after a long pause.
    assert_eq!(cluster.scanner.due(due), [object]);
}

#[test]
fn unanswered_queries_are_returned_and_failed_lookups_are_repeated() {
    let (rules, _) = ScanRules::compile(&documents(rules::REGISTRIES), &[], &ScanRuleOptions::default());
    let mut scanner = Scanner::new(settings());
    scanner.replace_rules(Arc::new(rules));
    let mut world = OpenWorld::default();
    let pod = object(&pod("a", "p1"));
    let Observation::NeedsAnswers(queries) = scanner.observe(&pod, JudgementCause::Object, &world, 0) else {
        panic!("nothing was looked up")
    };
    assert_eq!(scanner.results().count(), 0);
    queries.into_iter().for_each(|query| world.fail(query, "no connection"));
    assert_eq!(scanner.observe(&pod, JudgementCause::Object, &world, 0), Observation::Judged);
    assert_eq!(scanner.totals().rules.values().map(|counts| counts.error).sum::<usize>(), 1);
    assert!(scanner.next_due().is_some_and(|due| (60..=75).contains(&due)));
}

/// A world whose answers make a rule panic.
struct PanickingWorld;

impl World for PanickingWorld {
    fn get(&self, _: &Query) -> QueryAnswer {
        panic!("as if a rule had a defect")
    }
}

#[test]
fn rule_that_panics_is_an_error_and_stops_no_other() {
    let all = [rules::REQUIRE_APP, rules::REGISTRIES].join("---\n");
    let (rules, _) = ScanRules::compile(&documents(&all), &[], &ScanRuleOptions::default());
    let mut scanner = Scanner::new(settings());
    scanner.replace_rules(Arc::new(rules));
    scanner.observe(&object(&pod("a", "p1")), JudgementCause::Object, &PanickingWorld, 0);
    let rows: Vec<String> = scanner.results().flat_map(|results| super::cluster::rows_of(&results)).collect();
    assert_eq!(rows, ["Pod a/p1 registries/registry error", "Pod a/p1 require-app/app fail"]);
}

#[test]
fn judgement_of_old_rules_is_not_recorded() {
    let compile =
        |text: &str| Arc::new(ScanRules::compile(&documents(text), &[], &ScanRuleOptions::default()).0);
    let mut scanner = Scanner::new(settings());
    scanner.replace_rules(compile(rules::REQUIRE_APP));
    let judgement = scanner.judge(&object(&pod("a", "p1")), JudgementCause::Object, &OpenWorld::default());
    scanner.replace_rules(compile(rules::SELECTED));
    assert_eq!(scanner.record(judgement, 0), Observation::Outdated);
    assert_eq!(scanner.totals().objects, 0);
}

#[test]
fn broken_rule_affects_no_other() {
    let all = format!(
        "{}---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: broken}}\nspec: {{rules: 7}}\n",
        rules::REQUIRE_APP
    );
    let (rules, diagnostics) = ScanRules::compile(&documents(&all), &[], &ScanRuleOptions::default());
    assert!(diagnostics.iter().any(kubewright_engine::Diagnostic::is_error));
    assert!(rules.rule_ids().any(|id| id.policy == "require-app"));
}

#[test]
fn only_rules_that_run_in_the_background_judge() {
    let admission_only = rules::REQUIRE_APP.replace("spec:\n", "spec:\n  background: false\n");
    let cluster = SimulatedCluster::new(settings(), &admission_only, &pod("a", "p1"));
    assert_eq!(cluster.scanner.totals().objects, 0);
    assert!(!cluster.scanner.rules().reads_kind("", "Pod", true));
    // A policy of the API server without a binding does nothing in a cluster.
    let deployment =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: a}\nspec: {replicas: 9}\n";
    let cluster = SimulatedCluster::new(settings(), rules::CEILING, deployment);
    assert_eq!(cluster.scanner.totals().objects, 0);
    // Its author may ask for reports all the same.
    let name = "metadata: {name: ceiling}";
    let labelled = "metadata: {name: ceiling, labels: {reports.kyverno.io/enabled: 'true'}}";
    assert!(rules::CEILING.contains(name));
    let cluster = SimulatedCluster::new(settings(), &rules::CEILING.replace(name, labelled), deployment);
    assert_eq!(cluster.scanner.totals().objects, 1);
}

#[test]
fn judgement_of_what_has_changed_since_is_not_recorded() {
    let objects = [config_map("a", "registries", "r1"), pod("b", "p2")].join("---\n");
    let mut cluster = SimulatedCluster::new(settings(), rules::REGISTRIES, &objects);
    let pod = object(&pod("a", "p1"));
    let judge =
        |cluster: &SimulatedCluster| cluster.scanner.judge(&pod, JudgementCause::Object, &cluster.world());
    let (one, other) = (judge(&cluster), judge(&cluster));
    assert_eq!(cluster.scanner.dependents_of(&key("ConfigMap", "a", "another")), []);
    assert_eq!(cluster.scanner.record(one, 0), Observation::Judged);
    assert_eq!(cluster.scanner.dependents_of(&key("ConfigMap", "a", "registries")), [key("Pod", "a", "p1")]);
    assert_eq!(cluster.scanner.record(other, 0), Observation::Outdated);
    let again = judge(&cluster);
    assert_eq!(cluster.scanner.record(again, 0), Observation::Unchanged);
}

#[test]
fn objects_can_be_judged_on_several_threads() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_shared(&Scanner::new(settings()));
}

#[test]
fn rule_that_needs_too_much_is_an_error_and_stops_no_other() {
    let numbers = (0..40).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let nested = ["a", "b", "c", "d", "e"]
        .iter()
        .rfold("true".to_owned(), |inner, name| format!("[{numbers}].all({name}, {inner})"));
    let costly =
        rules::TEAM.replace("object.metadata.?labels.team.orValue('') ==", &format!("{nested} && '' =="));
    let all = [rules::REQUIRE_APP, &costly].join("---\n");
    let cluster = SimulatedCluster::new(settings(), &all, &pod("a", "p1"));
    assert_eq!(cluster.rows(), ["Pod a/p1 require-app/app fail", "Pod a/p1 team error"]);
}

#[test]
fn enormous_message_is_cut() {
    let rule =
        rules::REQUIRE_APP.replace("give the label app", "{{ request.object.metadata.annotations.long }}");
    let long = pod("a", "p1")
        .replace("namespace: a", &format!("namespace: a, annotations: {{long: {}}}", "x".repeat(100_000)));
    let cluster = SimulatedCluster::new(settings(), &rule, &long);
    let results = cluster.scanner.results_of(&key("Pod", "a", "p1")).expect("results");
    let length = results.results.first().map(|row| row.message.len()).expect("a row");
    assert!((1_000..5_000).contains(&length), "{length}");
}

#[test]
fn rules_in_a_list_are_compiled() {
    let items: String = rules::REQUIRE_APP.trim().lines().map(|line| format!("  {line}\n")).collect();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n-{}", items.split_at(1).1);
    let (rules, _) = ScanRules::compile(&documents(&list), &[], &ScanRuleOptions::default());
    assert!(rules.rule_ids().any(|id| id.policy == "require-app"));
}

#[test]
fn values_of_a_secret_are_not_in_its_report() {
    let patch = rules::PATCH
        .replace("matchValue: Pod", "matchValue: Secret")
        .replace("value: somewhere", "value: '{{ .Target.data.password }}'");
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: a}\ndata: {password: aHVudGVyMg==}\n";
    let cluster = SimulatedCluster::new(settings(), &patch, secret);
    let results = cluster.scanner.results_of(&key("Secret", "a", "s")).expect("results");
    assert_eq!(cluster.rows(), ["Secret a/s a/annotate warn"]);
    assert!(!format!("{results:?}").contains("aHVudGVyMg"), "{results:?}");
}

/// Returns a Deployment that mounts the claim `data`.
fn writer(name: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: a, uid: {name}}}, spec: {{template: {{spec: {{\
         containers: [{{name: c, image: i, volumeMounts: [{{name: v, mountPath: /d}}]}}], \
         volumes: [{{name: v, persistentVolumeClaim: {{claimName: data}}}}]}}}}}}}}\n"
    )
}

#[test]
fn what_was_suppressed_before_the_patterns_are_known_stays_suppressed() {
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: a}}\n";
    let objects = [claim.to_owned(), writer("one"), writer("other")].join("---\n");
    let rows_with = |suppressed: &[&str]| {
        let mut cluster = SimulatedCluster::new(settings(), rules::REQUIRE_APP, &objects);
        let findings = suppressed.iter().map(|uid| ("two-writers".into(), (*uid).into()));
        cluster.scanner.suppress_findings(findings.collect());
        cluster.put_rules(rules::TWO_WRITERS);
        cluster.list_all();
        cluster.scanner.refresh_patterns(cluster.now);
        let rows = cluster.rows().into_iter().filter(|row| row.contains("two-writers"));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(rows_with(&[]), ["Deployment a/one two-writers warn"]);
    assert_eq!(rows_with(&["one"]), ["Deployment a/one two-writers skip"]);
}
