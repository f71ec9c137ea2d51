//! A path in which texts are put again and again.
//!
//! Where every text that is put in is a whole key or the whole text of a filter, the segments are known before, and
//! nothing has to be read again.

use kubewright_value::Text;

use super::scan::PathPiece;
use super::{PatchPath, PathSegment, SegmentSpan};

/// A path with slots.
#[derive(Debug, Clone)]
pub struct PatchPathTemplate {
    /// The path as it is written, with the expressions themselves in their places.
    shape: PatchPath,
    slots: Vec<TemplateSlot>,
}

/// The place of a text that is put in.
#[derive(Debug, Clone)]
struct TemplateSlot {
    segment: usize,
    /// In the text of the shape, in bytes.
    start: usize,
    end: usize,
}

impl PatchPathTemplate {
    /// Returns the form of the path made of `pieces`, in which the expressions are not known yet; nothing where one of
    /// them is only a part of a segment, or there is no such path.
    #[must_use]
    pub fn new(pieces: &[PathPiece<'_>]) -> Option<Self> {
        let shape = PatchPath::from_pieces(pieces).ok()?;
        let mut slots = Vec::new();
        let mut start = 0;
        for piece in pieces {
            let (PathPiece::Literal(text) | PathPiece::Text(text) | PathPiece::Expression(text)) = piece;
            let end = start + text.len();
            if let PathPiece::Expression(text) = piece {
                let holds = |written: &&SegmentSpan| written.start <= start && end <= written.end;
                let segment = shape.segments.iter().position(|written| holds(&written))?;
                let written = shape.segments.get(segment)?;
                let is_whole = match &written.segment {
                    PathSegment::Key(_) | PathSegment::Number(..) => {
                        written.start == start && written.end == end
                    }
                    PathSegment::Filter { value, .. } => value == text,
                    _ => false,
                };
                let is_first = slots.last().is_none_or(|slot: &TemplateSlot| slot.segment != segment);
                if !is_whole || !is_first {
                    return None;
                }
                slots.push(TemplateSlot { segment, start, end });
            }
            start = end;
        }
        Some(Self { shape, slots })
    }

    /// Returns the path with `texts` in the places of the expressions; nothing where they do not fit.
    #[must_use]
    pub fn fill<'t>(&self, texts: impl Iterator<Item = &'t Text> + Clone) -> Option<PatchPath> {
        let added: usize = texts.clone().map(|text| text.len()).sum();
        let mut text = String::with_capacity(self.shape.text.len() + added);
        let mut segments = self.shape.segments.clone();
        let (mut copied, mut texts) = (0, texts);
        for slot in &self.slots {
            let given = texts.next().filter(|text| !text.is_empty())?;
            text.push_str(self.shape.text.get(copied..slot.start)?);
            text.push_str(given);
            copied = slot.end;
            // The text after it has moved by now.
            let moved = |at: usize| (at + text.len()).checked_sub(slot.end);
            let length = slot.end - slot.start;
            let written = segments.get_mut(slot.segment)?;
            written.segment = match &written.segment {
                PathSegment::Filter { field, .. } => {
                    PathSegment::Filter { field: field.clone(), value: given.clone() }
                }
                _ => match given.parse::<i64>() {
                    Ok(number) => PathSegment::Number(given.clone(), usize::try_from(number).ok()),
                    Err(_) => PathSegment::Key(given.clone()),
                },
            };
            written.end = (written.end + given.len()).checked_sub(length)?;
            for (written, shape) in segments.iter_mut().zip(&self.shape.segments).skip(slot.segment + 1) {
                (written.start, written.end) = (moved(shape.start)?, moved(shape.end)?);
            }
        }
        text.push_str(self.shape.text.get(copied..)?);
        texts.next().is_none().then(|| PatchPath { text: text.into_boxed_str(), segments })
    }
}
