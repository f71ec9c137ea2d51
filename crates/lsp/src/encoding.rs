//! Positions of the protocol, which count from 0 in units of an encoding, and ours, which count characters from 1.

use kubewright_value::{Position, Source};

/// The unit of columns that client and server agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ColumnUnit {
    /// Bytes of UTF-8.
    Bytes,
    /// Words of UTF-16, which every client knows.
    #[default]
    Words,
}

impl ColumnUnit {
    /// Returns the name of the unit in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "utf-8",
            Self::Words => "utf-16",
        }
    }

    fn width(self, character: char) -> usize {
        match self {
            Self::Bytes => character.len_utf8(),
            Self::Words => character.len_utf16(),
        }
    }

    /// Returns the byte in `line` of a column of the protocol; beyond the line, where it ends.
    pub(crate) fn byte_in_line(self, line: &str, column: u32) -> usize {
        let mut units = usize::try_from(column).unwrap_or(usize::MAX);
        for (at, character) in line.char_indices() {
            if units == 0 {
                return at;
            }
            units = units.saturating_sub(self.width(character));
        }
        line.len()
    }

    /// Returns the column of a byte in `line`.
    pub(crate) fn column_of_byte(self, line: &str, byte: usize) -> u32 {
        let units = line.char_indices().take_while(|(at, _)| *at < byte).map(|(_, one)| self.width(one));
        to_u32(units.sum())
    }

    /// Returns the byte in the text of a place of the protocol; beyond the text, where it ends.
    pub(crate) fn offset(self, source: &Source, place: lsp_types::Position) -> usize {
        let number = place.line.saturating_add(1);
        let Some(start) = source.line_offset(number) else { return source.text.len() };
        start + self.byte_in_line(source.line(number).unwrap_or_default(), place.character)
    }

    /// Returns the place of a byte of line `line`, counted from 0.
    pub(crate) fn place(self, source: &Source, line: u32, byte: usize) -> lsp_types::Position {
        let text = source.line(line.saturating_add(1)).unwrap_or_default();
        lsp_types::Position { line, character: self.column_of_byte(text, byte) }
    }

    /// Returns the places of what starts at one of our positions and has `length` characters; it stays in its line.
    pub(crate) fn range(self, source: &Source, start: Position, length: u32) -> lsp_types::Range {
        let line = source.line(start.line).unwrap_or_default();
        let first = to_usize(start.column).saturating_sub(1);
        let units = |count: usize| to_u32(line.chars().take(count).map(|one| self.width(one)).sum());
        let number = start.line.saturating_sub(1);
        let place = |count| lsp_types::Position { line: number, character: units(count) };
        lsp_types::Range { start: place(first), end: place(first + to_usize(length)) }
    }
}

/// Returns `number` as the protocol writes it.
pub(crate) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns a number of the protocol as a size.
pub(crate) fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: ColumnUnit, column: u32, byte: usize) {
        let line = "a: ä😀b";
        assert_eq!(unit.byte_in_line(line, column), byte);
        assert_eq!(unit.column_of_byte(line, byte), column);
    }

    #[test]
    fn columns_count_units_of_the_encoding() {
        check(ColumnUnit::Words, 4, 5);
        check(ColumnUnit::Words, 6, 9);
        check(ColumnUnit::Bytes, 5, 5);
        check(ColumnUnit::Bytes, 9, 9);
    }

    #[test]
    fn a_range_covers_characters() {
        let source = Source::new("a.yaml", "x\na: ä😀b\n");
        let range = ColumnUnit::Words.range(&source, Position { line: 2, column: 4 }, 2);
        assert_eq!((range.start.character, range.end.character), (3, 6));
        assert_eq!(range.start.line, 1);
    }

    #[test]
    fn a_place_beyond_the_text_is_its_end() {
        let source = Source::new("a.yaml", "ab\n");
        let offset =
            |line, character| ColumnUnit::Words.offset(&source, lsp_types::Position { line, character });
        assert_eq!([offset(0, 9), offset(1, 0), offset(7, 7)], [2, 3, 3]);
    }
}
