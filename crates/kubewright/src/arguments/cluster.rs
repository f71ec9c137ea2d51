//! What can be said to commands that talk to a cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which cluster.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ClusterArguments {
    /// Where the cluster is and who asks [default: KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Looks at the webhook in a cluster and says what is wrong with it.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is changed; one rule is sent to the API server as a dry run, to see whether the webhook answers. What may not be
seen is said, and everything else is still looked at.

Examples:
  kubewright doctor
  kubewright doctor --context production -o json

Exit codes: 0 nothing is bad (warnings are shown), 1 something is bad or could not be seen, 2 there is no cluster")]
pub(crate) struct Doctor {
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

    /// Show only what is not well
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How what was found can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// A line for each, with the remedy.
    Text,
    /// One document with stable keys.
    Json,
}

/// Removes the webhook configurations: opens the door.
#[derive(Debug, Args)]
#[command(after_help = "\
The API server asks no webhook about webhook configurations, so that this works while no server answers and everything
else is refused. A running server makes them again within seconds. With --hold it does not, until --resume.

Examples:
  kubewright rescue --dry-run
  kubewright rescue --yes --hold
  kubewright rescue --resume

Exit codes: 0 done, 1 something could not be removed or held, 2 bad usage, or there is no cluster")]
pub(crate) struct Rescue {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    /// Only the installation of this name [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Keep them away: say so to running servers
    #[arg(long, conflicts_with = "resume")]
    pub(crate) hold: bool,

    /// Let servers make them again
    #[arg(long)]
    pub(crate) resume: bool,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}
