//! Exec credential plugins of a kubeconfig.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_value::{Map, Value, json};

use super::login::LoginCredentials;
use crate::Error;

/// How long the program may take.
const EXEC_TIMEOUT: Duration = Duration::from_secs(60);

/// How much it may write.
const MAX_EXEC_OUTPUT_BYTES: u64 = 1 << 20;

/// An exec credential plugin.
#[derive(Clone)]
pub struct Exec {
    /// The program.
    pub command: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What its environment has besides ours.
    pub environment: Vec<(String, String)>,
    /// The version in which it speaks, such as `client.authentication.k8s.io/v1`.
    pub api_version: String,
    /// What to do when it is not there; may be empty.
    pub install_hint: String,
    /// What it is told about the cluster, where it asks for that.
    pub cluster: Option<Value>,
}

impl Exec {
    /// Runs it and returns what it says.
    pub(super) fn run(&self, server: &str) -> Result<LoginCredentials, Error> {
        let failed = |why: String| {
            Error::Config(format!("credential plugin `{}` failed: {why}", self.command.display()))
        };
        let mut child = Command::new(&self.command)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("KUBERNETES_EXEC_INFO", json::to_string(&self.request(server)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| match self.install_hint.as_str() {
                "" => failed(error.to_string()),
                hint => failed(format!("{error}; {hint}")),
            })?;
        let output = child.stdout.take().map(|stdout| {
            thread::spawn(move || {
                let mut text = String::new();
                stdout.take(MAX_EXEC_OUTPUT_BYTES).read_to_string(&mut text).map(|_| text)
            })
        });
        await_exec(&mut child).map_err(failed)?;
        let Some(Ok(Ok(text))) = output.map(thread::JoinHandle::join) else {
            return Err(failed("what it wrote is no text".to_owned()));
        };
        let answer = json::parse(text.trim()).map_err(|error| failed(error.to_string()))?;
        let status = |key| {
            let text = answer.str_at(&["status", key]);
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        let shown = LoginCredentials {
            token: status("token"),
            certificate: status("clientCertificateData").zip(status("clientKeyData")),
        };
        if shown == LoginCredentials::default() {
            return Err(failed("it names neither a token nor a certificate".to_owned()));
        }
        Ok(shown)
    }

    fn request(&self, server: &str) -> Value {
        let mut spec = Map::new();
        spec.insert("interactive".into(), false.into());
        if let Some(cluster) = &self.cluster {
            let mut cluster = cluster.clone();
            if let Some(map) = cluster.as_object_mut() {
                map.insert("server".into(), server.into());
            }
            spec.insert("cluster".into(), cluster);
        }
        let mut request = Map::new();
        request.insert("kind".into(), "ExecCredential".into());
        request.insert("apiVersion".into(), self.api_version.as_str().into());
        request.insert("spec".into(), spec.into());
        request.into()
    }
}

fn await_exec(child: &mut Child) -> Result<(), String> {
    let deadline = Instant::now() + EXEC_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("it ended with {status}")),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = (child.kill(), child.wait());
                return Err(format!("it did not end within {} s", EXEC_TIMEOUT.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
