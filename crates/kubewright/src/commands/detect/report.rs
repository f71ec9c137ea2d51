//! Everything that was found, sorted: the worst first, then by pattern, then by object.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use kubewright_engine::Diagnostic;
use kubewright_graph::{Id, Node};
use kubewright_k8s::object_title;
use kubewright_patterns::{self as patterns, Finding, Findings, Level, Pattern, Settings, shipped};
use kubewright_value::{Budget, Exhausted, Text};

use crate::arguments::{Compat, Detect, LEVELS};
use crate::review::Place;
use crate::survey::Survey;
use crate::words::plural;
use crate::workers;

/// The codes of what is said where no object has a kind that a pattern asks for.
const DOUBTS: [&str; 2] = ["KW-P040", "KW-P041"];
/// How many of them a person is told.
const DOUBTS_SHOWN: usize = 3;
/// How many near misses are told.
const NEAR: usize = 1;

/// What was found.
pub(crate) struct Report<'s> {
    /// Patterns and objects.
    pub(crate) survey: &'s Survey,
    /// What was asked for.
    pub(crate) arguments: &'s Detect,
    /// One for each pattern, in the order of their names.
    pub(crate) runs: Vec<Run<'s>>,
    /// The findings.
    pub(crate) rows: Vec<Row<'s>>,
    /// What is wrong with patterns and objects.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

/// What came of one pattern.
pub(crate) struct Run<'s> {
    pub(crate) pattern: &'s Pattern,
    /// How many findings there are, suppressed ones aside.
    pub(crate) findings: usize,
    /// How many of them objects ask to be spared.
    pub(crate) suppressed: usize,
    /// Whether there may be more.
    pub(crate) truncated: bool,
    /// How many objects were looked at as leaders.
    pub(crate) leaders: usize,
}

/// One finding.
pub(crate) struct Row<'s> {
    pub(crate) pattern: &'s Pattern,
    pub(crate) finding: Finding,
    /// Why it is to be overlooked, if it is; may be empty.
    pub(crate) suppression: Option<Text>,
    /// For each relationship that is missing, by its id, what nearly is in it.
    pub(crate) near: Vec<(Text, String)>,
}

impl<'s> Report<'s> {
    /// Looks for all patterns.
    pub(crate) fn of(survey: &'s Survey, arguments: &'s Detect, started: Instant) -> Self {
        let settings = settings(arguments);
        let found = patterns::detect_all(&survey.patterns, &survey.graph, &settings, workers::count());
        let mut report = Self {
            survey,
            arguments,
            runs: Vec::with_capacity(found.len()),
            rows: Vec::new(),
            diagnostics: survey.diagnostics.clone(),
            elapsed: Duration::ZERO,
        };
        for (pattern, found) in survey.patterns.iter().zip(found) {
            report.add(pattern, found);
        }
        report.rows.sort_by_key(|row| Reverse(row.finding.severity));
        report.look_near();
        report.elapsed = started.elapsed();
        report
    }

    /// Returns the findings that are to be shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Row<'s>> {
        let is_shown = |row: &&Row<'s>| {
            (row.suppression.is_none() || self.arguments.show_suppressed)
                && (!self.arguments.quiet || self.is_failure(row))
        };
        self.rows.iter().filter(is_shown)
    }

    /// Returns whether a finding counts for the exit code.
    pub(crate) fn is_failure(&self, row: &Row<'_>) -> bool {
        row.suppression.is_none() && self.arguments.fail_on.is_reached(row.finding.severity)
    }

    /// Returns whether any finding does.
    pub(crate) fn has_failures(&self) -> bool {
        self.rows.iter().any(|row| self.is_failure(row))
    }

    /// Returns how many findings of each severity there are, the worst first; suppressed ones aside.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Level, usize)> {
        let of = |level: Level| {
            let counted = |row: &&Row<'_>| row.suppression.is_none() && row.finding.severity == level;
            self.rows.iter().filter(counted).count()
        };
        LEVELS.into_iter().rev().map(move |level| (level, of(level)))
    }

    /// Returns how many findings objects ask to be spared.
    pub(crate) fn suppressed(&self) -> usize {
        self.runs.iter().map(|run| run.suppressed).sum()
    }

    /// Returns whether there may be more findings than are told.
    pub(crate) fn is_truncated(&self) -> bool {
        self.runs.iter().any(|run| run.truncated)
    }

    /// Returns the diagnostics that a person is told: of kinds that no object has only the first few, because few
    /// sets of objects have all kinds that a folder of patterns asks for.
    pub(crate) fn told(&self) -> Vec<Diagnostic> {
        let is_doubt = |diagnostic: &Diagnostic| DOUBTS.contains(&diagnostic.code.id);
        let count = self.diagnostics.iter().filter(|diagnostic| is_doubt(diagnostic)).count();
        let most = if count > DOUBTS_SHOWN { DOUBTS_SHOWN - 1 } else { count };
        let (mut told, mut doubts) = (self.diagnostics.clone(), 0);
        told.retain(|diagnostic| {
            doubts += usize::from(is_doubt(diagnostic));
            !is_doubt(diagnostic) || doubts <= most
        });
        if count > DOUBTS_SHOWN
            && let Some(last) = told.iter_mut().rfind(|diagnostic| is_doubt(diagnostic))
        {
            let more = plural(count + 1 - DOUBTS_SHOWN, "more mention");
            last.help = format!("{}; there are {more} of kinds that no object has", last.help);
        }
        told
    }

    /// Returns a node of the graph.
    pub(crate) fn node(&self, id: Id) -> Option<&'s Node> {
        self.survey.graph.node(id)
    }

    /// Returns the object that a finding is about first.
    pub(crate) fn leader(&self, row: &Row<'_>) -> Option<&'s Node> {
        row.finding.roles.first().and_then(|(_, id)| self.node(*id))
    }

    /// Returns where the object stands that a finding is about first.
    pub(crate) fn place(&self, row: &Row<'_>) -> Option<&'s Place> {
        row.finding.roles.first().and_then(|(_, id)| self.survey.place(*id))
    }

    /// Returns `Kind namespace/name` of a node.
    pub(crate) fn called(&self, id: Id) -> String {
        self.node(id).map(called).unwrap_or_default()
    }

    fn add(&mut self, pattern: &'s Pattern, found: Result<Findings, Exhausted>) {
        let found = match found {
            Ok(found) => found,
            Err(exhausted) => {
                self.diagnostics.push(patterns::exhausted(pattern, exhausted));
                Findings { truncated: true, ..Findings::default() }
            }
        };
        // Whoever runs what ships cannot mend it, and need not have all kinds.
        if page(pattern).is_none() && self.survey.objects > 0 {
            self.diagnostics.extend(found.diagnostics);
        }
        let rows: Vec<Row<'s>> = found
            .findings
            .into_iter()
            .map(|finding| {
                let leader = finding.roles.first().map(|(_, leader)| *leader);
                let suppression = leader.and_then(|id| self.survey.suppression(&pattern.name, id));
                Row { pattern, finding, suppression, near: Vec::new() }
            })
            .collect();
        let suppressed = rows.iter().filter(|row| row.suppression.is_some()).count();
        self.runs.push(Run {
            pattern,
            findings: rows.len() - suppressed,
            suppressed,
            truncated: found.truncated,
            leaders: found.leaders,
        });
        self.rows.extend(rows);
    }

    /// Looks for what nearly is in the relationships that are missing, for as many findings as is cheap.
    fn look_near(&mut self) {
        let graph = &self.survey.graph;
        let mut budget = Budget::default();
        for row in &mut self.rows {
            let Some((_, leader)) = row.finding.roles.first() else { continue };
            for missing in row.finding.evidence.iter().filter(|evidence| !evidence.held && !evidence.wanted) {
                match patterns::nearest(row.pattern, &missing.entry, *leader, graph, NEAR, &mut budget) {
                    Ok(Some(near)) => row.near.push((missing.entry.clone(), near.hint(graph))),
                    Ok(None) => {}
                    Err(_) => return,
                }
            }
        }
    }
}

/// Returns `Kind namespace/name`.
pub(crate) fn called(node: &Node) -> String {
    object_title(&node.kind, &node.namespace, &node.name)
}

/// Returns the page of a pattern, if it is one that ships.
pub(crate) fn page(pattern: &Pattern) -> Option<&'static str> {
    let is_shipped = crate::survey::is_shipped(pattern);
    shipped::named(&pattern.name).filter(|_| is_shipped).map(|shipped| shipped.page)
}

fn settings(arguments: &Detect) -> Settings {
    let namespaces: Vec<Text> = arguments.namespaces.iter().map(|name| name.as_str().into()).collect();
    Settings {
        per_leader: arguments.max_per_leader,
        per_pattern: arguments.max_per_pattern,
        witnesses: arguments.witnesses,
        namespaces: (!namespaces.is_empty()).then_some(namespaces),
        passes_unreachable: arguments.compat == Some(Compat::Registry),
        ..Settings::default()
    }
}
