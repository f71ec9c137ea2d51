//! A picture as one page that needs nothing else: pan, zoom, search, and what every line is.
//!
//! The page allows no script but the one below, by its digest, and no address at all. Data reaches the
//! script only as text of the document.

use super::layout::{frame_label, lay_out_picture};
use super::palette::{PICTURE_CSS, Palette};
use super::scene::{Glyph, Scene, build_scene};
use super::svg::{svg_heading, write_svg_body};
use super::{DrawOptions, Picture, PictureNode, Tone, legend, text};
use std::collections::HashMap;
use std::fmt::Write as _;

const PAGE_SCRIPT: &str = include_str!("html/page.js");
const PAGE_CSS: &str = include_str!("html/page.css");
/// The digest of the script, for the policy of the page. A test says the new one when the script changes.
const PAGE_SCRIPT_DIGEST: &str = "sha256-uIZkH9ZppYDik217XK51di3hov5ut1wdwpvtBFQztWM=";
/// Findings that are listed.
const MAX_LISTED_FINDINGS: usize = 500;
/// Types of lines that can be hidden.
const MAX_LINE_TYPES: usize = 100;
/// Names of merged objects that search finds.
const MAX_SEARCHABLE_NAMES: usize = 200;

/// Draws `picture` as one self-contained HTML page.
#[must_use]
pub fn render_html(picture: &Picture, options: &DrawOptions) -> String {
    let scene = build_scene(picture, *options);
    let palette = Palette::new(&scene);
    let layout = lay_out_picture(picture, &scene);
    let title = text::xml_text(svg_heading(picture));
    let mut out = String::with_capacity(16_384 + scene.glyphs.len() * 700 + scene.links.len() * 400);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{PAGE_SCRIPT_DIGEST}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{PICTURE_CSS}{PAGE_CSS}</style>\n</head>\n<body class=\"kw\">\n"
    );
    let _ = write!(
        out,
        "<aside>\n<h1>{title}</h1>\n<p class=\"sum\">{} objects, {} relationships</p>\n",
        picture.nodes.len(),
        picture.lines.len()
    );
    out.push_str(TOOLBAR_HTML);
    out.push_str("<section id=\"card\" aria-live=\"polite\" hidden></section>\n");
    out.push_str("<details open><summary>Legend</summary>");
    let mut foot = String::new();
    let height = legend::draw_legend(&mut foot, picture, &scene, &palette, (4.0, 4.0, 264.0)) + 8.0;
    let _ = writeln!(out, "<svg class=\"key\" width=\"272\" height=\"{height:.0}\">{foot}</svg></details>");
    write_line_types(&mut out, &scene, &palette);
    write_finding_list(&mut out, &scene);
    write_object_list(&mut out, picture, &scene);
    let (width, height) = (layout.width, layout.height);
    let _ = write!(
        out,
        "</aside>\n<main><svg id=\"map\" class=\"kw\" tabindex=\"0\" role=\"group\" aria-label=\"Picture: arrow keys \
         move, from box to box where one is chosen; plus and minus zoom, 0 shows all, / searches, Escape ends\" data-w=\"{width:.0}\" data-h=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\"><g id=\"view\">"
    );
    write_svg_body(&mut out, &scene, &palette, &layout, true);
    out.push_str("</g></svg><div id=\"tip\" role=\"tooltip\" hidden></div></main>\n<script>");
    out.push_str(PAGE_SCRIPT);
    out.push_str("</script>\n</body>\n</html>\n");
    out
}

const TOOLBAR_HTML: &str = "<div class=\"tools\" role=\"search\"><input id=\"find\" type=\"search\" \
placeholder=\"Search name, kind, namespace ( / )\" aria-label=\"Search\" autocomplete=\"off\" spellcheck=\"false\">\
<output id=\"hits\"></output></div>\n<div class=\"tools\"><button id=\"in\" title=\"Zoom in (+)\" \
aria-label=\"Zoom in\">+</button><button id=\"out\" title=\"Zoom out (-)\" aria-label=\"Zoom out\">−</button>\
<button id=\"fit\" title=\"Show all (0)\">Show all</button>\
<button id=\"theme\" title=\"Light or dark\" aria-label=\"Light or dark\">◐</button></div>\n";

/// The types of lines, to be hidden and shown.
fn write_line_types(out: &mut String, scene: &Scene<'_>, palette: &Palette<'_>) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for link in &scene.links {
        link.labels().into_iter().for_each(|label| *counts.entry(label).or_insert(0) += 1);
    }
    if counts.is_empty() {
        return;
    }
    out.push_str("<details class=\"types\"><summary>Lines</summary>");
    for (place, (label, _)) in palette.labels().enumerate().take(MAX_LINE_TYPES) {
        let count = counts.get(label).copied().unwrap_or_default();
        let _ = write!(
            out,
            "<label><input type=\"checkbox\" value=\"{place}\" checked>{} <small>{count}</small></label>",
            text::xml_text(label)
        );
    }
    out.push_str("</details>\n");
}

/// The list of findings, the worst first; a button goes to the box.
fn write_finding_list(out: &mut String, scene: &Scene<'_>) {
    let mut findings: Vec<(Tone, &str, usize, &PictureNode)> = Vec::new();
    for (place, glyph) in scene.glyphs.iter().enumerate() {
        for member in &glyph.members {
            let badges = member.badges.iter().filter(|badge| badge.tone != Tone::Role);
            findings.extend(badges.map(|badge| (badge.tone, badge.text.as_str(), place, *member)));
        }
    }
    if findings.is_empty() {
        return;
    }
    findings.sort_by_key(|(tone, text, place, _)| (std::cmp::Reverse(*tone), *text, *place));
    let count = findings.len();
    let _ =
        write!(out, "<details id=\"findings\" open><summary>Findings <small>{count}</small></summary><ul>");
    for (tone, pattern, place, member) in findings.into_iter().take(MAX_LISTED_FINDINGS) {
        let class = legend::tone_class(tone);
        let _ = write!(
            out,
            "<li><button data-n=\"{place}\"><b class=\"bd {class}\">{}</b> {} {}</button></li>",
            text::xml_text(pattern),
            text::xml_text(&member.kind),
            text::xml_text(&member.label)
        );
    }
    if count > MAX_LISTED_FINDINGS {
        let _ = write!(out, "<li>and {} more</li>", count - MAX_LISTED_FINDINGS);
    }
    out.push_str("</ul></details>\n");
}

/// The list of drawn objects, by namespace and kind; a button goes to the box.
fn write_object_list(out: &mut String, picture: &Picture, scene: &Scene<'_>) {
    out.push_str("<nav id=\"list\" aria-label=\"What is drawn\">\n");
    for namespace in scene
        .glyphs
        .iter()
        .enumerate()
        .collect::<Vec<_>>()
        .chunk_by(|one, other| one.1.frame == other.1.frame)
    {
        let Some((_, first)) = namespace.first() else { continue };
        let count: usize = namespace.iter().map(|(_, glyph)| glyph.count).sum();
        let name = frame_label(picture, first.frame);
        let open = if scene.glyphs.len() <= 300 { " open" } else { "" };
        let _ =
            write!(out, "<details{open}><summary>{} <small>{count}</small></summary>", text::xml_text(&name));
        for kind in namespace.chunk_by(|one, other| one.1.kind == other.1.kind) {
            let Some((_, first)) = kind.first() else { continue };
            let _ = write!(out, "<h2>{}</h2><ul>", text::xml_text(&first.kind));
            for (place, glyph) in kind {
                write_list_entry(out, *place, glyph);
            }
            out.push_str("</ul>");
        }
        out.push_str("</details>\n");
    }
    out.push_str("</nav>\n");
}

fn write_list_entry(out: &mut String, place: usize, glyph: &Glyph<'_>) {
    let _ = write!(out, "<li><button data-n=\"{place}\"");
    if glyph.count > 1 {
        out.push_str(" data-also=\"");
        for member in glyph.members.iter().take(MAX_SEARCHABLE_NAMES) {
            text::push_xml(out, &member.label);
            out.push(' ');
        }
        out.push('"');
    }
    let _ = write!(out, ">{}", text::xml_text(&glyph.label));
    if glyph.count > 1 {
        let _ = write!(out, " <small>×{}</small>", glyph.count);
    }
    for badge in &glyph.badges {
        let class = legend::tone_class(badge.tone);
        let _ = write!(out, " <b class=\"bd {class}\">{}</b>", text::xml_text(&badge.text));
    }
    out.push_str("</button></li>");
}
