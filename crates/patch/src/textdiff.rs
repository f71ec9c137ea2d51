//! Unified diffs of two texts.

use similar::{Algorithm, TextDiff};

/// The maximum number of lines between the first and the last change that are aligned; the time for it grows with their square. More are
/// shown as one change.
const MAX_ALIGNED_LINES: usize = 6000;

/// Returns the unified diff from `before` to `after` with `context` lines around each change, without file headers.
///
/// Equal texts give an empty diff.
#[must_use]
pub fn unified(before: &str, after: &str, context: usize) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let start = same(&mut old.iter().zip(&new));
    let shorter = old.len().min(new.len());
    let end = same(&mut old.iter().rev().zip(new.iter().rev())).min(shorter - start);
    if old.len() + new.len() - 2 * (start + end) > MAX_ALIGNED_LINES {
        return one_change(&old, &new, (start, end), context);
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(before, after);
    diff.unified_diff().context_radius(context).missing_newline_hint(false).to_string()
}

/// Returns the diff in which everything but `same` lines at the start and at the end is replaced.
fn one_change(old: &[&str], new: &[&str], same: (usize, usize), context: usize) -> String {
    let (start, end) = same;
    let (from, after) = (start.saturating_sub(context), end.saturating_sub(context));
    let range = |lines: &[&str]| match lines.len() - from - after {
        1 => format!("{}", from + 1),
        length => format!("{},{length}", from + usize::from(length > 0)),
    };
    let mut text = format!("@@ -{} +{} @@\n", range(old), range(new));
    let mut add = |sign: char, lines: Option<&[&str]>| {
        for line in lines.unwrap_or_default() {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    };
    add(' ', old.get(from..start));
    add('-', old.get(start..old.len() - end));
    add('+', new.get(start..new.len() - end));
    add(' ', old.get(old.len() - end..old.len() - after));
    text
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
    fn one_change_is_written_as_others_are() {
        for (old, new) in
            [("a\nb\nc\nd\n", "a\nb\nx\nd\n"), ("", "a\n"), ("a\n", ""), ("a\nb\n", "b\n"), ("a\n", "a\na\n")]
        {
            let lines: (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let start = lines.0.iter().zip(&lines.1).take_while(|(a, b)| a == b).count();
            let end = lines.0.iter().rev().zip(lines.1.iter().rev()).take_while(|(a, b)| a == b).count();
            let end = end.min(lines.0.len().min(lines.1.len()) - start);
            assert_eq!(
                one_change(&lines.0, &lines.1, (start, end), 1),
                unified(old, new, 1),
                "{old:?} {new:?}"
            );
        }
    }

    #[test]
    fn texts_that_have_little_in_common_are_not_compared_for_long() {
        let text =
            |seed: u64| -> String { (0..200_000).map(|n: u64| format!("{}\n", (n * seed) % 7919)).collect() };
        let diff = unified(&text(3), &text(5), 3);
        assert!(diff.starts_with("@@ -1,"), "{}", diff.get(..40).unwrap_or_default());
    }
}
