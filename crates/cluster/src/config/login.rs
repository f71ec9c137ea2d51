//! Credentials for the API server.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

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
    /// A user name and a password.
    Basic(String, String),
    /// A client certificate.
    Certificate(ClientIdentity),
    /// Credentials from an exec plugin.
    Exec(Exec),
    /// All of these at once, such as a certificate for a proxy before the API server and a token for itself.
    Several(Vec<Login>),
}

/// A certificate and its key.
#[derive(Clone)]
#[non_exhaustive]
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
    /// The `Authorization` of requests.
    pub(crate) authorization: Option<String>,
    /// The certificates and the key, as PEM.
    pub(crate) certificate: Option<(String, String)>,
    /// From when on they are refused, if that is known.
    pub(crate) expiry: Option<SystemTime>,
}

impl Login {
    /// Reads the files and runs the program; may block.
    pub(crate) fn show(&self, server: &str) -> Result<LoginCredentials, Error> {
        let mut shown = LoginCredentials::default();
        match self {
            Self::Anonymous => {}
            Self::Token(token) => shown.authorization = Some(format!("Bearer {token}")),
            Self::TokenFile(path) => {
                shown.authorization = Some(format!("Bearer {}", read_credential_file(path)?.trim()));
            }
            Self::Basic(user, password) => shown.authorization = Some(basic_authorization(user, password)),
            Self::Certificate(identity) => {
                shown.certificate = Some((identity.certificate.read()?, identity.key.read()?));
            }
            Self::Exec(exec) => shown = exec.run(server)?,
            Self::Several(logins) => {
                for login in logins {
                    let other = login.show(server)?;
                    shown.authorization = shown.authorization.or(other.authorization);
                    shown.certificate = shown.certificate.or(other.certificate);
                    shown.expiry = shown.expiry.or(other.expiry);
                }
            }
        }
        Ok(shown)
    }

    /// Returns whether a program says who asks.
    pub(crate) fn is_exec(&self) -> bool {
        match self {
            Self::Exec(_) => true,
            Self::Several(logins) => logins.iter().any(Self::is_exec),
            _ => false,
        }
    }

    /// Returns whether a certificate of the configuration is shown.
    pub(crate) fn has_certificate(&self) -> bool {
        match self {
            Self::Certificate(_) => true,
            Self::Several(logins) => logins.iter().any(Self::has_certificate),
            _ => false,
        }
    }
}

/// Returns the header of a user name and a password, for an API server or a proxy.
pub(crate) fn basic_authorization(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
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
            Self::Basic(user, _) => f.debug_tuple("Basic").field(user).finish(),
            Self::Certificate(_) => f.write_str("Certificate"),
            Self::Exec(exec) => f.debug_tuple("Exec").field(&exec.command).finish(),
            Self::Several(logins) => f.debug_list().entries(logins).finish(),
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
