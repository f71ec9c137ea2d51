//! The webhook configurations.
//!
//! They are not part of the manifests. They follow from the loaded rules (`desired`), and foreign changes are undone.
//! Our ClusterRole owns them, so that they are deleted with the installation.

mod compare;
mod configuration;
mod desired;
mod exempt;
mod installation;
mod progress;
mod reconcile;
mod rewrites;
mod targets;
mod upstream;

pub use desired::{CONFIGURATION_SELECTOR, OwnerRole, WebhookAddress, WebhookInputs, desired_configurations};
pub use installation::WEBHOOKS_ANNOTATION;
pub(crate) use progress::WebhookProgress;
pub use reconcile::reconcile_webhooks;
pub(crate) use rewrites::Rewrites;
pub use upstream::installed_upstream_webhooks;

use kubewright_cluster::GroupVersionResource;
use kubewright_value::{Map, Value};

/// Returns an object with these entries.
fn json_object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Map::from(entries).into()
}

/// Returns the resources of webhook configurations: of those that change, then of those that judge.
fn webhook_resources() -> [GroupVersionResource; 2] {
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
        .map(|plural| GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural))
}
