//! The tree of what a rule looked at, and why it answered as it did.
//!
//! A rule says what it looks at through a [`Tracer`], which throws it away unless
//! somebody asked, so that tracing costs nothing on the hot path: the text is made in a closure.

use kubewright_value::{Location, Value, bounded};

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct TraceNode {
    /// What was looked at, in the rule's words.
    pub what: String,
    /// What was found there.
    pub found: String,
    /// What it was compared with, or what was done.
    pub wanted: String,
    /// How that went.
    pub verdict: Verdict,
    /// The place in the rule file.
    pub location: Option<Location>,
    /// What was looked at for it.
    pub children: Vec<TraceNode>,
}

/// How looking at something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As wanted.
    Yes,
    /// Not as wanted.
    No,
    /// Could not be told.
    Error,
    /// Something was done.
    Done,
    /// Was not looked at, because the answer was clear before.
    NotLooked,
}

impl Verdict {
    /// Returns the word for it in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Error => "error",
            Self::Done => "done",
            Self::NotLooked => "not looked at",
        }
    }
}

/// Collects [`TraceNode`]s when somebody wants them.
#[derive(Debug, Default)]
pub struct Tracer {
    nodes: Option<Vec<TraceNode>>,
}

impl Tracer {
    /// Returns a tracer that throws everything away.
    #[must_use]
    pub fn off() -> Self {
        Self { nodes: None }
    }

    /// Returns a tracer that keeps everything.
    #[must_use]
    pub fn on() -> Self {
        Self { nodes: Some(Vec::new()) }
    }

    /// Returns whether anybody wants to know.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.nodes.is_some()
    }

    /// Says what was looked at; `node` runs only when somebody wants to know.
    pub fn say(&mut self, node: impl FnOnce() -> TraceNode) {
        if let Some(nodes) = &mut self.nodes {
            nodes.push(node());
        }
    }

    /// Returns what was said since the last call.
    pub fn take(&mut self) -> Vec<TraceNode> {
        self.nodes.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// How much of a found value is shown.
const MAX_SHOWN_CHARACTERS: usize = 120;

impl TraceNode {
    /// Returns a value as a person wants to see it in a trace: JSON, cut short.
    #[must_use]
    pub fn show(value: &Value) -> String {
        bounded::shortened_json(value, MAX_SHOWN_CHARACTERS)
    }
}
