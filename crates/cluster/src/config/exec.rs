//! Exec credential plugins of a kubeconfig.

mod process;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use kubewright_golib::time::{RFC3339, parse_time};
use kubewright_value::{Map, Value, json};

use self::process::run_process;
use super::login::LoginCredentials;
use crate::Error;

/// How long a plugin may take.
const EXEC_TIMEOUT: Duration = Duration::from_secs(60);

/// How long it may take where it asks the user, who may have to find a phone or open a browser.
const INTERACTIVE_EXEC_TIMEOUT: Duration = Duration::from_secs(600);

/// An exec credential plugin.
#[derive(Clone)]
#[non_exhaustive]
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
    /// Whether it may ask the user.
    pub interactive_mode: InteractiveMode,
    /// What it is told about the cluster, where it asks for that.
    pub cluster: Option<Value>,
}

/// Whether a plugin reads standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InteractiveMode {
    /// It never does.
    Never,
    /// It does where standard input is a terminal.
    #[default]
    IfAvailable,
    /// It fails where standard input is not a terminal.
    Always,
}

impl Exec {
    /// Runs it and returns what it says; blocks until it ends.
    pub(super) fn run(&self, server: &str) -> Result<LoginCredentials, Error> {
        let failed = |why: String| {
            Error::Config(format!("credential plugin `{}` failed: {why}", self.command.display()))
        };
        let is_interactive = self.is_interactive(io::stdin().is_terminal()).map_err(failed)?;
        let mut command = Command::new(&self.command);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("KUBERNETES_EXEC_INFO", json::to_string(&self.request(server, is_interactive)))
            .stdin(if is_interactive { Stdio::inherit() } else { Stdio::null() });
        let timeout = if is_interactive { INTERACTIVE_EXEC_TIMEOUT } else { EXEC_TIMEOUT };
        let text = run_process(command, timeout, is_interactive).map_err(|why| {
            match self.install_hint.split_whitespace().collect::<Vec<_>>().join(" ") {
                hint if hint.is_empty() || !why.is_absent => failed(why.text),
                hint => failed(format!("{}; {hint}", why.text)),
            }
        })?;
        self.read_answer(&text).map_err(failed)
    }

    fn is_interactive(&self, has_terminal: bool) -> Result<bool, String> {
        match self.interactive_mode {
            InteractiveMode::Never => Ok(false),
            InteractiveMode::IfAvailable => Ok(has_terminal),
            InteractiveMode::Always if has_terminal => Ok(true),
            InteractiveMode::Always => Err(
                "it has to ask the user (`interactiveMode: Always`), and standard input is not a terminal"
                    .to_owned(),
            ),
        }
    }

    fn read_answer(&self, text: &str) -> Result<LoginCredentials, String> {
        // Neither an error of the reader nor the text is shown: it may hold the token.
        let answer = json::parse(text.trim()).map_err(|_| "what it wrote is not JSON".to_owned())?;
        if answer.str_at(&["kind"]) != "ExecCredential" {
            return Err("what it wrote is not an ExecCredential".to_owned());
        }
        let version = answer.str_at(&["apiVersion"]);
        if !version.is_empty() && version != self.api_version {
            return Err(format!("it answered in {version}, and the kubeconfig says {}", self.api_version));
        }
        let status = |key| Some(answer.str_at(&["status", key]).to_owned()).filter(|text| !text.is_empty());
        let certificate = match (status("clientCertificateData"), status("clientKeyData")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err("it gave only one of `clientCertificateData` and `clientKeyData`".to_owned()),
        };
        let authorization = status("token").map(|token| format!("Bearer {token}"));
        if authorization.is_none() && certificate.is_none() {
            return Err("it gave neither a token nor a certificate".to_owned());
        }
        let expiry = status("expirationTimestamp").map(|time| {
            read_expiry(&time).ok_or_else(|| format!("its `expirationTimestamp` `{time}` is not a time"))
        });
        Ok(LoginCredentials { authorization, certificate, expiry: expiry.transpose()? })
    }

    fn request(&self, server: &str, is_interactive: bool) -> Value {
        let mut spec = Map::new();
        spec.insert("interactive".into(), is_interactive.into());
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

/// Reads a time in RFC 3339, in which credentials say when they expire.
fn read_expiry(text: &str) -> Option<SystemTime> {
    let seconds = u64::try_from(parse_time(RFC3339, text).ok()?.unix()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
