//! Stopping parts of a cluster, and what is left of it afterwards: nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_cluster::{Cluster, Component};

fn small() -> Option<Cluster> {
    Cluster::builder().api_server_only().start()
}

fn pids(cluster: &Cluster) -> Vec<u32> {
    [Component::Etcd, Component::ApiServer]
        .into_iter()
        .filter_map(|component| cluster.pid(component))
        .collect()
}

/// A zombie counts as gone: it waits for whoever inherited it.
fn runs(pid: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().expect("ps runs");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

fn is_open(server: &str) -> bool {
    let port: u16 = server.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[track_caller]
fn assert_gone(pids: &[u32], folder: &Path) {
    let running: Vec<_> = pids.iter().filter(|pid| runs(**pid)).collect();
    assert!(running.is_empty(), "{running:?} still run");
    assert!(!folder.exists(), "{} is still there", folder.display());
}

#[test]
fn the_api_server_keeps_its_objects_when_it_is_stopped_and_started() {
    let Some(cluster) = small() else { return };
    cluster.kubectl(&["create", "namespace", "kept"], "").expect_success();
    cluster.stop(Component::ApiServer);
    assert_eq!(cluster.pid(Component::ApiServer), None);
    assert!(!is_open(&cluster.server()));
    assert!(!cluster.get("/readyz").is_success());

    let started = Instant::now();
    cluster.start_again(Component::ApiServer).expect("it starts");
    println!("answers again after {:.1} s", started.elapsed().as_secs_f64());
    cluster.kubectl(&["get", "namespace", "kept"], "").expect_success();
}

#[test]
fn everything_can_be_killed_and_started_again() {
    let Some(cluster) = small() else { return };
    cluster.kubectl(&["create", "namespace", "kept"], "").expect_success();
    cluster.kill(Component::ApiServer);
    cluster.kill(Component::Etcd);
    cluster.start_again(Component::Etcd).expect("it starts");
    cluster.start_again(Component::ApiServer).expect("it starts");
    cluster.kubectl(&["get", "namespace", "kept"], "").expect_success();
}

#[test]
fn a_paused_api_server_answers_nobody_until_it_is_resumed() {
    let Some(cluster) = small() else { return };
    cluster.pause(Component::ApiServer);
    assert!(is_open(&cluster.server()), "its connections stay open");
    assert!(!cluster.kubectl(&["get", "--raw", "/readyz", "--request-timeout=1s"], "").is_success());
    cluster.resume(Component::ApiServer);
    cluster.wait_until("it answers", || cluster.get("/readyz").is_success());
}

#[test]
fn two_clusters_run_side_by_side() {
    let (Some(one), Some(two)) = (small(), small()) else { return };
    assert_ne!(one.server(), two.server());
    one.kubectl(&["create", "namespace", "only-here"], "").expect_success();
    assert!(!two.kubectl(&["get", "namespace", "only-here"], "").is_success());
}

#[test]
fn a_flag_that_is_wrong_is_told_by_the_component_that_has_it() {
    let builder = Cluster::builder().api_server_only().flag(Component::ApiServer, "--no-such-flag");
    let Some(probe) = small() else { return };
    drop(probe);
    let error = builder.try_start().err().expect("it does not start").to_string();
    assert!(error.starts_with("kube-apiserver ended"), "{error}");
}

#[test]
fn nothing_is_left_after_a_drop() {
    let Some(cluster) = small() else { return };
    let (pids, folder) = (pids(&cluster), cluster.folder().to_owned());
    assert_eq!(pids.len(), 2);
    drop(cluster);
    assert_gone(&pids, &folder);
}

#[test]
fn a_panic_leaves_nothing_but_the_logs() {
    let Some(cluster) = small() else { return };
    let (pids, folder) = (pids(&cluster), cluster.folder().to_owned());
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _inside = cluster;
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_gone(&pids, &folder);

    let logs = std::env::temp_dir().join("kubewright-cluster-logs").join(folder.file_name().expect("a name"));
    assert!(logs.join("kube-apiserver.log").metadata().expect("a log").len() > 0);
    fs::remove_dir_all(logs).expect("removed");
}

#[test]
fn a_test_process_that_is_killed_leaves_nothing() {
    let Some(probe) = small() else { return };
    drop(probe);
    let mut run = Command::new(env!("CARGO_BIN_EXE_kubewright-cluster"))
        .arg("run")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(run.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let folder = line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from).expect("a path");
    let folder = folder.parent().expect("a folder").to_owned();
    let listing = Command::new("ps").args(["-eo", "pid=,args="]).output().expect("ps runs");
    let marker = folder.display().to_string();
    let pids: Vec<u32> = String::from_utf8_lossy(&listing.stdout)
        .lines()
        .filter(|line| line.contains(&marker) && line.contains("kube-"))
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    assert!(pids.len() >= 3, "{pids:?}");

    run.kill().expect("killed");
    run.wait().expect("ended");
    let deadline = Instant::now() + Duration::from_secs(10);
    while folder.exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    assert_gone(&pids, &folder);
}
