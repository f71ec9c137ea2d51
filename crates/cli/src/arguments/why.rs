//! The arguments of `why`, and which traces are shown.

use clap::{Args, ValueEnum};
use kubewright_engine::RuleStatus;

use super::{ObjectArguments, ProjectArguments, RuleArguments, TraceOutput, trace_output};

/// Shows what every rule says about one object, and why.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright why Deployment/shop/web rules/ -r manifests/
  kubewright why Deployment/web rules/ -r manifests/ --rule require-limits
  kubewright why 'Pod/*/web-*' policies/ -r dump.yaml --status fail,error
  kubectl logs -n kubewright-system deploy/kubewright | kubewright why Deployment/shop/web --log -
                                                     which rule refused or changed it
  kubewright why Deployment/shop/web -r cluster:     what the Events of the cluster say about it

Exit codes: 0 the object is there, whatever the rules say; 2 it is not, or bad input")]
pub(crate) struct WhyArguments {
    /// The object: `Kind/namespace/name` or `Kind/name`, with `*` and `?`
    #[arg(value_name = "OBJECT")]
    pub(crate) object: String,

    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// tree or json, into FILE when one is named
    #[arg(short, long, default_value = "tree", value_name = "FORMAT[=FILE]", value_parser = trace_output)]
    pub(crate) output: TraceOutput,

    /// Also what rules did to the object in a cluster: the log of `kubewright serve`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<String>,

    #[command(flatten)]
    pub(crate) choice: TraceChoice,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,
}

/// Which traces are shown.
#[derive(Debug, Args, Default)]
pub(crate) struct TraceChoice {
    /// Only outcomes with one of these statuses
    #[arg(long = "status", value_enum, value_delimiter = ',', value_name = "STATUS[,…]")]
    pub(crate) statuses: Vec<ShownStatus>,

    /// Show every trace, however many there are
    #[arg(long)]
    pub(crate) all: bool,
}

/// A status by which traces are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShownStatus {
    /// The object satisfies the rule.
    Pass,
    /// The object violates the rule.
    Fail,
    /// The object violates the rule, which only warns.
    Warn,
    /// The rule could not be evaluated.
    Error,
    /// The rule does not apply.
    Skip,
}

impl ShownStatus {
    /// Returns the status of outcomes.
    pub(crate) fn status(self) -> RuleStatus {
        match self {
            Self::Pass => RuleStatus::Pass,
            Self::Fail => RuleStatus::Fail,
            Self::Warn => RuleStatus::Warn,
            Self::Error => RuleStatus::Error,
            Self::Skip => RuleStatus::Skip,
        }
    }
}
