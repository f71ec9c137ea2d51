//! The time of a request: everything that an answer evaluates stops when it is over.

use std::sync::LazyLock;
use std::time::Instant;

use kubewright_ui::{PageAnswer, PageContent};
use kubewright_value::Deadline;

use crate::review::is_late;

/// Returns what `answer` returns by `deadline`. Its evaluations are interrupted then, so that it ends soon after; what it
/// returns later may be incomplete, and is not used.
pub(super) fn answer_in_time(deadline: Instant, answer: impl FnOnce() -> PageAnswer) -> PageAnswer {
    Deadline::limit(Some(engine_deadline(deadline)), || match answer() {
        PageAnswer::Content(content) => match check_time() {
            Ok(()) => content.into(),
            Err(late) => late.into(),
        },
        events @ PageAnswer::Events(_) => events,
    })
}

/// Fails when the time of the request that this thread answers is over: what it made may be incomplete.
///
/// # Errors
/// When it is over.
pub(super) fn check_time() -> Result<(), PageContent> {
    match is_late() {
        true => Err(PageContent::error(504, "the answer took too long", None)),
        false => Ok(()),
    }
}

static CLOCK_START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns `deadline` for the engine, which knows no clock.
fn engine_deadline(deadline: Instant) -> Deadline {
    fn milliseconds(since: std::time::Duration) -> u64 {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
    let start = *CLOCK_START;
    Deadline {
        at: milliseconds(deadline.saturating_duration_since(start)),
        now: || milliseconds(CLOCK_START.elapsed()),
    }
}

#[cfg(test)]
mod tests;
