//! What is counted: fixed inputs of this repository, prepared before the count begins.

use std::path::Path;

use kubewright_bench::{cluster, patterns, rules, texts};
use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine};
use kubewright_graph::{Graph, References};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_load::{Reviews, generated_policies, harmful_pod};
use kubewright_patterns::{DetectionSettings, detect_all};
use kubewright_serve::Snapshot;
use kubewright_serve::review::decide_offline;
use kubewright_value::{Document, Source, json, yaml};

const POD: &str = include_str!("../../../inputs/pod.json");
const DEPLOYMENT: &str = include_str!("../../../inputs/deployment.json");
const CEL_POLICIES: &str = include_str!("../../../inputs/cel-policies.yaml");

/// The work of one round.
pub(crate) type Work = Box<dyn Fn() -> usize>;

/// A workload.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// How many rounds are counted.
    pub(crate) rounds: usize,
    /// Makes everything that a round needs.
    pub(crate) prepare: fn() -> Result<Work, String>,
}

/// Returns every workload.
pub(crate) fn all_workloads() -> &'static [Workload] {
    &[
        Workload { name: "parse a 3 KB Pod in JSON", rounds: 200, prepare: parse_json },
        Workload { name: "read 100 KB of YAML with positions", rounds: 5, prepare: read_yaml },
        Workload { name: "18 Pod Security policies on a Pod", rounds: 100, prepare: judge_pod },
        Workload { name: "a review of a Pod by 18 policies, allowed", rounds: 100, prepare: review_allowed },
        Workload { name: "a review of a Pod by 18 policies, denied", rounds: 100, prepare: review_denied },
        Workload { name: "14 policies in CEL on a Pod", rounds: 100, prepare: judge_pod_in_cel },
        Workload { name: "50 ModRules on a Deployment, 5 match", rounds: 50, prepare: patch_deployment },
        Workload { name: "compile 140 policies of seven sorts", rounds: 1, prepare: compile_policies },
        Workload { name: "graph and 6 patterns over 500 objects", rounds: 2, prepare: detect_patterns },
    ]
}

fn parse_json() -> Result<Work, String> {
    Ok(Box::new(|| json::parse(POD).map_or(0, |_| 1)))
}

fn read_yaml() -> Result<Work, String> {
    let source = Source::new("stream.yaml", texts::document_stream(100_000));
    Ok(Box::new(move || yaml::read(&source).documents.len()))
}

fn judge_pod() -> Result<Work, String> {
    decide_work(&pod_security_policies()?, POD, 18)
}

fn review_allowed() -> Result<Work, String> {
    review_work(POD, true)
}

fn review_denied() -> Result<Work, String> {
    let pod = harmful_pod(POD).ok_or("the Pod has nothing to make worse")?;
    review_work(&pod, false)
}

/// Returns everything that the webhook does with a review about the creation of `pod`, apart from network, log and metrics.
fn review_work(pod: &str, is_allowed: bool) -> Result<Work, String> {
    let snapshot = Snapshot::of(&DialectOptions::default(), &[], &pod_security_policies()?, 1);
    let (_, review) = Reviews::of_pod(pod.trim(), "shop", is_allowed).get(0);
    let answer = move || decide_offline(&snapshot, "validate", &review).ok().flatten().unwrap_or_default();
    match answer().contains(&format!("\"allowed\":{is_allowed}")) {
        false => Err(format!("answered {}", answer())),
        true => Ok(Box::new(move || answer().len())),
    }
}

/// Returns the documents of the examples of Pod Security policies.
fn pod_security_policies() -> Result<Vec<Document>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/kyverno/pod-security");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .flatten()
        .map(|entry| entry.path().join("policy.yaml"))
        .collect();
    files.sort();
    let mut documents = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        documents.extend(yaml::read(&Source::new("policy.yaml", text)).documents);
    }
    Ok(documents)
}

fn judge_pod_in_cel() -> Result<Work, String> {
    decide_work(&yaml::read(&Source::new("policies.yaml", CEL_POLICIES)).documents, POD, 14)
}

fn patch_deployment() -> Result<Work, String> {
    let text = rules::unmet_text(5, 45);
    decide_work(&yaml::read(&Source::new("rules.yaml", text)).documents, DEPLOYMENT, 50)
}

/// Returns the decision of the rules in `documents` about `object`, with at least `outcomes` outcomes.
fn decide_work(documents: &[Document], object: &str, outcomes: usize) -> Result<Work, String> {
    let loaded = load_documents(&all_dialects(&DialectOptions::default()), documents);
    let engine = Engine::new(loaded.rules);
    let object = json::parse(object).map_err(|error| error.to_string())?;
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let decide = move || {
        let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
        decision.outcomes.len()
    };
    match decide() {
        found if found < outcomes => Err(format!("{found} outcomes instead of at least {outcomes}")),
        _ => Ok(Box::new(decide)),
    }
}

fn compile_policies() -> Result<Work, String> {
    let documents = yaml::read(&Source::new("policies.yaml", generated_policies(140))).documents;
    Ok(Box::new(move || {
        Engine::new(load_documents(&all_dialects(&DialectOptions::default()), &documents).rules).rules().len()
    }))
}

fn detect_patterns() -> Result<Work, String> {
    let patterns = patterns::relational()?;
    let objects = cluster::cluster_objects(500);
    Ok(Box::new(move || {
        let graph = Graph::build(objects.iter().cloned(), &References::default());
        let found = detect_all(&patterns, &graph, &DetectionSettings::default(), 1);
        found.iter().map(|found| found.as_ref().map_or(0, |found| found.findings.len())).sum()
    }))
}
