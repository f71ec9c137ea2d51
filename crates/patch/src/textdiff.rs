//! Differences of two texts, line by line.
//!
//! The crate `similar` is used here alone, and of it one algorithm on one type: each further use would compile all of its
//! algorithms once more.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, group_diff_ops};

/// The maximum number of lines between the first and the last change that are aligned; the time for it grows with their square. More are
/// shown as one change.
const MAX_ALIGNED_LINES: usize = 6000;

/// Whether a line is in both texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChangeKind {
    /// In both.
    Kept,
    /// In the first text alone.
    Removed,
    /// In the second text alone.
    Added,
}

impl LineChangeKind {
    /// Returns the sign that stands before such a line.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineChange<'t> {
    /// Whether it is in both texts.
    pub kind: LineChangeKind,
    /// The line without its end.
    pub line: &'t str,
    /// Its index in the first text, or in the second where that alone has it.
    pub index: usize,
}

/// Lines that differ, with those around them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffHunk<'t> {
    /// The index of the first line and the number of lines, in the first text.
    pub before: (usize, usize),
    /// The same in the second text.
    pub after: (usize, usize),
    /// All its lines.
    pub changes: Vec<LineChange<'t>>,
}

/// Returns what differs between two texts, with `context` lines around each change. Equal texts have no difference.
#[must_use]
pub fn diff_hunks<'t>(before: &'t str, after: &'t str, context: usize) -> Vec<DiffHunk<'t>> {
    if before == after {
        return Vec::new();
    }
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let groups = group_diff_ops(line_operations(&old, &new), context);
    groups.iter().filter_map(|group| diff_hunk(group, &old, &new)).collect()
}

fn line_operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let start = same(&mut old.iter().zip(new));
    let shorter = old.len().min(new.len());
    let end = same(&mut old.iter().rev().zip(new.iter().rev())).min(shorter - start);
    let (old_len, new_len) = (old.len() - start - end, new.len() - start - end);
    if old_len + new_len > MAX_ALIGNED_LINES {
        return vec![
            DiffOp::Equal { old_index: 0, new_index: 0, len: start },
            DiffOp::Replace { old_index: start, old_len, new_index: start, new_len },
            DiffOp::Equal { old_index: start + old_len, new_index: start + new_len, len: end },
        ];
    }
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    match myers::diff(&mut hook, old, 0..old.len(), new, 0..new.len()) {
        Ok(()) => hook.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

fn diff_hunk<'t>(group: &[DiffOp], old: &[&'t str], new: &[&'t str]) -> Option<DiffHunk<'t>> {
    let (first, last) = (group.first()?, group.last()?);
    let (old_start, new_start) = (first.old_range().start, first.new_range().start);
    let mut changes = Vec::new();
    for op in group {
        let mut add = |kind, lines: &[&'t str], range: std::ops::Range<usize>| {
            let lines = lines.get(range.clone()).unwrap_or_default();
            changes.extend(lines.iter().zip(range).map(|(line, index)| LineChange {
                kind,
                line: line.strip_suffix('\n').unwrap_or(line),
                index,
            }));
        };
        if let DiffOp::Equal { .. } = op {
            add(LineChangeKind::Kept, old, op.old_range());
        } else {
            add(LineChangeKind::Removed, old, op.old_range());
            add(LineChangeKind::Added, new, op.new_range());
        }
    }
    Some(DiffHunk {
        before: (old_start, last.old_range().end - old_start),
        after: (new_start, last.new_range().end - new_start),
        changes,
    })
}

/// Returns the unified diff from `before` to `after` with `context` lines around each change, without file headers.
///
/// Equal texts give an empty diff.
#[must_use]
pub fn unified(before: &str, after: &str, context: usize) -> String {
    let mut text = String::new();
    for hunk in diff_hunks(before, after, context) {
        text.push_str(&format!("@@ -{} +{} @@\n", hunk_range(hunk.before), hunk_range(hunk.after)));
        for change in hunk.changes {
            text.push(change.kind.sign());
            text.push_str(change.line);
            text.push('\n');
        }
    }
    text
}

/// Returns a range of lines as a unified diff writes it; an empty one begins at the line before it.
fn hunk_range((start, length): (usize, usize)) -> String {
    match length {
        1 => format!("{}", start + 1),
        _ => format!("{},{length}", start + usize::from(length > 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("a\nb\n", "a\nb\n", 3), "");
    }

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        assert_eq!(unified("a\nb\nc\nd\n", "a\nb\nx\nd\n", 1), "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n");
    }

    #[test]
    fn ranges_of_one_line_and_of_none_are_written_as_diff_does() {
        assert_eq!(unified("", "a\n", 1), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("a\nb\n", "b\n", 0), "@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn texts_that_have_little_in_common_are_not_compared_for_long() {
        let text =
            |seed: u64| -> String { (0..200_000).map(|n: u64| format!("{}\n", (n * seed) % 7919)).collect() };
        let diff = unified(&text(3), &text(5), 3);
        assert!(diff.starts_with("@@ -1,"), "{}", diff.get(..40).unwrap_or_default());
    }
}
