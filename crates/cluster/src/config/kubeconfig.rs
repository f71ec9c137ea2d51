//! Kubeconfig files.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Map, Value, yaml};

use super::{ClientIdentity, Config, Exec, Login, PemSource};
use crate::Error;

/// One file: paths in it are relative to its folder.
struct KubeconfigFile {
    folder: PathBuf,
    value: Value,
}

/// An entry of a file.
struct KubeconfigEntry<'f> {
    folder: &'f Path,
    value: &'f Value,
}

pub(super) fn read_kubeconfig(paths: &[PathBuf], context: Option<&str>) -> Result<Config, Error> {
    let mut files = Vec::new();
    for path in paths {
        // Of several files some may be missing, as kubectl has it.
        match fs::read_to_string(path) {
            Ok(text) => files.push(parse_kubeconfig(path, &text)?),
            Err(_) if paths.len() > 1 => {}
            Err(error) => return Err(config_error(path, &error.to_string())),
        }
    }
    let current = files.iter().filter_map(|file| file.value.get("current-context")?.as_str());
    let context = match context.or_else(|| current.into_iter().find(|name| !name.is_empty())) {
        Some(name) => find_entry(&files, "contexts", "context", name)?,
        None => return Err(Error::Config("the kubeconfig has no `current-context`".to_owned())),
    };
    let cluster = find_entry(&files, "clusters", "cluster", context.text("cluster").unwrap_or_default())?;
    let server = cluster.text("server").unwrap_or_default();
    if !server.starts_with("https://") && !server.starts_with("http://") {
        return Err(Error::Config(format!(
            "the kubeconfig has `{server}` in place of the address of a server"
        )));
    }
    if cluster.text("proxy-url").is_some() {
        return Err(Error::Config(
            "the kubeconfig asks for a proxy (`proxy-url`), which is not supported".to_owned(),
        ));
    }
    let login = match context.text("user") {
        Some(name) => find_entry(&files, "users", "user", name)?.login(&cluster)?,
        None => Login::Anonymous,
    };
    Ok(Config {
        namespace: context.text("namespace").unwrap_or("default").to_owned(),
        authority: cluster.pem("certificate-authority")?,
        server_name: cluster.text("tls-server-name").map(str::to_owned),
        is_insecure: cluster
            .value
            .get("insecure-skip-tls-verify")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        login,
        ..Config::at(server)
    })
}

fn parse_kubeconfig(path: &Path, text: &str) -> Result<KubeconfigFile, Error> {
    let value = yaml::parse(text).map_err(|error| config_error(path, &error.to_string()))?;
    Ok(KubeconfigFile { folder: path.parent().map(Path::to_owned).unwrap_or_default(), value })
}

/// Returns the `part` of the entry of `list` that is called `name`.
fn find_entry<'f>(
    files: &'f [KubeconfigFile],
    list: &str,
    part: &str,
    name: &str,
) -> Result<KubeconfigEntry<'f>, Error> {
    let entry = files.iter().find_map(|file| {
        let entries = file.value.get(list).and_then(Value::as_array).unwrap_or_default();
        let entry = entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
        Some(KubeconfigEntry { folder: &file.folder, value: entry.get(part)? })
    });
    entry.ok_or_else(|| Error::Config(format!("the kubeconfig has no {part} `{name}`")))
}

impl KubeconfigEntry<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// What stands in base64 under `key-data`, or in the file under `key`.
    fn pem(&self, key: &str) -> Result<Option<PemSource>, Error> {
        if let Some(data) = self.text(&format!("{key}-data")) {
            let bytes = STANDARD.decode(data.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let text = bytes
                .ok_or_else(|| Error::Config(format!("`{key}-data` of the kubeconfig is not base64")))?;
            return Ok(Some(PemSource::Text(text)));
        }
        Ok(self.text(key).map(|path| PemSource::File(self.folder.join(path))))
    }

    /// A token wins over a certificate, as in client-go.
    fn login(&self, cluster: &KubeconfigEntry<'_>) -> Result<Login, Error> {
        if let Some(token) = self.text("token") {
            return Ok(Login::Token(token.to_owned()));
        }
        if let Some(path) = self.text("tokenFile") {
            return Ok(Login::TokenFile(self.folder.join(path)));
        }
        if let Some((certificate, key)) = self.pem("client-certificate")?.zip(self.pem("client-key")?) {
            return Ok(Login::Certificate(ClientIdentity { certificate, key }));
        }
        if let Some(value) = self.value.get("exec") {
            return KubeconfigEntry { folder: self.folder, value }.exec(cluster).map(Login::Exec);
        }
        match ["auth-provider", "username"].into_iter().find(|key| self.value.get(key).is_some()) {
            Some(key) => Err(Error::Config(format!("`{key}` of the kubeconfig is not supported"))),
            None => Ok(Login::Anonymous),
        }
    }

    fn exec(&self, cluster: &KubeconfigEntry<'_>) -> Result<Exec, Error> {
        let Some(command) = self.text("command") else {
            return Err(Error::Config("`exec` of the kubeconfig has no `command`".to_owned()));
        };
        // A name without a slash is looked for in PATH; a path is relative to the file.
        let command = if command.contains('/') { self.folder.join(command) } else { command.into() };
        let list = |key| self.value.get(key).and_then(Value::as_array).unwrap_or_default().iter();
        let pair = |entry: &Value| {
            let text = |key| entry.get(key).and_then(Value::as_str).map(str::to_owned);
            text("name").zip(text("value"))
        };
        let is_told = self.value.get("provideClusterInfo").and_then(Value::as_bool).unwrap_or_default();
        Ok(Exec {
            command,
            arguments: list("args").filter_map(Value::as_str).map(str::to_owned).collect(),
            environment: list("env").filter_map(pair).collect(),
            api_version: self.text("apiVersion").unwrap_or("client.authentication.k8s.io/v1").to_owned(),
            install_hint: self.text("installHint").unwrap_or_default().to_owned(),
            cluster: is_told.then(|| cluster.told()),
        })
    }

    /// What a program is told about the cluster.
    fn told(&self) -> Value {
        let mut told = Map::new();
        for key in ["certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name"] {
            if let Some(value) = self.value.get(key) {
                told.insert(key.into(), value.clone());
            }
        }
        told.into()
    }
}

fn config_error(path: &Path, why: &str) -> Error {
    Error::Config(format!("cannot read {}: {why}", path.display()))
}
