//! What can be said to `detect`.

use clap::Args;

/// Finds patterns and smells in a set of objects.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright detect -r cluster-dump/
  kubectl get all,ingress,configmap -A -o yaml | kubewright detect -r -

Exit codes: 0 nothing found, 1 something found, 2 bad input")]
pub(crate) struct Detect {
    /// Patterns: files, folders or patterns of names; `-` is standard input [default: those that ship]
    #[arg(value_name = "PATTERNS")]
    pub(crate) patterns: Vec<String>,

    /// Objects: files, folders or patterns; a List stands for its items; `-` is standard input
    #[arg(short, long, alias = "resource", required = true, num_args = 1.., value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// Only this pattern; may be repeated
    #[arg(long = "pattern", value_name = "NAME")]
    pub(crate) only: Vec<String>,

    /// Only leaders in this namespace; all objects are looked at. May be repeated
    #[arg(short, long = "namespace", value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,
}
