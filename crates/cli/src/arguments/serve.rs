//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kubewright_serve::log::LogLevel;

use super::checked::{
    check_account_name, check_certificate_name, check_dns_label, check_namespace, check_webhook_url,
};
use super::{RuleOptions, SharedFlags};

/// Runs the admission webhook of a cluster.
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
pub(crate) struct ServeArguments {
    /// Read rules from files instead of a cluster
    #[arg(long, requires = "policies", conflicts_with_all = ["exceptions_from", "generate_vap"])]
    pub(crate) offline: bool,

    /// Rule files, folders or globs; may be repeated
    #[arg(short, long = "policies", alias = "rules", value_name = "RULES", requires = "offline")]
    pub(crate) policies: Vec<String>,

    /// Exceptions from rules, such as a PolicyException: a file, folder or glob; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH", requires = "offline")]
    pub(crate) exceptions: Vec<String>,

    /// Objects and responses that rules may look up: files, folders or globs; may be repeated
    #[arg(long, value_name = "PATH", requires = "offline")]
    pub(crate) world: Vec<String>,

    /// Path to the kubeconfig [default: $KUBECONFIG, the service account of the pod, or ~/.kube/config]
    #[arg(long, value_name = "FILE", conflicts_with = "offline")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", conflicts_with = "offline")]
    pub(crate) context: Option<String>,

    /// The namespace of the server, which is exempt from all rules [default: that of the pod, or kubewright-system, which is created]
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "offline", value_parser = check_namespace)]
    pub(crate) namespace: Option<String>,

    /// The name of the installation: of its webhook configurations, its ClusterRole and, with -tls, its Secret
    #[arg(long, value_name = "NAME", default_value = "kubewright", value_parser = check_dns_label)]
    pub(crate) name: String,

    /// The Service through which the API server calls the webhook [default: the name of the installation]
    #[arg(long, value_name = "NAME", value_parser = check_dns_label)]
    pub(crate) service: Option<String>,

    /// The URL at which the API server calls the webhook instead of a Service, such as `https://127.0.0.1:9443`
    #[arg(long, value_name = "URL", conflicts_with = "offline", value_parser = check_webhook_url)]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) flags: SharedFlags,

    /// Users other than administrators who may exempt a namespace from all rules: `user:NAME`, `group:NAME`, or a name that
    /// may be either; may be repeated
    #[arg(long = "guard-exempt", value_name = "WHO", value_delimiter = ',')]
    pub(crate) guard_exempt: Vec<String>,

    /// The ServiceAccount (`namespace/name`) of the controller that carries out policies in the background: a policy for which
    /// its rights do not suffice is refused [default: rights are not checked]
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "offline", value_parser = check_account_name)]
    pub(crate) background_account: Option<String>,

    /// Also write an Event for each admitted request that a policy was content with
    #[arg(long, conflicts_with = "offline")]
    pub(crate) success_events: bool,

    /// The cert-manager Certificate (`namespace/name`) whose CA is injected into the webhooks
    #[arg(long, value_name = "CERTIFICATE", requires = "tls_dir", value_parser = check_certificate_name)]
    pub(crate) inject_ca_from: Option<String>,

    /// The lifetime of certificates, for tests
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_flag, hide = true)]
    pub(crate) certificate_life: Option<Duration>,

    /// How long a new CA must have been in the webhooks before it signs, for tests
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_flag, hide = true)]
    pub(crate) certificate_grace: Option<Duration>,

    /// Deny a request if a rule that could deny it ends in an error, also in languages that admit it then
    #[arg(long)]
    pub(crate) fail_closed: bool,

    /// The HTTPS address for admission reviews; port 0 uses any free port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub(crate) address: SocketAddr,

    /// The HTTP address for health and metrics [default: port 8080 on the host of --address, or a free port if its port is 0]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) health_address: Option<SocketAddr>,

    /// A folder with tls.crt, tls.key and ca.crt, instead of self-signed certificates
    #[arg(long, value_name = "DIR")]
    pub(crate) tls_dir: Option<PathBuf>,

    /// Serve only clients with a certificate of a CA in this file, such as the API server; it is read at the start [default:
    /// clients need no certificate]
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,

    /// Write the CA certificate that clients must trust to this file
    #[arg(long, value_name = "FILE", requires = "offline")]
    pub(crate) write_ca: Option<PathBuf>,

    /// Also accept TLS 1.2
    #[arg(long)]
    pub(crate) allow_tls12: bool,

    /// The maximum number of concurrent reviews; more are rejected at once [default: 64 per CPU]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one)]
    pub(crate) max_in_flight: Option<usize>,

    /// How long reviews are still accepted after the stop signal, such as `5s`; at most 6s
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_drain_delay)]
    pub(crate) drain: Duration,

    /// The log level: debug (every review), info (denials and changes), warn or error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LogLevel,

    /// Send a trace of each review to this OTLP collector, such as `http://collector:4318`
    #[arg(long, value_name = "URL", value_parser = parse_collector_url)]
    pub(crate) otlp_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

/// Reads a drain delay that leaves enough of the 15 seconds until the process must have ended.
fn parse_drain_delay(text: &str) -> Result<Duration, String> {
    match parse_duration_flag(text)? {
        given if given > Duration::from_secs(6) => Err("must be at most 6s".to_owned()),
        given => Ok(given),
    }
}

pub(super) fn parse_duration_flag(text: &str) -> Result<Duration, String> {
    let given = kubewright_value::duration::Duration::parse(text).map_err(|error| error.to_string())?;
    let given = u64::try_from(given.nanoseconds()).map_err(|_| "must not be negative".to_owned())?;
    Ok(Duration::from_nanos(given))
}

fn parse_collector_url(text: &str) -> Result<String, String> {
    kubewright_serve::traces::Traces::check(text).map(|()| text.to_owned())
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "expected a number of at least 1".to_owned())
}
