//! The built-in patterns: each a folder `patterns/<name>` with `pattern.yaml` and its page `README.md`.

use kubewright_packed::PackedTexts;

/// A built-in pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shipped {
    /// Its name, which is that of its folder.
    pub name: &'static str,
}

static SOURCES: PackedTexts = PackedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/patterns.packed")));
static PAGES: PackedTexts = PackedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/pages.packed")));

impl Shipped {
    /// Returns the pattern as it is written.
    #[must_use]
    pub fn source(&self) -> &'static str {
        SOURCES.get(self.name).unwrap_or_default()
    }

    /// Returns its page in Markdown: what it finds, why that matters and what to do.
    #[must_use]
    pub fn page(&self) -> &'static str {
        PAGES.get(self.name).unwrap_or_default()
    }
}

/// Returns the built-in patterns, sorted by name.
#[must_use]
pub fn shipped_patterns() -> &'static [Shipped] {
    SHIPPED_PATTERNS
}

/// Returns the built-in pattern called `name`.
#[must_use]
pub fn shipped_pattern(name: &str) -> Option<&'static Shipped> {
    SHIPPED_PATTERNS.iter().find(|shipped| shipped.name == name)
}

/// One entry for each folder of `patterns/`.
macro_rules! folders {
    ($($name:literal)*) => {
        &[$(Shipped { name: $name }),*]
    };
}

static SHIPPED_PATTERNS: &[Shipped] = folders! {
    "agent-as-deployment"
    "autoscaler-and-fixed-replicas"
    "autoscaler-cannot-scale"
    "autoscaler-inactive"
    "autoscaler-without-requests"
    "autoscalers-compete"
    "binding-for-everyone"
    "claim-unbound"
    "cluster-admin-workload"
    "crash-loop"
    "dangling-autoscaler"
    "dangling-ingress"
    "dangling-role-binding"
    "dangling-route"
    "database-without-backup"
    "database-without-volume"
    "default-service-account-used"
    "disruption-budget-blocks-drain"
    "disruption-budget-missing"
    "disruption-budget-too-tight"
    "disruption-budget-without-pods"
    "disruption-budgets-overlap"
    "empty-application-set"
    "empty-argo-project"
    "exposed-and-privileged"
    "finished-job-kept"
    "gateway-without-route"
    "high-restart-count"
    "image-pull-failing"
    "ingress-without-tls"
    "init-container-missing"
    "leader-elected"
    "liveness-equals-readiness"
    "liveness-probe-impatient"
    "liveness-probe-missing"
    "memory-limit-missing"
    "missing-claim-reference"
    "missing-config-reference"
    "missing-flux-source"
    "missing-issuer"
    "missing-pull-secret"
    "missing-secret-store"
    "missing-service-account-reference"
    "missing-storage-class"
    "missing-tls-secret"
    "monitor-without-target"
    "naked-pod"
    "namespace-without-limit-range"
    "namespace-without-resource-quota"
    "network-policy-gap"
    "no-graceful-shutdown"
    "orphan-machine-template"
    "orphan-service"
    "out-of-memory"
    "plain-secret-in-environment"
    "pod-monitor-without-target"
    "pod-unschedulable"
    "pod-without-priority-class"
    "readiness-probe-missing"
    "released-volume"
    "replicas-not-spread"
    "replicas-share-claim"
    "resource-requests-missing"
    "rollout-blocked-by-claim"
    "rollout-paused"
    "rollout-stuck"
    "route-without-gateway"
    "secret-in-environment"
    "self-awareness"
    "service-selectors-overlap"
    "shared-host-path"
    "shared-secret-across-apps"
    "shared-volume-across-apps"
    "sidecar-present"
    "single-replica-exposed"
    "singleton"
    "split-adapter"
    "split-ambassador"
    "split-sidecar"
    "stale-network-policy"
    "startup-probe-missing"
    "statefulset-without-headless-service"
    "token-mounted-needlessly"
    "unreferenced-widget"
    "unrequested-warehouse"
    "unused-claim"
    "unused-composition-function"
    "unused-configmap"
    "unused-flux-source"
    "unused-issuer"
    "unused-role"
    "unused-secret"
    "unused-secret-store"
    "unused-service-account"
    "webhook-without-pods"
    "webhook-without-service"
    "widely-shared-mutable-config"
    "wildcard-role-workload"
    "workload-unavailable"
    "workload-without-network-policy"
};

#[cfg(test)]
mod tests;
