//! Which results get a row.

use kubewright_engine::{RuleOutcome, RuleStatus};

/// The statuses whose results get a row in a report. Results of other statuses are counted in its summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusFilter {
    // Bits by the position in `STATUSES`.
    statuses: u8,
}

/// All statuses, in the order in which reports list them.
const STATUSES: [RuleStatus; 5] =
    [RuleStatus::Pass, RuleStatus::Fail, RuleStatus::Warn, RuleStatus::Error, RuleStatus::Skip];

/// Everything that is not `pass`.
impl Default for StatusFilter {
    fn default() -> Self {
        Self::of(&[RuleStatus::Fail, RuleStatus::Warn, RuleStatus::Error, RuleStatus::Skip])
    }
}

impl StatusFilter {
    /// Every status.
    pub const ALL: Self = Self { statuses: 0b1_1111 };

    /// Returns the filter that keeps `statuses`.
    #[must_use]
    pub fn of(statuses: &[RuleStatus]) -> Self {
        Self { statuses: statuses.iter().fold(0, |bits, status| bits | status_bit(*status)) }
    }

    /// Reads a list such as `fail,warn`.
    ///
    /// # Errors
    /// The part that is not a status.
    pub fn parse(list: &str) -> Result<Self, String> {
        let status = |name: &str| {
            let found = STATUSES.into_iter().find(|status| status.name() == name);
            found.ok_or_else(|| name.to_owned())
        };
        let statuses: Result<Vec<RuleStatus>, String> = list.split(',').map(str::trim).map(status).collect();
        Ok(Self::of(&statuses?))
    }

    /// Returns whether results of `status` get a row.
    #[must_use]
    pub fn contains(self, status: RuleStatus) -> bool {
        self.statuses & status_bit(status) != 0
    }

    /// Returns the statuses that it keeps, in the order in which reports list them.
    pub fn statuses(self) -> impl Iterator<Item = RuleStatus> {
        STATUSES.into_iter().filter(move |status| self.contains(*status))
    }

    /// Returns whether `outcome` gets a row. A skip only does if an exception made it, because any other one says no
    /// more than that the rule is not about the object.
    #[must_use]
    pub fn has_row(self, outcome: &RuleOutcome) -> bool {
        let is_said = outcome.status != RuleStatus::Skip || !outcome.exceptions.is_empty();
        is_said && self.contains(outcome.status)
    }
}

fn status_bit(status: RuleStatus) -> u8 {
    match status {
        RuleStatus::Pass => 1,
        RuleStatus::Fail => 2,
        RuleStatus::Warn => 4,
        RuleStatus::Error => 8,
        RuleStatus::Skip => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_filter_reads_what_it_lists() {
        let filter = StatusFilter::parse("warn, fail").expect("two statuses");
        let names: Vec<&str> = filter.statuses().map(RuleStatus::name).collect();
        assert_eq!(names, ["fail", "warn"]);
        assert_eq!(StatusFilter::parse("fail,broken"), Err("broken".to_owned()));
        assert_eq!(StatusFilter::parse("pass,fail,warn,error,skip"), Ok(StatusFilter::ALL));
    }
}
