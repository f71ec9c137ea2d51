//! A cluster without DNS: the question for the address of a name gets no answer.
//!
//! The API server, the webhook and the kubelet know each other by address. Only rules ask for names: of services that they
//! call, and of registries.

use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::installation::ReplicaPlace;
use crate::load::Load;
use crate::stage::Stage;
use crate::table::Row;

/// A rule that calls a service by its name, about ConfigMaps with one name. Each number is another call: answers are
/// remembered for a while.
const CALLING_RULE: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: calls}
spec:
  failurePolicy: Fail
  rules:
    - name: calls
      match: {any: [{resources: {kinds: [ConfigMap], names: [calls], namespaces: [faults]}}]}
      context: [{name: stock, apiCall: {method: GET, service: {url: 'http://stock.shop.example:8080/{{ request.object.data.number }}'}}}]
      validate:
        failureAction: Enforce
        message: there is no stock
        deny: {conditions: {any: [{key: '{{ stock.count }}', operator: Equals, value: 0}]}}
";

/// A server of DNS that reads no question. Questions stay on this machine.
const SILENT_SERVER: &str = "127.0.0.86";

/// Shows the file `$0` as `/etc/resolv.conf` to the program behind it.
const SCRIPT: &str = r#"mount --bind "$0" /etc/resolv.conf && exec "$@""#;

/// How long the API server waits for a webhook, and some more.
const ANSWER_TIME: Duration = Duration::from_secs(12);

/// What the API server says of a webhook that has not answered in time.
const TIMED_OUT: &str = "context deadline exceeded";

/// A process must have ended so long after it was asked to.
const STOP_TIME: Duration = Duration::from_secs(15);

/// Rules that ask for no name are not affected, one that does is an error in time, and a replica that waits for DNS ends as
/// soon as any other.
pub(crate) fn are_not_resolved(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    let Ok(_silent_server) = UdpSocket::bind((SILENT_SERVER, 53)) else {
        row.notes.push("skipped: this machine does not let us listen for questions of DNS".to_owned());
        return row;
    };
    let file = stage.cluster.folder().join("resolv.conf");
    let configuration = format!("nameserver {SILENT_SERVER}\n");
    fs::write(&file, &configuration).expect("a file");
    let enter = ["unshare", "--mount", "sh", "-c", SCRIPT, &file.display().to_string()].map(str::to_owned);
    let mut look = Command::new("unshare");
    look.args(enter.get(1..).unwrap_or_default()).args(["cat", "/etc/resolv.conf"]);
    if !look.output().is_ok_and(|output| output.stdout == configuration.as_bytes()) {
        row.notes
            .push("skipped: this machine does not let us change /etc/resolv.conf for a process".to_owned());
        return row;
    }
    stage.installation.kill_all();
    stage.installation.place = ReplicaPlace { enter: enter.into(), ..ReplicaPlace::default() };
    stage.installation.flags = vec!["--allow-host".to_owned(), "http://stock.shop.example".to_owned()];
    stage.recover();
    stage.cluster.kubectl(&["apply", "-f", "-"], CALLING_RULE).expect_success();
    stage.await_that("all replicas have the rule", |stage| {
        (0..3).all(|_| {
            stage.installation.cut();
            is_tried(&call(&stage.load, 0).0)
        })
    });
    let time = stage.seconds(4, 60);
    let (run, (fault, calls)) = stage.load.during(|start| {
        let fault = start.elapsed();
        let mut calls = Vec::new();
        while start.elapsed() < time || calls.is_empty() {
            calls.push(call(&stage.load, calls.len() + 1));
            sleep(Duration::from_millis(200));
        }
        (fault, calls)
    });
    row = Row::of(&run).recovered(&run, fault);
    row.expect(row.right == row.requests, "a request went wrong");
    let slowest = calls.iter().map(|(_, took)| *took).max().unwrap_or_default();
    let tried = calls.iter().filter(|(answer, _)| is_tried(answer)).count();
    row.notes
        .push(format!("{} calls by name, {tried} of them in time, all within {slowest:.1?}", calls.len()));
    row.expect(slowest < ANSWER_TIME, "a call by name was answered too late");
    // On a busy machine the half second between our answer and the time limit of the API server may be too short.
    row.expect(2 * tried > calls.len(), format!("{tried} of {} answers came in time", calls.len()));
    let another = calls.iter().find(|(answer, _)| !is_tried(answer) && !answer.contains(TIMED_OUT));
    row.expect(another.is_none(), format!("an answer has another reason: {another:?}"));
    let ended = stop_while_one_waits(stage);
    row.notes.push(format!("replicas ended {ended:.1?} after they were asked to"));
    row.expect(ended < STOP_TIME, "a replica ended too late");
    stage.installation.kill_all();
    stage.installation.place = ReplicaPlace::default();
    stage.installation.flags.clear();
    stage.recover();
    stage.cluster.kubectl(&["delete", "clusterpolicy", "calls"], "").expect_success();
    row
}

/// Asks all replicas to end while one of them waits for DNS, and returns how long that takes.
fn stop_while_one_waits(stage: &mut Stage<'_>) -> Duration {
    let Stage { installation, load, .. } = stage;
    thread::scope(|scope| {
        scope.spawn(|| call(load, usize::MAX));
        sleep(Duration::from_millis(500));
        let asked = Instant::now();
        let replicas = installation.replicas();
        replicas.iter_mut().for_each(|replica| replica.server.terminate().expect("a signal"));
        while !installation.ids().is_empty() && asked.elapsed() < STOP_TIME * 2 {
            sleep(Duration::from_millis(20));
        }
        asked.elapsed()
    })
}

/// Returns whether the API server was told that the service cannot be called.
fn is_tried(answer: &str) -> bool {
    answer.starts_with("403 ") && answer.contains("stock.shop.example")
}

/// Returns what the API server says of a ConfigMap that the rule is about, and how long it took.
fn call(load: &Load, number: usize) -> (String, Duration) {
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"calls","namespace":"faults"}},"data":{{"verdict":"allow","number":"{number}"}}}}"#
    );
    let begun = Instant::now();
    let answer = load.post("/api/v1/namespaces/faults/configmaps?dryRun=All", body);
    (answer.map_or_else(|error| error, |(status, text)| format!("{status} {text}")), begun.elapsed())
}
