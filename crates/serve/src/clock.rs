//! Times as Kubernetes writes them, and deadlines as the engine takes them.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime};

use kubewright_value::Deadline;

static CLOCK_EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns `at` for the engine, which knows no clock of its own.
pub(crate) fn engine_deadline(at: Instant) -> Deadline {
    let nanoseconds = at.saturating_duration_since(*CLOCK_EPOCH).as_nanos();
    Deadline { at: u64::try_from(nanoseconds).unwrap_or(u64::MAX), now: nanoseconds_since_start }
}

fn nanoseconds_since_start() -> u64 {
    u64::try_from(CLOCK_EPOCH.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Returns `time` as RFC 3339 in UTC, in whole seconds.
#[must_use]
pub fn rfc3339_seconds(time: SystemTime) -> String {
    let mut text = String::new();
    crate::log::push_time(&mut text, time);
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

/// Returns `time` as RFC 3339 in UTC with six digits after the seconds, as a MicroTime is written. The last three are 0.
#[must_use]
pub fn rfc3339_micros(time: SystemTime) -> String {
    let mut text = String::new();
    crate::log::push_time(&mut text, time);
    text.pop();
    text.push_str("000Z");
    text
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_time_is_written_as_kubernetes_does() {
        let at = |seconds| rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(at(1_798_761_599), "2026-12-31T23:59:59Z");
        let micros = rfc3339_micros(UNIX_EPOCH + Duration::from_millis(951_827_696_120));
        assert_eq!(micros, "2000-02-29T12:34:56.120000Z");
    }
}
