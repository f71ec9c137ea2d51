//! Unified diffs of two texts.

use similar::{Algorithm, TextDiff};

/// Returns the unified diff from `before` to `after` with `context` lines around each change, without file headers.
///
/// Equal texts give an empty diff.
#[must_use]
pub fn unified(before: &str, after: &str, context: usize) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(before, after);
    diff.unified_diff().context_radius(context).missing_newline_hint(false).to_string()
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
}
