//! Stopping parts of a cluster, and what is left of it afterwards: nothing.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::{ClusterError, ControlPlaneComponent, TestCluster};

fn small() -> Option<TestCluster> {
    TestCluster::builder().api_server_only().start()
}

fn is_open(server: &str) -> bool {
    let port: u16 = server.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The processes that have `folder` among their arguments: all components, and what watches over them.
fn processes(folder: &Path) -> Vec<String> {
    let marker = folder.display().to_string();
    let Ok(entries) = fs::read_dir("/proc") else {
        let output = Command::new("ps").args(["-axo", "args="]).output().expect("ps runs");
        let listing = String::from_utf8_lossy(&output.stdout).into_owned();
        return listing.lines().filter(|line| line.contains(&marker)).map(str::to_owned).collect();
    };
    let arguments = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("cmdline")).ok();
    entries.flatten().filter_map(arguments).filter(|line| line.contains(&marker)).collect()
}

/// Waits for it where the test process is gone: what watches over a cluster needs a moment.
#[track_caller]
fn assert_gone(folder: &Path, within: Duration) {
    let deadline = Instant::now() + within;
    while (folder.exists() || !processes(folder).is_empty()) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(processes(folder), Vec::<String>::new());
    assert!(!folder.exists(), "{} is still there", folder.display());
}

/// Says to a part of a test that it is run by that test; alone it does nothing.
const PART: &str = "KUBEWRIGHT_TEST_PART";

fn is_part() -> bool {
    std::env::var_os(PART).is_some()
}

/// Runs one of the parts in a process of its own. It has to print a folder on a line of its own.
fn part(name: &str) -> (PathBuf, String) {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", name, "--nocapture"])
        .env(PART, "1")
        .output()
        .expect("it runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let folder = stdout.lines().find_map(|line| line.strip_prefix("folder: ")).expect(&stdout);
    (PathBuf::from(folder), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_api_server_keeps_its_objects_when_it_is_stopped_and_started() {
    let Some(cluster) = small() else { return };
    cluster.kubectl(&["create", "namespace", "kept"], "").expect_success();
    cluster.stop(ControlPlaneComponent::ApiServer);
    assert_eq!(cluster.pid(ControlPlaneComponent::ApiServer), None);
    assert!(!is_open(&cluster.server()));
    assert!(!cluster.get("/readyz").is_success());

    let started = Instant::now();
    cluster.start_again(ControlPlaneComponent::ApiServer).expect("it starts");
    println!("answers again after {:.1} s", started.elapsed().as_secs_f64());
    cluster.kubectl(&["get", "namespace", "kept"], "").expect_success();
}

#[test]
fn everything_can_be_killed_and_started_again() {
    let Some(cluster) = small() else { return };
    cluster.kubectl(&["create", "namespace", "kept"], "").expect_success();
    cluster.kill(ControlPlaneComponent::ApiServer);
    cluster.kill(ControlPlaneComponent::Etcd);
    cluster.start_again(ControlPlaneComponent::Etcd).expect("it starts");
    cluster.start_again(ControlPlaneComponent::ApiServer).expect("it starts");
    cluster.kubectl(&["get", "namespace", "kept"], "").expect_success();
}

#[test]
fn paused_api_server_answers_nothing_until_it_is_resumed() {
    let Some(cluster) = small() else { return };
    cluster.pause(ControlPlaneComponent::ApiServer);
    assert!(is_open(&cluster.server()), "its connections stay open");
    assert!(!cluster.kubectl(&["get", "--raw", "/readyz", "--request-timeout=1s"], "").is_success());
    cluster.resume(ControlPlaneComponent::ApiServer);
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
fn nothing_is_left_after_a_drop() {
    let Some(cluster) = small() else { return };
    let folder = cluster.folder().to_owned();
    assert_eq!(processes(&folder).len(), 3, "etcd, the API server and the guard");
    drop(cluster);
    assert_gone(&folder, Duration::ZERO);
}

#[test]
fn part_that_panics() {
    if !is_part() {
        return;
    }
    let Some(cluster) = small() else { return println!("folder: none") };
    println!("folder: {}", cluster.folder().display());
    panic!("on purpose");
}

#[test]
fn a_panic_leaves_nothing_but_the_logs_and_shows_them() {
    let (folder, stderr) = part("part_that_panics");
    if folder == Path::new("none") {
        return;
    }
    assert_gone(&folder, Duration::ZERO);
    let logs = std::env::temp_dir().join("kubewright-cluster-logs").join(folder.file_name().expect("a name"));
    let log = logs.join("kube-apiserver.log");
    assert!(stderr.contains(&format!("--- the end of {}\n", log.display())), "{stderr}");
    assert!(log.metadata().expect("a log").len() > 0);
    fs::remove_dir_all(logs).expect("removed");
}

#[test]
fn part_that_does_not_start() {
    if !is_part() {
        return;
    }
    let builder =
        TestCluster::builder().api_server_only().flag(ControlPlaneComponent::ApiServer, "--no-such-flag");
    match builder.try_start().err() {
        Some(ClusterError::Failed(message)) => {
            println!("folder: {}", message.rsplit(' ').next().unwrap_or_default());
            eprintln!("{message}");
        }
        _ => println!("folder: none"),
    }
}

#[test]
fn a_component_that_does_not_start_says_why() {
    let (logs, stderr) = part("part_that_does_not_start");
    if logs == Path::new("none") {
        return;
    }
    assert!(stderr.contains("kube-apiserver ended: exit status: 1; logs in "), "{stderr}");
    assert!(stderr.contains("Error: unknown flag: --no-such-flag"), "{stderr}");
    fs::remove_dir_all(logs).expect("removed");
}

#[test]
fn part_that_shares() {
    if !is_part() {
        return;
    }
    let folder =
        TestCluster::shared().map_or("none".to_owned(), |cluster| cluster.folder().display().to_string());
    println!("folder: {folder}");
}

#[test]
fn a_shared_cluster_is_gone_when_the_process_ends() {
    let (folder, _) = part("part_that_shares");
    assert_gone(&folder, Duration::from_secs(10));
}

#[test]
fn a_test_process_that_is_killed_leaves_nothing() {
    let Some(probe) = small() else { return };
    drop(probe);
    let mut run = Command::new(env!("CARGO_BIN_EXE_kubewright-controlplane"))
        .arg("run")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(run.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from).expect("a path");
    let folder = kubeconfig.parent().expect("a folder");
    assert_eq!(processes(folder).len(), 5, "four components and the guard");

    run.kill().expect("killed");
    run.wait().expect("ended");
    assert_gone(folder, Duration::from_secs(10));
}
