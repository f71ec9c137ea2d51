//! A program that says who asks: the `exec` of a kubeconfig.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_value::{Map, Value, json};

use super::login::Shown;
use crate::Error;

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much it may write.
const MAX_OUTPUT: u64 = 1 << 20;

/// A program that says who asks.
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
    pub(super) fn run(&self, server: &str) -> Result<Shown, Error> {
        let failed =
            |why: String| Error::Config(format!("`{}` does not say who asks: {why}", self.command.display()));
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
                stdout.take(MAX_OUTPUT).read_to_string(&mut text).map(|_| text)
            })
        });
        wait(&mut child).map_err(failed)?;
        let Some(Ok(Ok(text))) = output.map(thread::JoinHandle::join) else {
            return Err(failed("what it wrote is no text".to_owned()));
        };
        let answer = json::parse(text.trim()).map_err(|error| failed(error.to_string()))?;
        let status = |key| {
            let text = answer.str_at(&["status", key]);
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        let shown = Shown {
            token: status("token"),
            certificate: status("clientCertificateData").zip(status("clientKeyData")),
        };
        if shown == Shown::default() {
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

fn wait(child: &mut Child) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("it ended with {status}")),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = (child.kill(), child.wait());
                return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
