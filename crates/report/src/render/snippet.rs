//! A diagnostic with the line it is about.

use kubewright_engine::{Diagnostic, DiagnosticLevel};
use kubewright_value::display::is_hidden;

use crate::text::plural;
use crate::{Paint, shorten_visible, visible};

/// How much of a long line is shown on either side of the place.
const MAX_SIDE_CHARACTERS: usize = 60;

/// Returns `diagnostic` as a person wants to read it; ends with a line break.
///
/// ```text
/// error[KW-M001]: unknown field `matchvalue`
///   ┌ rules/web.yaml:12:7
/// 12│      matchvalue: Pod
///   │      ^^^^^^^^^^
///   = help: did you mean `matchValue`?
/// ```
#[must_use]
pub fn snippet(diagnostic: &Diagnostic, paint: Paint) -> String {
    let title = format!("{}[{}]", diagnostic.severity(), diagnostic.code.id);
    let title = match diagnostic.severity() {
        DiagnosticLevel::Error => paint.red(&title),
        DiagnosticLevel::Warning => paint.yellow(&title),
        DiagnosticLevel::Hint => paint.cyan(&title),
    };
    let mut text = format!("{title}: {}\n", paint.bold(&visible(&diagnostic.message)));
    let location = &diagnostic.location;
    let position = location.position;
    let number = position.line.to_string();
    let gutter = " ".repeat(number.len().max(2));
    if location.source.text.is_empty() {
        if !diagnostic.message.contains(&format!("`{}`", location.source.name)) {
            text.push_str(&format!("{gutter}┌ {}\n", visible(&location.source.name)));
        }
    } else {
        text.push_str(&format!(
            "{gutter}{} {}\n",
            paint.dim("┌"),
            paint.cyan(&visible(&location.to_string()))
        ));
        if let Some(line) = location.source.line(position.line) {
            let (line, before, covered) =
                line_window(line, position.column as usize, location.length as usize);
            let width = gutter.len();
            text.push_str(&format!("{}{line}\n", paint.dim(&format!("{number:>width$}│"))));
            let caret = format!(
                "{} {}",
                "^".repeat(covered),
                shorten_visible(&diagnostic.label, 2 * MAX_SIDE_CHARACTERS)
            );
            text.push_str(&format!(
                "{gutter}{}{}{}\n",
                paint.dim("│"),
                " ".repeat(before),
                paint.red(caret.trim_end())
            ));
        }
    }
    if !diagnostic.help.is_empty() {
        text.push_str(&format!("{gutter}= help: {}\n", visible(&diagnostic.help)));
    }
    text
}

/// Returns the part of `line` around `column`, how many characters precede the column, and how many it covers.
#[must_use]
pub fn line_window(line: &str, column: usize, length: usize) -> (String, usize, usize) {
    let at = column.saturating_sub(1);
    let start = if line.chars().count() > 3 * MAX_SIDE_CHARACTERS {
        at.saturating_sub(MAX_SIDE_CHARACTERS)
    } else {
        0
    };
    let limit =
        if line.chars().count() > 3 * MAX_SIDE_CHARACTERS { 2 * MAX_SIDE_CHARACTERS } else { usize::MAX };
    let shown: String =
        line.chars().skip(start).take(limit).map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    let count = shown.chars().count();
    let before = (at - start).min(count);
    (shown, before, length.clamp(1, (count - before).max(1)))
}

/// How many diagnostics of each severity there are.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DiagnosticCounts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Hints.
    pub hints: usize,
}

impl DiagnosticCounts {
    /// Counts `diagnostics`.
    #[must_use]
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| diagnostics.iter().filter(|one| one.severity() == severity).count();
        Self {
            errors: count(DiagnosticLevel::Error),
            warnings: count(DiagnosticLevel::Warning),
            hints: count(DiagnosticLevel::Hint),
        }
    }
}

/// As `1 error, 2 warnings, 1 hint`; what there is none of is left out.
impl std::fmt::Display for DiagnosticCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [(self.errors, "error"), (self.warnings, "warning"), (self.hints, "hint")];
        let parts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| plural(*count, word)).collect();
        f.write_str(if parts.is_empty() { "no mistakes" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_window_hides_control_characters() {
        assert_eq!(line_window("a\u{202e}b\u{1b}", 3, 1), ("a b ".to_owned(), 2, 1));
    }
}
