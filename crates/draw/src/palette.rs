//! The colours of boxes and lines.
//!
//! Boxes are coloured by family (Paul Tol's muted scheme, which is safe for colour-blind readers), lines by label.
//! Red is reserved for missing relationships, which are dashed as well.

use super::LineStyle;
use super::scene::{Scene, SceneLine};
use kubewright_graph::EdgeTypeSpec;
use std::collections::BTreeMap;

/// Colours of lines: `e0` to `e7`.
const LINE_COLOURS: usize = 8;

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
        let mut uses = [0_usize; LINE_COLOURS];
        for (label, colour) in &mut colours {
            if let Some(usual) = EdgeTypeSpec::named(label).and_then(|spec| spec.colour) {
                *colour = usual;
                uses.get_mut(usual).into_iter().for_each(|uses| *uses += 1);
            }
        }
        // The others take what is used least; the first is for ownership alone.
        for colour in colours.values_mut().filter(|colour| **colour == LINE_COLOURS) {
            let least = [5, 6, 7, 4, 2, 3, 1].into_iter().min_by_key(|one| uses.get(*one).copied());
            *colour = least.unwrap_or_default();
            uses.get_mut(*colour).into_iter().for_each(|uses| *uses += 1);
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

/// The style sheet of a picture, by day and by night.
pub(super) const PICTURE_CSS: &str = include_str!("picture.css");
