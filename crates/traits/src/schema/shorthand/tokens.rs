//! The words of a field: separated by white space outside of quotes and of `{}` and `[]`.

use super::ShorthandMistake;

/// A piece of a field's text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextPiece<'t> {
    pub(super) text: &'t str,
    /// Where it starts, in bytes.
    pub(super) offset: usize,
}

impl<'t> TextPiece<'t> {
    pub(super) fn whole(text: &'t str) -> Self {
        Self { text, offset: 0 }
    }

    /// Returns the piece before byte `at`.
    pub(super) fn until(self, at: usize) -> Self {
        Self { text: self.text.get(..at).unwrap_or(self.text), offset: self.offset }
    }

    /// Returns the piece from byte `at` on.
    pub(super) fn from(self, at: usize) -> Self {
        match self.text.get(at..) {
            Some(text) => Self { text, offset: self.offset + at },
            None => Self { text: "", offset: self.offset + self.text.len() },
        }
    }

    pub(super) fn trimmed(self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        Self { text: self.text.trim(), offset: self.offset + start }
    }
}

/// Returns the words of `piece`; a `|` on its own is a separator.
///
/// An unclosed quote or bracket would swallow the following words, so it is a mistake if there are any.
pub(super) fn split_words(piece: TextPiece<'_>) -> Result<Vec<TextPiece<'_>>, ShorthandMistake> {
    let mut words = Vec::new();
    let mut start = None;
    let mut state = OpenBrackets::default();
    for (at, character) in piece.text.char_indices() {
        if character.is_whitespace() && state.is_outside() {
            if let Some(start) = start.take() {
                words.push(piece.until(at).from(start));
            }
            continue;
        }
        start.get_or_insert(at);
        state.take(at, character);
    }
    if let Some(start) = start {
        let last = piece.from(start);
        state.closed(piece, last)?;
        words.push(last);
    }
    words.retain(|word| word.text != "|");
    Ok(words)
}

/// The open quote and brackets.
#[derive(Default)]
pub(super) struct OpenBrackets {
    quote: Option<(usize, char)>,
    is_escaped: bool,
    brackets: Vec<(usize, char)>,
}

impl OpenBrackets {
    pub(super) fn is_outside(&self) -> bool {
        self.quote.is_none() && self.brackets.is_empty()
    }

    pub(super) fn take(&mut self, at: usize, character: char) {
        match (self.quote, character) {
            (Some(_), _) if self.is_escaped => self.is_escaped = false,
            (Some(_), '\\') => self.is_escaped = true,
            (Some((_, quote)), _) => {
                if character == quote {
                    self.quote = None;
                }
            }
            (None, '"' | '\'') => self.quote = Some((at, character)),
            (None, '{' | '[') => self.brackets.push((at, character)),
            (None, '}' | ']') => {
                self.brackets.pop();
            }
            (None, _) => {}
        }
    }

    fn closed(&self, piece: TextPiece<'_>, last: TextPiece<'_>) -> Result<(), ShorthandMistake> {
        let Some((at, character)) = self.quote.or_else(|| self.brackets.first().copied()) else {
            return Ok(());
        };
        if !last.text.contains(char::is_whitespace) {
            return Ok(());
        }
        let open = piece.until(at + character.len_utf8()).from(at);
        let message = format!("`{character}` is never closed and takes in everything after it");
        let help = "put the value in quotes: '…', in which '' is a quote, or \"…\"";
        Err(ShorthandMistake::new(open, message).help(help))
    }
}
