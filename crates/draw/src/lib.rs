//! Pictures of objects and the relationships between them: SVG, HTML, DOT, Mermaid, a tree, JSON.
//!
//! A [`Picture`] is plain: boxes, lines between them, and words. A whole graph and the
//! objects of one finding are drawn by the same code. Everything is a pure function to
//! text, the same picture gives the same bytes, and the work is bounded: the replicas of
//! a controller are drawn as one box with a count, above [`DrawOptions::glyphs`] more boxes are, above
//! [`DrawOptions::lines`] the rest of the lines is left out and the picture says so.
//!
//! Names come from untrusted manifests. Every writer escapes all of them.

mod application;
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
mod placed;
mod route;
mod scene;
mod select;
mod slots;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod whole;

pub use dot::render_dot;
pub use html::render_html;
pub use json::render_json;
pub use kinds::{kind_layer, short_name};
pub use mermaid::render_mermaid;
pub use palette::PICTURE_CSS;
pub use placed::{PictureApplication, PlacedBox, PlacedLine, PlacedPicture, place_picture};
pub use select::FollowDirection;
pub use svg::render_svg;
pub use tree::render_tree;
pub use whole::{GraphPicture, PictureScope, picture_node};

use kubewright_value::Text;

/// A picture: boxes, lines and words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// The heading; none when empty.
    pub title: String,
    /// The objects, in any order.
    pub nodes: Vec<PictureNode>,
    /// The relationships. A line to a node that is not in `nodes` is not drawn.
    pub lines: Vec<PictureLine>,
    /// Words for frames; one that is not named here is called by its name.
    pub groups: Vec<FrameLabel>,
    /// Sentences under the picture, such as the message of a finding. The meaning of colours,
    /// dashes and badges is added by the writers.
    pub legend: Vec<String>,
    /// Applications and namespaces that are drawn in full where others are one box, by [`PlacedBox::opens`]; the last one was
    /// opened last.
    pub open: Vec<Text>,
}

/// One object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PictureNode {
    /// The unique id in the JSON form. Not shown in the picture.
    pub id: Text,
    /// The name to show.
    pub label: Text,
    /// The Kubernetes kind, which decides layer, colour and abbreviation.
    pub kind: Text,
    /// The namespace; empty for none.
    pub namespace: Text,
    /// The frame that it is drawn in; empty for that of its namespace.
    pub frame: Text,
    /// Roles in a pattern, severities of findings.
    pub badges: Vec<Badge>,
    /// How its box is drawn.
    pub class: Class,
    /// The application that it belongs to, as its labels say; may be empty.
    pub application: Text,
    /// Sentences for the tooltip.
    pub notes: Vec<Text>,
}

impl PictureNode {
    fn frame(&self) -> &str {
        if self.frame.is_empty() { &self.namespace } else { &self.frame }
    }
}

/// How the box of an object is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing.
    #[default]
    Plain,
    /// The object in question: the focus of a picture, the leader of a finding.
    Focus,
    /// Referred to, but not in the input.
    Absent,
    /// Not a Kubernetes object: an image, the identity of a volume.
    Virtual,
    /// Context only.
    Faded,
}

/// A few letters on the edge of a box.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Badge {
    /// The meaning.
    pub tone: Tone,
    /// The text.
    pub text: Text,
}

/// The meaning of a badge, lowest severity first.
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
pub struct PictureLine {
    /// The place in [`Picture::nodes`] where it begins.
    pub from: usize,
    /// The place in [`Picture::nodes`] where it ends.
    pub to: usize,
    /// The type of the relationship.
    pub label: Text,
    /// The field that made it.
    pub via: Text,
    /// How it is drawn.
    pub style: LineStyle,
    /// The points it adds to a score.
    pub points: Option<f64>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineStyle {
    /// The relationship exists.
    #[default]
    Solid,
    /// The relationship is weak: optional, preferred or implicit.
    Dashed,
    /// The relationship was expected and does not exist. Drawn dashed and red.
    Missing,
}

/// Words for one frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameLabel {
    /// The frame, or the namespace whose frame it is; empty for what is in none.
    pub frame: Text,
    /// The text.
    pub label: Text,
}

/// How much is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawOptions {
    /// Boxes at most; above that, boxes alike become one with a count. At most 5,000.
    pub glyphs: usize,
    /// Lines at most. At most 20,000.
    pub lines: usize,
    /// Whether the replicas of one controller are one box, however few boxes there are.
    pub merges: bool,
    /// Whether a controller and its Pods are one box.
    pub folds: bool,
    /// Above this many boxes, each application is one.
    pub applications_above: usize,
}

impl Default for DrawOptions {
    fn default() -> Self {
        Self { glyphs: 1_500, lines: 6_000, merges: true, folds: false, applications_above: usize::MAX }
    }
}

impl Class {
    /// Returns the word for it in style sheets and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Focus => "focus",
            Self::Absent => "absent",
            Self::Virtual => "virtual",
            Self::Faded => "faded",
        }
    }
}

impl Tone {
    /// Returns the word for it in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl LineStyle {
    /// Returns the word for it in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Dashed => "weak",
            Self::Missing => "missing",
        }
    }
}

impl DrawOptions {
    fn bounded(self) -> Self {
        let (glyphs, lines) = (self.glyphs.clamp(8, 5_000), self.lines.clamp(8, 20_000));
        Self { glyphs, lines, ..self }
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
