//! Credentials for the API server.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::Exec;
use crate::Error;

/// How the client authenticates.
#[derive(Clone)]
pub enum Login {
    /// No credentials.
    Anonymous,
    /// A bearer token.
    Token(String),
    /// A bearer token in a file, which may change.
    TokenFile(PathBuf),
    /// A client certificate.
    Certificate(ClientIdentity),
    /// Credentials from an exec plugin.
    Exec(Exec),
}

/// A certificate and its key.
#[derive(Clone)]
pub struct ClientIdentity {
    /// The certificate, and those that lead from it to its authority.
    pub certificate: PemSource,
    /// The key.
    pub key: PemSource,
}

/// Something written as PEM.
#[derive(Clone)]
pub enum PemSource {
    /// Here.
    Text(String),
    /// In a file, which may change.
    File(PathBuf),
}

/// What is shown to the API server.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct LoginCredentials {
    pub(crate) token: Option<String>,
    /// The certificates and the key, as PEM.
    pub(crate) certificate: Option<(String, String)>,
}

impl Login {
    /// Reads the files and runs the program; may block.
    pub(crate) fn show(&self, server: &str) -> Result<LoginCredentials, Error> {
        let mut shown = LoginCredentials::default();
        match self {
            Self::Anonymous => {}
            Self::Token(token) => shown.token = Some(token.clone()),
            Self::TokenFile(path) => shown.token = Some(read_credential_file(path)?.trim().to_owned()),
            Self::Certificate(identity) => {
                shown.certificate = Some((identity.certificate.read()?, identity.key.read()?));
            }
            Self::Exec(exec) => shown = exec.run(server)?,
        }
        Ok(shown)
    }
}

impl PemSource {
    pub(crate) fn read(&self) -> Result<String, Error> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => read_credential_file(path),
        }
    }
}

fn read_credential_file(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path)
        .map_err(|error| Error::Config(format!("cannot read {}: {error}", path.display())))
}

/// Without what is secret.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            Self::Token(_) => f.write_str("Token"),
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
            Self::Certificate(_) => f.write_str("Certificate"),
            Self::Exec(exec) => f.debug_tuple("Exec").field(&exec.command).finish(),
        }
    }
}

/// Without what is secret.
impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

/// Without what is secret.
impl fmt::Debug for PemSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}
