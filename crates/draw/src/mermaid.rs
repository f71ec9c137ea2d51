//! A picture in the language of Mermaid, which READMEs and pull requests show.

use super::layout::frame_label;
use super::scene::build_scene;
use super::{Class, DrawOptions, LineStyle, Picture, text};
use std::fmt::Write as _;

/// Mermaid's default limits are 500 edges and 50,000 characters.
const MAX_MERMAID_LINES: usize = 480;
const MAX_MERMAID_BOXES: usize = 240;
const MAX_MERMAID_BYTES: usize = 48_000;

/// Draws `picture` as a Mermaid flowchart with a subgraph for every frame.
///
/// More is merged than in the other forms, because Mermaid refuses large charts.
#[must_use]
pub fn render_mermaid(picture: &Picture, options: &DrawOptions) -> String {
    let of = |part: usize| DrawOptions {
        glyphs: options.glyphs.min(MAX_MERMAID_BOXES) / part,
        lines: options.lines.min(MAX_MERMAID_LINES) / part,
        ..*options
    };
    let charts = [1, 2, 4].into_iter().map(|part| write_chart(picture, of(part)));
    charts
        .into_iter()
        .find(|chart| chart.len() <= MAX_MERMAID_BYTES)
        .unwrap_or_else(|| write_chart(picture, of(16)))
}

fn write_chart(picture: &Picture, options: DrawOptions) -> String {
    let scene = build_scene(picture, options);
    let mut out = String::new();
    if !picture.title.is_empty() {
        let _ = write!(out, "---\ntitle: \"{}\"\n---\n", mermaid_title(&picture.title));
    }
    out.push_str("flowchart LR\n");
    let mut open: Option<&str> = None;
    for (place, glyph) in scene.glyphs.iter().enumerate() {
        if open != Some(glyph.frame) {
            if open.is_some_and(|open| !open.is_empty()) {
                out.push_str("  end\n");
            }
            if !glyph.frame.is_empty() {
                let _ = writeln!(
                    out,
                    "  subgraph g{place}[\"{}\"]",
                    mermaid_text(&frame_label(picture, glyph.frame))
                );
            }
            open = Some(glyph.frame);
        }
        let count = if glyph.count > 1 { format!(" ×{}", glyph.count) } else { String::new() };
        let _ = write!(
            out,
            "    n{place}[\"{}{count}<br/>{}",
            mermaid_text(&glyph.kind),
            mermaid_text(&glyph.label)
        );
        for badge in &glyph.badges {
            let _ = write!(out, "<br/>({})", mermaid_text(&badge.text));
        }
        out.push_str("\"]");
        out.push_str(match glyph.class {
            Class::Plain => "",
            Class::Focus => ":::focus",
            Class::Absent => ":::absent",
            Class::Virtual => ":::virtual",
            Class::Faded => ":::faded",
        });
        out.push('\n');
    }
    if open.is_some_and(|open| !open.is_empty()) {
        out.push_str("  end\n");
    }
    let mut missing = Vec::new();
    for (place, link) in scene.links.iter().enumerate() {
        let arrow = if link.style == LineStyle::Solid { "-->" } else { "-.->" };
        let caption = mermaid_text(&link.caption());
        let caption = if caption.is_empty() { caption } else { format!("|\"{caption}\"|") };
        let _ = writeln!(out, "  n{} {arrow}{caption} n{}", link.from, link.to);
        if link.style == LineStyle::Missing {
            missing.push(place.to_string());
        }
    }
    if !missing.is_empty() {
        let _ = writeln!(
            out,
            "  linkStyle {} stroke:#c4001d,stroke-width:2px,stroke-dasharray:6 4,color:#c4001d",
            missing.join(",")
        );
    }
    out.push_str(
        "  classDef focus stroke-width:3px\n  classDef absent stroke:#c4001d,stroke-dasharray:5 3\n",
    );
    out.push_str("  classDef virtual stroke-dasharray:2 2\n  classDef faded opacity:0.5\n");
    if scene.left_out > 0 {
        let _ = writeln!(out, "  %% {} lines are left out", scene.left_out);
    }
    out
}

/// Everything that is not plainly a name becomes a character code, so that neither Mermaid
/// nor the HTML and Markdown it understands see anything but text.
fn mermaid_text(name: &str) -> String {
    let mut out = String::new();
    for character in text::clean_text(name).chars().take(120) {
        if is_plain_in_mermaid(character) {
            out.push(character);
        } else {
            let _ = write!(out, "#{};", u32::from(character));
        }
    }
    out
}

/// For the front matter, which is YAML and knows no codes.
fn mermaid_title(title: &str) -> String {
    text::clean_text(title)
        .chars()
        .map(|one| if is_plain_in_mermaid(one) || one == ':' { one } else { '·' })
        .collect()
}

fn is_plain_in_mermaid(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, ' ' | '-' | '.' | '/' | ',' | '×' | '+' | '✗' | '_')
}
