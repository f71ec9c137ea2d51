//! Findings of patterns as rows of reports.

use kubewright_engine::RuleStatus;
use kubewright_graph::{Graph, GraphNode};
use kubewright_patterns::{Pattern, PatternFinding};
use kubewright_value::Text;

use super::{ReportResult, ReportScope};
use crate::{Severity, object_label};

/// A finding and how it counts.
#[derive(Debug, Clone, Copy)]
pub struct JudgedFinding<'f> {
    /// The pattern.
    pub pattern: &'f Pattern,
    /// What was found.
    pub finding: &'f PatternFinding,
    /// The objects.
    pub graph: &'f Graph,
    /// Why it is suppressed, if it is; may be empty.
    pub suppression: Option<&'f str>,
    /// Whether it is a failure and not only a warning.
    pub is_failure: bool,
    /// Since when it is so, in seconds since 1970; zero where it is not known.
    pub since: i64,
}

/// Returns the row of a finding in the report about its leader. A suppressed finding is a skip.
#[must_use]
pub fn result_of_finding(judged: &JudgedFinding<'_>) -> ReportResult {
    let JudgedFinding { pattern, finding, .. } = judged;
    let mut properties: Vec<(Text, Text)> = vec![
        ("points".into(), finding.points.to_string().into()),
        ("maximum".into(), finding.maximum.to_string().into()),
        ("confidence".into(), finding.confidence_level().name().into()),
    ];
    let others = finding.roles.iter().skip(1);
    let objects: Vec<String> = others
        .filter_map(|(role, id)| Some(format!("{role}: {}", object_label(judged.graph.node(*id)?))))
        .collect();
    if !objects.is_empty() {
        properties.push(("objects".into(), objects.join(", ").into()));
    }
    if let Some(reason) = judged.suppression.filter(|reason| !reason.is_empty()) {
        properties.push(("suppressed".into(), reason.into()));
    }
    ReportResult {
        policy: pattern.name.clone(),
        rule: Text::default(),
        message: finding.message.as_str().into(),
        category: pattern.category.clone(),
        severity: Severity::from(finding.severity).name().into(),
        result: match (judged.suppression, judged.is_failure) {
            (Some(_), _) => RuleStatus::Skip,
            (None, true) => RuleStatus::Fail,
            (None, false) => RuleStatus::Warn,
        },
        is_scored: true,
        properties,
        since: judged.since,
    }
}

/// Returns the object that the report of a finding is about: its leader. It is empty for a finding that says that
/// there is no object at all.
#[must_use]
pub fn scope_of_finding(finding: &PatternFinding, graph: &Graph) -> ReportScope {
    let leader = finding.roles.first().and_then(|(_, id)| graph.node(*id));
    leader.map(scope_of_node).unwrap_or_default()
}

fn scope_of_node(node: &GraphNode) -> ReportScope {
    ReportScope {
        api_version: node.api_version.clone(),
        kind: node.kind.clone(),
        namespace: node.namespace.clone(),
        name: node.name.clone(),
        uid: node.uid.clone(),
    }
}
