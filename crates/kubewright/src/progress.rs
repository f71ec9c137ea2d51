//! A bar on a terminal for work that takes long.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use kubewright_files::Progress;
use kubewright_report::text::grouped;

/// How long work may take before the bar is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is drawn.
const PACE: Duration = Duration::from_millis(100);
/// How wide it is.
const WIDTH: usize = 30;

/// A bar on standard error; nothing where that is not a terminal.
pub(crate) struct Bar {
    started: Instant,
    drawn: Option<Instant>,
    is_terminal: bool,
}

impl Bar {
    /// Returns a bar that is not drawn yet.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), drawn: None, is_terminal: std::io::stderr().is_terminal() }
    }

    /// Shows how far the work has come, if it is time to.
    pub(crate) fn show(&mut self, progress: Progress) {
        if !self.is_terminal || !progress.objects.is_multiple_of(64) {
            return;
        }
        let elapsed = self.started.elapsed();
        if elapsed < PATIENCE || self.drawn.is_some_and(|drawn| drawn.elapsed() < PACE) {
            return;
        }
        self.drawn = Some(Instant::now());
        draw(&line(progress, elapsed));
    }

    /// Removes the bar.
    pub(crate) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            draw("");
        }
    }
}

/// Replaces what stands on the last line.
fn draw(line: &str) {
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
fn line(progress: Progress, elapsed: Duration) -> String {
    let share = progress.share.clamp(0.001, 1.0);
    let done = (share * WIDTH as f64) as usize;
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!(
        "[{}{}] {} objects, about {left:.0} s left",
        "=".repeat(done),
        " ".repeat(WIDTH - done.min(WIDTH)),
        grouped(progress.objects)
    )
}
