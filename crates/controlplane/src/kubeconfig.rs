//! Who may talk to the API server, and how.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::ClusterError;

/// Makes the secret of the administrator.
pub(crate) fn random_token() -> Result<String, ClusterError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(ClusterError::at("read", source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The last certificate of a chain, which signed the others.
pub(crate) fn root_of(chain: &str) -> &str {
    chain.rfind("-----BEGIN CERTIFICATE-----").and_then(|start| chain.get(start..)).unwrap_or(chain)
}

/// How a kubeconfig says who asks.
pub(crate) enum KubeconfigUser<'t> {
    Token(&'t str),
    /// The path of a file with the token, which may change.
    TokenFile(&'t Path),
}

/// A kubeconfig that needs no other file than that of its token, if there is one.
pub(crate) fn kubeconfig(server: &str, ca: &str, user: &KubeconfigUser<'_>) -> String {
    let user = match user {
        KubeconfigUser::Token(token) => format!("token: \"{token}\""),
        KubeconfigUser::TokenFile(path) => format!("tokenFile: \"{}\"", path.display()),
    };
    let ca = STANDARD.encode(ca);
    format!(
        r#"apiVersion: v1
kind: Config
current-context: cluster
clusters:
- name: cluster
  cluster: {{server: "{server}", certificate-authority-data: {ca}}}
users:
- name: user
  user: {{{user}}}
contexts:
- name: cluster
  context: {{cluster: cluster, user: user}}
"#
    )
}
