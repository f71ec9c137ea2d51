//! How many reports a cluster holds, and which stay when there would be more.

use std::cmp::Reverse;

use kubewright_engine::RuleStatus;

use super::{ObjectResults, ReportObject, ReportResult};
use crate::Severity;
use kubewright_value::CompactSort as _;

/// How many reports of ours a cluster holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportCaps {
    /// How many objects.
    pub objects: usize,
    /// How many bytes of JSON in all.
    pub bytes: usize,
}

/// 10,000 objects of 64 MiB together: etcd holds 2 GiB by default.
impl Default for ReportCaps {
    fn default() -> Self {
        Self { objects: 10_000, bytes: 64 << 20 }
    }
}

/// How much the results of an object matter. Sorts the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportRank {
    // The worst row: whether it fails, then how severe it is.
    worst: Reverse<(u8, Option<Severity>)>,
    // How many rows fail.
    failures: Reverse<usize>,
}

/// The reports about one object, as the caps count them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportWeight {
    /// How much they matter.
    pub rank: ReportRank,
    /// The name of the first one, which tells objects apart.
    pub name: String,
    /// How many reports there are.
    pub objects: usize,
    /// Their bytes of JSON.
    pub bytes: usize,
}

/// Which reports stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportSelection {
    /// The positions of the weights whose reports stay, in ascending order.
    pub kept: Vec<usize>,
    /// How many reports they are.
    pub objects: usize,
    /// Their bytes of JSON.
    pub bytes: usize,
    /// The number of weights whose reports do not fit.
    pub left_out: usize,
}

impl ReportRank {
    /// Returns how much `results` matter.
    #[must_use]
    pub fn of(results: &ObjectResults) -> Self {
        let worst = results.results.iter().map(row_rank).max().unwrap_or_default();
        Self { worst: Reverse(worst), failures: Reverse(results.counts.fail) }
    }
}

impl ReportWeight {
    /// Returns the weight of the `reports` about one object.
    #[must_use]
    pub fn of(results: &ObjectResults, reports: &[ReportObject]) -> Self {
        Self {
            rank: ReportRank::of(results),
            name: reports.first().map(|report| report.name.clone()).unwrap_or_default(),
            objects: reports.len(),
            bytes: reports.iter().map(|report| report.bytes).sum(),
        }
    }
}

impl ReportCaps {
    /// Returns which reports stay: those that matter most, as many as fit. Of equal ones the first by name, so that
    /// the same reports stay every time. All reports about an object stay, or none.
    #[must_use]
    pub fn select(self, weights: &[ReportWeight]) -> ReportSelection {
        let mut order: Vec<(usize, &ReportWeight)> = weights.iter().enumerate().collect();
        order.compact_sort_by(|(_, one), (_, other)| {
            one.rank.cmp(&other.rank).then_with(|| one.name.cmp(&other.name))
        });
        let mut selection = ReportSelection::default();
        for (position, weight) in order {
            let (objects, bytes) = (selection.objects + weight.objects, selection.bytes + weight.bytes);
            if objects > self.objects || bytes > self.bytes {
                selection.left_out += 1;
                continue;
            }
            (selection.objects, selection.bytes) = (objects, bytes);
            selection.kept.push(position);
        }
        selection.kept.sort_unstable();
        selection
    }
}

/// Returns how bad a row is; higher is worse.
fn row_rank(row: &ReportResult) -> (u8, Option<Severity>) {
    let status = match row.result {
        RuleStatus::Fail => 4,
        RuleStatus::Error => 3,
        RuleStatus::Warn => 2,
        RuleStatus::Skip => 1,
        RuleStatus::Pass => 0,
    };
    (status, Severity::named(&row.severity.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{failed, results_of};
    use super::*;

    fn weight(name: &str, severity: &str, result: RuleStatus) -> ReportWeight {
        let row = ReportResult { severity: severity.into(), result, ..failed("p", "r") };
        let rank = ReportRank::of(&results_of(vec![row]));
        ReportWeight { rank, name: name.to_owned(), objects: 1, bytes: 100 }
    }

    #[track_caller]
    fn check_kept(caps: ReportCaps, want: &[&str]) {
        let weights = [
            weight("a", "low", RuleStatus::Fail),
            weight("b", "critical", RuleStatus::Warn),
            weight("d", "high", RuleStatus::Fail),
            weight("c", "high", RuleStatus::Fail),
            weight("e", "", RuleStatus::Fail),
        ];
        let selection = caps.select(&weights);
        let kept: Vec<&str> =
            selection.kept.iter().filter_map(|place| weights.get(*place)).map(|w| w.name.as_str()).collect();
        assert_eq!(kept, want);
        assert_eq!(selection.left_out, weights.len() - kept.len());
    }

    #[test]
    fn caps_keep_failures_of_high_severity_first() {
        check_kept(ReportCaps::default(), &["a", "b", "d", "c", "e"]);
        check_kept(ReportCaps { objects: 4, ..ReportCaps::default() }, &["a", "d", "c", "e"]);
        check_kept(ReportCaps { objects: 1, ..ReportCaps::default() }, &["c"]);
        check_kept(ReportCaps { bytes: 250, ..ReportCaps::default() }, &["d", "c"]);
        check_kept(ReportCaps { objects: 0, ..ReportCaps::default() }, &[]);
    }
}
