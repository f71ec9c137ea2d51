//! Kubeconfig files.
//!
//! Several files are read as one: the first that has a context, cluster or user of a name counts, and the whole entry
//! is taken from it. Every error names the file and the entry.

mod auth_provider;
mod entry;
mod user;

use std::fs;
use std::path::PathBuf;

use kubewright_value::{Value, yaml};

use self::entry::KubeconfigEntry;
use super::{Config, Impersonation, Login, ProxyServer, is_loopback_url};
use crate::Error;

/// Some files, in their order.
struct Kubeconfig {
    files: Vec<KubeconfigFile>,
}

/// One file: paths in it are relative to its folder.
struct KubeconfigFile {
    path: PathBuf,
    value: Value,
}

/// Reads `paths`, of which some may be missing, as kubectl has it, and takes what `context` names.
pub(super) fn read_kubeconfig(paths: &[PathBuf], context: Option<&str>) -> Result<Config, Error> {
    let kubeconfig = Kubeconfig::read(paths)?;
    let context = kubeconfig.context(context)?;
    let cluster = kubeconfig.named_by(&context, "clusters", "cluster")?;
    let user = match context.text("user")? {
        Some(_) => Some(kubeconfig.named_by(&context, "users", "user")?),
        None => None,
    };
    let login = user.as_ref().map_or(Ok(Login::Anonymous), |user| user.login(&cluster))?;
    let impersonation = user.as_ref().map_or(Ok(Impersonation::default()), KubeconfigEntry::impersonation)?;
    let server = cluster.server(&login)?;
    let authority = cluster.pem("certificate-authority")?;
    let is_insecure = cluster.flag("insecure-skip-tls-verify")?;
    if is_insecure && authority.is_some() {
        return Err(
            cluster.error("`insecure-skip-tls-verify` and a certificate authority exclude each other")
        );
    }
    let proxy = cluster.text("proxy-url")?.map(ProxyServer::parse).transpose();
    Ok(Config {
        namespace: context.text("namespace")?.unwrap_or("default").to_owned(),
        authority,
        server_name: cluster.text("tls-server-name")?.map(str::to_owned),
        is_insecure,
        login,
        impersonation,
        proxy: proxy.map_err(|error| cluster.error(&format!("`proxy-url`: {error}")))?,
        is_gzip_accepted: !cluster.flag("disable-compression")? && !is_loopback_url(&server),
        ..Config::at(&server)
    })
}

impl Kubeconfig {
    fn read(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut files = Vec::new();
        let mut missing = None;
        for path in paths {
            let wrong = |why: String| Error::Config(format!("cannot read {}: {why}", path.display()));
            match fs::read(path) {
                Ok(bytes) => {
                    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
                    // Editors of Windows write a byte order mark.
                    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                    let value = yaml::parse(text).map_err(|error| wrong(error.to_string()))?;
                    if !value.is_null() && value.as_object().is_none() {
                        return Err(wrong("it is not a kubeconfig".to_owned()));
                    }
                    files.push(KubeconfigFile { path: path.clone(), value });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    missing.get_or_insert(wrong(error.to_string()));
                }
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        match missing {
            Some(error) if files.is_empty() => Err(error),
            _ => Ok(Self { files }),
        }
    }

    fn context(&self, name: Option<&str>) -> Result<KubeconfigEntry<'_>, Error> {
        let current = || {
            let names = self.files.iter().filter_map(|file| file.value.get("current-context")?.as_str());
            names.into_iter().find(|name| !name.is_empty())
        };
        let Some(name) = name.or_else(current) else {
            return Err(Error::Config(format!("{self} has no `current-context`{}", self.known_contexts())));
        };
        self.find("contexts", "context", name)
            .ok_or_else(|| Error::Config(format!("{self} has no context `{name}`{}", self.known_contexts())))
    }

    /// Returns the entry of `list` that `context` names as its `part`.
    fn named_by(
        &self,
        context: &KubeconfigEntry<'_>,
        list: &'static str,
        part: &'static str,
    ) -> Result<KubeconfigEntry<'_>, Error> {
        let Some(name) = context.text(part)? else {
            return Err(context.error(&format!("it names no {part}")));
        };
        self.find(list, part, name).ok_or_else(|| {
            context.error(&format!("it names the {part} `{name}`, which {self} does not have"))
        })
    }

    fn find(&self, list: &str, part: &'static str, name: &str) -> Option<KubeconfigEntry<'_>> {
        self.files.iter().find_map(|file| {
            let entries = file.value.get(list).and_then(Value::as_array).unwrap_or_default();
            let entry =
                entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
            let value = entry.get(part).unwrap_or(&Value::Null);
            Some(KubeconfigEntry { file: &file.path, part, name: name.to_owned(), value })
        })
    }

    fn known_contexts(&self) -> String {
        let lists = self.files.iter().filter_map(|file| file.value.get("contexts")?.as_array());
        let names = lists.flatten().filter_map(|entry| entry.get("name")?.as_str());
        let names: Vec<String> = names.take(20).map(|name| format!("`{name}`")).collect();
        match names.as_slice() {
            [] => String::new(),
            names => format!("; its contexts are {}", names.join(", ")),
        }
    }
}

impl std::fmt::Display for Kubeconfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("kubeconfig ")?;
        for (position, file) in self.files.iter().enumerate() {
            let separator = if position == 0 { "" } else { " with " };
            write!(f, "{separator}{}", file.path.display())?;
        }
        Ok(())
    }
}
