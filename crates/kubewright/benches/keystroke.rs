//! How long `kubewright lsp` takes from an edit to its diagnostics, with a thousand rules.
//!
//! `make bench-lsp` prints a Markdown table, and ends with 1 when a keystroke takes more than its limit. The server is the
//! real binary, driven over standard input and output.

#![expect(clippy::expect_used, reason = "a bench that cannot do its work has failed")]

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/editor/client.rs"]
mod client;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::{ClientOptions, EditorClient};
use kubewright_load::BenchLimits;

/// The rules of the project.
const RULES: usize = 1_000;

/// The manifests of the project.
const MANIFESTS: usize = 200;

/// How many manifests the editor has open.
const OPEN_MANIFESTS: usize = 20;

/// How long a keystroke may take.
const MAX_KEYSTROKE_TIME: Duration = Duration::from_millis(20);

/// How often a key is struck; the first times do not count.
const KEYSTROKES: usize = 45;

const WARM_UP: usize = 5;

const PROJECT: &str = "rules: [rules]\nresources: [manifests]\n";

/// The line and the column of the message that is edited.
const MESSAGE: (u32, u32) = (13, 20);

fn main() -> ExitCode {
    let mut limits = BenchLimits::default();
    println!("Medians of {} keystrokes, each from the edit to its diagnostics.", KEYSTROKES - WARM_UP);
    println!("\n| {RULES} rules | edited | median | slowest | share of the limit |\n|---|---|--:|--:|--:|");
    for scenario in [files_of_one_rule(), one_file(), project_with_manifests()] {
        scenario.measure(&mut limits);
    }
    if limits.print() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Files, and the places in them where a user types.
struct Scenario {
    name: &'static str,
    files: Vec<(String, String)>,
    /// The files that are open.
    open: Vec<String>,
    /// What is edited: what it is called, its file, its line and its column.
    edits: Vec<(&'static str, String, u32, u32)>,
}

impl Scenario {
    fn measure(&self, limits: &mut BenchLimits) {
        let files: Vec<(&str, &str)> =
            self.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        // The address of a file has these characters as they are.
        let folder = self.name.replace(|one: char| !one.is_ascii_alphanumeric(), "-");
        let mut client = EditorClient::start(&format!("bench-{folder}"), &files, ClientOptions::default());
        for name in &self.open {
            let (_, text) = files.iter().find(|(file, _)| file == name).expect("a file of the scenario");
            client.open(name, text);
            client.wait_for_version(name, 1);
        }
        for (what, file, line, column) in &self.edits {
            let mut times: Vec<Duration> = (0..KEYSTROKES)
                .map(|number| keystroke(&mut client, file, [*line, *column], number))
                .skip(WARM_UP)
                .collect();
            times.sort();
            let time_at = |position: usize| times.get(position).copied().expect("a keystroke");
            let (median, slowest) = (time_at(times.len() / 2), time_at(times.len() - 1));
            let share = median.as_secs_f64() / MAX_KEYSTROKE_TIME.as_secs_f64();
            println!("| {} | {what} | {} | {} | {share:.2} |", self.name, shown(median), shown(slowest));
            let name = format!("{}, {what}", self.name);
            limits.add(
                &name,
                &format!("at most {}", shown(MAX_KEYSTROKE_TIME)),
                shown(median),
                median <= MAX_KEYSTROKE_TIME,
            );
        }
        client.stop();
    }
}

/// Types a letter, or takes it away again, and waits for the diagnostics of that text.
fn keystroke(client: &mut EditorClient, file: &str, place: [u32; 2], number: usize) -> Duration {
    let [line, column] = place;
    let is_typed = number.is_multiple_of(2);
    let (end, text) = if is_typed { (column, "x") } else { (column + 1, "") };
    let started = Instant::now();
    let version = client.edit(file, [line, column, line, end], text);
    client.wait_for_version(file, version);
    started.elapsed()
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

fn files_of_one_rule() -> Scenario {
    let mut files = vec![("kubewright.yaml".to_owned(), PROJECT.to_owned())];
    files.extend((0..RULES).map(|number| (format!("rules/{number}.yaml"), policy(number))));
    let edited = format!("rules/{}.yaml", RULES / 2);
    Scenario {
        name: "in 1,000 files",
        files,
        open: vec![edited.clone()],
        edits: vec![
            ("a message", edited.clone(), MESSAGE.0, MESSAGE.1),
            ("the name of a field", edited.clone(), 12, 6),
            ("the name of a policy", edited, 3, 10),
        ],
    }
}

fn one_file() -> Scenario {
    let policies: Vec<String> = (0..RULES).map(policy).collect();
    let lines = policies.first().map_or(0, |policy| policy.lines().count() + 1);
    let before = u32::try_from(lines * RULES / 2).expect("few lines");
    let edited = "rules/all.yaml".to_owned();
    Scenario {
        name: "in one file",
        files: vec![
            ("kubewright.yaml".to_owned(), PROJECT.to_owned()),
            (edited.clone(), policies.join("---\n")),
        ],
        open: vec![edited.clone()],
        edits: vec![
            ("a message", edited.clone(), before + MESSAGE.0, MESSAGE.1),
            ("the name of a field", edited, before + 12, 6),
        ],
    }
}

fn project_with_manifests() -> Scenario {
    let mut files = vec![("kubewright.yaml".to_owned(), PROJECT.to_owned())];
    files.extend((0..RULES).map(|number| (format!("rules/{number}.yaml"), policy(number))));
    let manifests = (0..MANIFESTS).map(|number| (format!("manifests/{number}.yaml"), deployment(number)));
    files.extend(manifests);
    let rule = format!("rules/{}.yaml", RULES / 2);
    let mut open: Vec<String> =
        (0..OPEN_MANIFESTS).map(|number| format!("manifests/{number}.yaml")).collect();
    open.push(rule.clone());
    Scenario {
        name: "in a project with manifests",
        files,
        open,
        edits: vec![
            ("a message", rule, MESSAGE.0, MESSAGE.1),
            ("a manifest that breaks 8 of them", "manifests/3.yaml".to_owned(), 3, 8),
            ("a manifest that breaks 400 of them", "manifests/0.yaml".to_owned(), 3, 8),
        ],
    }
}

/// Returns a policy. Two of five are about Deployments and their Pods, and most Deployments break one of fifty.
fn policy(number: usize) -> String {
    let kinds = ["Deployment", "Pod", "Service", "ConfigMap", "Ingress"];
    let kind = kinds.get(number % kinds.len()).expect("a kind");
    let label = if number % 50 < 2 { "team" } else { "app" };
    format!(
        "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: labels-{number}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match:
      any:
      - resources:
          kinds: [{kind}]
    validate:
      message: the label {label} is required for {{{{ request.object.metadata.name }}}}
      pattern:
        metadata:
          labels:
            {label}: \"?*\"
"
    )
}

/// Returns a Deployment; the first one has none of the labels that rules ask for.
fn deployment(number: usize) -> String {
    let label = if number == 0 { "name" } else { "app" };
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
  labels: {{{label}: web-{number}}}
spec:
  selector:
    matchLabels: {{{label}: web-{number}}}
  template:
    metadata:
      labels: {{{label}: web-{number}}}
    spec:
      containers:
      - name: web
        image: nginx:1
"
    )
}
