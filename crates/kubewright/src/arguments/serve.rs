//! What can be said to `kubewright serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kubewright_serve::log::Level;

use super::RuleOptions;

/// Answers a cluster's API server: the admission webhook.
#[derive(Debug, Args)]
#[command(after_help = "\
Reviews are answered over HTTPS on --address: POST /mutate and /validate take an AdmissionReview of
admission.k8s.io/v1. Health and metrics are answered over HTTP on --health-address: /healthz, /readyz, /metrics.
The log is JSON lines on standard error; the line `listening` names both addresses.

SIGTERM and SIGINT stop it: it is not ready at once, answers for as long as --drain says, and ends what is under way.

Examples:
  kubewright serve --offline -p rules/ --address 127.0.0.1:9443 --write-ca ca.crt
  kubewright serve --offline -p policies/ --world cluster/ --tls-dir certs/

Exit codes: 0 stopped when it was asked to, 2 it could not begin")]
pub(crate) struct Serve {
    /// Read rules from files and talk to no cluster
    #[arg(long, requires = "policies")]
    pub(crate) offline: bool,

    /// Rule files, folders or patterns; may be repeated
    #[arg(short, long = "policies", alias = "rules", value_name = "RULES", requires = "offline")]
    pub(crate) policies: Vec<String>,

    /// Exceptions from rules, such as a PolicyException: a file, folder or pattern; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH", requires = "offline")]
    pub(crate) exceptions: Vec<String>,

    /// Objects and answers that rules may look up: files, folders or patterns; may be repeated
    #[arg(long, value_name = "PATH", requires = "offline")]
    pub(crate) world: Vec<String>,

    /// Where reviews are answered, over HTTPS; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub(crate) address: SocketAddr,

    /// Where health and metrics are answered, over HTTP [default: port 8080 beside --address, a free one if that is 0]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) health_address: Option<SocketAddr>,

    /// A folder with tls.crt, tls.key and ca.crt, in place of certificates of its own
    #[arg(long, value_name = "DIR")]
    pub(crate) tls_dir: Option<PathBuf>,

    /// Write the certificate that clients must trust to this file
    #[arg(long, value_name = "FILE", requires = "offline")]
    pub(crate) write_ca: Option<PathBuf>,

    /// Also serve clients that know TLS 1.2 alone
    #[arg(long)]
    pub(crate) allow_tls12: bool,

    /// The rule languages that are read by name; may be repeated [default: all that live in a cluster]
    #[arg(long = "dialect", value_name = "NAME")]
    pub(crate) dialects: Vec<String>,

    /// How many reviews may be under way; more are refused at once [default: 64 for each CPU]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_in_flight: Option<usize>,

    /// How long reviews are still answered after the signal to stop, such as `5s`; at most 6s
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = drain)]
    pub(crate) drain: Duration,

    /// What is logged: debug (every review), info (what rules refused or changed), warn or error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: Level,

    /// Send a trace of each review to this OTLP collector, such as `http://collector:4318`
    #[arg(long, value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

/// Reads a length of time that leaves enough of the 15 seconds in which the process must be gone.
fn drain(text: &str) -> Result<Duration, String> {
    let given = kubewright_value::duration::Duration::parse(text).map_err(|error| error.to_string())?;
    let given = u64::try_from(given.nanoseconds()).map_err(|_| "it cannot be below zero".to_owned())?;
    match Duration::from_nanos(given) {
        given if given > Duration::from_secs(6) => Err("it can be at most 6s".to_owned()),
        given => Ok(given),
    }
}
