//! `kubewright ui`: the real binary on loopback, compared with the command line on every example that ships.

#![cfg(feature = "serve")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot do its work has failed")]

#[path = "page/api.rs"]
mod api;
#[path = "page/examples.rs"]
mod examples;
#[path = "page/openapi.rs"]
mod openapi;
#[path = "page/project.rs"]
mod project;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kubewright_value::{Map, Value, json};

/// A page that is served, until it is dropped.
struct Page {
    process: Child,
    port: u16,
}

impl Page {
    /// Starts `kubewright ui ARGUMENTS`.
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("ui")
            .args(arguments)
            .args(["--no-open", "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("an output")).read_line(&mut line).expect("a line");
        let port = line
            .trim()
            .strip_prefix("listening on http://127.0.0.1:")
            .and_then(|rest| rest.strip_suffix('/'));
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no port in {line:?}"));
        Self { process, port }
    }

    /// Returns the status and the body of the answer to `head`, whose first line is given.
    fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let length = body.len();
        let head = format!(
            "{line} HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n",
            self.port
        );
        stream.write_all(head.as_bytes()).expect("a head");
        stream.write_all(body.as_bytes()).expect("a body");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status, body)
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(&format!("GET /api/v1{path}"), "", "");
        assert_eq!(status, 200, "{path}: {body:.300}");
        json::parse(&body).expect("JSON")
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.post_status(path, body);
        assert_eq!(status, 200, "{path}: {answer:.300}");
        json::parse(&answer).expect("JSON")
    }

    fn post_status(&self, path: &str, body: &Value) -> (u16, String) {
        let headers = "content-type: application/json\r\n";
        self.ask(&format!("POST /api/v1{path}"), headers, &json::to_string(body))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a body with files: name, role and text.
fn body(files: &[(&str, &str, &str)]) -> Value {
    let file = |(name, role, text): &(&str, &str, &str)| {
        Value::from(Map::from([
            ("name", Value::from(*name)),
            ("role", (*role).into()),
            ("text", (*text).into()),
        ]))
    };
    Map::from([("files", Value::array(files.iter().map(file).collect()))]).into()
}

/// Runs `kubewright ARGUMENTS` in a folder.
fn kubewright(folder: &Path, arguments: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
    command.args(["--no-project"]).args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().expect("the binary runs")
}

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("kubewright-page-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
