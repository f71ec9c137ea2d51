//! Patterns in generated clusters: every figure with its limit, against parsing the same objects, and against nested loops.
//!
//! `cargo bench -p kubewright-bench --bench detecting` prints Markdown tables. CPU time is that of all threads, in
//! ticks of ten milliseconds, so small work is repeated, on as many different sets of objects as there is time for:
//! none is in the processor's cache because of the round before. The memory is the peak so far.

use std::hint::black_box;
use std::time::{Duration, Instant};

use kubewright_bench::clock::process_now;
use kubewright_bench::{cluster, patterns};
use kubewright_graph::{Graph, References};
use kubewright_patterns::{DetectionSettings, Pattern, detect, detect_all, detection_budget};
use kubewright_value::{Value, json};

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As many as the command line uses.
const THREAD_COUNT: usize = 2;

fn main() {
    if let Err(error) = figures() {
        println!("not measured: {error}");
    }
}

fn figures() -> Result<(), String> {
    let relational = patterns::relational()?;
    let sixty = patterns::repeat_patterns(60)?;
    println!(
        "\n| figure | limit | wall | CPU | of parsing | most memory so far |\n|---|---:|---:|---:|---:|---:|"
    );
    let small = cluster::cluster_objects(20_000);
    let costs: Vec<(&Pattern, DetectionCost, usize)> = relational
        .iter()
        .map(|pattern| (pattern, measure_detection(&small, std::slice::from_ref(pattern), 9), most_memory()))
        .collect();
    let parsing = measure_parsing(&small, 5);
    for (pattern, cost, memory) in costs {
        print_detection(&format!("20,000 objects, `{}`", pattern.name), "0.1 s", (cost, parsing), memory);
    }
    drop(small);
    let large = cluster::cluster_objects(100_000);
    let all = measure_detection(&large, &sixty, 3);
    let memory = most_memory();
    print_detection("100,000 objects, 60 patterns", "2 s, 1 GiB", (all, measure_parsing(&large, 1)), memory);
    print_slowest_patterns(&large, &sixty);
    drop(large);
    crowds(&relational);
    slopes(&relational);
    naive(relational.first().ok_or("no pattern")?);
    Ok(())
}

/// The cost of some work.
#[derive(Clone, Copy)]
struct DetectionCost {
    wall: Duration,
    cpu: Duration,
}

impl DetectionCost {
    /// Returns the median wall time and the mean CPU time of some rounds.
    fn of(rounds: u32, mut work: impl FnMut() -> usize) -> Self {
        let mut walls = Vec::new();
        let before = process_now();
        for _ in 0..rounds {
            let start = Instant::now();
            black_box(work());
            walls.push(start.elapsed());
        }
        let cpu = process_now().saturating_sub(before) / rounds.max(1);
        walls.sort_unstable();
        Self { wall: walls.get(walls.len() / 2).copied().unwrap_or_default(), cpu }
    }
}

/// Builds the graph and looks for the patterns, as after parsing. What is freed afterwards counts too.
fn measure_detection(objects: &[Value], patterns: &[Pattern], rounds: u32) -> DetectionCost {
    DetectionCost::of(rounds, || {
        let graph = Graph::build(objects.iter().cloned(), &References::default());
        count_pattern_findings(&graph, patterns)
    })
}

fn count_pattern_findings(graph: &Graph, patterns: &[Pattern]) -> usize {
    let found = detect_all(patterns, graph, &DetectionSettings::default(), THREAD_COUNT);
    found.iter().map(|found| found.as_ref().map_or(0, |found| found.findings.len())).sum()
}

/// Reads the same objects from JSON.
fn measure_parsing(objects: &[Value], rounds: u32) -> DetectionCost {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    DetectionCost::of(rounds, || {
        texts.iter().filter_map(|text| json::parse(text).ok()).collect::<Vec<_>>().len()
    })
}

fn print_detection(
    figure: &str,
    limit: &str,
    (cost, parsing): (DetectionCost, DetectionCost),
    memory: usize,
) {
    println!(
        "| {figure} | {limit} | {:.1} ms | {:.1} ms | {:.2} | {memory} MiB |",
        detection_millis(cost.wall),
        detection_millis(cost.cpu),
        cost.cpu.as_secs_f64() / parsing.cpu.as_secs_f64().max(1e-9),
    );
}

/// The slowest of many patterns, on one thread.
fn print_slowest_patterns(objects: &[Value], patterns: &[Pattern]) {
    let start = Instant::now();
    let graph = Graph::build(objects.iter().cloned(), &References::default());
    println!(
        "\nof these: build {:.1} ms; the slowest patterns on one thread:\n",
        detection_millis(start.elapsed())
    );
    let mut times: Vec<(Duration, &str, usize)> = Vec::new();
    for pattern in patterns {
        let start = Instant::now();
        let found =
            detect(pattern, &graph, &DetectionSettings::default(), &mut detection_budget(pattern, &graph));
        let count = found.map_or(0, |found| found.findings.len());
        times.push((start.elapsed(), &pattern.name, count));
    }
    times.sort_unstable();
    times.dedup_by_key(|(_, name, _)| *name);
    println!("| pattern | ms | findings |\n|---|---:|---:|");
    for (time, name, count) in times.iter().rev().take(10) {
        println!("| {name} | {:.1} | {count} |", detection_millis(*time));
    }
}

/// One Service with many Pods, and many Pods with one claim: nothing grows with the pairs.
fn crowds(relational: &[Pattern]) {
    println!("\n| skewed set | Pods | wall | CPU | findings |\n|---|---:|---:|---:|---:|");
    for (name, objects) in [
        ("one Service", cluster::crowd_objects as fn(usize) -> Vec<Value>),
        ("one claim, one ConfigMap", cluster::sharing),
    ] {
        let mut points = Vec::new();
        for count in [5_000, 50_000] {
            let objects = objects(count);
            let graph = Graph::build(objects.iter().cloned(), &References::default());
            let found = count_pattern_findings(&graph, relational);
            drop(graph);
            let cost = measure_detection(&objects, relational, 3);
            println!(
                "| {name} | {count} | {:.1} ms | {:.1} ms | {found} |",
                detection_millis(cost.wall),
                detection_millis(cost.cpu)
            );
            points.push((count, cost.cpu));
        }
        println!("| {name}: log-log slope | | | {:.2} | |", slope(&points));
    }
}

/// Time against the number of objects.
fn slopes(relational: &[Pattern]) {
    println!(
        "\n| objects | build wall | CPU | build and six patterns wall | CPU | CPU of parsing | most memory so far |\n|---:|---:|---:|---:|---:|---:|---:|"
    );
    let (mut built, mut detected) = (Vec::new(), Vec::new());
    for (count, rounds) in [(1_000, 100), (10_000, 10), (100_000, 2), (1_000_000, 1)] {
        let sets: Vec<Vec<Value>> = (0..rounds).map(|_| cluster::cluster_objects(count)).collect();
        let of_all = |work: fn(&[Value], &[Pattern]) -> usize| {
            let mut sets = sets.iter().cycle();
            DetectionCost::of(rounds, move || sets.next().map_or(0, |objects| work(objects, relational)))
        };
        let build = of_all(|objects, _| Graph::build(objects.iter().cloned(), &References::default()).len());
        let all = of_all(|objects, patterns| {
            count_pattern_findings(&Graph::build(objects.iter().cloned(), &References::default()), patterns)
        });
        // A million texts beside a million objects are more than most machines hold.
        let parsed = sets.first().filter(|_| count <= 100_000);
        let parsing = parsed.map_or_else(
            || "-".to_owned(),
            |objects| format!("{:.1} ms", detection_millis(measure_parsing(objects, rounds).cpu)),
        );
        println!(
            "| {count} | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} ms | {parsing} | {} MiB |",
            detection_millis(build.wall),
            detection_millis(build.cpu),
            detection_millis(all.wall),
            detection_millis(all.cpu),
            most_memory()
        );
        built.push((count, build.cpu));
        detected.push((count, all.cpu));
    }
    println!(
        "\nlog-log slope from 1,000 to 1,000,000 objects (limit 1.1): build {:.2}, with six patterns {:.2}",
        slope(&built),
        slope(&detected)
    );
}

/// Pods that share a volume, by comparing every Pod with every other: what the graph saves.
fn naive(sidecar: &Pattern) {
    println!("\n| objects | nested loops | graph and pattern | pairs |\n|---:|---:|---:|---:|");
    for count in [500, 1_000, 2_000, 4_000] {
        let objects = cluster::cluster_objects(count);
        let mut pairs = 0;
        let loops = DetectionCost::of(3, || {
            pairs = count_nested_loops(&objects);
            pairs
        });
        let graph = measure_detection(&objects, std::slice::from_ref(sidecar), 5);
        println!(
            "| {count} | {:.1} ms | {:.1} ms | {pairs} |",
            detection_millis(loops.wall),
            detection_millis(graph.wall)
        );
    }
}

/// The reference: no index, no graph, only objects.
fn count_nested_loops(objects: &[Value]) -> usize {
    let tier = |pod: &Value, tier: &str| {
        pod.get("kind").and_then(Value::as_str) == Some("Pod")
            && pod.at(&["metadata", "labels", "tier"]).and_then(Value::as_str) == Some(tier)
    };
    let volumes = |pod: &Value| -> Vec<String> {
        let volumes = pod.at(&["spec", "volumes"]).and_then(Value::as_array).unwrap_or_default();
        volumes.iter().filter_map(|volume| Some(volume.get("name")?.as_str()?.to_owned())).collect()
    };
    let namespace = |pod: &Value| pod.at(&["metadata", "namespace"]).cloned();
    let share = |one: &Value, other: &Value| {
        let others = volumes(other);
        namespace(one) == namespace(other) && volumes(one).iter().any(|name| others.contains(name))
    };
    let mut pairs = 0;
    for one in objects.iter().filter(|pod| tier(pod, "web")) {
        pairs += objects.iter().filter(|other| tier(other, "job") && share(one, other)).count();
    }
    pairs
}

fn slope(points: &[(usize, Duration)]) -> f64 {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0.0 };
    (last.1.as_secs_f64() / first.1.as_secs_f64().max(1e-9)).ln() / (last.0 as f64 / first.0 as f64).ln()
}

fn detection_millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the peak memory of this process in MiB.
fn most_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) / 1024
}
