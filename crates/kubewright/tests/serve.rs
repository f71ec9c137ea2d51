//! The process that `kubewright serve --offline` is: how it begins, what it says, and how it ends.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot do its work has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use kubewright_value::{Value, json};

const RULE: &str = "\
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: label, namespace: default}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: Pod}]
  patch: [{op: add, path: /metadata/labels/a, value: b}]
";

/// A server, killed when it is dropped.
struct Serving {
    process: Child,
    lines: BufReader<ChildStderr>,
    folder: PathBuf,
}

impl Serving {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("kubewright-serve-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("rule.yaml"), RULE).expect("a rule");
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args([
                "serve",
                "--offline",
                "-p",
                "rule.yaml",
                "--address",
                "127.0.0.1:0",
                "--write-ca",
                "ca.crt",
            ])
            .args(arguments)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = BufReader::new(process.stderr.take().expect("a log"));
        Self { process, lines, folder }
    }

    /// Returns the next line of the log with this message.
    fn line(&mut self, message: &str) -> Value {
        let mut line = String::new();
        while self.lines.read_line(&mut line).expect("a line") > 0 {
            let value = json::parse(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            if value.get("message").and_then(Value::as_str) == Some(message) {
                return value;
            }
            line.clear();
        }
        panic!("the log ended before `{message}`");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    fn exit_code(&mut self, within: Duration) -> i32 {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.process.try_wait().expect("a process") {
                return status.code().expect("a code");
            }
            assert!(Instant::now() < end, "it still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn it_says_where_it_listens_and_stops_when_it_is_told_to() {
    for signal in ["TERM", "INT"] {
        let mut serving = Serving::start(signal, &["--drain", "1s"]);
        let line = serving.line("listening");
        let health = line.get("healthAddress").and_then(Value::as_str).expect("an address").to_owned();
        assert!(line.get("address").and_then(Value::as_str).is_some_and(|at| at.starts_with("127.0.0.1:")));
        assert!(
            fs::read_to_string(serving.folder.join("ca.crt")).expect("a CA").contains("BEGIN CERTIFICATE")
        );
        assert!(get(&health, "/readyz").starts_with("HTTP/1.1 200"));
        let begun = Instant::now();
        serving.signal(signal);
        serving.line("stopping");
        assert!(get(&health, "/readyz").starts_with("HTTP/1.1 503"));
        assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200"));
        assert_eq!(serving.exit_code(Duration::from_secs(15)), 0);
        assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_connection_that_is_open_does_not_keep_it_from_stopping() {
    let mut serving = Serving::start("held", &["--drain", "0s"]);
    let line = serving.line("listening");
    let address = line.get("address").and_then(Value::as_str).expect("an address").to_owned();
    // It never even says hello.
    let _held = TcpStream::connect(address).expect("a connection");
    serving.signal("TERM");
    assert_eq!(serving.exit_code(Duration::from_secs(15)), 0);
}

#[track_caller]
fn check_failure(arguments: &[&str], want: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .arg("serve")
        .args(arguments)
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(want), "{text}");
}

#[test]
fn serve_reports_why_it_cannot_start_in_one_line() {
    let rule = std::env::temp_dir().join(format!("kubewright-serve-rule-{}.yaml", std::process::id()));
    fs::write(&rule, RULE).expect("a rule");
    let rule = rule.to_string_lossy().into_owned();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    check_failure(&["--offline", "-p", "no-such-folder"], "no-such-folder");
    check_failure(&["--offline", "-p", &rule, "--address", &taken], "cannot listen on");
    check_failure(&["--offline", "-p", &rule, "--address", &taken], "= help: choose other addresses");
    check_failure(
        &["--offline", "-p", &rule, "--address", "127.0.0.1:0", "--tls-dir", "no-such-dir"],
        "tls.crt",
    );
    let there = ["--offline", "-p", &rule, "--address", "127.0.0.1:0", "--write-ca", "no-such-dir/ca.crt"];
    check_failure(&there, "cannot write `no-such-dir/ca.crt`");
    check_failure(&["--offline", "-p", &rule, "--drain", "1h"], "at most 6s");
    check_failure(&["--url", "http://127.0.0.1:9443"], "`https://HOST:PORT`");
    check_failure(&["--dialects", "no-such"], "there are");
    check_failure(&["--max-in-flight", "0"], "at least 1");
    check_failure(&["--targets", "Pods"], "lowercase plural");
    check_failure(&["--offline", "-p", &rule, "--log-level", "loud"], "unknown level `loud`");
    check_failure(
        &["--offline", "-p", &rule, "--address", "127.0.0.1:0", "--otlp-endpoint", "nowhere"],
        "not the address of a collector",
    );
    let _ = fs::remove_file(rule);
}
