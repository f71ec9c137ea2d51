//! Arguments of `fn`.

use clap::Args;

use super::RenderPlane;

/// Applies traits as a KRM function: reads a ResourceList from standard input and writes it to standard output.
#[derive(Debug, Args)]
#[command(after_help = "\
The functionConfig of the list configures it: a TraitStack, a Trait or ClusterTrait, or a ConfigMap with settings.
When a trait cannot be applied, the items come out as they were given, and the results say why.

Examples:
  kustomize build --enable-alpha-plugins --enable-exec examples/trait/kustomize
  kustomize fn run --enable-exec manifests/
  kpt fn eval manifests/ --exec 'kubewright fn' --fn-config stack.yaml
  kpt fn eval manifests/ --exec 'kubewright fn --strict' -- traits=traits/ parameters.level=debug

A transformer of kustomize, to be named under `transformers:` in a kustomization.yaml:
  apiVersion: kubewright.dev/v1alpha1
  kind: TraitStack
  metadata:
    name: logging
    annotations:
      config.kubernetes.io/function: |
        exec: {path: kubewright, args: [fn]}
  spec:
    traits: [traits/logging.yaml]
    instances: [{trait: logging, parameters: {level: debug}}]

Exit codes: 0 everything is applied, 1 there are errors in the results, 2 the input is not a ResourceList with a
functionConfig")]
pub(crate) struct FunctionArguments {
    /// Treat warnings as errors: a patch that matches nothing, an unused parameter, a target without its group, …
    #[arg(long)]
    pub(crate) strict: bool,

    /// Render the result once more, and report every field that changes again
    #[arg(long)]
    pub(crate) check_idempotent: bool,

    /// Only the manifests of this plane
    #[arg(long, value_enum, value_name = "PLANE")]
    pub(crate) plane: Option<RenderPlane>,

    /// Report no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
