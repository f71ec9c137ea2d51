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

/// Prints how ours compares with the client of `kube` that reads any kind.
pub(crate) fn print_decision(rows: &[ClientRow]) {
    let mut is_better = true;
    for (own, other) in [
        ("kubewright watch", "kube watcher"),
        ("kubewright watch, metadata", "kube watcher, metadata"),
        ("kubewright Store", "kube Store<DynamicObject>"),
    ] {
        let find = |name: &str| rows.iter().find(|(client, ..)| *client == name);
        let (Some((_, own_usage, own_churn)), Some((_, other_usage, other_churn))) = (find(own), find(other))
        else {
            continue;
        };
        let shares =
            [own_usage.memory / other_usage.memory, own_usage.cpu / other_usage.cpu, own_churn / other_churn];
        println!(
            "{own} takes {:.2} of the memory, {:.2} of the CPU to synced and {:.2} of the CPU a change of {other}",
            shares[0], shares[1], shares[2]
        );
        is_better &= shares.iter().sum::<f64>() / 3.0 <= 0.8 && shares.iter().all(|share| *share <= 1.1);
    }
    println!(
        "decision: {}",
        match is_better {
            true => "keep the own client, which is clearly better",
            false => "take `kube`, as the own client is not clearly better",
        }
    );
}
