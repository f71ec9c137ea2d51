//! A bar on a terminal for work that takes long.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use kubewright_files::Progress;
use kubewright_report::text::plural;

use crate::output::is_captured;

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
        Self { started: Instant::now(), drawn: None, is_terminal: is_shown() }
    }

    /// Returns whether anybody can see it.
    #[cfg(feature = "serve")]
    pub(crate) fn is_visible(&self) -> bool {
        self.is_terminal
    }

    /// Shows how far the work has come, if it is time to.
    pub(crate) fn show(&mut self, progress: Progress) {
        if !self.is_terminal {
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

/// Does `work` while a line on the terminal shows what `phase` returns: what is done, and how much of it, where that is
/// known.
pub(crate) fn show_phase<T>(phase: impl Fn() -> (String, Option<f64>) + Sync, work: impl FnOnce() -> T) -> T {
    if !is_shown() {
        return work();
    }
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let ticker = scope.spawn(|| {
            let started = Instant::now();
            let mut is_drawn = false;
            while !is_done.load(Ordering::Relaxed) {
                thread::park_timeout(REDRAW_INTERVAL);
                if started.elapsed() >= FIRST_DRAW_DELAY && !is_done.load(Ordering::Relaxed) {
                    redraw_line(&phase_line(phase(), started.elapsed()));
                    is_drawn = true;
                }
            }
            if is_drawn {
                redraw_line("");
            }
        });
        // Also where the work panics, so that the thread ends.
        let _done = DoneOnDrop(&is_done, ticker.thread());
        work()
    })
}

/// Returns whether a person looks at standard error.
fn is_shown() -> bool {
    std::io::stderr().is_terminal() && !is_captured()
}

/// Says that work is done when it is dropped.
struct DoneOnDrop<'d>(&'d AtomicBool, &'d Thread);

impl Drop for DoneOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

/// Returns the line of a phase.
fn phase_line((text, share): (String, Option<f64>), elapsed: Duration) -> String {
    match share {
        Some(share) => {
            let left = elapsed.as_secs_f64() * (1.0 - share) / share.max(0.001);
            format!("{} {text}, about {left:.0} s left", bar_text(share))
        }
        None => format!("{text}, {} s", elapsed.as_secs()),
    }
}

/// Replaces the last line.
fn redraw_line(line: &str) {
    let mut out = std::io::stderr();
    let _ = write!(out, "\r{line}\u{1b}[K");
    let _ = out.flush();
}

fn progress_line(progress: Progress, elapsed: Duration) -> String {
    let share = progress.share.clamp(0.001, 1.0);
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!("{} {}, about {left:.0} s left", bar_text(share), plural(progress.objects, "object"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share is within 0 and 1"
)]
fn bar_text(share: f64) -> String {
    let done = ((share.clamp(0.0, 1.0) * BAR_CHARACTERS as f64) as usize).min(BAR_CHARACTERS);
    format!("[{}{}]", "=".repeat(done), " ".repeat(BAR_CHARACTERS - done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_line_has_a_bar_where_the_share_is_known() {
        let line = |share| phase_line(("5 of 10 patterns".to_owned(), share), Duration::from_secs(4));
        assert_eq!(
            line(Some(0.5)),
            format!("[{}{}] 5 of 10 patterns, about 4 s left", "=".repeat(15), " ".repeat(15))
        );
        assert_eq!(line(None), "5 of 10 patterns, 4 s");
    }

    #[test]
    fn show_phase_returns_what_the_work_returns() {
        assert_eq!(show_phase(|| (String::new(), None), || 7), 7);
    }
}
