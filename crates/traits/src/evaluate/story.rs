//! What was looked at and done, as a tree; nothing is kept unless somebody asked.

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::Location;

/// The tree so far.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// What was said at each level that is open; nothing when nobody asked.
    levels: Option<Vec<Vec<TraceNode>>>,
}

/// What is said of one thing.
pub(crate) struct Said {
    pub(crate) what: String,
    pub(crate) found: String,
    pub(crate) wanted: String,
    pub(crate) verdict: TraceVerdict,
    pub(crate) location: Option<Location>,
}

impl Story {
    /// Returns a story that is kept.
    pub(crate) fn told() -> Self {
        Self { levels: Some(vec![Vec::new()]) }
    }

    /// Goes one level down: what is said next belongs to what [`Story::close`] says.
    pub(crate) fn open(&mut self) {
        if let Some(levels) = &mut self.levels {
            levels.push(Vec::new());
        }
    }

    /// Comes back up and says what the level was about.
    pub(crate) fn close(&mut self, said: impl FnOnce() -> Said) {
        let Some(levels) = &mut self.levels else { return };
        let children = levels.pop().unwrap_or_default();
        if let Some(level) = levels.last_mut() {
            level.push(node(said(), children));
        }
    }

    /// Says one thing.
    pub(crate) fn say(&mut self, said: impl FnOnce() -> Said) {
        if let Some(level) = self.levels.as_mut().and_then(|levels| levels.last_mut()) {
            level.push(node(said(), Vec::new()));
        }
    }

    /// Returns whether a failure was said since the level was opened.
    pub(crate) fn has_failure(&self) -> bool {
        let level = self.levels.as_ref().and_then(|levels| levels.last());
        level.is_some_and(|level| level.iter().any(|node| node.verdict == TraceVerdict::Error))
    }

    /// Returns everything that was said.
    pub(crate) fn finish(self) -> Vec<TraceNode> {
        self.levels.into_iter().flatten().next().unwrap_or_default()
    }
}

fn node(said: Said, children: Vec<TraceNode>) -> TraceNode {
    let Said { what, found, wanted, verdict, location } = said;
    TraceNode { what, found, wanted, verdict, location, children }
}
