//! The results of one object, before they become reports.

use kubewright_engine::{RuleId, RuleMetadata, RuleOutcome, RuleStatus};
use kubewright_value::Text;

use super::StatusFilter;
use crate::objects::OutcomeText;
use crate::{OutcomeCounts, path_text};

/// The object that a report is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportScope {
    /// As `apps/v1`.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
    /// Empty for an object without one.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// Empty for an object that is in no cluster.
    pub uid: Text,
}

/// Who says what a report says. A report has one source, because dashboards sort reports by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportSource {
    /// Rules about one object.
    Rules,
    /// Patterns about several objects.
    Patterns,
}

impl ReportSource {
    /// Returns its name in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rules => "kubewright",
            Self::Patterns => "kubewright-patterns",
        }
    }
}

/// One row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportResult {
    /// The policy or pattern.
    pub policy: Text,
    /// The rule in it; empty for a policy that is one rule.
    pub rule: Text,
    /// Why.
    pub message: Text,
    /// May be empty.
    pub category: Text,
    /// `critical`, `high`, `medium`, `low` or `info`; other texts are left out of the report.
    pub severity: Text,
    /// The verdict.
    pub result: RuleStatus,
    /// Whether it counts for a score.
    pub is_scored: bool,
    /// Further texts by name.
    pub properties: Vec<(Text, Text)>,
    /// Since when the row is so, in seconds since 1970. Zero where it is not known: then the row has no timestamp.
    pub since: i64,
}

/// The results of one object from one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectResults {
    /// The object.
    pub scope: ReportScope,
    /// Who says it.
    pub source: ReportSource,
    /// All results, also those without a row.
    pub counts: OutcomeCounts,
    /// The statuses that get a row.
    pub statuses: StatusFilter,
    /// The rows, in any order.
    pub results: Vec<ReportResult>,
}

impl ObjectResults {
    /// Returns the results of rules about `scope`: all are counted, those of `statuses` get a row that is so since
    /// `since`. A skip of a rule that is not about the object is not counted.
    #[must_use]
    pub fn of_outcomes<'o>(
        scope: ReportScope,
        outcomes: impl IntoIterator<Item = &'o RuleOutcome>,
        statuses: StatusFilter,
        since: i64,
    ) -> Self {
        let mut counts = OutcomeCounts::default();
        let mut results = Vec::new();
        for outcome in outcomes {
            if outcome.status != RuleStatus::Skip || outcome.is_judged || !outcome.exceptions.is_empty() {
                counts.add(outcome);
            }
            if statuses.has_row(outcome) {
                results.push(result_of_outcome(outcome, since));
            }
        }
        Self { scope, source: ReportSource::Rules, counts, statuses, results }
    }
}

impl ReportResult {
    /// Returns a row with what is known of a rule; its verdict is still `pass`.
    pub(crate) fn of_rule(rule: &RuleId, metadata: &RuleMetadata, exceptions: &[Text]) -> Self {
        let mut properties = vec![(Text::new("dialect"), Text::new(rule.dialect))];
        properties.extend(metadata.properties.iter().cloned());
        let (policy, mut rule) = policy_and_rule(rule);
        if !exceptions.is_empty() {
            // As Kyverno writes it: names without namespaces, and a rule where the policy has no name for it.
            let names = exceptions.iter().map(|one| one.rsplit('/').next().unwrap_or(one));
            properties.push(("exceptions".into(), names.collect::<Vec<_>>().join(",").into()));
            rule = if rule.is_empty() { "exception".into() } else { rule };
        } else if let Some(reported) = &metadata.reported_rule {
            rule = reported.clone();
        }
        Self {
            policy,
            rule,
            message: Text::default(),
            category: metadata.category.clone(),
            severity: metadata.severity.clone(),
            result: RuleStatus::Pass,
            is_scored: true,
            properties,
            since: 0,
        }
    }
}

/// Returns the row of an outcome that is so since `since`.
#[must_use]
pub fn result_of_outcome(outcome: &RuleOutcome, since: i64) -> ReportResult {
    let mut result = ReportResult::of_rule(&outcome.rule, &outcome.metadata, &outcome.exceptions);
    result.properties.extend(outcome.properties.iter().cloned());
    if !outcome.path.is_empty() {
        result.properties.push(("path".into(), path_text(&outcome.path).into()));
    }
    let text = OutcomeText {
        message: &outcome.message,
        denial: outcome.denial.as_deref(),
        status: outcome.status,
        changes: outcome.patch.len(),
        written: &outcome.written,
        has_exceptions: !outcome.exceptions.is_empty(),
    };
    ReportResult {
        message: text.to_string().into(),
        result: outcome.status,
        // A rule that warns by itself does not count for a score.
        is_scored: outcome.status != RuleStatus::Warn,
        since,
        ..result
    }
}

/// Returns the policy and the rule as reports name them: a policy with a namespace is `namespace/name`, and the rule of
/// a policy that is one rule is empty.
#[must_use]
pub fn policy_and_rule(id: &RuleId) -> (Text, Text) {
    // A ModRule is a policy with one rule, whose id has its namespace for the policy.
    let is_one_rule = id.dialect == "modrule";
    match id.policy.as_str() {
        "" => (id.rule.clone(), Text::default()),
        "*" if is_one_rule => (id.rule.clone(), Text::default()),
        namespace if is_one_rule => (format!("{namespace}/{}", id.rule).into(), Text::default()),
        _ => (id.policy.clone(), id.rule.clone()),
    }
}
