//! A picture as SVG, by day and by night, without script and without outside address.

use super::group::{Rect, badge_text, chip_width, heading_size};
use super::icons::kind_icon;
use super::layout::{PictureLayout, lay_out_picture};
use super::palette::{PICTURE_CSS, Palette};
use super::scene::{Glyph, Scene, SceneLine, build_scene};
use super::{Class, DrawOptions, LineStyle, Picture, legend, text};
use std::fmt::Write as _;

/// Names of merged objects in a tooltip.
const MAX_TOOLTIP_NAMES: usize = 15;
/// Sentences in a tooltip.
const MAX_TOOLTIP_NOTES: usize = 6;

/// Draws `picture` as one SVG document.
#[must_use]
pub fn render_svg(picture: &Picture, options: &DrawOptions) -> String {
    let scene = build_scene(picture, *options);
    let palette = Palette::new(&scene);
    let layout = lay_out_picture(picture, &scene);
    let width = layout.width.max(640.0);
    // Title and legend grow with the picture, to be read when all of it is seen.
    let scale = (width / 1_500.0).clamp(1.0, 4.0);
    let top = if picture.title.is_empty() { 0.0 } else { 34.0 * scale };
    let mut foot = String::new();
    let below = legend::draw_legend(&mut foot, picture, &scene, &palette, (24.0, 0.0, width / scale - 48.0));
    let foot_at = top + layout.height;
    let height = foot_at + (below + 16.0) * scale;
    let mut out = String::with_capacity(4096 + scene.glyphs.len() * 400 + scene.links.len() * 300);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kw\" role=\"img\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\"><title>{}</title><style>{PICTURE_CSS}</style>\
         <rect class=\"bg\" width=\"{width:.0}\" height=\"{height:.0}\"/>",
        text::xml_text(svg_heading(picture))
    );
    if top > 0.0 {
        let title = text::xml_text(&text::fit_text(&picture.title, 18.0, width / scale - 48.0));
        let _ = write!(
            out,
            "<text class=\"title\" transform=\"scale({scale:.2})\" x=\"24\" y=\"30\">{title}</text>"
        );
    }
    let _ = write!(out, "<g transform=\"translate(0 {top:.0})\">");
    write_svg_body(&mut out, &scene, &palette, &layout, false);
    let _ =
        writeln!(out, "</g><g transform=\"translate(0 {foot_at:.0}) scale({scale:.2})\">{foot}</g></svg>");
    out
}

pub(super) fn svg_heading(picture: &Picture) -> &str {
    if picture.title.is_empty() { "Kubernetes objects" } else { &picture.title }
}

/// Frames, lines, words and boxes; with a wider invisible line to hover over when `is_live`.
pub(super) fn write_svg_body(
    out: &mut String,
    scene: &Scene<'_>,
    palette: &Palette<'_>,
    layout: &PictureLayout,
    is_live: bool,
) {
    for frame in &layout.frames {
        let Rect { x, y, width, height } = frame.rect;
        let _ = write!(
            out,
            "<rect class=\"frame\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"9\"/>"
        );
    }
    for (link, route) in scene.links.iter().zip(&layout.routes) {
        let mut class = palette.class(link);
        if link.points.is_some() {
            class.push_str(" pt");
        }
        if route.is_outside && link.style != LineStyle::Missing && link.points.is_none() {
            class.push_str(" o");
        }
        let (x, y, rightward) = route.tip;
        let head = if rightward { "l-8 -4v8z" } else { "l8 -4v8z" };
        let _ = write!(out, "<g class=\"{class}\" data-f=\"{}\" data-t=\"{}\"", link.from, link.to);
        if is_live {
            let _ = write!(out, " data-l=\"{}\"", palette.places(link).join(" "));
        }
        out.push_str("><title>");
        describe_link(out, scene, link);
        let _ = write!(out, "</title><path class=\"p\" d=\"{}\"/>", route.path);
        let _ = write!(out, "<path class=\"a\" d=\"M{x:.0} {y:.0}{head}\"/>");
        if is_live {
            let _ = write!(out, "<path class=\"h\" d=\"{}\"/>", route.path);
        }
        out.push_str("</g>");
    }
    let size = heading_size(scene.glyphs.len());
    for frame in &layout.frames {
        let label = text::xml_text(&text::fit_text(&frame.label, size, frame.rect.width - 28.0));
        let (x, y) = (frame.rect.x + 14.0, frame.rect.y + size + 6.0);
        let _ = write!(
            out,
            "<text class=\"ns\" font-size=\"{size:.1}\" x=\"{x:.0}\" y=\"{y:.0}\">{label}</text>"
        );
    }
    for (place, glyph) in scene.glyphs.iter().enumerate() {
        write_svg_node(out, place, glyph, layout.boxes.at(place));
    }
    for caption in &layout.captions {
        let Some(link) = scene.links.get(caption.link) else { continue };
        let mut class = palette.class(link).replacen('e', "t", 1);
        if link.points.is_some() {
            class.push_str(" pt");
        }
        let (x, y) = (caption.x, caption.y + 3.5);
        let words = text::xml_text(&caption.text);
        let at = if is_live { format!(" data-e=\"{}\"", caption.link) } else { String::new() };
        let _ = write!(out, "<text class=\"{class}\"{at} x=\"{x:.0}\" y=\"{y:.1}\">{words}</text>");
    }
}

fn write_svg_node(out: &mut String, place: usize, glyph: &Glyph<'_>, rect: Rect) {
    let space = if glyph.class == Class::Plain { "" } else { " " };
    let class = if glyph.class == Class::Plain { "" } else { glyph.class.name() };
    let Rect { x, y, width, height } = rect;
    let family = glyph.known.family.class();
    let _ = write!(
        out,
        "<g class=\"n {family}{space}{class}\" id=\"n{place}\" transform=\"translate({x:.0} {y:.0})\"><title>"
    );
    describe_glyph(out, glyph);
    out.push_str("</title>");
    let size = format!("width=\"{width:.0}\" height=\"{height:.0}\" rx=\"5\"");
    if glyph.count > 1 {
        let _ = write!(out, "<rect class=\"z\" x=\"4\" y=\"4\" {size}/>");
    }
    let chip = chip_width(glyph);
    let _ = write!(
        out,
        "<rect class=\"b\" {size}/><path class=\"c\" d=\"M5 0H{chip:.0}V{height:.0}H5a5 5 0 0 1 -5 -5V5a5 5 0 0 1 5 -5z\"/>"
    );
    let rise = if glyph.known.short.is_empty() { 12 } else { 5 };
    let _ = write!(
        out,
        "<path class=\"ic\" transform=\"translate({:.1} {rise})\" d=\"{}\"/>",
        chip / 2.0 - 7.0,
        kind_icon(&glyph.kind)
    );
    if !glyph.known.short.is_empty() {
        let _ =
            write!(out, "<text class=\"s\" x=\"{:.0}\" y=\"31\">{}</text>", chip / 2.0, glyph.known.short);
    }
    let mut room = width - chip - 14.0;
    if glyph.count > 1 {
        room -= 20.0 + text::text_width(&glyph.count.to_string(), 10.0);
        let _ = write!(out, "<text class=\"x\" x=\"{:.0}\" y=\"23\">×{}</text>", width - 7.0, glyph.count);
    }
    let label = text::xml_text(&text::fit_text(&glyph.label, 12.0, room));
    let kind = text::xml_text(&text::fit_text(&glyph.kind, 9.5, room));
    let left = chip + 7.0;
    let _ = write!(
        out,
        "<text class=\"l\" x=\"{left:.0}\" y=\"17\">{label}</text><text class=\"k\" x=\"{left:.0}\" y=\"30\">{kind}</text>"
    );
    let mut right = width - 6.0;
    for badge in &glyph.badges {
        let words = badge_text(badge);
        let wide = text::text_width(&words, 9.5) + 12.0;
        if right - wide < -20.0 {
            break;
        }
        let _ = write!(
            out,
            "<g class=\"g {}\"><rect x=\"{:.0}\" y=\"-10\" width=\"{wide:.0}\" height=\"14\" rx=\"7\"/>\
             <text x=\"{:.0}\" y=\"0.5\">{}</text></g>",
            legend::tone_class(badge.tone),
            right - wide,
            right - wide / 2.0,
            text::xml_text(&words)
        );
        right -= wide + 3.0;
    }
    out.push_str("</g>");
}

/// `Pod shop/web-0`, and for several objects some of their names.
pub(super) fn describe_glyph(out: &mut String, glyph: &Glyph<'_>) {
    text::push_xml(out, &glyph.kind);
    out.push(' ');
    push_name(out, glyph);
    match glyph.class {
        Class::Absent => out.push_str(" (not there)"),
        Class::Virtual => out.push_str(" (no object of its own)"),
        Class::Plain | Class::Focus | Class::Faded => {}
    }
    for badge in &glyph.badges {
        out.push_str("\n[");
        text::push_xml(out, &badge.text);
        out.push(']');
    }
    let notes = glyph.members.iter().flat_map(|member| &member.notes);
    for note in notes.clone().take(MAX_TOOLTIP_NOTES) {
        out.push_str("\n· ");
        text::push_xml(out, note);
    }
    let more = notes.count().saturating_sub(MAX_TOOLTIP_NOTES);
    if more > 0 {
        let _ = write!(out, "\nand {more} more");
    }
    if glyph.count > 1 {
        let _ = write!(out, "\n{} objects:", glyph.count);
        for member in glyph.members.iter().take(MAX_TOOLTIP_NAMES) {
            out.push_str("\n  ");
            text::push_xml(out, &member.label);
        }
        if glyph.count > MAX_TOOLTIP_NAMES {
            let _ = write!(out, "\n  and {} more", glyph.count - MAX_TOOLTIP_NAMES);
        }
    }
}

fn push_name(out: &mut String, glyph: &Glyph<'_>) {
    if !glyph.namespace.is_empty() {
        text::push_xml(out, glyph.namespace);
        out.push('/');
    }
    text::push_xml(out, &glyph.label);
}

/// Both ends, and a line `TYPE via field` for every relationship.
fn describe_link(out: &mut String, scene: &Scene<'_>, link: &SceneLine<'_>) {
    for (place, joint) in [(link.from, " → "), (link.to, "")] {
        if let Some(glyph) = scene.glyphs.get(place) {
            push_name(out, glyph);
        }
        out.push_str(joint);
    }
    if link.style == LineStyle::Missing {
        out.push_str("\nexpected but absent");
    }
    for (label, via) in &link.parts {
        out.push('\n');
        text::push_xml(out, label);
        if !via.is_empty() {
            out.push_str(" via ");
            text::push_xml(out, via);
        }
    }
    if link.count > link.parts.len() {
        let _ = write!(out, "\n{} relationships", link.count);
    }
    if let Some(points) = link.points.filter(|points| points.is_finite()) {
        let _ = write!(out, "\n{points:+} points");
    }
}
