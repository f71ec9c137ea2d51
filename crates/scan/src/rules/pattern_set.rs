//! The patterns of a scan, and the kinds that they read.

use std::collections::BTreeSet;

use kubewright_graph::References;
use kubewright_patterns::{DetectionSettings, LivePatterns, Pattern, compile_pattern_with};
use kubewright_value::{Document, Text};

use super::digest::{PolicyDigest, hash_document};

/// The patterns of a scan. They are looked for in the graph of a [`Scanner`](crate::Scanner).
#[derive(Debug)]
pub(crate) struct PatternSet {
    patterns: Vec<Pattern>,
    references: References,
    settings: DetectionSettings,
    digest: PolicyDigest,
    /// The patterns without any object, which know the kinds that they read.
    probe: LivePatterns,
}

impl Default for PatternSet {
    fn default() -> Self {
        Self::compile(&[], &[], &DetectionSettings::default())
    }
}

impl PatternSet {
    /// Compiles `documents`, which are patterns, with the references that `auxiliaries` declare. One with a mistake is
    /// left out; its diagnostics were reported when its language compiled it.
    pub(crate) fn compile(
        documents: &[&Document],
        auxiliaries: &[Document],
        settings: &DetectionSettings,
    ) -> Self {
        let references = kubewright_patterns::read_references(auxiliaries).0;
        let own_types: Vec<Text> = references.own_types().to_vec();
        let compile = |document: &&&Document| compile_pattern_with(document, &own_types).0;
        let patterns: Vec<Pattern> = documents.iter().filter_map(|document| compile(&document)).collect();
        let mut digest = PolicyDigest::default();
        digest
            .add(documents.iter().copied().chain(auxiliaries).map(|document| hash_document(&document.value)));
        let probe = LivePatterns::new(patterns.clone(), &references, settings.clone());
        Self { patterns, references, settings: settings.clone(), digest, probe }
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether `other` has the same patterns and references.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// Returns the names of the patterns.
    pub(crate) fn names(&self) -> BTreeSet<&Text> {
        self.patterns.iter().map(|pattern| &pattern.name).collect()
    }

    /// Returns whether objects of a kind matter to a pattern.
    pub(crate) fn reads_kind(&self, group: &str, kind: &str) -> bool {
        self.probe.reads_kind(group, kind)
    }

    /// Returns the patterns without any object.
    pub(crate) fn live(&self) -> LivePatterns {
        LivePatterns::new(self.patterns.clone(), &self.references, self.settings.clone())
    }
}
