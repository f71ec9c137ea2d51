//! A trace as a tree, one line for each thing that was looked at.

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::Location;

use crate::{Paint, shorten_visible, visible};

/// The widest column of the tree.
const MAX_COLUMN_WIDTH: usize = 60;
/// The widest group that is written on one line.
const MAX_LINE_WIDTH: usize = 240;
/// How much of a value is shown.
const MAX_VALUE_CHARACTERS: usize = 200;
/// How much of a value is shown in a group where it is as wanted.
const MAX_REMINDER_CHARACTERS: usize = 200;
/// How deep a tree is shown.
const MAX_TREE_DEPTH: usize = 16;

/// Returns what was looked at, `depth` levels to the right.
#[must_use]
pub fn trace_tree(nodes: &[TraceNode], depth: usize, paint: Paint) -> String {
    tree_within(nodes, depth, None, paint)
}

/// Returns what was looked at; `around` is the place in the object of what it is a part of.
fn tree_within(nodes: &[TraceNode], depth: usize, around: Option<&Location>, paint: Paint) -> String {
    let mut text = String::new();
    if depth > MAX_TREE_DEPTH {
        return text;
    }
    let indent = "  ".repeat(depth);
    let looked: Vec<&TraceNode> =
        nodes.iter().filter(|node| node.verdict != TraceVerdict::NotLooked).collect();
    let what = widest_column(&looked, |node| &node.what);
    let found = widest_column(&looked, |node| &node.found);
    for node in &looked {
        let around = node.subject_location.as_ref().or(around);
        if let Some(line) = on_one_line(node, &indent, (what, around), paint) {
            text.push_str(&line);
            continue;
        }
        let mark = verdict_mark(node.verdict, paint);
        let mut line = format!("{indent}{mark} {:what$}", visible(&node.what));
        // What is too long for the column has a line of its own.
        if visible(&node.what).chars().count() > what && !node.found.is_empty() {
            line.push_str(&format!("\n{indent}  {:what$}", ""));
        }
        if !node.found.is_empty() {
            line.push_str(&format!("  → {:found$}", shorten_visible(&node.found, MAX_VALUE_CHARACTERS)));
        } else if found > 0 && !node.wanted.is_empty() {
            line.push_str(&format!("    {:found$}", ""));
        }
        if !node.wanted.is_empty() {
            line.push_str(&format!("  {}", shorten_visible(&node.wanted, MAX_VALUE_CHARACTERS)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
        // What is below says it better.
        let is_wrong = |node: &TraceNode| matches!(node.verdict, TraceVerdict::No | TraceVerdict::Error);
        let is_explained = node.children.iter().any(|child| is_wrong(child) && child.location.is_some());
        if (is_wrong(node) && !is_explained) || !node.help.is_empty() {
            text.push_str(&places_and_help(node, &indent, around, paint));
        }
        text.push_str(&tree_within(&node.children, depth + 1, around, paint));
    }
    for node in nodes.iter().filter(|node| node.verdict == TraceVerdict::NotLooked) {
        text.push_str(&format!("{indent}{}\n", paint.dim(&format!("· {}", visible(&node.what)))));
    }
    text
}

/// Returns a group of short things on one line, and below it the location of the first of them that is not as wanted.
fn on_one_line(
    node: &TraceNode,
    indent: &str,
    (width, around): (usize, Option<&Location>),
    paint: Paint,
) -> Option<String> {
    let is_short = |child: &TraceNode| child.children.is_empty() && child.wanted.is_empty();
    let is_group = node.found.is_empty() && node.wanted.is_empty() && !node.children.is_empty();
    if !is_group || !node.children.iter().all(is_short) {
        return None;
    }
    let is_wrong = |child: &TraceNode| matches!(child.verdict, TraceVerdict::No | TraceVerdict::Error);
    let (mut plain, mut painted) = (0, Vec::new());
    for child in &node.children {
        let found = match child.found.as_str() {
            found if is_wrong(child) && !found.is_empty() => {
                format!(" → {}", shorten_visible(found, MAX_VALUE_CHARACTERS))
            }
            _ => String::new(),
        };
        // What is as wanted needs no more than a reminder.
        let longest = if is_wrong(child) { MAX_VALUE_CHARACTERS } else { MAX_REMINDER_CHARACTERS };
        let text = format!("{}{found}", shorten_visible(&child.what, longest));
        plain += text.chars().count() + 5;
        painted.push(format!("{} {text}", verdict_mark(child.verdict, paint)));
    }
    if plain > MAX_LINE_WIDTH {
        return None;
    }
    let head = format!("{} {:width$}", verdict_mark(node.verdict, paint), visible(&node.what));
    let mut text = format!("{indent}{head}   {}\n", painted.join("   "));
    let wrong = node.children.iter().find(|child| is_wrong(child));
    text.push_str(&wrong.map(|child| places_and_help(child, indent, around, paint)).unwrap_or_default());
    Some(text)
}

/// Returns the places of a step in the rule and in the object, and what to do about it.
fn places_and_help(node: &TraceNode, indent: &str, around: Option<&Location>, paint: Paint) -> String {
    let mut text = String::new();
    let subject = node.subject_location.as_ref().or_else(|| subject_below(node)).or(around);
    let places = [node.location.as_ref(), subject];
    let places: Vec<String> =
        places.into_iter().flatten().map(|place| paint.cyan(&visible(&place.to_string()))).collect();
    if !places.is_empty() {
        text.push_str(&format!("{indent}    {}\n", places.join("   ")));
    }
    if !node.help.is_empty() {
        text.push_str(&format!("{indent}    = help: {}\n", visible(&node.help)));
    }
    text
}

/// Returns the first place in the object of what was looked at below `node`.
fn subject_below(node: &TraceNode) -> Option<&Location> {
    node.children.iter().find_map(|child| child.subject_location.as_ref().or_else(|| subject_below(child)))
}

fn verdict_mark(verdict: TraceVerdict, paint: Paint) -> String {
    match verdict {
        TraceVerdict::Yes => paint.green("✓"),
        TraceVerdict::No => paint.red("✗"),
        TraceVerdict::Error => paint.red("!"),
        TraceVerdict::Done => paint.yellow("~"),
        TraceVerdict::NotLooked => paint.dim("·"),
    }
}

fn widest_column(nodes: &[&TraceNode], part: impl Fn(&TraceNode) -> &String) -> usize {
    nodes
        .iter()
        .map(|node| visible(part(node)).chars().count())
        .filter(|width| *width <= MAX_COLUMN_WIDTH)
        .max()
        .unwrap_or(0)
}
