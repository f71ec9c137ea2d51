//! What `docs/operations.md` and the dashboard say of metrics is what a server counts.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Counted only where there is a cluster.
const IN_A_CLUSTER: &str = "kubewright_snapshot_age_seconds";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).expect("text")
}

/// The metrics that a text names; of a histogram the name without `_bucket`.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    let words = words.filter(|word| word.starts_with("kubewright_"));
    words.map(|word| word.trim_end_matches("_bucket").to_owned()).collect()
}

/// What `GET /metrics` of a server without a cluster tells of.
fn counted() -> BTreeSet<String> {
    let mut server = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args([
            "serve",
            "--offline",
            "-p",
            "examples/modrule/require-labels/rule.yaml",
            "--address=127.0.0.1:0",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(server.stderr.take().expect("a log")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("healthAddress")).expect("it listens");
    let (_, rest) = line.split_once("\"healthAddress\":\"").expect("an address");
    let address = rest.split('"').next().expect("an address");
    let mut stream = TcpStream::connect(address).expect("it answers");
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let _ = (server.kill(), server.wait());
    let types = answer.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    types.map(str::to_owned).chain([IN_A_CLUSTER.to_owned()]).collect()
}

#[test]
fn every_metric_is_documented_and_none_is_made_up() {
    let counted = counted();
    assert!(counted.len() > 15, "{counted:?}");
    assert_eq!(named(&read("docs/operations.md")), counted);
    let shown = named(&read("charts/grafana/kubewright.json"));
    assert!(shown.is_subset(&counted) && !shown.is_empty(), "{shown:?}");
}
