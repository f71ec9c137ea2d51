//! Building the graph of generated clusters, one Service with 50,000 Pods, and replacing one object of 100,000.
//!
//! `cargo bench -p kubewright-bench --bench graph` prints Markdown tables of CPU time, that of all threads where objects are
//! gone through on several.

#![expect(clippy::indexing_slicing, reason = "a measurement of something that fails is worse than none")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use kubewright_bench::clock::{cpu_time_now, process_now};
use kubewright_bench::cluster;
use kubewright_graph::{EdgeType, Graph, References};
use kubewright_value::Value;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [(usize, u32); 4] = [(1_000, 100), (20_000, 9), (100_000, 3), (1_000_000, 1)];
const CROWD_SIZES: [usize; 2] = [5_000, 50_000];
const REPLACED_OBJECTS: usize = 2_000;

fn main() {
    println!(
        "\n| objects | nodes | edges | build, wall ms | build, CPU ms | CPU µs per object | walk all edges ms | MB for objects | MB for the graph |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let mut times = Vec::new();
    for (size, rounds) in SIZES {
        times.push((size, measure_build(size, rounds)));
    }
    let (first, last) = (times[0], times[times.len() - 1]);
    let slope = |a: (usize, Duration), b: (usize, Duration)| {
        (b.1.as_secs_f64() / a.1.as_secs_f64()).ln() / (b.0 as f64 / a.0 as f64).ln()
    };
    println!("\nlog-log slope from {} to {}: {:.2}", first.0, last.0, slope(first, last));
    let crowds: Vec<(usize, Duration)> =
        CROWD_SIZES.iter().map(|count| (*count, measure_crowd(*count))).collect();
    println!("log-log slope of the crowd: {:.2}", slope(crowds[0], crowds[1]));
    measure_replacement();
}

fn measure_build(size: usize, rounds: u32) -> Duration {
    let before = resident_megabytes();
    let objects = cluster::cluster_objects(size);
    let with_objects = resident_megabytes();
    let mut walls = Vec::new();
    let mut graph = Graph::new(&References::default());
    let before_all = process_now();
    for _ in 0..rounds {
        drop(std::mem::replace(&mut graph, Graph::new(&References::default())));
        // A clone of an object is a reference to it.
        let given = objects.clone();
        let start = Instant::now();
        graph = Graph::build(given, &References::default());
        walls.push(start.elapsed());
    }
    walls.sort_unstable();
    let (time, wall) = (process_now().saturating_sub(before_all) / rounds, walls[walls.len() / 2]);
    let memory = resident_megabytes().saturating_sub(with_objects);
    let start = cpu_time_now();
    let edges = black_box(graph.edges().count());
    let walk = cpu_time_now().saturating_sub(start);
    println!(
        "| {size} | {} | {edges} | {:.1} | {:.1} | {:.2} | {:.1} | {} | {memory} |",
        graph.len(),
        graph_millis(wall),
        graph_millis(time),
        time.as_secs_f64() * 1e6 / size as f64,
        graph_millis(walk),
        with_objects.saturating_sub(before),
    );
    time
}

fn measure_crowd(count: usize) -> Duration {
    let objects = cluster::crowd_objects(count);
    let start = process_now();
    for _ in 0..9 {
        black_box(Graph::build(objects.clone(), &References::default()));
    }
    let mut graph = Graph::build(objects.clone(), &References::default());
    let time = process_now().saturating_sub(start) / 10;
    let service = graph.of_kind("Service")[0];
    let start = cpu_time_now();
    let exposed = graph.out(service, EdgeType::EXPOSES).count();
    let walk = cpu_time_now().saturating_sub(start);
    let start = cpu_time_now();
    for pod in objects.iter().skip(2).take(200) {
        graph.insert(touched(pod));
    }
    let replace = cpu_time_now().saturating_sub(start) / 200;
    println!(
        "\none Service with {exposed} Pods that keep away from each other: build {:.1} ms, walk {:.2} ms, replace one Pod {:.3} ms",
        graph_millis(time),
        graph_millis(walk),
        graph_millis(replace)
    );
    time
}

fn measure_replacement() {
    let objects = cluster::cluster_objects(100_000);
    let mut graph = Graph::build(objects.clone(), &References::default());
    println!("\n| replaced in 100,000 | mean ms |\n|---|---:|");
    for kind in [
        "Pod",
        "ReplicaSet",
        "Deployment",
        "Service",
        "ConfigMap",
        "ServiceAccount",
        "NetworkPolicy",
        "Namespace",
        "Node",
    ] {
        let chosen: Vec<&Value> = objects
            .iter()
            .filter(|object| object.get("kind").and_then(Value::as_str) == Some(kind))
            .collect();
        let step = (chosen.len() / REPLACED_OBJECTS).max(1);
        let mut times = Vec::new();
        for object in chosen.iter().step_by(step) {
            let object = touched(object);
            let start = cpu_time_now();
            graph.insert(object);
            times.push(cpu_time_now().saturating_sub(start));
        }
        let total: Duration = times.iter().sum();
        println!("| {kind} | {:.4} |", graph_millis(total) / times.len() as f64);
    }
    let pods: Vec<Value> = objects
        .iter()
        .filter(|object| object.get("kind").and_then(Value::as_str) == Some("Pod"))
        .take(REPLACED_OBJECTS)
        .cloned()
        .collect();
    let start = cpu_time_now();
    for pod in &pods {
        let id = graph.insert(pod.clone());
        graph.remove(id);
        graph.insert(pod.clone());
    }
    println!(
        "| remove a Pod and insert it again | {:.4} |",
        graph_millis(cpu_time_now().saturating_sub(start)) / pods.len() as f64
    );
}

/// Returns the object with another label, image and annotation, as after an update.
fn touched(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata =
        object.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
    if let Some(labels) = metadata.and_then(|map| {
        map.get_or_insert(&"labels".into()).map(|labels| {
            if labels.is_null() {
                *labels = Value::object(kubewright_value::Map::new());
            }
            labels
        })
    }) {
        labels.as_object_mut().map(|labels| labels.insert("touched".into(), Value::from("yes")));
    }
    object
}

fn graph_millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the resident memory in MB, where the system tells it.
fn resident_megabytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) / 1024
}
