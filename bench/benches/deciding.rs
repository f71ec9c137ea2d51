//! How long a decision takes, as a ratio to parsing the same object.
//!
//! `cargo bench -p kubewright-bench --bench deciding` prints Markdown tables. Times are CPU times of this thread; the
//! subjects take turns, and the median counts. With `-- --instructions` it counts instructions instead.

use kubewright_bench::clock::{BenchSubject, medians, print_ratios};
use kubewright_bench::instructions::{self, BenchMode};
use kubewright_bench::rules::bench_rules;
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Value, json};

const DEPLOYMENT: &str = include_str!("../inputs/deployment.json");

fn main() {
    let object = json::parse(DEPLOYMENT).unwrap_or_default();
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let world = ClosedWorld::default();
    let settings = DecisionSettings::default();
    let engines: Vec<Engine> = [(5, 5), (5, 995), (5, 9995), (0, 10), (0, 10_000)]
        .map(|(matching, others)| Engine::new(bench_rules(matching, others)))
        .into();
    let decide = |engine: &Engine| {
        let decision = engine.decide(&request, &world, &settings);
        decision.patch(&request.object).len()
    };
    let changed = engines.first().map(decide).unwrap_or_default();
    assert_eq!(changed, 7, "five annotations and two ports change");

    let [few, thousand, ten_thousand, none_of_ten, none_of_many] = engines.as_slice() else { return };
    let subjects = [
        BenchSubject::new("5 of 10 rules match and patch", || decide(few)),
        BenchSubject::new("5 of 1,000 rules match and patch", || decide(thousand)),
        BenchSubject::new("5 of 10,000 rules match and patch", || decide(ten_thousand)),
        BenchSubject::new("5 of 1,000, with parsing and the patch as text", || {
            decide_review_bytes(thousand, &world)
        }),
        BenchSubject::new("json::parse", || json::parse(DEPLOYMENT).map_or(0, |_| 1)),
        BenchSubject::new("serde_json into its Value", || {
            serde_json::from_str::<serde_json::Value>(DEPLOYMENT).map_or(0, |_| 1)
        }),
    ];
    let title = "One Deployment of 1 KB, decided";
    match BenchMode::of_arguments() {
        BenchMode::Time => print_ratios(title, &subjects, &medians(&subjects, 7)),
        BenchMode::Instructions => return instructions::print_instructions(title, &subjects),
        BenchMode::Run(subject, rounds) => return instructions::run_subject(&subjects, subject, rounds),
    }

    let subjects = [
        BenchSubject::new("10,000 rules that cannot match", || decide(none_of_many)),
        BenchSubject::new("10 rules that cannot match", || decide(none_of_ten)),
    ];
    print_ratios("Rules that cannot match", &subjects, &medians(&subjects, 7));
}

/// Bytes in, JSON Patch out.
fn decide_review_bytes(engine: &Engine, world: &ClosedWorld) -> usize {
    let object = json::parse(DEPLOYMENT).unwrap_or_default();
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let decision = engine.decide(&request, world, &DecisionSettings::default());
    let patch: Vec<Value> =
        decision.patch(&request.object).iter().map(|operation| operation.to_value()).collect();
    json::to_string(&Value::array(patch)).len()
}
