//! Policies that judge: one Pod in this process, thousands of Pods and whole test trees by the binary.
//!
//! `cargo bench -p kubewright-bench --bench judging` prints Markdown tables. The policies are those of
//! `examples/kyverno/pod-security`. The public corpus is measured too where it is; `KUBEWRIGHT_CORPUS` says where,
//! and `../shared/conformance` is tried otherwise.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kubewright_bench::clock::{BenchSubject, medians, print_ratios};
use kubewright_bench::instructions::{self, BenchMode};
use kubewright_bench::process::{build_dist_binary, measure_process};
use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, json, yaml};

const POD: &str = include_str!("../inputs/pod.json");
const ROUNDS: usize = 5;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let policies = root.join("examples/kyverno/pod-security");
    let corpus = std::env::var_os("KUBEWRIGHT_CORPUS")
        .map_or_else(|| root.join("../shared/conformance"), PathBuf::from);
    measure_one_pod(&policies, &corpus);
    if matches!(BenchMode::of_arguments(), BenchMode::Time)
        && let Err(error) = measure_many_pods(&policies, &corpus)
    {
        println!("not measured: {error}");
    }
}

/// One Pod, all policies, compiled.
fn measure_one_pod(policies: &Path, corpus: &Path) {
    let mut documents = Vec::new();
    read_policy_files(policies, &mut documents);
    let loaded = load_documents(&all_dialects(&DialectOptions::default()), &documents);
    let count = documents.len();
    let engine = Engine::new(loaded.rules);
    let world = ClosedWorld::default();
    let settings = DecisionSettings::default();
    let object = json::parse(POD).unwrap_or_default();
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let outcomes = engine.decide(&request, &world, &settings).outcomes.len();
    let name = format!("decide, {count} policies, {outcomes} outcomes");
    let (meets, violates) = (pod_security("restricted"), bad_pod());
    let in_cel = cel(corpus, &["pod-security-cel", "best-practices-cel", "other-cel"], &request);
    let of_cel = in_cel.decide(&request, &world, &settings).outcomes.len();
    let cel_name = format!("decide, {CEL_POLICIES} public policies in CEL, {of_cel} outcomes");
    let validating = cel(corpus, &["pod-security-vpol", "best-practices-vpol", "other-vpol"], &request);
    let of_validating = validating.decide(&request, &world, &settings).outcomes.len();
    let validating_name =
        format!("decide, {CEL_POLICIES} public ValidatingPolicies, {of_validating} outcomes");
    let mutating = mutate_policies(corpus, &request);
    let of_mutating = mutating.decide(&request, &world, &settings).outcomes.len();
    let mutating_name = format!("decide, {MUTATE_POLICIES} public mutate policies, {of_mutating} outcomes");
    let mut subjects = vec![
        BenchSubject::new(&name, || engine.decide(&request, &world, &settings).outcomes.len()),
        BenchSubject::new("decide, podSecurity restricted, met", || {
            meets.decide(&request, &world, &settings).outcomes.len()
        }),
        BenchSubject::new("decide, podSecurity restricted, violated", || {
            meets.decide(&violates, &world, &settings).outcomes.len()
        }),
        BenchSubject::new("json::parse", || json::parse(POD).map_or(0, |_| 1)),
        BenchSubject::new("serde_json into its Value", || {
            serde_json::from_str::<serde_json::Value>(POD).map_or(0, |_| 1)
        }),
    ];
    if of_cel > 0 {
        let decide = || in_cel.decide(&request, &world, &settings).outcomes.len();
        subjects.insert(1, BenchSubject::new(&cel_name, decide));
    }
    if of_validating > 0 {
        let decide = || validating.decide(&request, &world, &settings).outcomes.len();
        subjects.insert(1, BenchSubject::new(&validating_name, decide));
    }
    if of_mutating > 0 {
        let decide = || mutating.decide(&request, &world, &settings).outcomes.len();
        subjects.insert(1, BenchSubject::new(&mutating_name, decide));
    }
    let title = format!("One Pod of {} bytes", POD.len());
    match BenchMode::of_arguments() {
        BenchMode::Time => print_ratios(&title, &subjects, &medians(&subjects, 7)),
        BenchMode::Instructions => instructions::print_instructions(&title, &subjects),
        BenchMode::Run(subject, rounds) => instructions::run_subject(&subjects, subject, rounds),
    }
}

/// The number of CEL policies for the Pod.
const CEL_POLICIES: usize = 16;

/// Returns the first policies in `folders` of the public corpus that judge Pods; none where the corpus is not.
fn cel(corpus: &Path, folders: &[&str], request: &AdmissionRequest) -> Engine {
    let mut documents = Vec::new();
    for folder in folders {
        read_policy_files(&corpus.join("kyverno/policies").join(folder), &mut documents);
    }
    let dialects = all_dialects(&DialectOptions::default());
    let judges = |document: &Document| {
        let engine = Engine::new(load_documents(&dialects, std::slice::from_ref(document)).rules);
        let decision = engine.decide(request, &ClosedWorld::default(), &DecisionSettings::default());
        !decision.outcomes.is_empty()
    };
    let chosen: Vec<Document> =
        documents.into_iter().filter(|document| judges(document)).take(CEL_POLICIES).collect();
    Engine::new(load_documents(&dialects, &chosen).rules)
}

/// The number of policies that change the Pod.
const MUTATE_POLICIES: usize = 10;

/// Returns the first policies of the public corpus that change the Pod; none where the corpus is not.
fn mutate_policies(corpus: &Path, request: &AdmissionRequest) -> Engine {
    let mut documents = Vec::new();
    for folder in ["best-practices", "other", "istio", "cleanup"] {
        read_policy_files(&corpus.join("kyverno/policies").join(folder), &mut documents);
    }
    let dialects = all_dialects(&DialectOptions::default());
    let changes = |document: &Document| {
        let engine = Engine::new(load_documents(&dialects, std::slice::from_ref(document)).rules);
        let decision = engine.decide(request, &ClosedWorld::default(), &DecisionSettings::default());
        decision.outcomes.iter().any(|outcome| !outcome.patch.is_empty())
    };
    let chosen: Vec<Document> =
        documents.into_iter().filter(|document| changes(document)).take(MUTATE_POLICIES).collect();
    Engine::new(load_documents(&dialects, &chosen).rules)
}

/// Returns an engine with only a Pod Security level.
fn pod_security(level: &str) -> Engine {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, \
         match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, \
         validate: {{podSecurity: {{level: {level}, version: latest}}}}}}]}}}}"
    );
    let documents = yaml::read(&Source::new("policy.yaml", &policy)).documents;
    Engine::new(load_documents(&all_dialects(&DialectOptions::default()), &documents).rules)
}

/// Returns a request for a Pod that says nothing about its security.
fn bad_pod() -> AdmissionRequest {
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"},"spec":{
        "hostNetwork":true,"containers":[{"name":"a","image":"nginx"},{"name":"b","image":"redis"}]}}"#;
    AdmissionRequest::for_object(json::parse(pod).unwrap_or_default(), Operation::Create, "default")
}

/// Many Pods, and whole test trees, by the binary.
fn measure_many_pods(policies: &Path, corpus: &Path) -> Result<(), String> {
    let binary = build_dist_binary()?;
    let folder = std::env::temp_dir().join(format!("kubewright-judging-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let none = folder.join("none.yaml");
    std::fs::write(&none, NOTHING).map_err(|error| error.to_string())?;
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut sets = vec![("our Pod Security policies", policies.to_owned())];
    let public = corpus.join("kyverno/policies");
    match public.is_dir() {
        true => sets.push(("the public ones", public.join("pod-security"))),
        false => println!("\nthe public corpus is not at {}: not measured", corpus.display()),
    }
    println!("\n`kubewright apply`, Pods in one YAML file\n");
    println!("| policies | Pods | outcomes | CPU ms | of it reading | µs an outcome, reading apart | MB |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, rules) in &sets {
        for count in [1_000, 5_000, 20_000] {
            let pods = folder.join("pods.yaml");
            std::fs::write(&pods, pods_text(count)).map_err(|error| error.to_string())?;
            let (rules, pods, none) = (path(rules), path(&pods), path(&none));
            let whole = measure_process(&binary, &["apply", "-q", &rules, "-r", &pods], ROUNDS, &[0, 1, 2])?;
            let reading = measure_process(&binary, &["apply", "-q", &none, "-r", &pods], ROUNDS, &[0, 1, 2])?;
            let outcomes = outcomes(&binary, &rules, &pods)?;
            let each = whole.time.saturating_sub(reading.time).as_secs_f64() * 1e6 / (outcomes.max(1) as f64);
            println!(
                "| {name} | {count} | {outcomes} | {:.0} | {:.0} | {each:.2} | {} |",
                whole.time.as_secs_f64() * 1e3,
                reading.time.as_secs_f64() * 1e3,
                whole.memory
            );
        }
    }
    println!("\n`kubewright test`\n\n| tests | CPU ms | MB |\n|---|---:|---:|");
    let examples = path(&policies.join(".."));
    let trees = [("examples/kyverno", examples), ("the public corpus", path(&public))];
    for (name, tree) in trees.iter().filter(|(_, tree)| Path::new(tree).is_dir()) {
        let whole = measure_process(&binary, &["test", "-q", tree], ROUNDS, &[0, 1, 2])?;
        println!("| {name} | {:.0} | {} |", whole.time.as_secs_f64() * 1e3, whole.memory);
    }
    println!(
        "\n`kubewright convert --summary`, each policy proven on its tests\n\n| policies | CPU ms | MB |\n|---|---:|---:|"
    );
    for (name, tree) in trees.iter().filter(|(_, tree)| Path::new(tree).is_dir()) {
        let words = ["convert", "--to", "validatingpolicy", "--summary", tree];
        let whole = measure_process(&binary, &words, ROUNDS, &[0, 1, 2])?;
        println!("| {name} | {:.0} | {} |", whole.time.as_secs_f64() * 1e3, whole.memory);
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// A policy that matches nothing in the input.
const NOTHING: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: nothing}
spec:
  rules:
    - name: nothing
      match: {any: [{resources: {kinds: [Nothing]}}]}
      validate: {message: nothing, pattern: {metadata: {name: x}}}
";

fn pods_text(count: usize) -> String {
    let template = yaml::write(&json::parse(POD).unwrap_or_default());
    let mut out = String::with_capacity(count * (template.len() + 16));
    for i in 0..count {
        let _ = write!(out, "---\n{}", template.replace("x2x7q", &format!("x{i}")));
    }
    out
}

/// Returns how many outcomes there are.
fn outcomes(binary: &Path, rules: &str, pods: &str) -> Result<usize, String> {
    let output = std::process::Command::new(binary)
        .args(["apply", "-o", "json", rules, "-r", pods])
        .output()
        .map_err(|error| error.to_string())?;
    let document =
        json::parse(&String::from_utf8_lossy(&output.stdout)).map_err(|error| error.to_string())?;
    let objects = document.get("objects").and_then(|objects| objects.as_array()).unwrap_or_default();
    Ok(objects
        .iter()
        .map(|object| object.get("outcomes").and_then(|all| all.as_array()).map_or(0, <[_]>::len))
        .sum())
}

fn read_policy_files(folder: &Path, into: &mut Vec<Document>) {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_policy_files(&path, into);
        } else if let Ok(bytes) = std::fs::read(&path)
            && let Ok(source) = yaml::decode(&path.to_string_lossy(), bytes)
        {
            let chunks = yaml::split(&source.text);
            let all = chunks.iter().flat_map(|chunk| yaml::read_chunk(&source, chunk).documents);
            into.extend(all.filter(|document| {
                let kind = document.value.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default();
                ["ClusterPolicy", "ValidatingPolicy"].contains(&kind)
            }));
        }
    }
}
