//! A picture in the language of Graphviz.

use super::layout::frame_label;
use super::scene::{Glyph, build_scene};
use super::{Class, DrawOptions, LineStyle, Picture, text};
use std::fmt::Write as _;

/// Draws `picture` as a Graphviz digraph with a cluster for every frame.
#[must_use]
pub fn render_dot(picture: &Picture, options: &DrawOptions) -> String {
    let scene = build_scene(picture, *options);
    let mut out = String::from("digraph objects {\n  rankdir=LR;\n  compound=true;\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\"];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=9];\n");
    if !picture.title.is_empty() {
        let _ = writeln!(out, "  label={};\n  labelloc=t;", dot_string(&picture.title));
    }
    let mut open: Option<&str> = None;
    for (place, glyph) in scene.glyphs.iter().enumerate() {
        if open != Some(glyph.frame) {
            if open.is_some_and(|open| !open.is_empty()) {
                out.push_str("  }\n");
            }
            if !glyph.frame.is_empty() {
                let _ = writeln!(
                    out,
                    "  subgraph cluster_{place} {{\n    label={};",
                    dot_string(&frame_label(picture, glyph.frame))
                );
            }
            open = Some(glyph.frame);
        }
        write_dot_node(&mut out, place, glyph);
    }
    if open.is_some_and(|open| !open.is_empty()) {
        out.push_str("  }\n");
    }
    for link in &scene.links {
        let style = match link.style {
            LineStyle::Solid => "",
            LineStyle::Dashed => ", style=dashed",
            LineStyle::Missing => ", style=dashed, color=\"#c4001d\", fontcolor=\"#c4001d\", penwidth=2",
        };
        let via: Vec<&str> = link.parts.iter().map(|part| part.1).filter(|via| !via.is_empty()).collect();
        let _ = writeln!(
            out,
            "  n{} -> n{} [label={}, tooltip={}{style}];",
            link.from,
            link.to,
            dot_string(&link.caption()),
            dot_string(&via.join(", "))
        );
    }
    if scene.left_out > 0 {
        let _ = writeln!(out, "  // {} lines are left out", scene.left_out);
    }
    out.push_str("}\n");
    out
}

fn write_dot_node(out: &mut String, place: usize, glyph: &Glyph<'_>) {
    let style = match glyph.class {
        Class::Plain => "",
        Class::Focus => ", penwidth=3",
        Class::Absent => ", style=\"rounded,dashed\", color=\"#c4001d\"",
        Class::Virtual => ", style=\"rounded,dotted\"",
        Class::Faded => ", color=gray, fontcolor=gray",
    };
    let mut label = dot_string(&glyph.label);
    label.pop();
    let rest = dot_string(&glyph.kind);
    let _ = write!(label, "\\n{}", rest.get(1..rest.len() - 1).unwrap_or_default());
    if glyph.count > 1 {
        let _ = write!(label, " ×{}", glyph.count);
    }
    for badge in &glyph.badges {
        let badge = dot_string(&badge.text);
        let _ = write!(label, "\\n[{}]", badge.get(1..badge.len() - 1).unwrap_or_default());
    }
    let _ = writeln!(out, "    n{place} [label={label}\"{style}];");
}

/// A quoted string in which nothing is an escape of Graphviz.
fn dot_string(name: &str) -> String {
    let mut out = String::from("\"");
    for character in text::clean_text(name).chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Graphviz reads entities in labels.
            '&' => out.push_str("&amp;"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
