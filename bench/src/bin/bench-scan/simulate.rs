//! The scan itself on a simulated store: as many objects as no API server of one machine could serve in time.
//!
//! Each size is a process of its own, so that the memory of one does not hide that of another. Objects are made,
//! read from JSON, judged and forgotten one application after the other, as they would come from a list.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use kubewright_bench::clock::cpu_time_now;
use kubewright_engine::{Query, QueryAnswer, World};
use kubewright_load::{BenchLimits, ProcessUsage};
use kubewright_scan::{JudgementCause, Observation, ScanRuleOptions, ScanRules, ScanSettings, Scanner};
use kubewright_value::{Document, Source, Value, json, yaml};

use crate::arguments::ScanBenchArguments;
use crate::objects::{
    ApplicationTemplate, application_count, namespace_count, namespace_manifest, namespace_name,
};
use crate::policies::{POLICY_SETTINGS, policy_count, policy_stream};

const MAX_VERDICT_MICROSECONDS: f64 = 3.0;
const MAX_SLOPE: f64 = 1.1;
/// A second in 2026, as the time of the scan.
const NOW: i64 = 1_780_000_000;

/// What was seen of one size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct SimulatedScan {
    objects: u64,
    verdicts: u64,
    rows: u64,
    json_bytes: u64,
    reading: Duration,
    judging: Duration,
    /// What the scanner keeps, in bytes.
    memory: u64,
}

/// What rules look up, in memory.
struct SimulatedStore {
    objects: BTreeMap<(String, String, String), Value>,
}

impl World for SimulatedStore {
    fn get(&self, query: &Query) -> QueryAnswer {
        let Query::Object(name) = query else { return QueryAnswer::Absent };
        let key = (name.kind.to_string(), name.namespace.to_string(), name.name.to_string());
        self.objects.get(&key).cloned().map_or(QueryAnswer::Absent, QueryAnswer::Found)
    }
}

impl SimulatedStore {
    fn new(namespaces: usize) -> Result<Self, String> {
        let mut store = Self { objects: BTreeMap::new() };
        for document in documents("settings.yaml", POLICY_SETTINGS) {
            store.insert(document.value);
        }
        for number in 0..namespaces {
            let manifest = namespace_manifest(&namespace_name(number));
            store.insert(json::parse(&manifest).map_err(|error| error.to_string())?);
        }
        Ok(store)
    }

    fn insert(&mut self, object: Value) {
        let text = |keys: &[&str]| object.str_at(keys).to_owned();
        let key = (text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        self.objects.insert(key, object);
    }
}

/// Measures all sizes, each in a process of its own, and adds the limits.
pub(crate) fn measure_simulated(
    arguments: &ScanBenchArguments,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let mut scans = Vec::new();
    println!("\n## A simulated store, {} policies, one thread\n", policy_count(&policy_stream()?));
    println!(
        "| objects | verdicts | rows | judging s | µs a verdict | µs an object | JSON MB/s | kept bytes an object |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for objects in &arguments.simulated {
        let scan = simulate_in_process(*objects)?;
        println!(
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} |",
            scan.objects,
            scan.verdicts,
            scan.rows,
            scan.judging.as_secs_f64(),
            scan.verdict_microseconds(),
            scan.judging.as_secs_f64() * 1e6 / scan.objects as f64,
            scan.json_bytes as f64 / 1e6 / scan.reading.as_secs_f64().max(1e-9),
            scan.memory as f64 / scan.objects as f64,
        );
        scans.push(scan);
    }
    if let Some(worst) = scans.iter().map(SimulatedScan::verdict_microseconds).reduce(f64::max) {
        let is_kept = worst <= MAX_VERDICT_MICROSECONDS;
        limits.add("CPU a verdict, JSON reading apart", "≤ 3 µs", format!("{worst:.2} µs"), is_kept);
    }
    if let [first, .., last] = scans.as_slice() {
        let slope = (last.judging.as_secs_f64() / first.judging.as_secs_f64()).ln()
            / (last.objects as f64 / first.objects as f64).ln();
        let what = format!("slope of CPU from {} to {} objects", first.objects, last.objects);
        limits.add(&what, "≤ 1.1", format!("{slope:.3}"), slope <= MAX_SLOPE);
    }
    Ok(())
}

/// Judges `objects` in this process and prints what was seen, for the process that started it.
pub(crate) fn simulate(objects: usize) -> Result<(), String> {
    let template = ApplicationTemplate::read()?;
    let applications = application_count(objects, &template);
    let store = SimulatedStore::new(namespace_count(applications))?;
    let options = ScanRuleOptions { now: i128::from(NOW) * 1_000_000_000, ..ScanRuleOptions::default() };
    let (rules, diagnostics) =
        ScanRules::compile(&documents("policies.yaml", &policy_stream()?), &[], &options);
    if let Some(diagnostic) = diagnostics.first() {
        return Err(format!("a policy cannot be compiled: {diagnostic:?}"));
    }
    let mut scanner = Scanner::new(ScanSettings::default());
    scanner.replace_rules(Arc::new(rules));
    let before = ProcessUsage::of(std::process::id()).memory;

    let mut scan = SimulatedScan::default();
    for number in 0..applications {
        scan.observe_application(&mut scanner, &store, &template, number)?;
    }
    scan.memory = ProcessUsage::of(std::process::id()).memory.saturating_sub(before);
    let totals = scanner.totals();
    let counts = totals.rules.values();
    let verdicts = counts.map(|counts| counts.pass + counts.fail + counts.warn + counts.error + counts.skip);
    scan.verdicts = verdicts.sum::<usize>() as u64;
    scan.rows = scanner.results().map(|results| results.results.len() as u64).sum();
    println!("{}", scan.to_line());
    Ok(())
}

impl SimulatedScan {
    fn observe_application(
        &mut self,
        scanner: &mut Scanner,
        store: &SimulatedStore,
        template: &ApplicationTemplate,
        number: usize,
    ) -> Result<(), String> {
        let uid = |place: usize| format!("00000000-0000-4000-8000-{:012x}", number * template.size() + place);
        let objects = template.application(number).into_iter().enumerate();
        let texts: Vec<String> = objects
            .map(|(place, object)| object.stored(&uid(place), &object.owner.map(uid).unwrap_or_default()))
            .collect();
        let start = cpu_time_now();
        let values: Result<Vec<Value>, _> = texts.iter().map(|text| json::parse(text)).collect();
        let values = values.map_err(|error| error.to_string())?;
        let read = cpu_time_now();
        for value in &values {
            match scanner.observe(value, JudgementCause::Object, store, NOW) {
                Observation::Judged | Observation::NotMatched => {}
                other => return Err(format!("an object was not judged: {other:?}")),
            }
        }
        self.judging += cpu_time_now().saturating_sub(read);
        self.reading += read.saturating_sub(start);
        self.objects += values.len() as u64;
        self.json_bytes += texts.iter().map(|text| text.len() as u64).sum::<u64>();
        Ok(())
    }

    fn verdict_microseconds(&self) -> f64 {
        self.judging.as_secs_f64() * 1e6 / self.verdicts.max(1) as f64
    }

    fn to_line(self) -> String {
        let Self { objects, verdicts, rows, json_bytes, reading, judging, memory } = self;
        let [reading, judging] = [reading, judging].map(|time| time.as_nanos());
        format!("{objects} {verdicts} {rows} {json_bytes} {reading} {judging} {memory}")
    }

    fn from_line(line: &str) -> Option<Self> {
        let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [objects, verdicts, rows, json_bytes, reading, judging, memory] = numbers.try_into().ok()?;
        let [reading, judging] = [reading, judging].map(Duration::from_nanos);
        Some(Self { objects, verdicts, rows, json_bytes, reading, judging, memory })
    }
}

fn simulate_in_process(objects: usize) -> Result<SimulatedScan, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(this)
        .args(["--simulate", &objects.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    SimulatedScan::from_line(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| format!("{objects} simulated objects: {}", String::from_utf8_lossy(&output.stderr)))
}

fn documents(name: &str, text: &str) -> Vec<Document> {
    yaml::read(&Source::new(name, text)).documents
}
