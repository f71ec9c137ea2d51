//! The words of YAML, as the scanner hands them to the parser.

use std::borrow::Cow;

use crate::Position;

/// A place in the text; lines and columns count from 0 here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Mark {
    /// Returns the place as users count.
    pub(super) fn position(self) -> Position {
        Position { line: self.line + 1, column: self.column + 1 }
    }
}

/// A word and where it starts and ends.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

/// What sort of word it is.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    StreamEnd,
    /// `%YAML 1.1`
    Version(u8, u8),
    /// `%TAG handle prefix`
    TagDirective(Box<Tag>),
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    /// `-`
    BlockEntry,
    /// `,`
    FlowEntry,
    /// `?`, or before a key without one.
    Key,
    /// `:`
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag(Box<Tag>),
    Scalar {
        text: Cow<'a, str>,
        plain: bool,
    },
}

/// A tag or the declaration of one, in its two parts.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) handle: String,
    pub(super) suffix: String,
}

impl Kind<'_> {
    /// Returns the word for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Kind::StreamEnd => "the end".to_owned(),
            Kind::Version(..) | Kind::TagDirective(_) => "a directive".to_owned(),
            Kind::DocumentStart => "`---`".to_owned(),
            Kind::DocumentEnd => "`...`".to_owned(),
            Kind::BlockSequenceStart => "a list".to_owned(),
            Kind::BlockMappingStart => "a mapping".to_owned(),
            Kind::BlockEnd => "less indentation".to_owned(),
            Kind::FlowSequenceStart => "`[`".to_owned(),
            Kind::FlowSequenceEnd => "`]`".to_owned(),
            Kind::FlowMappingStart => "`{`".to_owned(),
            Kind::FlowMappingEnd => "`}`".to_owned(),
            Kind::BlockEntry => "`-`".to_owned(),
            Kind::FlowEntry => "`,`".to_owned(),
            Kind::Key => "a key".to_owned(),
            Kind::Value => "`:`".to_owned(),
            Kind::Alias(name) => format!("alias `*{name}`"),
            Kind::Anchor(name) => format!("anchor `&{name}`"),
            Kind::Tag(_) => "a tag".to_owned(),
            Kind::Scalar { text, .. } => {
                let short: String = text.chars().take(40).collect();
                format!("`{}`", short.escape_debug())
            }
        }
    }
}
