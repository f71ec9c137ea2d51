//! The settings of a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use kubewright_dialects::DialectOptions;

use crate::log::LogLevel;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct ServeSettings {
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
    pub options: DialectOptions,
    /// The namespaces from which exceptions count; without any, none do. `*` is any namespace.
    pub exception_namespaces: Vec<String>,
    /// The hosts of services that rules may call.
    pub allowed_hosts: Vec<String>,
    /// The registries that rules may ask about images, and the token services of these.
    pub allowed_registries: Vec<String>,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt` to serve, instead of certificates of our own.
    pub tls_folder: Option<PathBuf>,
    /// The Certificate, as `namespace/name`, from which cert-manager tells the API server whom to believe.
    pub injected_from: Option<String>,
    /// How long a certificate of our own lives.
    pub certificate_life: Duration,
    /// How long the API server must have known a new authority before a certificate of its is served.
    pub certificate_grace: Duration,
    /// Whether ValidatingAdmissionPolicies are written for rule objects that ask for one.
    pub generates_admission_policies: bool,
    /// Whether requests that all rules of a rule object were content with are Events too.
    pub has_success_events: bool,
    /// Who besides administrators may take a namespace out of all rules: `user:name`, `group:name` or either.
    pub guard_exempt: Vec<String>,
    /// The user name of the controller that carries out rules in the background, whose rights are checked when a policy is
    /// stored: `system:serviceaccount:namespace:name`. Without it nothing is asked.
    pub background_account: Option<String>,
    /// A file with authorities, one of which must have signed the certificate of every client; without it, clients need
    /// no certificate.
    pub client_ca: Option<PathBuf>,
    /// Whether clients that know TLS 1.2 alone are served too.
    pub allows_tls12: bool,
    /// How many reviews may be under way; more are refused at once.
    pub max_in_flight: usize,
    /// How many connections may be open; more wait until one is closed.
    pub max_connections: usize,
    /// How long reviews are still answered after the signal to stop, until endpoints have been updated.
    pub drain: Duration,
    /// What is logged.
    pub log_level: LogLevel,
    /// Where traces go, such as `http://collector:4318`.
    pub otlp_endpoint: Option<String>,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 9443)),
            health_address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 8080)),
            namespace: "kubewright-system".to_owned(),
            service: "kubewright".to_owned(),
            url: None,
            name: "kubewright".to_owned(),
            dialects: Vec::new(),
            options: DialectOptions::default(),
            exception_namespaces: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_registries: Vec::new(),
            tls_folder: None,
            injected_from: None,
            certificate_life: Duration::from_secs(30 * 86_400),
            certificate_grace: Duration::from_secs(10),
            generates_admission_policies: false,
            has_success_events: false,
            guard_exempt: Vec::new(),
            background_account: None,
            client_ca: None,
            allows_tls12: false,
            max_in_flight: 64 * workers(),
            max_connections: 1000,
            drain: Duration::from_secs(5),
            log_level: LogLevel::Info,
            otlp_endpoint: None,
        }
    }
}

/// Returns how many threads answer reviews.
#[must_use]
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, |count| count.get().max(2))
}
