//! What can be said to `kubewright serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kubewright_serve::log::LogLevel;

use super::checked::{certificate, label, namespace, webhook_url};
use super::{RuleOptions, SharedFlags};

/// Answers a cluster's API server: the admission webhook.
#[derive(Debug, Args)]
#[command(after_help = "\
Reviews are answered over HTTPS on --address: POST /mutate and /validate take an AdmissionReview of
admission.k8s.io/v1. Health and metrics are answered over HTTP on --health-address: /healthz, /readyz, /metrics.
The log is JSON lines on standard error; the line `listening` names both addresses.

SIGTERM and SIGINT stop it: it is not ready at once, answers for as long as --drain says, and ends what is under way.

Examples:
  kubewright serve --kubeconfig ~/.kube/config --url https://192.0.2.1:9443
  kubewright serve --offline -p rules/ --address 127.0.0.1:9443 --write-ca ca.crt
  kubewright serve --offline -p policies/ --world cluster/ --tls-dir certs/

Exit codes: 0 stopped when it was asked to, 2 it could not begin")]
pub(crate) struct Serve {
    /// Read rules from files and talk to no cluster
    #[arg(long, requires = "policies", conflicts_with_all = ["exceptions_from", "generate_vap"])]
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

    /// Where the cluster is and who asks [default: KUBECONFIG, the service account of the pod, or ~/.kube/config]
    #[arg(long, value_name = "FILE", conflicts_with = "offline")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", conflicts_with = "offline")]
    pub(crate) context: Option<String>,

    /// The namespace of the server, in which no rule counts [default: that of the pod, or kubewright-system, which is made]
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "offline", value_parser = namespace)]
    pub(crate) namespace: Option<String>,

    /// The name of the installation: of its webhook configurations, its ClusterRole and, with -tls, its Secret
    #[arg(long, value_name = "NAME", default_value = "kubewright", value_parser = label)]
    pub(crate) name: String,

    /// The Service by which the API server calls [default: the name of the installation]
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) service: Option<String>,

    /// The address by which the API server calls in place of a Service, such as `https://127.0.0.1:9443`
    #[arg(long, value_name = "URL", conflicts_with = "offline", value_parser = webhook_url)]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) flags: SharedFlags,

    /// Who besides administrators may take a namespace out of all rules: `user:NAME`, `group:NAME` or a name that may be
    /// either; may be repeated
    #[arg(long = "guard-exempt", value_name = "WHO", value_delimiter = ',')]
    pub(crate) guard_exempt: Vec<String>,

    /// The Certificate, as `namespace/name`, from which cert-manager tells the API server whom to believe
    #[arg(long, value_name = "CERTIFICATE", requires = "tls_dir", value_parser = certificate)]
    pub(crate) inject_ca_from: Option<String>,

    /// How long a certificate lives, for tests
    #[arg(long, value_name = "DURATION", value_parser = length, hide = true)]
    pub(crate) certificate_life: Option<Duration>,

    /// How long the API server must have known a new authority, for tests
    #[arg(long, value_name = "DURATION", value_parser = length, hide = true)]
    pub(crate) certificate_grace: Option<Duration>,

    /// Refuse a request when a rule that could refuse it cannot answer, also in languages that let it pass then
    #[arg(long)]
    pub(crate) fail_closed: bool,

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

    /// How many reviews may be under way; more are refused at once [default: 64 for each CPU]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one)]
    pub(crate) max_in_flight: Option<usize>,

    /// How long reviews are still answered after the signal to stop, such as `5s`; at most 6s
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = drain)]
    pub(crate) drain: Duration,

    /// What is logged: debug (every review), info (what rules refused or changed), warn or error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LogLevel,

    /// Send a trace of each review to this OTLP collector, such as `http://collector:4318`
    #[arg(long, value_name = "URL", value_parser = collector)]
    pub(crate) otlp_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

/// Reads a length of time that leaves enough of the 15 seconds in which the process must be gone.
fn drain(text: &str) -> Result<Duration, String> {
    match length(text)? {
        given if given > Duration::from_secs(6) => Err("it can be at most 6s".to_owned()),
        given => Ok(given),
    }
}

fn length(text: &str) -> Result<Duration, String> {
    let given = kubewright_value::duration::Duration::parse(text).map_err(|error| error.to_string())?;
    let given = u64::try_from(given.nanoseconds()).map_err(|_| "it cannot be below zero".to_owned())?;
    Ok(Duration::from_nanos(given))
}

fn collector(text: &str) -> Result<String, String> {
    kubewright_serve::traces::Traces::check(text).map(|()| text.to_owned())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "it is a number, and at least 1".to_owned())
}
