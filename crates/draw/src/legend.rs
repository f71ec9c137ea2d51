//! What colours, dashes and badges mean, and the sentences under a picture.

use super::kinds::Family;
use super::palette::Palette;
use super::scene::Scene;
use super::{Class, Picture, Style, Tone, text};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const LABELS: usize = 24;
const SENTENCES: usize = 40;
/// Lines of one sentence; no text is longer than `text::clean` leaves it.
const LINES: usize = 14;
const ROW: f64 = 20.0;

/// Draws the legend from `(x, y)` in at most `width` and returns its height.
pub(super) fn draw(
    out: &mut String,
    picture: &Picture,
    scene: &Scene<'_>,
    palette: &Palette<'_>,
    (x, y, width): (f64, f64, f64),
) -> f64 {
    let mut pen = Pen { out, left: x, right: x + width, x, y };
    pen.out.push_str("<g class=\"legend\">");
    for sentence in picture.legend.iter().take(SENTENCES) {
        pen.sentence(sentence, "say");
    }
    for note in notes(picture, scene) {
        pen.sentence(&note, "note");
    }
    pen.y += 6.0;
    for family in Family::ALL {
        if scene.glyphs.iter().any(|glyph| glyph.known.family == family) {
            let swatch = format!(
                "<g class=\"{}\"><rect class=\"c\" width=\"14\" height=\"12\" y=\"-6\" rx=\"2\"/></g>",
                family.class()
            );
            pen.item(&swatch, family.name());
        }
    }
    pen.line();
    for (label, colour) in palette.labels().take(LABELS) {
        if scene
            .links
            .iter()
            .any(|link| link.style != Style::Missing && link.parts.iter().any(|part| part.0 == label))
        {
            pen.item(&sample(&format!("e e{colour}")), label);
        }
    }
    let more = palette.labels().count().saturating_sub(LABELS);
    if more > 0 {
        pen.item("", &format!("and {more} more"));
    }
    pen.line();
    for (swatch, words) in signs(scene) {
        pen.item(&swatch, words);
    }
    pen.line();
    pen.out.push_str("</g>");
    pen.y - y
}

/// What the picture leaves out, in words.
pub(super) fn notes(picture: &Picture, scene: &Scene<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if scene.glyphs.len() < picture.nodes.len() {
        let (all, boxes) = (picture.nodes.len(), scene.glyphs.len());
        notes.push(format!("{all} objects are drawn as {boxes} boxes; ×n counts the objects of a box."));
    }
    if scene.left_out > 0 {
        notes.push(format!("{} lines are left out.", scene.left_out));
    }
    notes
}

/// The signs that occur.
fn signs(scene: &Scene<'_>) -> Vec<(String, &'static str)> {
    let mut signs = Vec::new();
    let has = |test: &dyn Fn(&super::scene::Link<'_>) -> bool| scene.links.iter().any(test);
    if has(&|link| link.style == Style::Dashed) {
        signs.push((sample("e e0 w"), "weak or optional"));
    }
    if has(&|link| link.style == Style::Missing) {
        signs.push((sample("e m"), "✗ expected but absent"));
    }
    if has(&|link| link.points.is_some()) {
        signs.push((sample("e e0 pt"), "+n points for the score"));
    }
    let classes: BTreeSet<Class> = scene.glyphs.iter().map(|glyph| glyph.class).collect();
    for (class, name, words) in [
        (Class::Focus, "focus", "in question"),
        (Class::Absent, "absent", "not there"),
        (Class::Virtual, "virtual", "no object of its own"),
    ] {
        if classes.contains(&class) {
            let swatch = format!(
                "<g class=\"n {name}\"><rect class=\"b\" width=\"20\" height=\"12\" y=\"-6\" rx=\"2\"/></g>"
            );
            signs.push((swatch, words));
        }
    }
    let tones: BTreeSet<Tone> =
        scene.glyphs.iter().flat_map(|glyph| glyph.badges.iter().map(|badge| badge.tone)).collect();
    for tone in tones {
        let words = match tone {
            Tone::Role => "role in the pattern",
            Tone::Info => "information",
            Tone::Warning => "warning",
            Tone::Critical => "critical",
        };
        let class = tone_class(tone);
        let swatch =
            format!("<g class=\"g {class}\"><rect width=\"20\" height=\"12\" y=\"-6\" rx=\"6\"/></g>");
        signs.push((swatch, words));
    }
    signs
}

pub(super) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Role => "r",
        Tone::Info => "i",
        Tone::Warning => "wa",
        Tone::Critical => "cr",
    }
}

fn sample(class: &str) -> String {
    format!(
        "<g class=\"{class}\"><path class=\"p\" d=\"M0 0H20\"/><path class=\"a\" d=\"M26 0l-7 -4v8z\"/></g>"
    )
}

/// Where the next item goes.
struct Pen<'o> {
    out: &'o mut String,
    left: f64,
    right: f64,
    x: f64,
    y: f64,
}

impl Pen<'_> {
    fn item(&mut self, swatch: &str, words: &str) {
        let words = text::fit(words, 11.0, self.right - self.left - 50.0);
        let width = 34.0 + text::width(&words, 11.0) + 18.0;
        if self.x > self.left && self.x + width > self.right {
            self.line();
        }
        let words = text::xml(&words);
        let _ = write!(
            self.out,
            "<g transform=\"translate({:.0} {:.0})\">{swatch}<text x=\"32\" y=\"4\">{words}</text></g>",
            self.x,
            self.y + ROW / 2.0
        );
        self.x += width;
    }

    fn line(&mut self) {
        if self.x > self.left {
            self.x = self.left;
            self.y += ROW;
        }
    }

    /// Words broken into lines; six lines at most.
    fn sentence(&mut self, sentence: &str, class: &str) {
        let sentence = text::clean(sentence);
        let mut lines = vec![String::new()];
        for word in sentence.split_whitespace() {
            let word = text::fit(word, 12.0, self.right - self.left);
            let Some(line) = lines.last_mut() else { break };
            if !line.is_empty()
                && text::width(line, 12.0) + text::width(&word, 12.0) + 5.0 > self.right - self.left
            {
                lines.push(word);
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
        }
        for line in lines.iter().take(LINES) {
            let (x, y) = (self.x, self.y + 14.0);
            let line = text::xml(line);
            let _ = write!(self.out, "<text class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\">{line}</text>");
            self.y += 17.0;
        }
    }
}
