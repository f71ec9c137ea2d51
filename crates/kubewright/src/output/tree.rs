//! A trace as a tree, one line for each thing that was looked at.

use kubewright_engine::{TraceNode, Verdict};

use super::paint::{Paint, short, visible};

/// The widest column of the tree.
const WIDEST: usize = 60;
/// How much of a value is shown.
const LONGEST: usize = 100;
/// How deep a tree is shown.
const DEEPEST: usize = 16;

/// Returns what was looked at, `depth` levels to the right.
pub(crate) fn tree(nodes: &[TraceNode], depth: usize, paint: Paint) -> String {
    let mut text = String::new();
    if depth > DEEPEST {
        return text;
    }
    let indent = "  ".repeat(depth);
    let looked: Vec<&TraceNode> = nodes.iter().filter(|node| node.verdict != Verdict::NotLooked).collect();
    let what = widest(&looked, |node| &node.what);
    let found = widest(&looked, |node| &node.found);
    for node in &looked {
        let mark = mark(node.verdict, paint);
        let mut line = format!("{indent}{mark} {:what$}", visible(&node.what));
        // What is too long for the column has a line of its own.
        if visible(&node.what).chars().count() > what && !node.found.is_empty() {
            line.push_str(&format!("\n{indent}  {:what$}", ""));
        }
        if !node.found.is_empty() {
            line.push_str(&format!("  → {:found$}", short(&node.found, LONGEST)));
        } else if found > 0 && !node.wanted.is_empty() {
            line.push_str(&format!("    {:found$}", ""));
        }
        if !node.wanted.is_empty() {
            line.push_str(&format!("  {}", short(&node.wanted, LONGEST)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
        if let (Verdict::No | Verdict::Error, Some(location)) = (node.verdict, &node.location) {
            text.push_str(&format!("{indent}    {}\n", paint.cyan(&visible(&location.to_string()))));
        }
        text.push_str(&tree(&node.children, depth + 1, paint));
    }
    for node in nodes.iter().filter(|node| node.verdict == Verdict::NotLooked) {
        text.push_str(&format!("{indent}{}\n", paint.dim(&format!("· {}", visible(&node.what)))));
    }
    text
}

fn mark(verdict: Verdict, paint: Paint) -> String {
    match verdict {
        Verdict::Yes => paint.green("✓"),
        Verdict::No => paint.red("✗"),
        Verdict::Error => paint.red("!"),
        Verdict::Done => paint.yellow("~"),
        Verdict::NotLooked => paint.dim("·"),
    }
}

fn widest(nodes: &[&TraceNode], part: impl Fn(&TraceNode) -> &String) -> usize {
    nodes
        .iter()
        .map(|node| visible(part(node)).chars().count())
        .filter(|width| *width <= WIDEST)
        .max()
        .unwrap_or(0)
}
