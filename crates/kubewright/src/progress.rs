//! A bar on a terminal for work that takes long.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use kubewright_files::Progress;
use kubewright_report::text::grouped_digits;

/// The delay before the bar is shown.
const FIRST_DRAW_DELAY: Duration = Duration::from_secs(1);
/// The interval between updates.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
/// The width of the bar.
const BAR_CHARACTERS: usize = 30;

/// A bar on standard error; nothing where that is not a terminal.
pub(crate) struct ProgressBar {
    started: Instant,
    drawn: Option<Instant>,
    is_terminal: bool,
}

impl ProgressBar {
    /// Returns a bar that is not drawn yet.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), drawn: None, is_terminal: std::io::stderr().is_terminal() }
    }

    /// Returns whether anybody can see it.
    #[cfg(feature = "serve")]
    pub(crate) fn is_visible(&self) -> bool {
        self.is_terminal
    }

    /// Shows how far the work has come, if it is time to.
    pub(crate) fn show(&mut self, progress: Progress) {
        if !self.is_terminal || !progress.objects.is_multiple_of(16) {
            return;
        }
        let elapsed = self.started.elapsed();
        if elapsed < FIRST_DRAW_DELAY || self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW_INTERVAL) {
            return;
        }
        self.drawn = Some(Instant::now());
        redraw_line(&progress_line(progress, elapsed));
    }

    /// Removes the bar.
    pub(crate) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            redraw_line("");
        }
    }
}

/// Replaces the last line.
fn redraw_line(line: &str) {
    let mut out = std::io::stderr();
    let _ = write!(out, "\r{line}\u{1b}[K");
    let _ = out.flush();
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share is within 0 and 1"
)]
fn progress_line(progress: Progress, elapsed: Duration) -> String {
    let share = progress.share.clamp(0.001, 1.0);
    let done = (share * BAR_CHARACTERS as f64) as usize;
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!(
        "[{}{}] {} objects, about {left:.0} s left",
        "=".repeat(done),
        " ".repeat(BAR_CHARACTERS - done.min(BAR_CHARACTERS)),
        grouped_digits(progress.objects)
    )
}
