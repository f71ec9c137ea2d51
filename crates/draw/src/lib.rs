//! Pictures of objects and of what links them.
//!
//! A [`Picture`] is plain: boxes, lines between them, and words. A whole graph and the
//! objects of one finding are drawn by the same code. Everything is a pure function to
//! text, the same picture gives the same bytes, and the work is bounded: the replicas of
//! a controller are drawn as one box with a count, above [`Options::glyphs`] more boxes are, above
//! [`Options::lines`] the rest of the lines is left out and the picture says so.
//!
//! Names come from other people's manifests. Every writer escapes all of them.

mod component;
mod dot;
mod group;
mod html;
mod icons;
mod json;
mod kinds;
mod labels;
mod layout;
mod legend;
mod merge;
mod mermaid;
mod palette;
mod route;
mod scene;
mod select;
mod slots;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod whole;

pub use dot::dot;
pub use html::html;
pub use json::json;
pub use kinds::{layer, short_name};
pub use mermaid::mermaid;
pub use select::Way;
pub use svg::svg;
pub use whole::{Choice, Drawn, node_of};

use kubewright_value::Text;

/// What is to be drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// The heading; none when empty.
    pub title: String,
    /// The objects, in any order.
    pub nodes: Vec<Node>,
    /// What links them. A line to a node that is not there is not drawn.
    pub lines: Vec<Line>,
    /// Words for frames; one that is not named here is called by its name.
    pub groups: Vec<Group>,
    /// Sentences under the picture, such as the message of a finding. The meaning of colours,
    /// dashes and badges is added by the writers and need not be said here.
    pub legend: Vec<String>,
}

/// One object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// What tells it from others in the JSON form. Not shown in the picture.
    pub id: Text,
    /// The name to show.
    pub label: Text,
    /// The Kubernetes kind, which decides layer, colour and abbreviation.
    pub kind: Text,
    /// Where it lives; empty for none.
    pub namespace: Text,
    /// The frame that it is drawn in; empty for that of its namespace.
    pub frame: Text,
    /// Roles in a pattern, severities of findings.
    pub badges: Vec<Badge>,
    /// What is special about it.
    pub class: Class,
    /// Sentences about it, for whoever points at it.
    pub notes: Vec<Text>,
}

impl Node {
    fn frame(&self) -> &str {
        if self.frame.is_empty() { &self.namespace } else { &self.frame }
    }
}

/// What is special about an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing.
    #[default]
    Plain,
    /// The object in question: the focus of a picture, the leader of a finding.
    Focus,
    /// Named by others, but not there.
    Absent,
    /// Not an object of its own: an image, the identity of a volume.
    Virtual,
    /// Context only.
    Faded,
}

/// A few letters on the edge of a box.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Badge {
    /// What it means, worst last.
    pub tone: Tone,
    /// What it says.
    pub text: Text,
}

/// What a badge means, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// A role in a pattern.
    Role,
    /// A finding that informs.
    Info,
    /// A finding that warns.
    Warning,
    /// A critical finding.
    Critical,
}

/// One relationship.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The place in [`Picture::nodes`] where it begins.
    pub from: usize,
    /// The place in [`Picture::nodes`] where it ends.
    pub to: usize,
    /// The type of the relationship.
    pub label: Text,
    /// The field that made it.
    pub via: Text,
    /// How it is drawn.
    pub style: Style,
    /// What it adds to a score.
    pub points: Option<f64>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Style {
    /// It is there.
    #[default]
    Solid,
    /// It is there, but weak.
    Dashed,
    /// It was expected, and is not there. Drawn dashed and red.
    Missing,
}

/// Words for one frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The frame, or the namespace whose frame it is; empty for what is in none.
    pub frame: Text,
    /// What to call it.
    pub label: Text,
}

/// How much is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Boxes at most; above that, boxes alike become one with a count. At most 5,000.
    pub glyphs: usize,
    /// Lines at most. At most 20,000.
    pub lines: usize,
    /// Whether the replicas of one controller are one box, however few boxes there are.
    pub merges: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { glyphs: 1_500, lines: 6_000, merges: true }
    }
}

impl Options {
    fn bounded(self) -> Self {
        let (glyphs, lines) = (self.glyphs.clamp(8, 5_000), self.lines.clamp(8, 20_000));
        Self { glyphs, lines, ..self }
    }
}
