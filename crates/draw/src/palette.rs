//! Colours, and which line has which.
//!
//! Boxes are coloured by family (after Paul Tol's muted scheme, told apart by people who see
//! fewer colours), lines by label. Red is kept for what is missing, and dashes say it as well.

use super::Style;
use super::scene::{Link, Scene};
use kubewright_graph::EdgeTypeSpec;
use std::collections::BTreeMap;

/// Colours of lines: `e0` to `e7`.
const COLOURS: usize = 8;

#[derive(Debug)]
pub(super) struct Palette<'p> {
    colours: BTreeMap<&'p str, usize>,
}

impl<'p> Palette<'p> {
    pub(super) fn new(scene: &Scene<'p>) -> Self {
        let mut colours: BTreeMap<&'p str, usize> = BTreeMap::new();
        for link in &scene.links {
            for &(label, _) in &link.parts {
                colours.entry(label).or_insert(COLOURS);
            }
        }
        let mut uses = [0_usize; COLOURS];
        for (label, colour) in &mut colours {
            if let Some(usual) = EdgeTypeSpec::named(label).and_then(|spec| spec.colour) {
                *colour = usual;
                uses.get_mut(usual).into_iter().for_each(|uses| *uses += 1);
            }
        }
        // The others take what is used least; the first is for ownership alone.
        for colour in colours.values_mut().filter(|colour| **colour == COLOURS) {
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
    pub(super) fn places(&self, link: &Link<'_>) -> Vec<String> {
        let is_of = |label: &str| link.parts.iter().any(|part| part.0 == label);
        let all = self.colours.keys().enumerate().filter(|(_, label)| is_of(label));
        all.map(|(place, _)| place.to_string()).collect()
    }

    /// The class of a line; that of its first label when it has several.
    pub(super) fn class(&self, link: &Link<'_>) -> String {
        let colours = link.parts.iter().filter_map(|(label, _)| self.colours.get(label));
        let colour = colours.min().copied().unwrap_or_default();
        match link.style {
            Style::Solid => format!("e e{colour}"),
            Style::Dashed => format!("e e{colour} w"),
            Style::Missing => "e m".to_owned(),
        }
    }
}

/// The style sheet of a picture, by day and by night.
pub(super) const STYLE: &str = include_str!("picture.css");
