//! What the operator decides.

use std::net::SocketAddr;
use std::path::PathBuf;

use kubewright_dialects::Options;

/// What the operator decides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where reviews are answered, over TLS.
    pub address: SocketAddr,
    /// Where health and metrics are answered, without TLS.
    pub health_address: SocketAddr,
    /// The namespace that the server lives in.
    pub namespace: String,
    /// The Service before the server.
    pub service: String,
    /// The address that the API server is told instead of the Service, such as `https://127.0.0.1:9443`.
    pub url: Option<String>,
    /// The start of the names of everything that the server makes: webhook configurations, Secret, roles.
    pub name: String,
    /// The rule languages that are read, by name; empty for all that live in a cluster.
    pub dialects: Vec<String>,
    /// What the rule languages are told.
    pub options: Options,
    /// The namespaces from which exceptions count; without any, none do. `*` is any namespace.
    pub exception_namespaces: Vec<String>,
    /// The hosts of services that rules may call.
    pub allowed_hosts: Vec<String>,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt` that somebody else keeps, in place of certificates of our own.
    pub tls_folder: Option<PathBuf>,
    /// How many reviews may be under way; more are refused at once.
    pub max_in_flight: usize,
}
