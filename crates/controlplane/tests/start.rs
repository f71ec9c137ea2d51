//! How long a cluster takes to start, and what it needs. Alone in its binary, so that nothing runs beside it.

use std::time::{Duration, Instant};

use kubewright_controlplane::{ControlPlaneComponent, TestCluster};

#[test]
fn a_cluster_starts_within_fifteen_seconds() {
    // Building is not starting.
    let Some(first) = TestCluster::builder().api_server_only().start() else { return };
    drop(first);

    let started = Instant::now();
    let Some(cluster) = TestCluster::start() else { return };
    let took = started.elapsed();

    println!("started in {:.1} s", took.as_secs_f64());
    use ControlPlaneComponent::{ApiServer, ControllerManager, Etcd, Scheduler};
    for component in [Etcd, ApiServer, ControllerManager, Scheduler] {
        let memory = cluster.memory(component).unwrap_or_default();
        println!("{component}: {} MB", memory / 1_000_000);
    }
    assert!(took < Duration::from_secs(15), "it took {took:?}");
}
