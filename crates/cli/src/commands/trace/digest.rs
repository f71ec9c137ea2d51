//! What is said at the end of traces of many objects: how many of each rule there are, and what is left out.

use kubewright_engine::RuleStatus;
use kubewright_report::text::{grouped_digits, plural};
use kubewright_report::visible;

/// The traces that are shown without a choice; above that only those that say something is wrong.
pub(super) const MAX_WHOLE_TRACES: usize = 20;

/// The traces of one rule that are shown when there are more than [`MAX_WHOLE_TRACES`].
pub(super) const MAX_TRACES_PER_RULE: usize = 5;

/// Counts traces by rule, in the order in which rules are met.
#[derive(Debug, Default)]
pub(super) struct TraceDigest {
    rules: Vec<RuleTraces>,
}

#[derive(Debug)]
struct RuleTraces {
    rule: String,
    /// By status: fail, error, warn, pass, skip.
    counts: [usize; 5],
    shown: usize,
    /// Why objects are out of scope, and how many, with the first of them and the place of what excludes it.
    outside: Vec<(String, usize, (String, String))>,
}

const STATUSES: [RuleStatus; 5] =
    [RuleStatus::Fail, RuleStatus::Error, RuleStatus::Warn, RuleStatus::Pass, RuleStatus::Skip];

impl TraceDigest {
    fn of(&mut self, rule: &str) -> &mut RuleTraces {
        let at = self.rules.iter().position(|known| known.rule == rule).unwrap_or_else(|| {
            self.rules.push(RuleTraces {
                rule: rule.to_owned(),
                counts: [0; 5],
                shown: 0,
                outside: Vec::new(),
            });
            self.rules.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "the position of an item that is there")]
        &mut self.rules[at]
    }

    /// Counts an outcome.
    pub(super) fn count(&mut self, rule: &str, status: RuleStatus) {
        let of = self.of(rule);
        if let Some(count) =
            STATUSES.iter().position(|one| *one == status).and_then(|at| of.counts.get_mut(at))
        {
            *count += 1;
        }
    }

    /// Counts a shown trace; returns whether there is room for it.
    pub(super) fn show(&mut self, rule: &str) -> bool {
        let of = self.of(rule);
        of.shown += 1;
        of.shown <= MAX_TRACES_PER_RULE
    }

    /// Counts an object that is out of the scope of a rule.
    pub(super) fn outside(&mut self, rule: &str, reason: &str, (object, place): (&str, String)) {
        let of = self.of(rule);
        match of.outside.iter_mut().find(|(known, ..)| known == reason) {
            Some((_, count, _)) => *count += 1,
            None => of.outside.push((reason.to_owned(), 1, (object.to_owned(), place))),
        }
    }

    /// Returns a line for each rule with its counts.
    pub(super) fn counts(&self) -> Vec<String> {
        let line = |of: &RuleTraces| {
            let all: usize = of.counts.iter().sum();
            let sorts = STATUSES.iter().zip(of.counts).filter(|(_, count)| *count > 0);
            let sorts: Vec<String> =
                sorts.map(|(status, count)| format!("{} {status}", grouped_digits(count))).collect();
            let shown = of.shown.min(MAX_TRACES_PER_RULE);
            (all > 0).then(|| {
                format!(
                    "{}  {}: {}; {shown} shown",
                    visible(&of.rule),
                    plural(all, "object"),
                    sorts.join(", ")
                )
            })
        };
        self.rules.iter().filter_map(line).collect()
    }

    /// Returns a line for each rule and reason that objects are out of its scope.
    pub(super) fn outsiders(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for of in &self.rules {
            for (reason, count, (object, place)) in &of.outside {
                lines.push(match count {
                    1 => (
                        format!("{}  on {}", visible(&of.rule), visible(object)),
                        format!("out of scope: {reason}   {}", visible(place)),
                    ),
                    count => {
                        let objects = plural(*count, "object");
                        (visible(&of.rule).into_owned(), format!("out of scope for {objects}: {reason}"))
                    }
                });
            }
        }
        lines
    }
}
