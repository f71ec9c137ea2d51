//! Arguments of the commands about whole sets of rules: `diff`, `impact` and `bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ObjectArguments, ProjectArguments, RuleArguments, RuleOptions};

/// Shows the objects on which two sets of rules differ.
#[derive(Debug, Args)]
#[command(after_help = "\
Two sets differ on an object if one refuses, warns of, changes or writes something and the other does not, or if other
rules of the same names fail. Rules that pass make no difference. Each difference has the traces of both sets.

Examples:
  kubewright diff policies/ new-policies/ -r manifests/
  kubewright diff <(git show main:rules.yaml) rules.yaml -r manifests/ -o json
  kubewright diff policies/ converted/ -r cluster: --kinds Deployment,Pod

Exit codes: 0 no difference, 1 they differ, 2 bad input")]
pub(crate) struct DiffArguments {
    /// The first set of rules: a file, folder or glob
    #[arg(value_name = "RULES-A")]
    pub(crate) before: String,

    /// The second set of rules: a file, folder or glob
    #[arg(value_name = "RULES-B")]
    pub(crate) after: String,

    /// Exceptions from the rules of both sets: a file, folder or glob; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// table or json
    #[arg(
        short,
        long = "output",
        value_enum,
        default_value = "table",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) output: TableFormat,

    /// Show the traces of all differences, and not only of the first 5
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,
}

impl DiffArguments {
    /// Returns the rules of one side.
    pub(crate) fn rules(&self, path: &str) -> RuleArguments {
        RuleArguments {
            rules: vec![path.to_owned()],
            exceptions: self.exceptions.clone(),
            options: self.options.clone(),
            ..RuleArguments::default()
        }
    }
}

/// Shows what rules would newly refuse, warn of and change.
#[derive(Debug, Args)]
#[command(after_help = "\
What the rules say is compared with no rules at all, or with those of `--against`. Objects are grouped by namespace and
by their owner, which is the workload that an object belongs to.

Examples:
  kubewright impact policies/ -r cluster:
  kubewright impact policies/ --against main/policies/ -r manifests/ -o markdown
  kubewright impact policies/require-limits.yaml -r cluster:shop -o json

Exit codes: 0 nothing is newly refused, 1 something is, 2 bad input")]
pub(crate) struct ImpactArguments {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// The rules that are in force now: a file, folder or glob; may be repeated
    #[arg(long, value_name = "RULES")]
    pub(crate) against: Vec<String>,

    /// table, markdown or json
    #[arg(
        short,
        long = "output",
        value_enum,
        default_value = "table",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) output: ImpactFormat,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,
}

/// Measures what each rule costs.
#[derive(Debug, Args)]
#[command(after_help = "\
Each rule is evaluated alone, on one core, on every object it may be about; the best of several rounds counts. Compare
only figures of the same machine.

Examples:
  kubewright bench policies/ -r manifests/
  kubewright bench policies/ -r manifests/ --write-baseline bench.json
  kubewright bench policies/ -r manifests/ --baseline bench.json

Exit codes: 0 measured, 2 bad input")]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// table or json
    #[arg(
        short,
        long = "output",
        value_enum,
        default_value = "table",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) output: TableFormat,

    /// Compare with figures that `--write-baseline` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,
}

/// Output formats of `diff` and `bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For people.
    Table,
    /// One document with stable keys.
    Json,
}

/// Output formats of `impact`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImpactFormat {
    /// For people.
    Table,
    /// For the description of a pull request.
    Markdown,
    /// One document with stable keys.
    Json,
}
