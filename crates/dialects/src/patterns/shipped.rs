//! The patterns that ship: each a folder `patterns/<name>` with `pattern.yaml` and its page `README.md`.

/// A pattern that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// The pattern as it is written.
    pub source: &'static str,
    /// What it finds, why that matters and what to do, in Markdown.
    pub page: &'static str,
}

/// Returns the patterns that ship, sorted by name.
#[must_use]
pub fn shipped() -> &'static [Shipped] {
    SHIPPED
}

/// Returns the pattern of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

/// One entry for each folder of `patterns/`.
macro_rules! folders {
    ($($name:literal)*) => {
        &[$(Shipped {
            name: $name,
            source: include_str!(concat!("../../../../patterns/", $name, "/pattern.yaml")),
            page: include_str!(concat!("../../../../patterns/", $name, "/README.md")),
        }),*]
    };
}

static SHIPPED: &[Shipped] = folders! {
    "agent-as-deployment"
    "autoscaler-and-fixed-replicas"
    "autoscaler-cannot-scale"
    "autoscaler-inactive"
    "autoscaler-without-requests"
    "autoscalers-compete"
    "claim-unbound"
    "crash-loop"
    "database-without-volume"
    "disruption-budget-blocks-drain"
    "disruption-budget-missing"
    "disruption-budget-too-tight"
    "disruption-budgets-overlap"
    "finished-job-kept"
    "high-restart-count"
    "image-pull-failing"
    "init-container-missing"
    "leader-elected"
    "liveness-equals-readiness"
    "liveness-probe-impatient"
    "liveness-probe-missing"
    "memory-limit-missing"
    "naked-pod"
    "namespace-without-limit-range"
    "namespace-without-resource-quota"
    "no-graceful-shutdown"
    "orphan-service"
    "out-of-memory"
    "pod-unschedulable"
    "pod-without-priority-class"
    "readiness-probe-missing"
    "replicas-not-spread"
    "replicas-share-claim"
    "resource-requests-missing"
    "rollout-blocked-by-claim"
    "rollout-paused"
    "rollout-stuck"
    "self-awareness"
    "sidecar-present"
    "single-replica-exposed"
    "singleton"
    "split-adapter"
    "split-ambassador"
    "split-sidecar"
    "startup-probe-missing"
    "statefulset-without-headless-service"
    "workload-unavailable"
};

#[cfg(test)]
mod tests;
