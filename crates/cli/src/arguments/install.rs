//! Arguments of `install`.

use clap::Args;

use super::SharedFlags;
use super::checked::{
    check_account_name, check_dns_label, check_image, check_own_namespace, check_readable_resource,
};

/// Prints the manifests that install the webhook and the scanner in a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Webhook configurations are not among the manifests: the running server makes them, repairs them, and they go when its
ClusterRole goes. The Helm chart `charts/kubewright` has the same objects.

Examples:
  kubewright install --image registry.example.com/kubewright:0.1.0 | kubectl apply -f -
  kubewright install --crds | kubectl apply -f -
  kubewright install --can-read deployments.apps,services --exceptions-from platform > kubewright.yaml
  kubewright install | kubectl delete -f -

Exit codes: 0 printed, 2 bad usage")]
pub(crate) struct InstallArguments {
    /// The namespace of the server
    #[arg(short, long, default_value = "kubewright-system", value_name = "NAMESPACE", value_parser = check_own_namespace)]
    pub(crate) namespace: String,

    /// The name of all created objects
    #[arg(long, default_value = "kubewright", value_name = "NAME", value_parser = check_dns_label)]
    pub(crate) name: String,

    /// The number of replicas
    #[arg(long, default_value_t = 3, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) replicas: u16,

    /// The image, with a tag or digest [default: `kubewright` of this version]
    #[arg(long, value_name = "IMAGE", value_parser = check_image)]
    pub(crate) image: Option<String>,

    #[command(flatten)]
    pub(crate) flags: SharedFlags,

    /// The resources that rules may look up, such as deployments.apps; grants the server read access [default: none]
    #[arg(long, value_name = "RESOURCE[,…]", value_delimiter = ',', value_parser = check_readable_resource)]
    pub(crate) can_read: Vec<String>,

    /// A pull secret in the namespace of the installation that rules may use; grants the server read access; may be repeated
    #[arg(long = "registry-secret", value_name = "NAME", value_parser = check_dns_label)]
    pub(crate) registry_secrets: Vec<String>,

    /// The ServiceAccount (`namespace/name`) of the controller that carries out policies in the background: a policy for which
    /// its rights do not suffice is refused [default: that of the scanner]
    #[arg(long, value_name = "ACCOUNT", value_parser = check_account_name)]
    pub(crate) background_account: Option<String>,

    /// Leave out the scanner, which judges all stored objects and writes reports
    #[arg(long)]
    pub(crate) no_scan: bool,

    /// Custom resources that the scanner may read, such as widgets.example.com; it may read the built-in ones except Secrets
    #[arg(
        long,
        value_name = "RESOURCE[,…]",
        value_delimiter = ',',
        value_parser = check_readable_resource,
        conflicts_with = "no_scan"
    )]
    pub(crate) scan_can_read: Vec<String>,

    /// Serve the page about the cluster in the Pods of the scanner, read-only and without a login; only
    /// `kubectl port-forward` reaches it
    #[arg(long, conflicts_with = "no_scan")]
    pub(crate) scan_ui: bool,

    /// Print the CustomResourceDefinitions of reports too, OpenReports and PolicyReport; other programs may have installed them
    #[arg(long, conflicts_with = "no_crds")]
    pub(crate) report_crds: bool,

    /// Use certificates from cert-manager, which must be installed, instead of self-signed ones
    #[arg(long)]
    pub(crate) cert_manager: bool,

    /// Print only the CustomResourceDefinitions
    #[arg(long, conflicts_with = "no_crds")]
    pub(crate) crds: bool,

    /// Omit the CustomResourceDefinitions
    #[arg(long)]
    pub(crate) no_crds: bool,
}
