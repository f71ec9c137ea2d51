//! Which parts of patterns the cases were about: that it is found and that it is not, and each relationship there and
//! not there.

use std::collections::BTreeMap;

use kubewright_patterns::{Pattern, PatternFindings};
use kubewright_value::{Document, Location};

use super::super::coverage::{Coverage, Side};

/// The patterns of a test file by name.
#[derive(Default)]
pub(super) struct Exercised {
    patterns: BTreeMap<String, Parts>,
}

struct Parts {
    document: Document,
    is_exercised: bool,
    /// What they are, where they stand, and whether a case was about it.
    parts: BTreeMap<(String, Side), (Location, bool)>,
}

impl Exercised {
    /// Counts the parts of a pattern.
    pub(super) fn count(&mut self, pattern: Option<&Pattern>, document: &Document) {
        let Some(pattern) = pattern else { return };
        let mut parts = BTreeMap::new();
        for (side, what) in [(Side::Is, "a finding"), (Side::IsNot, "no finding")] {
            parts.insert((what.to_owned(), side), (pattern.location.clone(), false));
        }
        for (id, location) in pattern.relationships() {
            parts.insert((there(id), Side::Is), (location.clone(), false));
            parts.insert((not_there(id), Side::IsNot), (location.clone(), false));
        }
        let known = Parts { document: document.clone(), is_exercised: false, parts };
        self.patterns.entry(pattern.name.to_string()).or_insert(known);
    }

    /// Takes note of what one case came to.
    pub(super) fn case(&mut self, pattern: &Pattern, document: &Document, found: &PatternFindings) {
        self.count(Some(pattern), document);
        let Some(known) = self.patterns.get_mut(pattern.name.as_str()) else { return };
        known.is_exercised = true;
        known.mark(if found.findings.is_empty() { "no finding" } else { "a finding" });
        let steps = found.trace.iter().flat_map(|trace| &trace.steps);
        let evidence = found.findings.iter().flat_map(|finding| &finding.evidence);
        let looked = steps.map(|step| (&step.entry, step.held));
        for (id, held) in looked.chain(evidence.map(|evidence| (&evidence.entry, evidence.held))) {
            known.mark(&if held { there(id) } else { not_there(id) });
        }
    }

    /// Returns what the cases were about.
    pub(super) fn coverage(self) -> Coverage {
        let mut coverage = Coverage::default();
        for (name, known) in self.patterns {
            let parts = known.parts.into_iter();
            let parts = parts.map(|((what, side), (location, is_done))| (what, location, side, is_done));
            coverage.add_sides(&format!("pattern/{name}"), &known.document, known.is_exercised, parts);
        }
        coverage
    }
}

impl Parts {
    fn mark(&mut self, what: &str) {
        for side in [Side::Is, Side::IsNot] {
            if let Some((_, is_exercised)) = self.parts.get_mut(&(what.to_owned(), side)) {
                *is_exercised = true;
            }
        }
    }
}

fn there(id: &str) -> String {
    format!("`{id}` is there")
}

fn not_there(id: &str) -> String {
    format!("`{id}` is not there")
}
