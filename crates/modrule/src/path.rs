//! Patch paths with `#N` placeholders.
//!
//! A placeholder is replaced by the N-th key that the operation's `select` captured. Keys keep
//! their type, so that a label such as `a.b/c` or `007` stays one key; KubeMod pastes them as text.

use kubewright_jsonpath::CapturedKey;
use kubewright_patch::{Pointer, PointerError};
use kubewright_value::{Text, index_text};

/// A path whose placeholders are not filled in yet.
#[derive(Debug, Clone)]
pub struct PathTemplate {
    segments: Vec<TemplateSegment>,
    highest: Option<usize>,
    fixed: Option<Pointer>,
}

#[derive(Debug, Clone)]
enum TemplateSegment {
    Fixed(Text),
    Mixed(Vec<SegmentPiece>),
}

#[derive(Debug, Clone)]
enum SegmentPiece {
    Text(Text),
    Part(usize),
}

impl PathTemplate {
    /// Reads a path whose placeholders are filled from a select.
    ///
    /// # Errors
    /// When the path is not a JSON pointer.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let pointer = Pointer::parse(text)?;
        let segments: Vec<_> = pointer.tokens().iter().map(parse_segment).collect();
        let highest = segments.iter().flat_map(TemplateSegment::parts).max();
        Ok(Self { segments, highest, fixed: highest.is_none().then_some(pointer) })
    }

    /// Reads a path without a select: `#0` is just text.
    ///
    /// # Errors
    /// When the path is not a JSON pointer.
    pub fn literal(text: &str) -> Result<Self, PointerError> {
        let pointer = Pointer::parse(text)?;
        let segments = pointer.tokens().iter().cloned().map(TemplateSegment::Fixed).collect();
        Ok(Self { segments, highest: None, fixed: Some(pointer) })
    }

    /// Returns the path with its placeholders filled from `keys`.
    ///
    /// # Errors
    /// The number of the highest placeholder, when it has no key.
    pub fn fill(&self, keys: &[CapturedKey]) -> Result<Pointer, usize> {
        if let Some(pointer) = &self.fixed {
            return Ok(pointer.clone());
        }
        if let Some(missing) = self.highest.filter(|highest| *highest >= keys.len()) {
            return Err(missing);
        }
        Ok(Pointer::of(self.segments.iter().map(|segment| segment.fill(keys))))
    }

    /// Returns the highest placeholder.
    #[must_use]
    pub fn highest_placeholder(&self) -> Option<usize> {
        self.highest
    }

    /// Returns whether the last segment has a placeholder, so that one item's operation moves the next item.
    #[must_use]
    pub fn ends_in_placeholder(&self) -> bool {
        self.segments.last().is_some_and(|segment| segment.parts().next().is_some())
    }

    /// Returns the segments that have no placeholder, up to the first that has one.
    pub(super) fn fixed_start(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().map_while(|segment| match segment {
            TemplateSegment::Fixed(text) => Some(text.as_str()),
            TemplateSegment::Mixed(_) => None,
        })
    }

    /// Returns the last segment, if it has no placeholder.
    pub(super) fn last_fixed(&self) -> Option<&str> {
        match self.segments.last()? {
            TemplateSegment::Fixed(text) => Some(text),
            TemplateSegment::Mixed(_) => None,
        }
    }
}

impl TemplateSegment {
    /// Returns the segment with `keys` filled in; there are as many as its placeholders need.
    fn fill(&self, keys: &[CapturedKey]) -> Text {
        let part = |piece: &SegmentPiece| match piece {
            SegmentPiece::Text(text) => text.clone(),
            SegmentPiece::Part(number) => match keys.get(*number) {
                Some(CapturedKey::Index(index)) => index_text(*index),
                Some(CapturedKey::Name(name)) => name.clone(),
                None => Text::default(),
            },
        };
        match self {
            Self::Fixed(text) => text.clone(),
            Self::Mixed(pieces) => match pieces.as_slice() {
                [only] => part(only),
                several => several.iter().map(|piece| part(piece).to_string()).collect::<String>().into(),
            },
        }
    }

    fn parts(&self) -> impl Iterator<Item = usize> + '_ {
        let pieces = match self {
            Self::Fixed(_) => &[][..],
            Self::Mixed(pieces) => pieces,
        };
        pieces.iter().filter_map(|piece| match piece {
            SegmentPiece::Part(number) => Some(*number),
            SegmentPiece::Text(_) => None,
        })
    }
}

fn parse_segment(token: &Text) -> TemplateSegment {
    let mut pieces = Vec::new();
    let mut rest = token.as_str();
    while let Some((before, number, after)) = next_placeholder(rest) {
        if !before.is_empty() {
            pieces.push(SegmentPiece::Text(before.into()));
        }
        pieces.push(SegmentPiece::Part(number));
        rest = after;
    }
    if pieces.is_empty() {
        return TemplateSegment::Fixed(token.clone());
    }
    if !rest.is_empty() {
        pieces.push(SegmentPiece::Text(rest.into()));
    }
    TemplateSegment::Mixed(pieces)
}

/// Returns the text before the next `#N`, N, and the text after it.
fn next_placeholder(text: &str) -> Option<(&str, usize, &str)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('#')?;
        let tail = text.get(at + 1..)?;
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        if let Some(number) = tail.get(..digits).and_then(|digits| digits.parse().ok()) {
            return Some((text.get(..at)?, number, tail.get(digits..)?));
        }
        from = at + 1;
    }
}

/// Returns a template text in which every `.#N` is written out as `(index .SelectKeyParts N)`.
///
/// KubeMod does this to the whole text, not only inside actions.
#[must_use]
pub fn expand_shorthand(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(".#") {
        let (before, tail) = rest.split_at(at);
        let tail = tail.get(2..).unwrap_or_default();
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = tail.split_at(digits);
        out.push_str(before);
        if number.is_empty() {
            out.push_str(".#");
        } else {
            out.push_str(&format!("(index .SelectKeyParts {number})"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<CapturedKey> {
        vec![CapturedKey::Index(3), CapturedKey::Name("a.b/c".into())]
    }

    #[track_caller]
    fn check(template: &str, want: Result<&str, usize>) {
        let filled =
            PathTemplate::parse(template).expect(template).fill(&keys()).map(|pointer| pointer.to_string());
        assert_eq!(filled, want.map(str::to_owned));
    }

    #[test]
    fn placeholders_are_filled_and_escaped() {
        check("/a/#0/b", Ok("/a/3/b"));
        check("/labels/#1", Ok("/labels/a.b~1c"));
        check("/x#0y#1", Ok("/x3ya.b~1c"));
        check("/#hello/#", Ok("/#hello/#"));
        check("/#2", Err(2));
    }

    #[test]
    fn without_a_select_a_placeholder_is_text() {
        let path = PathTemplate::literal("/spec/#0").expect("a pointer");
        assert_eq!(path.fill(&[]).map(|pointer| pointer.to_string()), Ok("/spec/#0".to_owned()));
    }

    #[test]
    fn shorthand_is_written_out_everywhere() {
        assert_eq!(
            expand_shorthand("a.#0 {{ .#12 }} .#x"),
            "a(index .SelectKeyParts 0) {{ (index .SelectKeyParts 12) }} .#x"
        );
    }
}
