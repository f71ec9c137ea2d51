//! What a rule about Pods can be rewritten for.

/// What a rule about Pods is rewritten for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Nothing: it is as its author wrote it.
    Pod,
    /// Controllers whose Pods are described in `spec.template`.
    Template,
    /// CronJobs, whose Pods are described in `spec.jobTemplate.spec.template`.
    CronJob,
}

impl Workload {
    /// Returns the keys that lead to the description of a Pod.
    #[must_use]
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Pod => &[],
            Self::Template => &["spec", "template"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
        }
    }
}
