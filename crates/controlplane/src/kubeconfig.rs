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

/// A kubeconfig that needs no other file.
pub(crate) fn kubeconfig(server: &str, ca: &str, token: &str) -> String {
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
  user: {{token: "{token}"}}
contexts:
- name: cluster
  context: {{cluster: cluster, user: user}}
"#
    )
}
