//! Arguments of `render`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::commands::RenderSetting;

/// Applies traits to manifests.
#[derive(Debug, Args, Default)]
#[command(after_help = "\
The result is the base manifests after all traits, in the order in which the traits are given. When a trait cannot be
applied, nothing is written to standard output. Where the files hold Components, their manifests are made
from their types, and --component and --environment select.

Examples:
  kubewright render -f examples/trait/base.yaml --trait examples/trait/monitoring-sidecar.yaml
  kubewright render -f examples/trait/base.yaml --stack examples/trait/stack.yaml --diff
  kubewright render -f examples/trait/component --environment production --output-dir rendered
  helm template shop ./chart | kubewright render --trait traits/ --set parameters.level=debug | kubectl apply -f -
  helm install shop ./chart --post-renderer kubewright --post-renderer-args render --post-renderer-args --stack=stack.yaml

Exit codes: 0 everything is applied, 1 a trait cannot be applied, 2 bad input")]
pub(crate) struct RenderArguments {
    /// Base manifests: files, folders or globs; a List is replaced by its items; `-` is standard input [default: standard input]
    #[arg(short, long = "file", alias = "filename", num_args = 1.., value_name = "BASE")]
    pub(crate) files: Vec<String>,

    /// Traits, applied in the order given: files, folders or globs
    #[arg(short, long = "trait", num_args = 1.., value_name = "TRAIT")]
    pub(crate) traits: Vec<String>,

    /// Several trait instances in order, with their values: a TraitStack file
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<String>,

    #[command(flatten)]
    pub(crate) values: TraitValues,

    /// Set one value: a number, true, false, a list, a map or text; may be repeated. The path starts with parameters, environmentConfigs, metadata, …
    #[arg(short, long, value_name = "PATH=VALUE[,…]")]
    pub(crate) set: Vec<RenderSetting>,

    /// Set one value, as text; may be repeated
    #[arg(long, value_name = "PATH=VALUE[,…]", value_parser = RenderSetting::text)]
    pub(crate) set_string: Vec<RenderSetting>,

    #[command(flatten)]
    pub(crate) names: ComponentNames,

    /// The former name of --project-name.
    #[arg(long = "project", hide = true, conflicts_with = "project", value_name = "NAME")]
    pub(crate) former_project: Option<String>,

    /// metadata.namespace [default: that of the manifests, or `default`]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// The output format
    #[arg(short, long, value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) output: RenderFormat,

    /// Write one file for each manifest to this folder, instead of a stream
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Show what the traits change, instead of the manifests
    #[arg(long)]
    pub(crate) diff: bool,

    /// Show what the traits match and change, and the writer of each field, instead of the manifests
    #[arg(long, conflicts_with_all = ["diff", "output_dir"])]
    pub(crate) trace: bool,

    /// Sort the manifests by kind, apiVersion, namespace and name
    #[arg(long)]
    pub(crate) sort: bool,

    /// Only the manifests of this plane
    #[arg(long, value_enum, value_name = "PLANE")]
    pub(crate) plane: Option<RenderPlane>,

    /// Treat warnings as errors: a patch that matches nothing, an unused parameter, a target without its group, …
    #[arg(long)]
    pub(crate) strict: bool,

    /// Render the result once more, and report every field that changes again
    #[arg(long)]
    pub(crate) check_idempotent: bool,

    /// Print the JSON schema of TraitStack files
    #[arg(long)]
    pub(crate) schema: bool,

    /// Run again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print no warnings and no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Input values of traits.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct TraitValues {
    /// Parameters of the trait, or a map by instance name if there are several. May be repeated; later files win
    #[arg(short, long = "params", alias = "parameters", value_name = "FILE")]
    pub(crate) parameters: Vec<String>,

    /// Environment configs, in the same form as the parameters; may be repeated
    #[arg(long = "env-configs", alias = "environment-configs", value_name = "FILE")]
    pub(crate) environment_configs: Vec<String>,

    /// Context of expressions: metadata, workload, dataplane and the like; may be repeated
    #[arg(short, long, value_name = "FILE")]
    pub(crate) context: Vec<String>,
}

/// The names of the component, except its namespace.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ComponentNames {
    /// metadata.name [default: that of the only workload among the manifests]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// metadata.componentName [default: metadata.name]; with Components, only this one
    #[arg(long, value_name = "NAME")]
    pub(crate) component: Option<String>,

    /// metadata.projectName [default: `default`]
    #[arg(long = "project-name", value_name = "NAME")]
    pub(crate) project: Option<String>,

    /// metadata.environmentName [default: `development`]; with Components, only this one
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Option<String>,
}

/// Output formats of rendered manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum RenderFormat {
    /// A stream of documents.
    #[default]
    Yaml,
    /// One `List` object.
    Json,
}

/// The planes that manifests belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RenderPlane {
    /// The plane in which workloads run.
    Dataplane,
    /// The plane in which workloads are monitored.
    Observabilityplane,
}
