//! Arguments of `ui`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::checked::{check_namespace, check_namespace_or_any};
use super::cluster::ClusterArguments;

/// Opens the page: try rules on objects and see why they do what they do.
#[derive(Debug, Args)]
#[command(after_help = "\
The page is served on loopback only, and nothing is fetched from elsewhere. Its address is printed; Ctrl-C ends it.
A folder is opened as a project: the kubewright.yaml in it, its rules and its tests. Nothing is written without --save.

Examples:
  kubewright ui
  kubewright ui shared.json --port 8088
  kubewright ui . --no-open
  kubewright ui --cluster --kube-context production -n shop

Exit codes: 0 stopped when it was asked to, 2 it could not begin")]
pub(crate) struct UiArguments {
    /// A file that the page shared, a file with rules or objects, or the folder of a project
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) input: Option<PathBuf>,

    /// The port on loopback; 0 uses any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// A further host name by which the page may be asked for, such as that of a proxy in front of it; may be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = check_host_name)]
    pub(crate) hosts: Vec<String>,

    /// Do not open the page in a browser
    #[arg(long)]
    pub(crate) no_open: bool,

    #[command(flatten)]
    pub(crate) cluster: UiClusterArguments,

    /// Let the page save files of the project
    #[arg(long, requires = "input")]
    pub(crate) save: bool,
}

/// The cluster that the page shows.
#[derive(Debug, Args, Default)]
pub(crate) struct UiClusterArguments {
    /// Show a cluster: its reports, why its rules say what they say, its graph, and the impact of a rule on it. Nothing is
    /// written to it
    #[arg(long, conflicts_with = "input", help_heading = "Cluster")]
    pub(crate) cluster: bool,

    /// Only what is in this namespace
    #[arg(short, long, value_name = "NAMESPACE", requires = "cluster", value_parser = check_namespace, help_heading = "Cluster")]
    pub(crate) namespace: Option<String>,

    /// The namespaces whose exceptions are honoured, `*` for any; may be repeated [default: none]
    #[arg(long, alias = "exception-namespaces", value_name = "NAMESPACE[,…]", value_delimiter = ',', requires = "cluster",
          value_parser = check_namespace_or_any, help_heading = "Cluster")]
    pub(crate) exceptions_from: Vec<String>,

    /// The kubeconfig of the cluster [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "cluster", help_heading = "Cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", requires = "cluster", help_heading = "Cluster")]
    pub(crate) kube_context: Option<String>,
}

impl UiClusterArguments {
    /// Returns the cluster.
    pub(crate) fn cluster_arguments(&self) -> ClusterArguments {
        ClusterArguments { kubeconfig: self.kubeconfig.clone(), context: self.kube_context.clone() }
    }
}

impl UiArguments {
    /// Returns whether the page shows a cluster.
    pub(crate) fn is_live(&self) -> bool {
        self.cluster.cluster
    }
}

/// Checks a host name, which may have a port.
pub(super) fn check_host_name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    match !text.is_empty() && text.len() <= 253 && text.chars().all(is_part) {
        true => Ok(text.to_owned()),
        false => Err("expected a host name such as `rules.example.com`".to_owned()),
    }
}
