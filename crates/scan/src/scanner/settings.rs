//! How a scan is made, and what each of its steps leads to.

use kubewright_engine::Query;
use kubewright_report::cluster_report::StatusFilter;

use crate::JudgementCause;

/// The settings of a scan.
#[derive(Debug, Clone)]
pub struct ScanSettings {
    /// Which objects have rows.
    pub report_on: ReportOn,
    /// Which outcomes have rows. All are counted.
    pub report_results: StatusFilter,
    /// After how many seconds an object whose rules read the clock is judged again.
    pub clock_interval: i64,
    /// After how many seconds an object for which a lookup failed is judged again.
    pub retry_interval: i64,
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self {
            report_on: ReportOn::default(),
            report_results: StatusFilter::default(),
            clock_interval: 600,
            retry_interval: 60,
        }
    }
}

/// Which objects have rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportOn {
    /// Of a workload, what it made of it and the Pods: only the first, as far as a rule covers both.
    #[default]
    Roots,
    /// Every object.
    All,
}

/// What observing an object led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// No rule can see a change since it was judged last.
    Unchanged,
    /// It was judged.
    Judged,
    /// The caller must look these up and observe the object again. What was said of the object before stays.
    NeedsAnswers(Vec<Query>),
    /// No rule is about it, and none looked anything up to find that out: nothing is kept of it.
    NotMatched,
    /// The rules, or something that they looked up, changed between judging and recording: it must be judged again.
    Outdated,
}

/// How many objects were judged, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JudgementCounts {
    /// Because they were listed or have changed.
    pub object: u64,
    /// Because a rule has changed.
    pub rule: u64,
    /// Because something that was looked up has changed.
    pub dependency: u64,
    /// Because of the time.
    pub clock: u64,
    /// In a full pass.
    pub full_pass: u64,
    /// Not judged, because no rule can see a change.
    pub unchanged: u64,
}

impl JudgementCounts {
    /// Counts one judgement.
    pub(super) fn add(&mut self, cause: JudgementCause) {
        *match cause {
            JudgementCause::Object => &mut self.object,
            JudgementCause::Rule => &mut self.rule,
            JudgementCause::Dependency => &mut self.dependency,
            JudgementCause::Clock => &mut self.clock,
            JudgementCause::FullPass => &mut self.full_pass,
        } += 1;
    }
}
