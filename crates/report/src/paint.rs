//! Colours for a terminal, and text that cannot harm one.

use std::borrow::Cow;

use kubewright_engine::RuleStatus;
use kubewright_value::display::is_hidden;
use kubewright_value::text::{TextLimit, shorten_text};

/// Puts colour on text, or leaves it plain.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// Never puts colour on anything.
    pub const OFF: Self = Self(false);

    /// Puts colour on text if `is_colored`.
    #[must_use]
    pub fn new(is_colored: bool) -> Self {
        Self(is_colored)
    }

    /// For what is wrong.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    /// For what is right, and for added lines.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    /// For what may be wrong, and for changes.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    /// For places.
    #[must_use]
    pub fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }

    /// For what matters less.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// For headings.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Returns the mark of a status, the same in every command.
#[must_use]
pub fn status_mark(status: RuleStatus, paint: Paint) -> String {
    match status {
        RuleStatus::Fail => paint.red("✗"),
        RuleStatus::Error => paint.red("!"),
        RuleStatus::Warn => paint.yellow("⚠"),
        RuleStatus::Pass => paint.green("✓"),
        RuleStatus::Skip => paint.dim("·"),
    }
}

/// Returns `text` on one line with its hidden characters written as escapes, so that an object cannot control a terminal.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let spelt = text.chars().map(|c| match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c if is_hidden(c) => format!("\\u{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    });
    Cow::Owned(spelt.collect())
}

/// Returns `text` made visible, cut after `most` characters.
#[must_use]
pub fn shorten_visible(text: &str, most: usize) -> String {
    shorten_text(&visible(text), TextLimit::Chars(most)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_cuts_between_characters() {
        assert_eq!(shorten_visible("äöü", 3), "äöü");
        assert_eq!(shorten_visible("äöü", 2), "äö…");
    }

    #[test]
    fn visible_spells_out_control_characters() {
        assert_eq!(visible("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(visible("✓ plain"), "✓ plain");
    }
}
