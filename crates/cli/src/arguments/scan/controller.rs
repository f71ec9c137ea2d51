//! Arguments of the controller that scans all the time.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use kubewright_serve::log::LogLevel;

use super::super::checked::{check_dns_label, check_namespace};
use super::super::serve::{at_least_one, parse_duration_flag};
use super::super::ui::check_host_name;

/// The controller that scans all the time.
#[derive(Debug, Args, Clone)]
pub(crate) struct ScanServeArguments {
    /// Scan all the time, as the controller of a cluster: judge again what a change can affect, and keep reports up to date
    #[arg(long, conflicts_with_all = ["namespaces", "kinds", "shard", "outputs", "fail_on", "now"])]
    pub(crate) serve: bool,

    /// Ask the controller in the cluster for a full pass, and do not scan here
    #[arg(long)]
    pub(crate) now: bool,

    /// In which time every object is judged again, whether something has changed or not
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_scan_interval, requires = "serve")]
    pub(crate) interval: Duration,

    /// Let rules do nothing in the background: nothing is generated, changed or deleted because of rules, schedules and labels
    #[arg(long, requires = "serve")]
    pub(crate) no_background: bool,

    /// How many writes of rules are under way in the background at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = at_least_one, requires = "serve")]
    pub(crate) background_writes: usize,

    /// Write an Event about the policy, and one about the object, when a rule begins to object to it
    #[arg(long, requires = "serve")]
    pub(crate) violation_events: bool,

    /// The Lease that says which replica scans
    #[arg(long, value_name = "NAME", default_value = "kubewright-scan", value_parser = check_dns_label)]
    pub(crate) lease_name: String,

    /// The namespace of the Lease [default: that of the pod, or kubewright-system]
    #[arg(long, value_name = "NAMESPACE", value_parser = check_namespace)]
    pub(crate) lease_namespace: Option<String>,

    /// The HTTP address for health, metrics and the pages that policy-reporter reads
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", requires = "serve")]
    pub(crate) health_address: SocketAddr,

    /// The HTTP address of the page about this cluster, which is read-only and has no login [default: none]. On
    /// `127.0.0.1:8090` only `kubectl port-forward` reaches it
    #[arg(long = "ui", value_name = "ADDRESS", requires = "serve")]
    pub(crate) ui_address: Option<SocketAddr>,

    /// A host name by which the page may be asked for, such as that of a proxy in front of it; may be repeated
    #[arg(long = "ui-host", value_name = "NAME", requires = "ui_address", value_parser = check_host_name)]
    pub(crate) ui_hosts: Vec<String>,

    /// The log level of the controller: debug, info, warn or error
    #[arg(long, value_name = "LEVEL", default_value = "info", requires = "serve")]
    pub(crate) log_level: LogLevel,
}

/// A shorter interval would judge the whole cluster all the time.
const MIN_SCAN_INTERVAL: Duration = Duration::from_secs(60);

fn parse_scan_interval(text: &str) -> Result<Duration, String> {
    match parse_duration_flag(text)? {
        given if given < MIN_SCAN_INTERVAL => Err("must be at least 1m".to_owned()),
        given => Ok(given),
    }
}
