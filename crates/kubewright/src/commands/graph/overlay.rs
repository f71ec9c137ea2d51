//! What patterns find, as badges on a picture of all objects.

use std::collections::{BTreeMap, HashMap};

use kubewright_draw::{Badge, Picture, Tone};
use kubewright_files::workers;
use kubewright_graph::Id;
use kubewright_patterns::{self as patterns, DetectionSettings, Level};
use kubewright_report::Severity;
use kubewright_report::text::{grouped_digits, plural};
use kubewright_value::Text;

use super::words_as_texts;
use crate::arguments::GraphArguments;
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

/// Looks for all patterns.
pub(super) fn find_overlay(arguments: &GraphArguments, inputs: &mut PatternInputs) -> Overlay {
    let namespaces = words_as_texts(&arguments.namespaces);
    let namespaces = (!namespaces.is_empty()).then_some(namespaces);
    let settings = DetectionSettings { namespaces, witnesses: 0, ..DetectionSettings::default() };
    let mut overlay = Overlay { patterns: inputs.patterns.len(), ..Overlay::default() };
    let found = patterns::detect_all(&inputs.patterns, &inputs.graph, &settings, workers::worker_count());
    for (pattern, found) in inputs.patterns.iter().zip(found) {
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                inputs.diagnostics.push(patterns::exhausted_diagnostic(pattern, error));
                overlay.is_truncated = true;
                continue;
            }
        };
        overlay.is_truncated |= found.truncated;
        for finding in found.findings {
            let leader = finding.roles.first().map(|(_, leader)| *leader);
            if leader.is_some_and(|leader| inputs.context().suppression(&pattern.name, leader).is_some()) {
                overlay.suppressed += 1;
                continue;
            }
            *overlay
                .counts
                .entry(finding.severity)
                .or_default()
                .entry(finding.pattern.clone())
                .or_default() += 1;
            let Some(leader) = leader else { continue };
            let badge = Badge { tone: tone(finding.severity), text: finding.pattern.clone() };
            let note = format!("{} {}: {}", finding.severity.name(), finding.pattern, finding.message);
            overlay.badges.entry(leader).or_default().push((badge, note.into()));
        }
    }
    overlay
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
