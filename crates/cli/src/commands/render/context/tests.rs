use clap::Parser as _;
use kubewright_value::{Source, json, yaml};

use super::*;
use crate::arguments::{CliCommand, CommandLine};

/// Returns `metadata` for the manifests in `base` and the words on the command line, as JSON.
fn metadata(base: &str, words: &str) -> String {
    let documents = yaml::read(&Source::new("base.yaml", base)).documents;
    let words = ["kubewright", "render"].into_iter().chain(words.split_whitespace());
    let Some(CliCommand::Render(arguments)) = CommandLine::parse_from(words).command else {
        panic!("render")
    };
    let settings = arguments.set.iter().flat_map(|setting| setting.0.iter().cloned()).collect();
    let mut problems = Vec::new();
    let said = ContextLayers::read(&arguments, None, settings, &mut problems);
    let given = said.given(&documents, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    json::to_string(given.context.get("metadata").unwrap_or(&Value::Null))
}

#[track_caller]
fn check(base: &str, words: &str, want: &[&str]) {
    let found = metadata(base, words);
    for part in want {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n\
                   spec: {selector: {matchLabels: {app: web}}}\n---\n";
const JOB: &str = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: night}\n\
                   spec: {jobTemplate: {spec: {template: {metadata: {labels: {app: night}}}}}}\n---\n";
const HOOK: &str =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: test}}\n---\n";
const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n---\n";

#[test]
fn the_only_workload_names_the_component() {
    let want = [r#""name":"web""#, r#""componentName":"web""#, r#""namespace":"shop""#];
    check(&format!("{WEB}{HOOK}{CONFIG}"), "", &want);
    check(WEB, "", &[r#""podSelectors":{"app":"web"}"#, r#""labels":{}"#, r#""annotations":{}"#]);
    check(JOB, "", &[r#""name":"night""#, r#""namespace":"default""#, r#""podSelectors":{"app":"night"}"#]);
}

#[test]
fn without_a_workload_there_is_no_name_and_the_only_namespace_counts() {
    let found = metadata(CONFIG, "");
    assert!(!found.contains(r#""name""#) && found.contains(r#""namespace":"other""#), "{found}");
    let found = metadata(&format!("{WEB}{JOB}"), "");
    assert!(!found.contains(r#""name""#) && found.contains(r#""namespace":"shop""#), "{found}");
}

#[test]
fn what_is_said_later_wins() {
    check(WEB, "--name a", &[r#""name":"a""#, r#""componentName":"a""#]);
    check(WEB, "--name a --component b", &[r#""name":"a""#, r#""componentName":"b""#]);
    check(WEB, "--name a --set metadata.name=c", &[r#""name":"c""#, r#""componentName":"c""#]);
    check(WEB, "--set metadata.labels=null", &[r#""labels":{}"#]);
    check(WEB, "--set metadata.podSelectors.tier=x", &[r#""podSelectors":{"app":"web","tier":"x"}"#]);
}
