//! The trace of a rule: the tree of what it evaluated and why.
//!
//! A rule reports each step to a [`Tracer`]. Nodes are built in closures, so that a tracer that
//! is off costs nothing on the hot path.

use kubewright_value::{Document, Location, Step, Value, bounded};

/// One step of an evaluation.
#[derive(Debug, Clone, Default)]
pub struct TraceNode {
    /// What was evaluated, in the words of the rule.
    pub what: String,
    /// What was found there.
    pub found: String,
    /// What it was compared with, or what was done.
    pub wanted: String,
    /// The result.
    pub verdict: TraceVerdict,
    /// The place in the rule file.
    pub location: Option<Location>,
    /// The path in the object of what was looked at; empty where no part of the object was.
    pub subject: Vec<Step>,
    /// The place of that part in the object's file, or of the nearest part around it that is there.
    pub subject_location: Option<Location>,
    /// What to do about it; may be empty.
    pub help: String,
    /// The steps below it.
    pub children: Vec<TraceNode>,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceVerdict {
    /// As wanted.
    Yes,
    /// Not as wanted.
    No,
    /// It could not be evaluated.
    Error,
    /// Something was done.
    Done,
    /// It was not evaluated, because the result was known before.
    #[default]
    NotLooked,
}

impl TraceVerdict {
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

/// Collects [`TraceNode`]s up to a number, and counts those left out.
#[derive(Debug, Default)]
pub struct Tracer {
    nodes: Option<Vec<TraceNode>>,
    room: usize,
    left_out: usize,
}

/// How many nodes a tracer keeps at most.
const MAX_NODES: usize = 20_000;

/// How long a text of a node may be.
const MAX_TEXT_BYTES: usize = 4096;

impl Tracer {
    /// Returns a tracer that is off.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// Returns a tracer that is on.
    #[must_use]
    pub fn on() -> Self {
        Self::within(MAX_NODES)
    }

    /// Returns a tracer that keeps at most `nodes` nodes.
    #[must_use]
    pub fn within(nodes: usize) -> Self {
        Self { nodes: Some(Vec::new()), room: nodes.min(MAX_NODES), left_out: 0 }
    }

    /// Returns whether it is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.nodes.is_some()
    }

    /// Adds a node; `node` runs only if the tracer is on.
    pub fn say(&mut self, node: impl FnOnce() -> TraceNode) {
        let Some(nodes) = &mut self.nodes else { return };
        if self.room == 0 {
            self.left_out += 1;
            return;
        }
        let mut node = node();
        node.shorten();
        self.room = self.room.saturating_sub(node.size());
        nodes.push(node);
    }

    /// Returns the nodes since the last call.
    pub fn take(&mut self) -> Vec<TraceNode> {
        let mut nodes = self.nodes.as_mut().map(std::mem::take).unwrap_or_default();
        if self.left_out > 0 {
            nodes.push(TraceNode::left_out(std::mem::take(&mut self.left_out)));
        }
        nodes
    }
}

/// How much of a found value is shown.
const MAX_SHOWN_CHARACTERS: usize = 120;

impl TraceNode {
    /// Returns the node that stands for `count` nodes left out.
    fn left_out(count: usize) -> Self {
        Self { what: format!("… {count} more"), ..Self::default() }
    }

    /// Returns how many nodes it is, itself and all below it.
    #[must_use]
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Self::size).sum::<usize>()
    }

    /// Finds the places in `document`, the file of the object, of what was looked at.
    pub fn locate_subjects(&mut self, document: &Document) {
        if !self.subject.is_empty() {
            self.subject_location = Some(document.locate(&self.subject));
        }
        self.children.iter_mut().for_each(|child| child.locate_subjects(document));
    }

    /// Cuts long texts in it.
    pub(crate) fn shorten(&mut self) {
        for text in [&mut self.what, &mut self.found, &mut self.wanted, &mut self.help] {
            if let Some(short) = bounded::shortened_text(text, MAX_TEXT_BYTES) {
                *text = short;
            }
        }
        self.children.iter_mut().for_each(Self::shorten);
    }

    /// Returns a value as a trace shows it: JSON, cut short.
    #[must_use]
    pub fn show(value: &Value) -> String {
        bounded::shortened_json(value, MAX_SHOWN_CHARACTERS)
    }

    /// Returns the debug form of a value, cut short in the same way.
    #[must_use]
    pub fn show_debug(value: &impl std::fmt::Debug) -> String {
        bounded::shortened_debug(value, MAX_SHOWN_CHARACTERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(what: &str) -> TraceNode {
        TraceNode { what: what.to_owned(), ..TraceNode::left_out(0) }
    }

    #[test]
    fn a_trace_ends_and_says_how_much_is_left_out() {
        let mut tracer = Tracer::on();
        for _ in 0..MAX_NODES + 7 {
            tracer.say(|| node("x"));
        }
        let nodes = tracer.take();
        assert_eq!(nodes.len(), MAX_NODES + 1);
        assert_eq!(nodes.last().map(|node| node.what.as_str()), Some("… 7 more"));
    }

    #[test]
    fn long_texts_are_cut() {
        let mut tracer = Tracer::on();
        tracer.say(|| node(&"x".repeat(MAX_TEXT_BYTES + 5)));
        assert!(tracer.take().first().is_some_and(|node| node.what.ends_with("x… (5 more bytes)")));
    }
}
