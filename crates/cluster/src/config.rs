//! The address of the API server, and the credentials.

mod exec;
mod impersonation;
mod kubeconfig;
mod login;
mod proxy;

use std::env;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use exec::{Exec, InteractiveMode};
pub use impersonation::Impersonation;
pub use login::{ClientIdentity, Login, PemSource};
pub(crate) use login::{LoginCredentials, basic_authorization};
pub use proxy::{ProxyScheme, ProxyServer};

use crate::Error;

/// Where a pod finds its service account.
const SERVICE_ACCOUNT_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The address of the API server, and the credentials.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its address, such as `https://10.0.0.1:443`, without a slash at the end.
    pub server: String,
    /// The default namespace.
    pub namespace: String,
    /// Who may have signed the certificate of the API server; `None` for those whom the system trusts.
    pub authority: Option<PemSource>,
    /// The name in the certificate, where it is not that of the address.
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    pub is_insecure: bool,
    /// How the client authenticates.
    pub login: Login,
    /// Whom the client acts as; empty for itself.
    pub impersonation: Impersonation,
    /// The proxy on the way to the API server.
    pub proxy: Option<ProxyServer>,
    /// Whether the API server may compress answers of more than 128 KiB. By default it may where it is on another
    /// machine: lists have a tenth of the bytes. On the same machine that is no gain, and costs a quarter more of its CPU.
    pub is_gzip_accepted: bool,
    /// How long what was read from files is good: tokens and authorities change under a running pod.
    pub read_again_after: Duration,
}

impl Config {
    /// Looks where programs look: `kubeconfig` if given, then the files of `KUBECONFIG`, then the service account of
    /// the pod this runs in, then `~/.kube/config`. A `context` is one of a kubeconfig.
    ///
    /// # Errors
    /// When nothing is found, or what is found cannot be read.
    pub fn find(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, Error> {
        if let Some(path) = kubeconfig {
            return Self::of_files(&[path.to_owned()], context);
        }
        let listed = env::var_os("KUBECONFIG").unwrap_or_default();
        let listed: Vec<PathBuf> =
            env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect();
        if !listed.is_empty() {
            return Self::of_files(&listed, context);
        }
        if context.is_none() && env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
            return Self::of_pod();
        }
        let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
        match home.filter(|path| path.exists()) {
            Some(path) => Self::of_files(&[path], context),
            None => Err(Error::Config(
                "no cluster: `--kubeconfig`, KUBECONFIG and ~/.kube/config are missing, and this does not run in a pod".into(),
            )),
        }
    }

    /// Reads kubeconfig files; of what is named twice the first counts. A proxy of the environment is used where they
    /// name none.
    ///
    /// # Errors
    /// When none can be read, or the context or what it names is missing.
    pub fn of_files(paths: &[PathBuf], context: Option<&str>) -> Result<Self, Error> {
        kubeconfig::read_kubeconfig(paths, context)?.with_environment_proxy()
    }

    /// Takes the service account of the pod that this runs in.
    ///
    /// # Errors
    /// When this does not run in a pod.
    pub fn of_pod() -> Result<Self, Error> {
        let variable = |name: &str| {
            env::var(name).map_err(|_| Error::Config(format!("not in a pod: {name} is not set")))
        };
        let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
        // The default may be moved, as KUBERNETES_SERVICE_HOST may be set by hand outside of pods.
        Self::of_account(Path::new(SERVICE_ACCOUNT_FOLDER), &host, &port).with_environment_proxy()
    }

    /// Takes a folder with `token`, `ca.crt` and `namespace`, as pods have it.
    #[must_use]
    pub fn of_account(folder: &Path, host: &str, port: &str) -> Self {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let namespace = fs::read_to_string(folder.join("namespace")).unwrap_or_default();
        let server = format!("https://{host}:{port}");
        Self {
            namespace: match namespace.trim() {
                "" => "default".to_owned(),
                name => name.to_owned(),
            },
            authority: Some(PemSource::File(folder.join("ca.crt"))),
            login: Login::TokenFile(folder.join("token")),
            is_gzip_accepted: !is_loopback_url(&server),
            ..Self::at(&server)
        }
    }

    /// Returns the config of the API server at `server`, without credentials.
    #[must_use]
    pub fn at(server: &str) -> Self {
        Self {
            server: server.trim_end_matches('/').to_owned(),
            namespace: "default".to_owned(),
            authority: None,
            server_name: None,
            is_insecure: false,
            login: Login::Anonymous,
            impersonation: Impersonation::default(),
            proxy: None,
            is_gzip_accepted: false,
            read_again_after: Duration::from_secs(60),
        }
    }

    /// Returns what the user should know about this connection before it is used; the same for every call.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let server = &self.server;
        if self.is_insecure {
            warnings.push(format!(
                "the certificate of {server} is not verified (`insecure-skip-tls-verify`): anyone on the way can read the \
                 credentials"
            ));
        }
        if server.starts_with("http://")
            && !matches!(self.login, Login::Anonymous)
            && !is_loopback_url(server)
        {
            warnings.push(format!("credentials are sent to {server} without encryption"));
        }
        warnings
    }

    fn with_environment_proxy(mut self) -> Result<Self, Error> {
        if self.proxy.is_none() {
            self.proxy = proxy::proxy_from_environment(&self.server, |name| env::var(name).ok())?;
        }
        Ok(self)
    }
}

/// Returns whether the host of `url` is this machine.
fn is_loopback_url(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
