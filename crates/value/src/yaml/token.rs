//! The words of YAML, as the scanner hands them to the parser.

use std::borrow::Cow;

use crate::Position;

/// A place in the text; lines and columns count from 0 here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct YamlMark {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl YamlMark {
    /// Returns the place as users count.
    pub(super) fn position(self) -> Position {
        Position { line: self.line + 1, column: self.column + 1 }
    }
}

/// A word and where it starts and ends.
#[derive(Debug)]
pub(super) struct YamlToken<'a> {
    pub(super) kind: YamlTokenKind<'a>,
    pub(super) start: YamlMark,
    pub(super) end: YamlMark,
}

/// The sort of a token.
#[derive(Debug)]
pub(super) enum YamlTokenKind<'a> {
    StreamEnd,
    /// `%YAML 1.1`
    Version(u8, u8),
    /// `%TAG handle prefix`
    TagDirective(Box<YamlTag>),
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
    Tag(Box<YamlTag>),
    Scalar {
        text: Cow<'a, str>,
        plain: bool,
    },
}

/// A tag or the declaration of one, in its two parts.
#[derive(Debug)]
pub(super) struct YamlTag {
    pub(super) handle: String,
    pub(super) suffix: String,
}

impl YamlTokenKind<'_> {
    /// Returns the word for messages.
    pub(super) fn name(&self) -> String {
        match self {
            YamlTokenKind::StreamEnd => "the end".to_owned(),
            YamlTokenKind::Version(..) | YamlTokenKind::TagDirective(_) => "a directive".to_owned(),
            YamlTokenKind::DocumentStart => "`---`".to_owned(),
            YamlTokenKind::DocumentEnd => "`...`".to_owned(),
            YamlTokenKind::BlockSequenceStart => "a list".to_owned(),
            YamlTokenKind::BlockMappingStart => "a mapping".to_owned(),
            YamlTokenKind::BlockEnd => "less indentation".to_owned(),
            YamlTokenKind::FlowSequenceStart => "`[`".to_owned(),
            YamlTokenKind::FlowSequenceEnd => "`]`".to_owned(),
            YamlTokenKind::FlowMappingStart => "`{`".to_owned(),
            YamlTokenKind::FlowMappingEnd => "`}`".to_owned(),
            YamlTokenKind::BlockEntry => "`-`".to_owned(),
            YamlTokenKind::FlowEntry => "`,`".to_owned(),
            YamlTokenKind::Key => "a key".to_owned(),
            YamlTokenKind::Value => "`:`".to_owned(),
            YamlTokenKind::Alias(name) => format!("alias `*{name}`"),
            YamlTokenKind::Anchor(name) => format!("anchor `&{name}`"),
            YamlTokenKind::Tag(_) => "a tag".to_owned(),
            YamlTokenKind::Scalar { text, .. } => {
                let short: String = text.chars().take(40).collect();
                format!("`{}`", short.escape_debug())
            }
        }
    }
}
