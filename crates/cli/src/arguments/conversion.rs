//! Arguments of `convert` and `generate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Writes policies that other programs evaluate.
#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// What to write
    #[command(subcommand)]
    pub(crate) what: GenerateTarget,
}

/// Kinds of policies that can be generated.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateTarget {
    /// Write a ValidatingAdmissionPolicy and its binding for every rule that the API server can evaluate itself
    Vap(GenerateVapArguments),
}

/// Writes ValidatingAdmissionPolicies.
#[derive(Debug, Args)]
#[command(after_help = "\
A rule in CEL is written if the controller in the cluster would write it, whether or not the rule has `generate`.
A rule with patterns or conditions is written if CEL can express exactly the same. Each is compared with its source on
the tests of the policy, which are kyverno-test.yaml files in its folder and below, and left out if it differs.

Examples:
  kubewright generate vap policies/ --output-dir vap/
  kubewright generate vap policies/require-labels.yaml --autogen | kubectl apply --dry-run=server -f -
  kubewright generate vap policies/ --summary

Exit codes: 0 everything is written, 1 a rule cannot be expressed or differs, 2 bad input")]
pub(crate) struct GenerateVapArguments {
    #[command(flatten)]
    pub(crate) conversions: ConversionArguments,

    /// Also write rules in CEL about Pods for the controllers that create Pods, which the cluster would leave out
    #[arg(long)]
    pub(crate) autogen: bool,

    /// Exceptions that the written policies exclude: a PolicyException file, folder or glob; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,
}

/// Writes policies in another form.
#[derive(Debug, Args)]
#[command(after_help = "\
Each policy is compared with its source on the tests of the source, which are kyverno-test.yaml files in its folder
and below, and left out if it differs.

Examples:
  kubewright convert policies/ --to auto --output-dir converted/
  kubewright convert policies/require-labels.yaml
  kubewright convert policies/ --to vap --autogen
  kubewright convert policies/ --summary -o json

Exit codes: 0 everything is written, 1 a rule cannot be expressed or differs, 2 bad input")]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) conversions: ConversionArguments,

    /// What to write; the short names vpol, mpol, gpol, dpol and ivpol are understood too
    #[arg(long, value_enum, value_name = "KIND", ignore_case = true, default_value = "validatingpolicy")]
    pub(crate) to: ConvertTarget,

    /// With `--to vap`: also write rules in CEL about Pods for the controllers that create Pods
    #[arg(long)]
    pub(crate) autogen: bool,

    /// With `--to vap`: exceptions that the written policies exclude: a PolicyException file, folder or glob; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,
}

/// Kinds that policies can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTarget {
    /// The successor of each rule, whatever its kind is.
    Auto,
    /// ValidatingPolicy, and NamespacedValidatingPolicy for a Policy.
    #[value(alias = "vpol")]
    Validatingpolicy,
    /// MutatingPolicy, and NamespacedMutatingPolicy for a Policy.
    #[value(alias = "mpol")]
    Mutatingpolicy,
    /// GeneratingPolicy, and NamespacedGeneratingPolicy for a Policy.
    #[value(alias = "gpol")]
    Generatingpolicy,
    /// DeletingPolicy for a ClusterCleanupPolicy, and NamespacedDeletingPolicy for a CleanupPolicy.
    #[value(alias = "dpol")]
    Deletingpolicy,
    /// ImageValidatingPolicy, and NamespacedImageValidatingPolicy for a Policy.
    #[value(alias = "ivpol")]
    Imagevalidatingpolicy,
    /// ValidatingAdmissionPolicy with its binding, as `generate vap` writes it.
    #[value(alias = "validatingadmissionpolicy")]
    Vap,
}

/// The policies to convert, and where to write the result.
#[derive(Debug, Args, Clone)]
pub(crate) struct ConversionArguments {
    /// Policy files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "POLICIES")]
    pub(crate) policies: Vec<String>,

    /// Write one file for each policy to this folder, instead of a stream
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// The output format
    #[arg(short, long, value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) output: ConversionFormat,

    /// Print how many policies and rules can be converted, and why the others cannot, instead of the policies
    #[arg(long)]
    pub(crate) summary: bool,

    /// Leave out policies that no test compares with their source
    #[arg(long)]
    pub(crate) require_tests: bool,
}

/// Output formats of conversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConversionFormat {
    /// The policies as a stream; with `--summary` a table.
    Yaml,
    /// One document with stable keys: policies, omissions and counts.
    Json,
}
