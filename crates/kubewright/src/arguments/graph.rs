//! What can be said to `graph`.

use clap::Args;

/// Draws objects and what links them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright graph -r manifests/ > graph.svg

Exit codes: 0 drawn, 2 bad input")]
pub(crate) struct Graph {
    /// Objects: files, folders or patterns; a List stands for its items; `-` is standard input
    #[arg(short, long, alias = "resource", required = true, num_args = 1.., value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,
}
