//! What is printed.

use crate::client_process::SyncedUsage;

/// A client, what its list cost, and the CPU seconds of all changes.
pub(crate) type ClientRow = (&'static str, SyncedUsage, f64);

/// Prints one client.
pub(crate) fn print_row((client, synced, churn): &ClientRow, pods: usize, changes: usize) {
    assert_eq!(synced.objects as usize, pods, "{client} does not see all Pods");
    println!(
        "{client:28} RSS {:6.0} MiB, peak {:6.0} MiB, synced in {:5.1} s, CPU to synced {:5.2} s, CPU a change {:4.0} µs",
        synced.memory,
        synced.peak,
        synced.seconds,
        synced.cpu,
        churn / changes as f64 * 1e6,
    );
}

/// Memory below this is the program itself, and not compared: clients that drop every object hold nothing else.
const COMPARED_MEMORY: f64 = 128.0;

/// Prints how ours compares with the client of `kube` that reads any kind, and the decision: ours is kept if nothing is
/// more than a tenth worse, and a store takes at most 0.8 of what the other one does.
pub(crate) fn print_decision(rows: &[ClientRow]) {
    let mut is_better = true;
    for (own, other) in [
        ("kubewright watch", "kube watcher"),
        ("kubewright watch, pages", "kube watcher, pages"),
        ("kubewright watch, metadata", "kube watcher, metadata"),
        ("kubewright Store", "kube Store<DynamicObject>"),
    ] {
        let find = |name: &str| rows.iter().find(|(client, ..)| *client == name);
        let (Some(own_row), Some(other_row)) = (find(own), find(other)) else { continue };
        let [memory, cpu, churn] = shares(own_row, other_row);
        println!(
            "{own} takes {memory:.2} of the memory, {cpu:.2} of the CPU to synced and {churn:.2} of the CPU a change of {other}"
        );
        let is_memory_held = other_row.1.memory.max(own_row.1.memory) >= COMPARED_MEMORY;
        let worst = if is_memory_held { memory.max(cpu).max(churn) } else { cpu.max(churn) };
        let allowed = if own.ends_with("Store") { 0.8 } else { 1.1 };
        is_better &= worst <= allowed;
    }
    println!(
        "decision: {}",
        match is_better {
            true => "keep the own client, which is clearly better",
            false => "take `kube`, as the own client is not clearly better",
        }
    );
}

/// What ours takes of the memory, the CPU to synced and the CPU a change of the other one.
fn shares((_, own, own_churn): &ClientRow, (_, other, other_churn): &ClientRow) -> [f64; 3] {
    [own.memory / other.memory, own.cpu / other.cpu, own_churn / other_churn]
}
