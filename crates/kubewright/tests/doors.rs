//! One rule, one object, three doors: the command line, the webhook asked directly, and a real API server that asks
//! the webhook. All give the same verdict.
//!
//! The cases are those of the public corpora with rules that live in a cluster, and the examples. `KUBEWRIGHT_CORPUS` says
//! where the corpora are; `KUBEWRIGHT_DOORS=some` takes some of each suite, otherwise all are taken, and
//! `KUBEWRIGHT_DOORS=NAME` takes the suites with this in their name.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "doors/api_server.rs"]
mod api_server;
#[path = "doors/cases.rs"]
mod cases;
#[path = "doors/command.rs"]
mod command;
#[path = "doors/summary.rs"]
mod summary;
#[path = "doors/verdict.rs"]
mod verdict;
#[path = "doors/webhook.rs"]
mod webhook;

use std::path::{Path, PathBuf};

use kubewright_controlplane::{TestCluster, announce_skipped};
use kubewright_value::Value;

use api_server::ApiServer;
use cases::Case;
use command::command_line;
use summary::{Door, Summary};
use verdict::Verdict;
use webhook::Webhook;

/// Of each suite, unless all cases are wanted.
const SOME: usize = 25;

#[test]
fn every_door_gives_the_same_verdict() {
    let Some(corpus) = corpus() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let cases = some(cases::read(&corpus, &examples));
    assert!(!cases.is_empty(), "no cases in {}", corpus.display());
    let cluster = TestCluster::builder().api_server_only().start();
    let api_server = cluster.as_ref().map(|cluster| ApiServer::prepare(cluster, &cases));
    let folder = Folder::new();
    let mut summary = Summary::default();
    for case in &cases {
        walk(case, &folder.0, api_server.as_ref(), &mut summary);
    }
    summary.print();
    assert!(summary.count(Door::Webhook) > 0, "the webhook was asked nothing");
    assert!(cluster.is_none() || summary.count(Door::ApiServer) > 0, "the API server was asked nothing");
    assert!(summary.differences().is_empty(), "{:#?}", summary.differences());
}

/// Takes a case through all doors.
fn walk(case: &Case, folder: &Path, api_server: Option<&ApiServer<'_>>, summary: &mut Summary) {
    let rules = case.write(folder);
    let said = match command_line(case, &rules, &case.objects, folder) {
        Ok(said) => said,
        Err(reason) => return summary.left_out(Door::Command, case, &reason),
    };
    summary.went(Door::Command, said.len());
    let webhook = match Webhook::start(&rules, folder) {
        Ok(webhook) => webhook,
        Err(reason) => return summary.left_out(Door::Webhook, case, &reason),
    };
    for (object, want) in case.objects.iter().zip(&said) {
        match webhook.ask(case, object) {
            Ok(got) => summary.compare(Door::Webhook, case, object, want, &got),
            Err(reason) => summary.left_out(Door::Webhook, case, &reason),
        }
    }
    if let Some(api_server) = api_server {
        through_api_server(case, &rules, &said, (api_server, &webhook, folder), summary);
    }
}

/// The API server fills in defaults and drops what it does not know: what counts is what the command line says about
/// the objects as they arrived.
fn through_api_server(
    case: &Case,
    rules: &Path,
    as_written: &[Verdict],
    (api_server, webhook, folder): (&ApiServer<'_>, &Webhook, &Path),
    summary: &mut Summary,
) {
    let mut asked = Vec::new();
    for (object, as_written) in case.objects.iter().zip(as_written) {
        match api_server.ask(case, object, webhook) {
            Ok(answer) => {
                summary.note_as_written(as_written.is_like(&answer.verdict));
                asked.push((object, answer));
            }
            Err(reason) => summary.left_out(Door::ApiServer, case, &reason),
        }
    }
    let arrived: Vec<Value> = asked.iter().map(|(_, answer)| answer.arrived.clone()).collect();
    let said = match command_line(case, rules, &arrived, folder) {
        Ok(said) => said,
        Err(reason) => return summary.left_out(Door::ApiServer, case, &reason),
    };
    for ((object, answer), want) in asked.iter().zip(&said) {
        summary.compare(Door::ApiServer, case, object, want, &answer.verdict);
        if want.is_allowed && case.operation == "CREATE" {
            let stored = api_server.without_rules(case, &want.object);
            summary.compare_stored(case, object, &answer.verdict.object, &stored);
        }
    }
}

fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("KUBEWRIGHT_CORPUS")
        .map_or_else(|| root.join("../shared/conformance"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    announce_skipped(&format!("no conformance corpus at {}", folder.display()));
    None
}

/// Takes some of each suite, spread over it, if that is wished.
fn some(mut cases: Vec<Case>) -> Vec<Case> {
    let wish = std::env::var("KUBEWRIGHT_DOORS").unwrap_or_default();
    if wish != "some" {
        cases.retain(|case| case.suite.contains(&wish));
        return cases;
    }
    let mut of_suite = std::collections::BTreeMap::<String, Vec<Case>>::new();
    for case in cases {
        of_suite.entry(case.suite.clone()).or_default().push(case);
    }
    let spread = |cases: Vec<Case>| {
        let every = cases.len().div_ceil(SOME).max(1);
        cases.into_iter().step_by(every).collect::<Vec<_>>()
    };
    of_suite.into_values().flat_map(spread).collect()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("kubewright-doors-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
