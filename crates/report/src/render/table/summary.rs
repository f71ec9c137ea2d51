//! Outcomes by rule: one row for each, the worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use kubewright_engine::{RuleId, RuleStatus};

use crate::render::{ReportWriter, TableOptions};
use crate::text::grouped_digits;
use crate::{OutcomeCounts, OutcomeRow, shorten_visible, visible};

/// The widest column of rule names.
const MAX_RULE_WIDTH: usize = 70;
/// How much of a message is shown where the terminal does not say how wide it is.
const MAX_MESSAGE_CHARACTERS: usize = 90;

/// The heading of a column, and what it counts.
type SummaryColumn = (&'static str, fn(&OutcomeCounts) -> usize);

/// The outcomes of each rule, counted.
#[derive(Default)]
pub(super) struct RuleSummary {
    rules: BTreeMap<Arc<RuleId>, SummedRule>,
}

#[derive(Default)]
struct SummedRule {
    counts: OutcomeCounts,
    message: String,
}

impl RuleSummary {
    /// Counts an outcome.
    pub(super) fn add(&mut self, row: &OutcomeRow) {
        let rule = self.rules.entry(row.rule.clone()).or_default();
        *rule.counts.of_mut(row.status) += 1;
        if rule.message.is_empty()
            && matches!(row.status, RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn)
        {
            rule.message = row.plain_text().lines().next().unwrap_or_default().to_owned();
        }
    }

    /// Writes a row for each rule; returns whether there is any.
    pub(super) fn write(&self, out: &mut ReportWriter, options: TableOptions) -> io::Result<bool> {
        let is_wrong = |rule: &SummedRule| rule.counts.fail + rule.counts.error + rule.counts.warn > 0;
        let mut rules: Vec<_> =
            self.rules.iter().filter(|(_, rule)| !options.is_quiet || is_wrong(rule)).collect();
        rules.sort_by_key(|(_, rule)| {
            Reverse((rule.counts.fail, rule.counts.error, rule.counts.warn, rule.counts.pass))
        });
        let columns: [SummaryColumn; 5] = [
            ("fail", |counts| counts.fail),
            ("error", |counts| counts.error),
            ("warn", |counts| counts.warn),
            ("pass", |counts| counts.pass),
            ("skip", |counts| counts.skip),
        ];
        let columns: Vec<_> = columns
            .into_iter()
            .filter(|(_, of)| rules.iter().any(|(_, rule)| of(&rule.counts) > 0))
            .collect();
        let widths = rules.iter().map(|(id, _)| id.to_string().chars().count());
        let width = widths.max().unwrap_or(0).min(MAX_RULE_WIDTH);
        if rules.is_empty() {
            return Ok(false);
        }
        let heads: String = columns.iter().map(|(name, _)| format!("  {name:>6}")).collect();
        writeln!(out, "{}", options.paint.bold(&format!("{:width$}{heads}", "rule")))?;
        let taken = width + 8 * columns.len() + 3;
        let room = options.width.map_or(MAX_MESSAGE_CHARACTERS, |columns| columns.saturating_sub(taken + 1));
        for (id, rule) in rules {
            let counts: String =
                columns.iter().map(|(_, of)| format!("  {:>6}", grouped_digits(of(&rule.counts)))).collect();
            let line = format!(
                "{:width$}{counts}   {}",
                visible(&id.to_string()),
                shorten_visible(&rule.message, room)
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(true)
    }
}
