//! What is kept of the objects until the end of a pass.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_patterns::LivePatterns;
use kubewright_scan::{ObjectDecision, Scanner};
use kubewright_value::Value;

use super::super::rules::ScanRuleSet;
use super::ScanPass;

/// What is kept of the objects until the end of the pass.
pub(in super::super) enum PassStore {
    /// What patterns read.
    Graph(Box<LivePatterns>),
    /// Also the results, for reports in the cluster.
    Results(Box<Scanner>),
}

impl PassStore {
    /// Returns a store without objects.
    pub(super) fn new(pass: &ScanPass<'_>) -> Self {
        let ScanRuleSet { compiled, patterns, references, .. } = pass.rules;
        if !pass.arguments.reports.writes() {
            let live = LivePatterns::new(patterns.clone(), references, pass.extent.detection_settings());
            return Self::Graph(Box::new(live));
        }
        let mut scanner = Scanner::new(pass.arguments.reports.scan_settings());
        scanner.replace_rules(Arc::clone(compiled));
        Self::Results(Box::new(scanner))
    }

    /// Takes up the objects of a batch.
    pub(super) fn insert(&mut self, batch: KeptObjects) {
        match self {
            Self::Graph(live) => batch.for_graph.iter().for_each(|object| live.insert(object)),
            Self::Results(scanner) => {
                for (object, decision) in batch.decided {
                    let judgement = scanner.judge_decided(&object, decision);
                    scanner.record(judgement, pass_seconds());
                }
            }
        }
    }

    /// Takes note that all objects are there.
    pub(super) fn finish(&mut self) {
        match self {
            Self::Graph(live) => live.load(),
            Self::Results(scanner) => {
                scanner.refresh_patterns(pass_seconds());
            }
        }
    }

    /// Returns the patterns with the graph of the objects; nothing where there are none.
    pub(super) fn patterns(&self) -> Option<&LivePatterns> {
        match self {
            Self::Graph(live) => Some(live),
            Self::Results(scanner) => scanner.live_patterns(),
        }
    }
}

/// What is kept of the objects of a batch.
#[derive(Default)]
pub(super) struct KeptObjects {
    /// The objects that patterns read.
    pub(super) for_graph: Vec<Value>,
    /// With --write-reports, the objects that rules or patterns read, each with what the rules say.
    pub(super) decided: Vec<(Value, ObjectDecision)>,
}

/// Returns the time in seconds since 1970.
fn pass_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
