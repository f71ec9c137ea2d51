//! The colours of boxes and lines.
//!
//! Boxes are coloured by family (Paul Tol's muted scheme, which is safe for colour-blind readers), lines by label.
//! Red is reserved for missing relationships, which are dashed as well.

use super::LineStyle;
use super::scene::{Scene, SceneLine};
use kubewright_graph::EDGE_TYPES;
use std::collections::BTreeMap;

/// Colours of lines: `e0` to `e11`. The first is for ownership alone.
const LINE_COLOURS: usize = 12;

#[derive(Debug)]
pub(super) struct Palette<'p> {
    colours: BTreeMap<&'p str, usize>,
}

impl<'p> Palette<'p> {
    pub(super) fn new(scene: &Scene<'p>) -> Self {
        let mut colours: BTreeMap<&'p str, usize> = BTreeMap::new();
        for link in &scene.links {
            for &(label, _) in &link.parts {
                colours.entry(label).or_insert(LINE_COLOURS);
            }
        }
        for (label, colour) in &mut colours {
            *colour = line_colour(label);
        }
        Self { colours }
    }

    /// Every label with its colour, in order.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&'p str, usize)> {
        self.colours.iter().map(|(label, colour)| (*label, *colour))
    }

    /// The places of the labels of a line among all labels.
    pub(super) fn places(&self, link: &SceneLine<'_>) -> Vec<String> {
        let is_of = |label: &str| link.parts.iter().any(|part| part.0 == label);
        let all = self.colours.keys().enumerate().filter(|(_, label)| is_of(label));
        all.map(|(place, _)| place.to_string()).collect()
    }

    /// The class of a line; that of its first label when it has several.
    pub(super) fn class(&self, link: &SceneLine<'_>) -> String {
        let colours = link.parts.iter().filter_map(|(label, _)| self.colours.get(label));
        let colour = colours.min().copied().unwrap_or_default();
        match link.style {
            LineStyle::Solid => format!("e e{colour}"),
            LineStyle::Dashed => format!("e e{colour} w"),
            LineStyle::Missing => "e m".to_owned(),
        }
    }
}

/// The colour of a relationship, the same in every picture.
fn line_colour(label: &str) -> usize {
    let place = EDGE_TYPES.iter().position(|spec| spec.name == label);
    let usual = place.and_then(|place| EDGE_TYPES.get(place)).and_then(|spec| spec.colour);
    // One that is not in the table has the colour of its letters.
    let number = place.unwrap_or_else(|| label.bytes().map(usize::from).sum());
    usual.unwrap_or(1 + number % (LINE_COLOURS - 1))
}

/// The style sheet of a picture, by day and by night, for what has the class `kw`.
pub const PICTURE_CSS: &str = include_str!("picture.css");

#[cfg(test)]
mod tests {
    use super::line_colour;

    #[test]
    fn relationships_have_a_colour_of_their_own_wherever_they_are_drawn() {
        assert_eq!(line_colour("OWNS"), 0);
        assert_eq!(line_colour("ROUTES_TO"), line_colour("ROUTES_TO"));
        assert!((1..12).contains(&line_colour("my-relationship")));
    }
}
