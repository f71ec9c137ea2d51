//! Arguments of `fix`.

use clap::Args;

use super::{ObjectArguments, ProjectArguments, RuleArguments};

/// Changes manifests so that rules pass.
#[derive(Debug, Args)]
#[command(after_help = "\
For each failure, the smallest change is looked for that makes the rule pass and no other rule fail: a missing field, a wrong
constant, a field that is not allowed, what a rule that changes objects would change. Misspelt words of rules are corrected
too. Texts keep their comments and their order. Where a rule only wants that a limit of memory or CPU is there, a usual
value is proposed; other values that only you know are not made up.

Examples:
  kubewright fix policies/ -r manifests/
  kubewright fix policies/ -r manifests/ --rule require-drop-all --write
  kubewright fix --write                                  what kubewright.yaml says

Exit codes: 0 nothing is left to fix, 1 something is, 2 bad input")]
pub(crate) struct FixArguments {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// Show the changes as a diff; the default
    #[arg(long)]
    pub(crate) diff: bool,

    /// Write the changes to the files
    #[arg(long, conflicts_with = "diff")]
    pub(crate) write: bool,

    /// Which fix to take where there are several
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) choice: usize,

    /// Do not make the changes of rules that change objects
    #[arg(long)]
    pub(crate) no_mutations: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    /// Print no diff and no list of what remains
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
