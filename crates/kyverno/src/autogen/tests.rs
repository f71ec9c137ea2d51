//! Which rules are rewritten, for whom, under which name.

use kubewright_value::{Source, yaml};

use super::super::source::read_policy_document;
use super::*;

/// Returns `name: kinds` for every rewritten rule; a rule is written as its name, match and, after `!`, exclude.
fn generated(annotation: &str, rules: &[(&str, &str)]) -> Vec<String> {
    generated_matching(annotation, rules).into_iter().map(|(one, _)| one).collect()
}

fn generated_matching(annotation: &str, rules: &[(&str, &str)]) -> Vec<(String, Match)> {
    let annotations = match annotation {
        "" => String::new(),
        text => format!(", annotations: {{pod-policies.kyverno.io/autogen-controllers: '{text}'}}"),
    };
    let mut text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p{annotations}}}\nspec:\n  rules:\n"
    );
    for (name, body) in rules {
        text.push_str(&format!("    - {{name: {name}, {body}}}\n"));
    }
    let mut reading = yaml::read(&Source::new("policy.yaml", text.clone()));
    let (policy, diagnostics) = read_policy_document(&reading.documents.remove(0));
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{text}: {diagnostics:?}");
    let all = autogen_rules(&policy.expect("a policy"));
    all.into_iter().map(|one| (format!("{}: {}", one.name, kinds(&one)), one.matching)).collect()
}

const PODS: &str = "match: {any: [{resources: {kinds: [Pod]}}]}, validate: {deny: {}}";
const TEMPLATES: &str = "apps/v1/DaemonSet apps/v1/Deployment batch/v1/Job apps/v1/ReplicaSet \
                         v1/ReplicationController apps/v1/StatefulSet";

#[test]
fn a_rule_about_pods_is_rewritten_for_every_controller() {
    let want = [format!("autogen-r: {TEMPLATES}"), "autogen-cronjob-r: batch/v1/CronJob".to_owned()];
    assert_eq!(generated("", &[("r", PODS)]), want);
}

#[test]
fn the_annotation_chooses_controllers_and_may_have_spaces() {
    assert_eq!(generated("Deployment", &[("r", PODS)]), ["autogen-r: apps/v1/Deployment"]);
    assert_eq!(generated("CronJob", &[("r", PODS)]), ["autogen-cronjob-r: batch/v1/CronJob"]);
    assert_eq!(generated("Job, Deployment", &[("r", PODS)]), ["autogen-r: apps/v1/Deployment batch/v1/Job"]);
    assert!(generated("none", &[("r", PODS)]).is_empty());
}

#[test]
fn one_rule_that_chooses_its_objects_turns_it_off_for_all() {
    for resources in [
        "{kinds: [Pod], names: [a]}",
        "{kinds: [Pod], name: a}",
        "{kinds: [Pod], selector: {matchLabels: {a: b}}}",
        "{kinds: [Service], annotations: {a: b}}",
        "{kinds: [Pod, Service]}",
    ] {
        let other = format!("match: {{any: [{{resources: {resources}}}]}}, validate: {{deny: {{}}}}");
        assert!(generated("", &[("r", PODS), ("s", &other)]).is_empty(), "{resources}");
        let exclude = format!(
            "match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, exclude: {{any: [{{resources: {resources}}}]}}, \
             validate: {{deny: {{}}}}"
        );
        assert!(generated("", &[("r", PODS), ("s", &exclude)]).is_empty(), "exclude {resources}");
    }
    let generate = "match: {any: [{resources: {kinds: [Pod]}}]}, generate: {kind: Secret}";
    assert!(generated("", &[("r", PODS), ("s", generate)]).is_empty());
}

#[test]
fn only_the_plain_kind_starts_it() {
    let versioned = "match: {any: [{resources: {kinds: [v1/Pod]}}]}, validate: {deny: {}}";
    assert!(generated("Job", &[("r", versioned)]).is_empty());
    // Once another rule started it, the longer name is a Pod as well.
    let want = ["autogen-r: batch/v1/Job", "autogen-s: batch/v1/Job"];
    assert_eq!(generated("Job", &[("r", PODS), ("s", versioned)]), want);
}

#[test]
fn a_rule_is_left_out_for_its_own_exclude_or_name() {
    let exclude = "match: {any: [{resources: {kinds: [Pod]}}]}, validate: {deny: {}}, \
                   exclude: {any: [{resources: {kinds: [Service]}}]}";
    assert_eq!(generated("Job", &[("r", exclude), ("s", PODS)]), ["autogen-s: batch/v1/Job"]);
    assert!(generated("Job", &[("autogen-r", PODS)]).is_empty());
}

#[test]
fn names_end_after_63_characters() {
    let long = "too-long-this-rule-name-will-be-truncated-to-63-characters";
    let names: Vec<String> = generated("Job,CronJob", &[(long, PODS)])
        .into_iter()
        .map(|one| one.split(':').next().unwrap_or_default().to_owned())
        .collect();
    let want = [
        "autogen-too-long-this-rule-name-will-be-truncated-to-63-charact",
        "autogen-cronjob-too-long-this-rule-name-will-be-truncated-to-63",
    ];
    assert_eq!(names, want);
}

#[test]
fn controllers_stand_where_pods_stood_and_other_kinds_are_left_out() {
    let mixed = "match: {any: [{resources: {kinds: [Pod], namespaces: [a]}}, {resources: {kinds: [Service]}}, \
                 {resources: {kinds: [Deployment, Secret]}}]}, validate: {deny: {}}";
    let all = generated_matching("Deployment", &[("r", mixed)]);
    let kinds: Vec<Vec<&str>> = all[0]
        .1
        .any
        .iter()
        .map(|filter| filter.kinds.iter().map(|kind| kind.value.as_str()).collect())
        .collect();
    assert_eq!(kinds, [vec!["apps/v1/Deployment"], vec!["Deployment"]]);
}

#[test]
fn kinds_with_their_group_are_known_as_controllers() {
    let mixed = "match: {any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Deployment.v1.apps]}}, \
                 {resources: {kinds: [Service.v1.]}}]}, validate: {deny: {}}";
    let all = generated_matching("Deployment", &[("r", mixed)]);
    let kinds: Vec<&str> =
        all[0].1.any.iter().flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str()).collect();
    assert_eq!(kinds, ["apps/v1/Deployment", "Deployment.v1.apps"]);
}

/// Returns the kinds that a rewritten rule matches.
fn kinds(one: &AutogenRule) -> String {
    let filters = one.matching.any.iter().chain(&one.matching.all).chain(&one.matching.flat);
    let kinds: Vec<&str> = filters.flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str()).collect();
    kinds.join(" ")
}
