//! The server within the memory that the chart gives it, asked by those who want it to take more.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use kubewright_load::{LoadClient, LoadTarget};
use kubewright_value::quantity::Quantity;
use kubewright_value::{Source, Value, json, yaml};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns how many bytes the chart gives to the server.
fn chart_limit() -> u64 {
    let text = fs::read_to_string(root().join("charts/kubewright/values.yaml")).expect("the chart");
    let values = yaml::read(&Source::new("values.yaml", &text)).documents;
    let limit = values.first().and_then(|values| values.value.at(&["resources", "limits", "memory"]));
    let limit = Quantity::parse(limit.and_then(Value::as_str).expect("a limit")).expect("a quantity");
    limit.to_string().strip_suffix("Mi").and_then(|mebi| mebi.parse::<u64>().ok()).expect("Mi") << 20
}

/// A server with the example rules, whose peak of resident memory (what a container's limit counts) is
/// known; killed when it is dropped.
struct MeasuredServer {
    process: Child,
    health: String,
    client: LoadClient,
    folder: PathBuf,
}

impl MeasuredServer {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("kubewright-memory-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let authority = folder.join("ca.crt");
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["serve", "--offline"])
            .args(["-p", "examples/kyverno", "-p", "examples/modrule", "--address", "127.0.0.1:0"])
            .arg("--write-ca")
            .arg(&authority)
            .current_dir(root())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(process.stderr.take().expect("a log")).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("healthAddress")).expect("it listens");
        // The log is read on, so that it does not wait.
        std::thread::spawn(move || lines.for_each(drop));
        let line = json::parse(&line).expect("JSON");
        let address = |key| line.get(key).and_then(Value::as_str).expect("an address").to_owned();
        let target = LoadTarget {
            address: address("address").parse().expect("an address"),
            authorities: fs::read_to_string(&authority).expect("a certificate"),
            token: None,
        };
        let client = LoadClient::new(target, 4).expect("a client");
        Self { process, health: address("healthAddress"), client, folder }
    }

    /// Returns how many bytes of resident memory it has had at most.
    fn peak(&mut self) -> u64 {
        let ended = self.process.try_wait().expect("a process");
        assert!(ended.is_none(), "the server has ended: {ended:?}");
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }

    /// Sends `count` bodies at once; returns the statuses, 0 for no answer.
    async fn flood(&self, path: &str, body: &Bytes, count: usize) -> Vec<u16> {
        let limit = Duration::from_secs(20);
        let mut answers = Vec::new();
        for _ in 0..count {
            answers.push(self.client.post(path, body.clone(), limit));
        }
        let mut statuses = Vec::new();
        // All are under way while each is waited for.
        let mut pending: Vec<_> = answers.into_iter().map(Box::pin).collect();
        while !pending.is_empty() {
            let (status, rest) = first_of(pending).await;
            statuses.push(status);
            pending = rest;
        }
        statuses
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.health).expect("a connection");
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

/// Waits for the first of `pending`; returns its status and the others.
async fn first_of<F>(mut pending: Vec<std::pin::Pin<Box<F>>>) -> (u16, Vec<std::pin::Pin<Box<F>>>)
where
    F: Future<Output = Result<kubewright_load::LoadAnswer, kubewright_load::LoadError>>,
{
    let (place, status) = std::future::poll_fn(|context| {
        for (place, answer) in pending.iter_mut().enumerate() {
            if let std::task::Poll::Ready(answer) = answer.as_mut().poll(context) {
                return std::task::Poll::Ready((place, answer.map_or(0, |answer| answer.status)));
            }
        }
        std::task::Poll::Pending
    })
    .await;
    drop(pending.swap_remove(place));
    (status, pending)
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        let _ = (self.process.kill(), self.process.wait());
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns a review that creates a Pod with `spec`, by `user`.
fn review(kind: &str, name: &str, user: &str, spec: &str) -> Bytes {
    Bytes::from(format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","kind":{{"group":"","version":"v1","kind":"{kind}"}},"name":"{name}","namespace":"shop","operation":"CREATE","userInfo":{{"username":"{user}"}},"object":{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"m","namespace":"shop"}},"spec":{spec}}}}}}}"#
    ))
}

fn containers(count: usize) -> Bytes {
    let all = vec![r#"{"name":"c","image":"a"}"#; count].join(",");
    review("Pod", "m", "ada", &format!(r#"{{"containers":[{all}]}}"#))
}

#[test]
fn the_worst_reviews_fit_into_the_memory_that_the_chart_gives() {
    let limit = chart_limit();
    let mut server = MeasuredServer::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    let keys = (0..150_000).map(|number| format!(r#""k{number}":{{}}"#)).collect::<Vec<_>>().join(",");
    let floods: [(&str, &str, Bytes, usize); 6] = [
        ("many containers, changed", "/mutate?timeout=4s", containers(95_000), 4),
        ("many containers, judged", "/validate?timeout=4s", containers(95_000), 4),
        ("as many containers as fit", "/mutate?timeout=4s", containers(230_000), 2),
        (
            "empty lists",
            "/validate?timeout=4s",
            review("Pod", "m", "ada", &format!("[{}[]]", "[],".repeat(990_000))),
            4,
        ),
        ("many keys", "/validate?timeout=4s", review("Pod", "m", "ada", &format!("{{{keys}}}")), 4),
        (
            "a large text",
            "/mutate?timeout=4s",
            review("ConfigMap", "m", "ada", &format!("\"{}\"", "a".repeat(3 << 20))),
            8,
        ),
    ];
    for (what, path, body, count) in floods {
        assert!(body.len() < 7 << 20, "{what}: {}", body.len());
        let statuses = runtime.block_on(server.flood(path, &body, count));
        let peak = server.peak();
        println!("{what}, {} bytes: {statuses:?}, at most {} MiB so far", body.len(), peak >> 20);
        assert!(peak < limit, "{what}: {} MiB", peak >> 20);
        assert!(
            statuses.iter().all(|status| matches!(status, 200 | 400 | 429 | 500)),
            "{what}: {statuses:?}"
        );
    }
    let long = "k".repeat(6 << 20);
    for body in
        [review(&long, "m", "ada", "{}"), review("Pod", &long, "ada", "{}"), review("Pod", "m", &long, "{}")]
    {
        for _ in 0..5 {
            runtime.block_on(server.flood("/mutate?timeout=4s", &body, 4));
        }
    }
    let peak = server.peak();
    println!("long names: at most {} MiB", peak >> 20);
    assert!(peak < limit, "long names: {} MiB", peak >> 20);
    let metrics = server.get("/metrics");
    assert!(metrics.contains("kubewright_build_info") && metrics.len() < 200_000, "{}", metrics.len());
    assert!(server.get("/readyz").contains(" 200 "));
}
