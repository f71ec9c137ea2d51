//! Arguments of `migrate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ClusterArguments;

/// Moves policies to the kinds that succeed them, with proof.
#[derive(Debug, Args)]
#[command(after_help = "\
Every policy is converted and compared with its source: on its own tests (`kyverno-test.yaml`), on the objects of -r, and
on every object of the cluster where the policies are those of the cluster, or with --live. A policy that differs on one
request is not written, and the object is shown with both traces.

--output-dir has `policies/` with the new policies, `remaining/` with the rules that stay in the old one, and REPORT.md.

--apply changes the cluster step by step, and each run goes as far as it is safe: the new policies are created so that they
refuse and change nothing; once they are ready and agree on every object of the cluster they get the action of their
source; then the old rules are removed. A source that changes meanwhile starts over. It may be stopped at any time.

Examples:
  kubewright migrate policies/ --summary
  kubewright migrate policies/ -r dump/ --output-dir migrated/
  kubewright migrate --context staging --output-dir migrated/
  kubewright migrate --context staging --apply --dry-run

Exit codes: 0 everything is migrated or on its way, 1 a rule cannot be expressed or differs, 2 bad input, or there is no
cluster")]
pub(crate) struct MigrateArguments {
    /// Policy files, folders or globs; without any, the policies of the cluster
    #[arg(value_name = "POLICIES")]
    pub(crate) policies: Vec<String>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    /// Also compare on these manifests, such as a dump of a cluster: files, folders or globs; may be repeated
    #[arg(short, long, alias = "resource", value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// Objects and responses that rules may look up while manifests are judged: files, folders or globs; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) world: Vec<String>,

    /// Also compare on every object of the cluster, where the policies are files
    #[arg(long)]
    pub(crate) live: bool,

    /// Further folders with tests of the policies; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) tests: Vec<String>,

    /// Write the new policies, what remains of the old ones, and a report to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// text or json
    #[arg(
        short,
        long,
        value_enum,
        default_value = "text",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) output: MigrateFormat,

    /// Print numbers instead of a line for each rule
    #[arg(long)]
    pub(crate) summary: bool,

    /// Leave out policies that no test and no object compares with their source
    #[arg(long)]
    pub(crate) require_proof: bool,

    /// Move the policies of the cluster, as far as it is safe
    #[arg(long, conflicts_with_all = ["policies", "resources"])]
    pub(crate) apply: bool,

    /// With --apply, print the steps without taking them
    #[arg(long, requires = "apply")]
    pub(crate) dry_run: bool,
}

/// Output formats of `migrate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MigrateFormat {
    /// A line for each rule; with `--summary` a table.
    Text,
    /// One document with stable keys.
    Json,
}
