//! A picture as JSON: everything, nothing merged, for other programs.

use super::Picture;
use kubewright_value::display::escape_json;
use kubewright_value::json;
use std::fmt::Write as _;

/// The version of the document. It changes when a key changes its meaning or goes, not when one is added.
const PICTURE_VERSION: u64 = 1;

/// Writes `picture` as one JSON object with `nodes` and `edges`, one to a line.
/// `from` and `to` of an edge are ids of nodes.
#[must_use]
pub fn render_json(picture: &Picture) -> String {
    let mut out = String::with_capacity(256 + picture.nodes.len() * 120 + picture.lines.len() * 120);
    let _ = write!(
        out,
        "{{\n\"version\": {PICTURE_VERSION},\n\"title\": {},\n\"nodes\": [",
        json_string(&picture.title)
    );
    for (place, node) in picture.nodes.iter().enumerate() {
        out.push_str(if place == 0 { "\n  " } else { ",\n  " });
        let (id, kind) = (json_string(&node.id), json_string(&node.kind));
        let (namespace, label) = (json_string(&node.namespace), json_string(&node.label));
        let _ = write!(
            out,
            "{{\"id\": {id}, \"kind\": {kind}, \"namespace\": {namespace}, \"label\": {label}, \"class\": \"{}\"",
            node.class.name()
        );
        out.push_str(", \"badges\": [");
        for (place, badge) in node.badges.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let _ = write!(
                out,
                "{comma}{{\"text\": {}, \"tone\": \"{}\"}}",
                json_string(&badge.text),
                badge.tone.name()
            );
        }
        out.push(']');
        if !node.frame.is_empty() {
            let _ = write!(out, ", \"frame\": {}", json_string(&node.frame));
        }
        if !node.notes.is_empty() {
            let notes: Vec<String> = node.notes.iter().map(|note| json_string(note)).collect();
            let _ = write!(out, ", \"notes\": [{}]", notes.join(", "));
        }
        out.push('}');
    }
    out.push_str("\n],\n\"edges\": [");
    let mut is_first = true;
    for line in &picture.lines {
        let (Some(from), Some(to)) = (picture.nodes.get(line.from), picture.nodes.get(line.to)) else {
            continue;
        };
        out.push_str(if is_first { "\n  " } else { ",\n  " });
        is_first = false;
        let _ = write!(
            out,
            "{{\"from\": {}, \"to\": {}, \"type\": {}, \"via\": {}, \"style\": \"{}\"",
            json_string(&from.id),
            json_string(&to.id),
            json_string(&line.label),
            json_string(&line.via),
            line.style.name()
        );
        if let Some(points) = line.points.filter(|points| points.is_finite()) {
            let _ = write!(out, ", \"points\": {points}");
        }
        out.push('}');
    }
    out.push_str("\n],\n\"legend\": [");
    for (place, sentence) in picture.legend.iter().enumerate() {
        out.push_str(if place == 0 { "\n  " } else { ",\n  " });
        out.push_str(&json_string(sentence));
    }
    out.push_str("\n]\n}\n");
    out
}

/// Returns `text` as a JSON string in which every character is seen.
fn json_string(text: &str) -> String {
    escape_json(&json::quote(text)).into_owned()
}
