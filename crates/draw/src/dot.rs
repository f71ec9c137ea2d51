//! A picture in the language of Graphviz.

use super::layout::name;
use super::scene::{Glyph, scene};
use super::{Class, Options, Picture, Style, text};
use std::fmt::Write as _;

/// Draws `picture` as a Graphviz digraph with a cluster for every frame.
#[must_use]
pub fn dot(picture: &Picture, options: &Options) -> String {
    let scene = scene(picture, *options);
    let mut out = String::from("digraph objects {\n  rankdir=LR;\n  compound=true;\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\"];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=9];\n");
    if !picture.title.is_empty() {
        let _ = writeln!(out, "  label={};\n  labelloc=t;", quoted(&picture.title));
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
                    quoted(&name(picture, glyph.frame))
                );
            }
            open = Some(glyph.frame);
        }
        node(&mut out, place, glyph);
    }
    if open.is_some_and(|open| !open.is_empty()) {
        out.push_str("  }\n");
    }
    for link in &scene.links {
        let style = match link.style {
            Style::Solid => "",
            Style::Dashed => ", style=dashed",
            Style::Missing => ", style=dashed, color=\"#c4001d\", fontcolor=\"#c4001d\", penwidth=2",
        };
        let via: Vec<&str> = link.parts.iter().map(|part| part.1).filter(|via| !via.is_empty()).collect();
        let _ = writeln!(
            out,
            "  n{} -> n{} [label={}, tooltip={}{style}];",
            link.from,
            link.to,
            quoted(&link.caption()),
            quoted(&via.join(", "))
        );
    }
    if scene.left_out > 0 {
        let _ = writeln!(out, "  // {} lines are left out", scene.left_out);
    }
    out.push_str("}\n");
    out
}

fn node(out: &mut String, place: usize, glyph: &Glyph<'_>) {
    let style = match glyph.class {
        Class::Plain => "",
        Class::Focus => ", penwidth=3",
        Class::Absent => ", style=\"rounded,dashed\", color=\"#c4001d\"",
        Class::Virtual => ", style=\"rounded,dotted\"",
        Class::Faded => ", color=gray, fontcolor=gray",
    };
    let mut label = quoted(&glyph.label);
    label.pop();
    let rest = quoted(&glyph.kind);
    let _ = write!(label, "\\n{}", rest.get(1..rest.len() - 1).unwrap_or_default());
    if glyph.count > 1 {
        let _ = write!(label, " ×{}", glyph.count);
    }
    for badge in &glyph.badges {
        let badge = quoted(&badge.text);
        let _ = write!(label, "\\n[{}]", badge.get(1..badge.len() - 1).unwrap_or_default());
    }
    let _ = writeln!(out, "    n{place} [label={label}\"{style}];");
}

/// A quoted string in which nothing is an escape of Graphviz.
fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for character in text::clean(name).chars() {
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
