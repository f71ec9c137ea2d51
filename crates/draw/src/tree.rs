//! A picture as a tree of text, for terminals: each box under what leads to it.

use super::layout::frame_label;
use super::scene::{Glyph, Scene, build_scene};
use super::{Class, DrawOptions, LineStyle, Picture, text};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The deepest line; what is below is not drawn.
const MAX_DEPTH: usize = 12;
/// How many lines of text there are at most.
const MAX_TEXT_LINES: usize = 4_000;

/// Draws `picture` as text: frames, in them boxes that nothing leads to, below each what it leads to. A box that was
/// drawn already is named again with `↑`, without what is below it.
#[must_use]
pub fn render_tree(picture: &Picture, options: &DrawOptions) -> String {
    let scene = build_scene(picture, *options);
    let mut tree = TextTree {
        scene: &scene,
        below: HashMap::new(),
        is_drawn: vec![false; scene.glyphs.len()],
        out: String::new(),
        lines: 0,
    };
    let mut is_below = vec![false; scene.glyphs.len()];
    for (place, link) in scene.links.iter().enumerate() {
        tree.below.entry(link.from).or_default().push(place);
        if let Some(below) = is_below.get_mut(link.to).filter(|_| link.from != link.to) {
            *below = true;
        }
    }
    if !picture.title.is_empty() {
        let _ = writeln!(tree.out, "{}\n", text::clean_text(&picture.title));
    }
    let mut frame = None;
    let roots = (0..scene.glyphs.len()).filter(|place| !is_below.get(*place).copied().unwrap_or_default());
    // A ring has no root: what is left begins one.
    for place in roots.chain(0..scene.glyphs.len()) {
        if tree.is_drawn.get(place).copied().unwrap_or(true) {
            continue;
        }
        let Some(glyph) = scene.glyphs.get(place) else { continue };
        if frame != Some(glyph.frame) {
            let label =
                if glyph.frame.is_empty() { "cluster".to_owned() } else { frame_label(picture, glyph.frame) };
            let _ = writeln!(tree.out, "{}", text::clean_text(&label));
            frame = Some(glyph.frame);
        }
        tree.branch(place, "  ", "", 0);
    }
    for sentence in &picture.legend {
        let _ = write!(tree.out, "\n{}", text::clean_text(sentence));
    }
    if tree.lines >= MAX_TEXT_LINES {
        tree.out.push_str("\nthe rest is left out; choose with --focus, --namespace or --kind");
    }
    if !tree.out.ends_with('\n') {
        tree.out.push('\n');
    }
    tree.out
}

struct TextTree<'s, 'p> {
    scene: &'s Scene<'p>,
    // The links that start at a box.
    below: HashMap<usize, Vec<usize>>,
    is_drawn: Vec<bool>,
    out: String,
    lines: usize,
}

impl TextTree<'_, '_> {
    /// Writes a box and what is below it. `start` is what comes before it, `edge` how it is reached.
    fn branch(&mut self, place: usize, start: &str, edge: &str, depth: usize) {
        let Some(glyph) = self.scene.glyphs.get(place).filter(|_| self.lines < MAX_TEXT_LINES) else {
            return;
        };
        let is_again = self.is_drawn.get(place).copied().unwrap_or_default();
        let again = if is_again { "  ↑" } else { "" };
        let _ = writeln!(self.out, "{start}{edge}{}{again}", glyph_text(glyph));
        self.lines += 1;
        if is_again || depth >= MAX_DEPTH {
            return;
        }
        if let Some(is_drawn) = self.is_drawn.get_mut(place) {
            *is_drawn = true;
        }
        let links = self.below.get(&place).cloned().unwrap_or_default();
        let indent = start.replace("├─ ", "│  ").replace("└─ ", "   ");
        for (number, link) in links.iter().enumerate() {
            let Some(line) = self.scene.links.get(*link) else { continue };
            let corner = if number + 1 == links.len() { "└─ " } else { "├─ " };
            let arrow = if line.style == LineStyle::Dashed { "⇢" } else { "→" };
            let edge = format!("{} {arrow} ", text::clean_text(&line.caption()));
            self.branch(line.to, &format!("{indent}{corner}"), &edge, depth + 1);
        }
    }
}

/// Returns `Kind name ×3  (absent)  ⚠ finding`.
fn glyph_text(glyph: &Glyph<'_>) -> String {
    let mut text = format!("{} {}", text::clean_text(&glyph.kind), text::clean_text(&glyph.label));
    if glyph.count > 1 {
        let _ = write!(text, " ×{}", glyph.count);
    }
    if glyph.class == Class::Absent {
        text.push_str("  (absent)");
    }
    for badge in &glyph.badges {
        let _ = write!(text, "  [{}]", text::clean_text(&badge.text));
    }
    text
}
