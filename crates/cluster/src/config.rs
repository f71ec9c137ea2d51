//! The address of the API server, and the credentials.

mod exec;
mod kubeconfig;
mod login;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use exec::Exec;
pub(crate) use login::LoginCredentials;
pub use login::{ClientIdentity, Login, PemSource};

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
    /// Whether answers of more than 128 KiB may be compressed.
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
        if let Some(paths) = env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
            let paths: Vec<PathBuf> =
                env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect();
            return Self::of_files(&paths, context);
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

    /// Reads kubeconfig files; of what is named twice the first counts.
    ///
    /// # Errors
    /// When none can be read, or the context or what it names is missing.
    pub fn of_files(paths: &[PathBuf], context: Option<&str>) -> Result<Self, Error> {
        kubeconfig::read_kubeconfig(paths, context)
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
        Ok(Self::of_account(Path::new(SERVICE_ACCOUNT_FOLDER), &host, &port))
    }

    /// Takes a folder with `token`, `ca.crt` and `namespace`, as pods have it.
    #[must_use]
    pub fn of_account(folder: &Path, host: &str, port: &str) -> Self {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let namespace = fs::read_to_string(folder.join("namespace")).unwrap_or_default();
        Self {
            namespace: match namespace.trim() {
                "" => "default".to_owned(),
                name => name.to_owned(),
            },
            authority: Some(PemSource::File(folder.join("ca.crt"))),
            login: Login::TokenFile(folder.join("token")),
            ..Self::at(&format!("https://{host}:{port}"))
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
            is_gzip_accepted: false,
            read_again_after: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests;
