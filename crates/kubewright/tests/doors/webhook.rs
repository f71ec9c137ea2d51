//! The second door: `kubewright serve`, asked as an API server would ask.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use bytes::Bytes;
use kubewright_controlplane::LoopbackPort;
use kubewright_k8s::resource_name;
use kubewright_load::{LoadAnswer, LoadClient, LoadTarget, ServerProcess};
use kubewright_value::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::cases::{Case, is_cluster_wide, kind};
use crate::command::{GROUPS, USER, patched};
use crate::verdict::Verdict;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server with the rules of one case.
pub(crate) struct Webhook {
    pub(crate) client: Arc<LoadClient>,
    runtime: Runtime,
    _server: ServerProcess,
    _ports: [LoopbackPort; 2],
}

impl Webhook {
    /// Starts the program with `rules` and waits until it is ready.
    pub(crate) fn start(rules: &Path, folder: &Path) -> Result<Self, String> {
        let wrong = |error: std::io::Error| error.to_string();
        let reserve = || LoopbackPort::reserve().map_err(|error| error.to_string());
        let ports = [reserve()?, reserve()?];
        let [address, health] = ports.each_ref().map(LoopbackPort::address);
        let authorities = folder.join("ca.crt");
        let _ = std::fs::remove_file(&authorities);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        command.args(["serve", "--offline", "--address", &address.to_string()]);
        command.args(["--health-address", &health.to_string(), "--write-ca"]).arg(&authorities);
        let log = folder.join("log");
        command.arg("-p").arg(rules).arg("--world").arg(folder.join("world.yaml")).stdout(Stdio::null());
        command.stderr(std::fs::File::create(&log).map_err(wrong)?);
        let mut server = ServerProcess::start(&mut command).map_err(wrong)?;
        let started = Instant::now();
        while !is_ready(health) {
            if let Ok(Some(code)) = server.ended() {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                let last = log.lines().rfind(|line| line.starts_with("error")).unwrap_or_default();
                return Err(format!("the server ended with {code:?}: {last}"));
            }
            if started.elapsed() > PATIENCE {
                return Err("the server does not become ready".to_owned());
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        let authorities = std::fs::read_to_string(&authorities).map_err(wrong)?;
        let client = LoadClient::new(LoadTarget { address, authorities, token: None }, 1);
        let client = Arc::new(client.map_err(|error| error.to_string())?);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Ok(Self { client, runtime: runtime.map_err(wrong)?, _server: server, _ports: ports })
    }

    /// Asks about `object` where objects are changed and then where they are judged.
    pub(crate) fn ask(&self, case: &Case, object: &Value) -> Result<Verdict, String> {
        let changed = self.review("/mutate", case, object)?;
        if !changed.is_allowed {
            return Ok(changed);
        }
        let judged = self.review("/validate", case, &changed.object)?;
        Ok(Verdict { object: changed.object, ..judged })
    }

    fn review(&self, path: &str, case: &Case, object: &Value) -> Result<Verdict, String> {
        let body = Bytes::from(json::to_string(&review(case, object)));
        let answer = self.runtime.block_on(self.client.post(path, body, PATIENCE));
        verdict(&answer.map_err(|error| error.to_string())?, object)
    }
}

/// Reads what a webhook said about `object`.
pub(crate) fn verdict(answer: &LoadAnswer, object: &Value) -> Result<Verdict, String> {
    let text = String::from_utf8_lossy(&answer.body);
    if answer.status != 200 {
        return Err(format!("status {}: {text}", answer.status));
    }
    let review = json::parse(&text).map_err(|error| format!("{error}: {text}"))?;
    let said = |path: &[&str]| review.at(&[&["response"], path].concat()).cloned();
    let patch = match said(&["patch"]).as_ref().and_then(Value::as_str) {
        Some(patch) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(patch);
            let text = String::from_utf8(bytes.map_err(|error| error.to_string())?);
            json::parse(&text.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?
        }
        None => Value::array(Vec::new()),
    };
    let message = said(&["status", "message"]);
    Ok(Verdict {
        is_allowed: said(&["allowed"]).and_then(|allowed| allowed.as_bool()).unwrap_or_default(),
        object: patched(object, &patch)?,
        reasons: message.as_ref().and_then(Value::as_str).map(str::to_owned).into_iter().collect(),
    })
}

fn review(case: &Case, object: &Value) -> Value {
    let text = |path: &[&str]| object.str_at(path);
    let version = text(&["apiVersion"]);
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let names = |last: &str, name: String| -> Value {
        Map::from([("group", group.into()), ("version", version.into()), (last, Value::from(name))]).into()
    };
    let kind_of = names("kind", kind(object).to_owned());
    let resource = names("resource", resource_name(kind(object)));
    let namespace = if is_cluster_wide(kind(object)) { "" } else { text(&["metadata", "namespace"]) };
    // A Namespace is in itself.
    let namespace = if kind(object) == "Namespace" { text(&["metadata", "name"]) } else { namespace };
    let (new, old) = match case.operation.as_str() {
        "CREATE" => (object.clone(), Value::Null),
        "DELETE" => (Value::Null, object.clone()),
        _ => (object.clone(), object.clone()),
    };
    let groups: Vec<Value> = GROUPS.iter().map(|group| (*group).into()).collect();
    let user = Map::from([("username", Value::from(USER)), ("groups", Value::array(groups))]);
    let request = Map::from([
        ("uid", Value::from("4f1c1c0e-9a53-4d5f-8a53-3f2f1d0b9f11")),
        ("kind", kind_of.clone()),
        ("resource", resource.clone()),
        ("requestKind", kind_of),
        ("requestResource", resource),
        ("name", text(&["metadata", "name"]).into()),
        ("namespace", namespace.into()),
        ("operation", case.operation.as_str().into()),
        ("userInfo", user.into()),
        ("object", new),
        ("oldObject", old),
        ("dryRun", false.into()),
    ]);
    Map::from([
        ("apiVersion", Value::from("admission.k8s.io/v1")),
        ("kind", "AdmissionReview".into()),
        ("request", request.into()),
    ])
    .into()
}

fn is_ready(health: SocketAddr) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(health) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let mut start = [0; 12];
    stream.write_all(b"GET /readyz HTTP/1.0\r\nhost: localhost\r\n\r\n").is_ok()
        && stream.read_exact(&mut start).is_ok()
        && start.ends_with(b" 200")
}
