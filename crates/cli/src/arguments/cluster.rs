//! Arguments of the commands that talk to a cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The cluster to talk to.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ClusterArguments {
    /// Path to the kubeconfig [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Checks the webhook in a cluster and reports problems.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is changed; one rule is sent to the API server as a dry run, to see whether the webhook answers. What may not be
seen is said, and everything else is still looked at.

Examples:
  kubewright doctor
  kubewright doctor --context production -o json

Exit codes: 0 nothing is bad (warnings are shown), 1 something is bad or could not be seen, 2 there is no cluster")]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    /// The namespace of the server
    #[arg(short, long, default_value = "kubewright-system", value_name = "NAMESPACE")]
    pub(crate) namespace: String,

    /// The name of the installation
    #[arg(long, default_value = "kubewright", value_name = "NAME")]
    pub(crate) name: String,

    /// text or json
    #[arg(
        short,
        long = "output",
        value_enum,
        default_value = "text",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) output: DoctorFormat,

    /// Show problems only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Output formats of `doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// A line for each, with the remedy.
    Text,
    /// One document with stable keys.
    Json,
}

/// Removes the webhook configurations from a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
The API server asks no webhook about webhook configurations, so that this works while no server answers and everything
else is refused. A running server makes them again within seconds. With --hold it does not, until --resume.

Examples:
  kubewright rescue --dry-run
  kubewright rescue --yes --hold
  kubewright rescue --resume

Exit codes: 0 done, 1 something could not be removed or held, 2 bad usage, or there is no cluster")]
pub(crate) struct RescueArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    /// Only the installation of this name [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Also stop running servers from creating them again
    #[arg(long, conflicts_with = "resume")]
    pub(crate) hold: bool,

    /// Allow servers to create them again
    #[arg(long)]
    pub(crate) resume: bool,

    /// Print what would be done without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}
