//! Everything that was found, sorted: the worst first, then by pattern, then by object.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use kubewright_dialects::patterns::{self, Finding, Findings, Level, Pattern, Settings, shipped};
use kubewright_engine::Diagnostic;
use kubewright_graph::{Id, Node};
use kubewright_value::{Budget, Exhausted, Limits, Text, Value};

use crate::arguments::{Compat, Detect, LEVELS};
use crate::codes::GIVEN_UP;
use crate::failure::Failure;
use crate::review::Place;
use crate::survey::{Survey, fits};
use crate::workers;

/// The annotation with the names of the patterns that an object asks to be spared; `*` is all.
const IGNORED: &str = "kubewright.dev/ignore-patterns";
/// The annotation that says why.
const REASON: &str = "kubewright.dev/ignore-reason";

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
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn of(survey: &'s Survey, arguments: &'s Detect, started: Instant) -> Result<Self, Failure> {
        let settings = settings(arguments);
        let limits = limits(survey);
        let look =
            |pattern: &Pattern| patterns::detect(pattern, &survey.graph, &settings, &mut Budget::new(limits));
        let found = workers::each(&survey.patterns, look)?;
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
        Ok(report)
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
                let message = format!("looking for `{}` was given up: {exhausted}", pattern.name);
                let location = pattern.location.clone();
                self.diagnostics.push(Diagnostic::new(&GIVEN_UP, message, location).help(GIVEN_UP_HELP));
                Findings { truncated: true, ..Findings::default() }
            }
        };
        // Whoever runs what ships cannot mend it, and need not have all kinds.
        if page(pattern).is_none() {
            self.diagnostics.extend(found.diagnostics);
        }
        let rows: Vec<Row<'s>> = found
            .findings
            .into_iter()
            .map(|finding| {
                let suppression = self.suppression(pattern, &finding);
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
                    Ok(Some(mut near)) => {
                        if near.kinds.matches(" or ").count() > 1 {
                            near.kinds = "object".to_owned();
                        }
                        row.near.push((missing.entry.clone(), near.hint(graph)));
                    }
                    Ok(None) => {}
                    Err(_) => return,
                }
            }
        }
    }

    /// Returns why the leader of a finding asks to be spared, if it does.
    fn suppression(&self, pattern: &Pattern, finding: &Finding) -> Option<Text> {
        let (_, leader) = finding.roles.first()?;
        let annotations = self.node(*leader)?.object.as_ref()?.at(&["metadata", "annotations"])?;
        let mut names = annotations.get(IGNORED)?.as_str()?.split(',');
        let is_spared = names.any(|name| fits(name.trim(), &pattern.name));
        is_spared.then(|| annotations.get(REASON).and_then(Value::as_str).unwrap_or_default().into())
    }
}

const GIVEN_UP_HELP: &str = "look at fewer objects, or make the filters of the pattern narrower";

/// Returns `Kind namespace/name`.
pub(crate) fn called(node: &Node) -> String {
    match node.namespace.as_str() {
        "" => format!("{} {}", node.kind, node.name),
        namespace => format!("{} {namespace}/{}", node.kind, node.name),
    }
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

/// Returns how much work a pattern may be: as much as there are objects.
fn limits(survey: &Survey) -> Limits {
    let (least, nodes) = (Limits::default(), survey.graph.len() as u64);
    Limits {
        steps: least.steps.max(nodes.saturating_mul(10_000)),
        bytes: least.bytes.max(nodes.saturating_mul(10_000)),
        ..least
    }
}
