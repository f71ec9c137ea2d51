//! JSON Pointer (RFC 6901): a path as text.

use std::fmt;
use std::sync::Arc;

use kubewright_value::{Step, Text, index_text};
use thiserror::Error;

/// The segments of a path, decoded. A clone costs one reference count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    tokens: Arc<[Text]>,
}

/// The reason why a text is not a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PointerError {
    /// It is not empty and starts with something else than `/`.
    #[error("the path `{0}` does not start with `/`")]
    NoSlash(String),
    /// A `~` that is followed by neither `0` nor `1`.
    #[error("the path `{0}` has a `~` that is followed by neither `0` nor `1`")]
    Escape(String),
}

impl Pointer {
    /// Returns the pointer to the whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::from_tokens(Vec::new())
    }

    /// Reads `text`, in which `~1` means `/` and `~0` means `~`.
    ///
    /// # Errors
    /// When `text` does not start with `/` and is not empty, or holds another use of `~`.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let Some(rest) = text.strip_prefix('/') else {
            return if text.is_empty() {
                Ok(Self::root())
            } else {
                Err(PointerError::NoSlash(text.to_owned()))
            };
        };
        let decoded = |token| decode_token(token).ok_or_else(|| PointerError::Escape(text.to_owned()));
        Ok(Self::from_tokens(rest.split('/').map(decoded).collect::<Result<_, _>>()?))
    }

    /// Returns the pointer that takes `steps`.
    #[must_use]
    pub fn from_steps(steps: &[Step]) -> Self {
        let token = |step: &Step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index_text(*index),
        };
        Self::from_tokens(steps.iter().map(token).collect())
    }

    /// Returns the pointer with these segments, which are not encoded.
    #[must_use]
    pub fn from_tokens(tokens: Vec<Text>) -> Self {
        Self { tokens: tokens.into() }
    }

    /// Returns the pointer with the segments that `tokens` gives, which are not encoded.
    #[must_use]
    pub fn of(tokens: impl Iterator<Item = Text>) -> Self {
        Self { tokens: tokens.collect() }
    }

    /// Returns the segments, decoded.
    #[must_use]
    pub fn tokens(&self) -> &[Text] {
        &self.tokens
    }

    /// Returns whether this is the whole document.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Appends one segment, given as it is meant and not as it is written.
    pub fn push(&mut self, token: &str) {
        self.tokens = self.tokens.iter().cloned().chain([Text::new(token)]).collect();
    }

    /// Returns whether this leads through `other` and further.
    #[must_use]
    pub fn is_below(&self, other: &Self) -> bool {
        self.tokens.len() > other.tokens.len() && self.tokens.starts_with(&other.tokens)
    }
}

fn decode_token(token: &str) -> Option<Text> {
    if !token.contains('~') {
        return Some(Text::new(token));
    }
    let mut decoded = String::with_capacity(token.len());
    let mut pieces = token.split('~');
    decoded.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (character, rest) = match piece.as_bytes().first() {
            Some(b'0') => ('~', piece.get(1..)?),
            Some(b'1') => ('/', piece.get(1..)?),
            _ => return None,
        };
        decoded.push(character);
        decoded.push_str(rest);
    }
    Some(Text::from(decoded))
}

/// As it is written: `~` as `~0`, `/` as `~1`.
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in self.tokens.iter() {
            f.write_str("/")?;
            if token.contains(['~', '/']) {
                f.write_str(&token.replace('~', "~0").replace('/', "~1"))?;
            } else {
                f.write_str(token)?;
            }
        }
        Ok(())
    }
}
