//! The webhook configurations: what the API server asks us, and what it does when we do not answer.
//!
//! They are in no manifest. What they should be follows from the rules of the moment ([`desired`]); whatever else
//! stands there is put right. They belong to our ClusterRole, so that they go when the installation goes.

mod compare;
mod configuration;
mod desired;
mod exempt;
mod installation;
mod reconcile;
mod rewrites;
mod targets;
mod upstream;

pub use desired::{OwnerRole, SELECTOR, WebhookAddress, WebhookInputs, desired};
pub use installation::WEBHOOKS;
pub use reconcile::keep;
pub(crate) use rewrites::Rewrites;
pub use upstream::originals;

use kubewright_cluster::GroupVersionResource;
use kubewright_value::{Map, Value};

/// Returns an object with these entries.
fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Map::from(entries).into()
}

/// Returns the resources of webhook configurations: of those that change, then of those that judge.
fn resources() -> [GroupVersionResource; 2] {
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
        .map(|plural| GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural))
}
