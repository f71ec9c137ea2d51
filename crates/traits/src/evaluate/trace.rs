//! The trace of a rendering: the tree of what was evaluated and done.
//!
//! The engine's `Tracer` collects a flat list for one rule. A rendering nests (instance, patch, operation) and its
//! parents are known only after their children, so levels are opened and closed here.

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::Location;

/// The trace so far.
#[derive(Debug, Default)]
pub(crate) struct RenderTrace {
    /// The nodes of each open level; nothing if no trace was requested.
    levels: Option<Vec<Vec<TraceNode>>>,
}

/// A node without its children.
pub(crate) struct TraceEntry {
    pub(crate) what: String,
    pub(crate) found: String,
    pub(crate) wanted: String,
    pub(crate) verdict: TraceVerdict,
    pub(crate) location: Option<Location>,
}

impl RenderTrace {
    /// Returns a trace that records its nodes; the default one drops them.
    pub(crate) fn recording() -> Self {
        Self { levels: Some(vec![Vec::new()]) }
    }

    /// Opens a level: the next nodes become children of the node that [`RenderTrace::close`] adds.
    pub(crate) fn open(&mut self) {
        if let Some(levels) = &mut self.levels {
            levels.push(Vec::new());
        }
    }

    /// Closes the level and adds `entry` as its parent; `entry` runs only if the trace is recorded.
    pub(crate) fn close(&mut self, entry: impl FnOnce() -> TraceEntry) {
        let Some(levels) = &mut self.levels else { return };
        let children = levels.pop().unwrap_or_default();
        if let Some(level) = levels.last_mut() {
            level.push(trace_node(entry(), children));
        }
    }

    /// Adds a node without children; `entry` runs only if the trace is recorded.
    pub(crate) fn add(&mut self, entry: impl FnOnce() -> TraceEntry) {
        if let Some(level) = self.levels.as_mut().and_then(|levels| levels.last_mut()) {
            level.push(trace_node(entry(), Vec::new()));
        }
    }

    /// Returns whether an error was added since the level was opened.
    pub(crate) fn has_failure(&self) -> bool {
        let level = self.levels.as_ref().and_then(|levels| levels.last());
        level.is_some_and(|level| level.iter().any(|node| node.verdict == TraceVerdict::Error))
    }

    /// Returns the nodes of the top level.
    pub(crate) fn finish(self) -> Vec<TraceNode> {
        self.levels.into_iter().flatten().next().unwrap_or_default()
    }
}

fn trace_node(entry: TraceEntry, children: Vec<TraceNode>) -> TraceNode {
    let TraceEntry { what, found, wanted, verdict, location } = entry;
    TraceNode { what, found, wanted, verdict, location, children, ..TraceNode::default() }
}
