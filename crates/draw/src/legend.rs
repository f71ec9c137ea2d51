//! The legend: the meaning of colours, dashes and badges, and the sentences under a picture.

use super::kinds::Family;
use super::palette::Palette;
use super::scene::Scene;
use super::{Class, LineStyle, Picture, Tone, text};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const MAX_LEGEND_LABELS: usize = 24;
const MAX_LEGEND_SENTENCES: usize = 40;
/// Lines of one sentence; no text is longer than `text::clean` leaves it.
const MAX_SENTENCE_LINES: usize = 14;
const LEGEND_ROW_HEIGHT: f64 = 20.0;

/// Draws the legend from `(x, y)` in at most `width` and returns its height.
pub(super) fn draw_legend(
    out: &mut String,
    picture: &Picture,
    scene: &Scene<'_>,
    palette: &Palette<'_>,
    (x, y, width): (f64, f64, f64),
) -> f64 {
    let mut pen = Pen { out, left: x, right: x + width, x, y };
    pen.out.push_str("<g class=\"legend\">");
    for sentence in picture.legend.iter().take(MAX_LEGEND_SENTENCES) {
        pen.sentence(sentence, "say");
    }
    for note in legend_notes(picture, scene) {
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
    for (label, colour) in palette.labels().take(MAX_LEGEND_LABELS) {
        if scene
            .links
            .iter()
            .any(|link| link.style != LineStyle::Missing && link.parts.iter().any(|part| part.0 == label))
        {
            pen.item(&line_sample(&format!("e e{colour}")), label);
        }
    }
    let more = palette.labels().count().saturating_sub(MAX_LEGEND_LABELS);
    if more > 0 {
        pen.item("", &format!("and {more} more"));
    }
    pen.line();
    for (swatch, words) in legend_signs(scene) {
        pen.item(&swatch, words);
    }
    pen.line();
    pen.out.push_str("</g>");
    pen.y - y
}

/// Sentences about merged boxes and omitted lines.
pub(super) fn legend_notes(picture: &Picture, scene: &Scene<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if scene.glyphs.len() < picture.nodes.len() {
        let (all, boxes) = (picture.nodes.len(), scene.glyphs.len());
        notes.push(format!("{all} objects are drawn as {boxes} boxes; ×n counts the objects of a box, of a controller its Pods."));
    }
    if scene.left_out > 0 {
        notes.push(format!("{} lines are left out.", scene.left_out));
    }
    notes
}

/// The signs that occur.
fn legend_signs(scene: &Scene<'_>) -> Vec<(String, &'static str)> {
    let mut signs = Vec::new();
    let has = |test: &dyn Fn(&super::scene::SceneLine<'_>) -> bool| scene.links.iter().any(test);
    if has(&|link| link.style == LineStyle::Dashed) {
        signs.push((line_sample("e e0 w"), "weak or optional"));
    }
    if has(&|link| link.style == LineStyle::Missing) {
        signs.push((line_sample("e m"), "✗ expected but absent"));
    }
    if has(&|link| link.points.is_some()) {
        signs.push((line_sample("e e0 pt"), "+n points for the score"));
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

fn line_sample(class: &str) -> String {
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
        let words = text::fit_text(words, 11.0, self.right - self.left - 50.0);
        let width = 34.0 + text::text_width(&words, 11.0) + 18.0;
        if self.x > self.left && self.x + width > self.right {
            self.line();
        }
        let words = text::xml_text(&words);
        let _ = write!(
            self.out,
            "<g transform=\"translate({:.0} {:.0})\">{swatch}<text x=\"32\" y=\"4\">{words}</text></g>",
            self.x,
            self.y + LEGEND_ROW_HEIGHT / 2.0
        );
        self.x += width;
    }

    fn line(&mut self) {
        if self.x > self.left {
            self.x = self.left;
            self.y += LEGEND_ROW_HEIGHT;
        }
    }

    /// Words broken into lines; six lines at most.
    fn sentence(&mut self, sentence: &str, class: &str) {
        let sentence = text::clean_text(sentence);
        let mut lines = vec![String::new()];
        for word in sentence.split_whitespace() {
            let word = text::fit_text(word, 12.0, self.right - self.left);
            let Some(line) = lines.last_mut() else { break };
            if !line.is_empty()
                && text::text_width(line, 12.0) + text::text_width(&word, 12.0) + 5.0 > self.right - self.left
            {
                lines.push(word);
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
        }
        for line in lines.iter().take(MAX_SENTENCE_LINES) {
            let (x, y) = (self.x, self.y + 14.0);
            let line = text::xml_text(line);
            let _ = write!(self.out, "<text class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\">{line}</text>");
            self.y += 17.0;
        }
    }
}
