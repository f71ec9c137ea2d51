//! Hours of load with rules that come and go, new certificates every minute, new tokens every five and a replaced replica
//! every ten: nothing is lost, and neither memory nor open files grow. `make soak HOURS=4`.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kubewright_controlplane::{CommandOutput, TestCluster};
use kubewright_load::ProcessUsage;

use crate::api_server::apply_rule;
use crate::certificates::begin_anew;
use crate::stage::Stage;
use crate::table::Row;

/// How long one soak takes.
const LENGTH_VARIABLE: &str = "KUBEWRIGHT_SOAK_MINUTES";

/// A certificate is replaced after two thirds of its life: every minute.
const CERTIFICATES: [&str; 4] = ["--certificate-life", "90s", "--certificate-grace", "5s"];

const CHURN_INTERVAL: Duration = Duration::from_secs(5);
const RESTART_INTERVAL: Duration = Duration::from_secs(600);

/// Tokens of Pods live for an hour, and a kubelet renews them; the API server grants no shorter life than this one.
const TOKEN_LIFE: Duration = Duration::from_secs(600);
const TOKEN_INTERVAL: Duration = Duration::from_secs(300);

/// How long the API server may refuse a change of a rule.
const CALL_PATIENCE: Duration = Duration::from_secs(180);

/// How many rules come and go.
const CHURNED_RULES: usize = 10;

/// What a process needs at first is no growth.
const WARM_UP: Duration = Duration::from_secs(60);

/// A slope over a shorter time says nothing.
const MINIMUM_LIFE: Duration = Duration::from_secs(240);

/// How much a replica may grow in the time that it was observed: less than caches and fragments of the allocator vary.
const MEMORY_GROWTH: f64 = 8.0 * 1024.0 * 1024.0;
const FILE_GROWTH: f64 = 8.0;

/// Returns how long a soak is wanted, if one is.
pub(crate) fn wanted() -> Option<Duration> {
    let minutes: u64 = std::env::var(LENGTH_VARIABLE).ok()?.parse().expect("minutes");
    Some(Duration::from_secs(60 * minutes))
}

/// What was seen of one process, each with the time since the start of the soak.
#[derive(Default)]
struct Observed {
    memory: Vec<(f64, f64)>,
    files: Vec<(f64, f64)>,
}

/// One soak.
pub(crate) fn soak(stage: &mut Stage<'_>, length: Duration) -> Row {
    renew_token(stage.cluster);
    begin_anew(stage, &CERTIFICATES);
    let mut seen = BTreeMap::<u32, Observed>::new();
    let (mut restarts, mut changes, mut tokens) = (0_u32, 0_usize, 0_u32);
    let Stage { cluster, installation, load, .. } = stage;
    let (run, certificates) = load.during(|start| {
        let mut certificates = std::collections::BTreeSet::new();
        let mut born = BTreeMap::<u32, Duration>::new();
        while start.elapsed() < length {
            churn(cluster, changes);
            changes += 1;
            certificates.insert(certificate(cluster));
            for id in installation.ids() {
                let age = start.elapsed().saturating_sub(*born.entry(id).or_insert_with(|| start.elapsed()));
                if age > WARM_UP {
                    observe(seen.entry(id).or_default(), id, start.elapsed());
                }
            }
            if start.elapsed() > RESTART_INTERVAL * (restarts + 1) {
                replace_oldest(installation);
                restarts += 1;
            }
            if start.elapsed() > TOKEN_INTERVAL * (tokens + 1) {
                renew_token(cluster);
                tokens += 1;
            }
            sleep(CHURN_INTERVAL);
        }
        certificates.len()
    });
    let mut row = Row::of(&run).recovered(&run, Duration::ZERO);
    row.notes.push(format!(
        "{:.0} minutes, {changes} changes of rules, {certificates} certificates, {tokens} tokens, {restarts} restarts",
        length.as_secs_f64() / 60.0
    ));
    row.expect(row.right == row.requests, "a request went wrong");
    seen.iter().for_each(|(id, observed)| judge(&mut row, *id, observed));
    // What was seen in hours is not lost with what comes after it.
    println!("{} of {} requests right; {}", row.right, row.requests, row.notes.join("; "));
    begin_anew(stage, &[]);
    row
}

/// Adds a rule, or removes the one that was added `CHURNED_RULES` changes before.
fn churn(cluster: &TestCluster, change: usize) {
    patiently(|| apply_rule(cluster, &format!("churned-{}", change % CHURNED_RULES)));
    let old = format!("churned-{}", (change + CHURNED_RULES / 2) % CHURNED_RULES);
    patiently(|| cluster.kubectl(&["delete", "clusterpolicy", &old, "--ignore-not-found"], ""));
}

/// Makes a call until it succeeds: in hours, a machine with other work lets kubectl wait too long now and then.
fn patiently(call: impl Fn() -> CommandOutput) {
    let begun = Instant::now();
    loop {
        let output = call();
        if output.is_success() || begun.elapsed() > CALL_PATIENCE {
            return output.expect_success();
        }
        sleep(Duration::from_secs(1));
    }
}

fn renew_token(cluster: &TestCluster) {
    patiently(|| cluster.renew_token(crate::installation::NAMESPACE, "kubewright", TOKEN_LIFE));
}

fn certificate(cluster: &TestCluster) -> String {
    let namespace = crate::installation::NAMESPACE;
    let fields = ["get", "secret", "kubewright-tls", "-n", namespace, "-o", r"jsonpath={.data.tls\.crt}"];
    cluster.kubectl(&fields, "").stdout
}

fn observe(observed: &mut Observed, id: u32, time: Duration) {
    let files = fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
    observed.memory.push((time.as_secs_f64(), ProcessUsage::of(id).memory as f64));
    observed.files.push((time.as_secs_f64(), files as f64));
}

/// As a Deployment does it: the new one is ready before the old one is asked to end.
fn replace_oldest(installation: &mut crate::installation::Installation<'_>) {
    installation.start();
    let deadline = Instant::now() + Duration::from_secs(60);
    while installation.ready() < 4 && Instant::now() < deadline {
        sleep(Duration::from_millis(50));
    }
    let mut old = installation.take_oldest();
    old.server.terminate().expect("a signal");
    while !matches!(old.server.ended(), Ok(Some(_))) && Instant::now() < deadline {
        sleep(Duration::from_millis(50));
    }
    installation.forget(&old);
}

fn judge(row: &mut Row, id: u32, observed: &Observed) {
    let ends = observed.memory.first().zip(observed.memory.last());
    let life = ends.map_or(0.0, |((first, _), (last, _))| last - first);
    let (memory, files) = (slope(&observed.memory), slope(&observed.files));
    let last = observed.memory.last().map_or(0.0, |(_, bytes)| *bytes);
    row.notes.push(format!(
        "replica {id}, observed for {:.0} s: {:.1} MiB, slope {:+.2} MiB an hour; {:.0} files, slope {:+.2} an hour",
        life,
        last / 1024.0 / 1024.0,
        memory * 3600.0 / 1024.0 / 1024.0,
        observed.files.last().map_or(0.0, |(_, files)| *files),
        files * 3600.0
    ));
    if life >= MINIMUM_LIFE.as_secs_f64() {
        row.expect(memory * life < MEMORY_GROWTH, format!("the memory of replica {id} grows"));
        row.expect(files * life < FILE_GROWTH, format!("replica {id} opens more and more files"));
    }
}

/// The slope of the line that fits best.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (mean_x, mean_y) = (sum(points, |(x, _)| x) / count, sum(points, |(_, y)| y) / count);
    let spread = sum(points, |(x, _)| (x - mean_x).powi(2));
    if spread == 0.0 { 0.0 } else { sum(points, |(x, y)| (x - mean_x) * (y - mean_y)) / spread }
}

fn sum(points: &[(f64, f64)], of: impl Fn((f64, f64)) -> f64) -> f64 {
    points.iter().map(|point| of(*point)).sum()
}
