//! What patterns find, as badges on a picture of all objects.

use std::collections::{BTreeMap, HashMap};

use kubewright_draw::{Badge, Picture, Tone};
use kubewright_files::workers;
use kubewright_graph::Id;
use kubewright_patterns::{DetectionSettings, Level, PatternFinding};
use kubewright_report::text::{grouped_digits, plural};
use kubewright_report::{FindingOptions, ReportedFindings, Severity};
use kubewright_value::Text;

use super::words_as_texts;
use crate::pattern_inputs::PatternInputs;
use kubewright_value::CompactSort as _;

/// How many patterns are named in the legend for each severity.
const MAX_NAMED_PATTERNS: usize = 6;

/// What was found, by leader.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    badges: HashMap<Id, Vec<(Badge, Text)>>,
    counts: BTreeMap<Level, BTreeMap<Text, usize>>,
    patterns: usize,
    suppressed: usize,
    is_truncated: bool,
}

impl Overlay {
    /// Returns the badges of all findings that are not suppressed.
    pub(super) fn of(found: &ReportedFindings<'_>) -> Self {
        let mut overlay = Self { patterns: found.runs.len(), ..Self::default() };
        for run in &found.runs {
            overlay.is_truncated |= run.truncated;
            overlay.suppressed += run.suppressed;
            for row in found.rows.iter().filter(|row| std::ptr::eq(row.pattern, run.pattern)) {
                if row.suppression.is_none() {
                    overlay.add(&row.finding);
                }
            }
        }
        overlay
    }

    fn add(&mut self, finding: &PatternFinding) {
        let counts = self.counts.entry(finding.severity).or_default();
        *counts.entry(finding.pattern.clone()).or_default() += 1;
        let Some((_, leader)) = finding.roles.first() else { return };
        let badge = Badge { tone: tone(finding.severity), text: finding.pattern.clone() };
        let note = format!("{} {}: {}", finding.severity.name(), finding.pattern, finding.message);
        self.badges.entry(*leader).or_default().push((badge, note.into()));
    }
}

/// Looks for all patterns of `inputs`, in `namespaces` if there are any.
pub(super) fn find_badges<'s>(inputs: &'s PatternInputs, namespaces: &[String]) -> ReportedFindings<'s> {
    let namespaces = words_as_texts(namespaces);
    let namespaces = (!namespaces.is_empty()).then_some(namespaces);
    let settings = DetectionSettings { namespaces, witnesses: 0, ..DetectionSettings::default() };
    let options = FindingOptions::default();
    ReportedFindings::detect(
        &inputs.patterns,
        inputs.context(),
        options,
        (&settings, workers::worker_count()),
    )
}

/// Returns the tone of a severity.
pub(super) fn tone(level: Level) -> Tone {
    match Severity::from(level) {
        Severity::Info | Severity::Low => Tone::Info,
        Severity::Medium => Tone::Warning,
        Severity::High | Severity::Critical => Tone::Critical,
    }
}

impl Overlay {
    /// Returns the objects that something was found about.
    pub(super) fn leaders(&self) -> impl Iterator<Item = Id> {
        self.badges.keys().copied()
    }

    /// Puts badges and notes on the boxes of a picture.
    pub(super) fn mark(&self, picture: &mut Picture, places: &HashMap<Id, usize>) {
        for (id, badges) in &self.badges {
            let Some(node) = places.get(id).and_then(|place| picture.nodes.get_mut(*place)) else { continue };
            for (badge, note) in badges {
                node.badges.push(badge.clone());
                node.notes.push(note.clone());
            }
        }
    }

    /// Returns what was found, in a few sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        if self.patterns == 0 {
            return Vec::new();
        }
        let total: usize = self.counts.values().flat_map(BTreeMap::values).sum();
        let mut more = if self.is_truncated { ", and there are more" } else { "" }.to_owned();
        if self.suppressed > 0 {
            more.push_str(&format!(", {} suppressed", grouped_digits(self.suppressed)));
        }
        let mut sentences =
            vec![format!("{} of {}{more}.", plural(total, "finding"), plural(self.patterns, "pattern"))];
        for (level, patterns) in self.counts.iter().rev() {
            let mut names: Vec<(&Text, &usize)> = patterns.iter().collect();
            names.compact_sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
            let mut said: Vec<String> = names
                .iter()
                .take(MAX_NAMED_PATTERNS)
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            if names.len() > MAX_NAMED_PATTERNS {
                said.push(format!("and {} more", names.len() - MAX_NAMED_PATTERNS));
            }
            sentences.push(format!("{}: {}", level.name(), said.join(", ")));
        }
        sentences
    }
}
