//! Arguments about where manifests come from besides files: charts, pipes and clusters.

use std::path::PathBuf;

use clap::Args;
use kubewright_files::RenderOptions;

#[cfg(feature = "serve")]
use super::ClusterArguments;

/// The heading of these options in the help.
const INPUT_HEADING: &str = "Options for charts, pipes and clusters";

/// How charts are rendered, what standard input is called, and which cluster is read.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct InputArguments {
    /// Values for Helm charts among the manifests: a file; may be repeated
    #[arg(long, value_name = "FILE", help_heading = INPUT_HEADING)]
    pub(crate) helm_values: Vec<String>,

    /// A value for Helm charts among the manifests; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = INPUT_HEADING)]
    pub(crate) helm_set: Vec<String>,

    /// The release name of Helm charts [default: the name of the chart's folder]
    #[arg(long, value_name = "NAME", help_heading = INPUT_HEADING)]
    pub(crate) helm_name: Option<String>,

    /// The release namespace of Helm charts [default: `default`]
    #[arg(long, value_name = "NAMESPACE", help_heading = INPUT_HEADING)]
    pub(crate) helm_namespace: Option<String>,

    /// The file name of standard input in messages and reports
    #[arg(long, value_name = "NAME", help_heading = INPUT_HEADING)]
    pub(crate) stdin_name: Option<String>,

    /// The kinds that `cluster:` reads, separated by commas [default: all but Secrets, Events and the like]
    #[arg(id = "cluster_kinds", long = "kinds", value_name = "KINDS", value_delimiter = ',', help_heading = INPUT_HEADING)]
    pub(crate) kinds: Vec<String>,

    /// The kubeconfig of `cluster:` [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", help_heading = INPUT_HEADING)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", help_heading = INPUT_HEADING)]
    pub(crate) kube_context: Option<String>,
}

impl InputArguments {
    /// Returns the cluster that `cluster:` means.
    #[cfg(feature = "serve")]
    pub(crate) fn cluster(&self) -> ClusterArguments {
        ClusterArguments { kubeconfig: self.kubeconfig.clone(), context: self.kube_context.clone() }
    }

    /// Returns how charts are rendered and standard input is called.
    pub(crate) fn render_options(&self) -> RenderOptions {
        RenderOptions {
            helm_values: self.helm_values.clone(),
            helm_set: self.helm_set.clone(),
            helm_name: self.helm_name.clone(),
            helm_namespace: self.helm_namespace.clone(),
            stdin_name: self.stdin_name.clone(),
        }
    }
}
