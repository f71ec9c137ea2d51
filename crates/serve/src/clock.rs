//! Times as Kubernetes writes them.

use std::time::SystemTime;

/// Returns `time` as RFC 3339 in UTC, in whole seconds.
pub(crate) fn text(time: SystemTime) -> String {
    let mut text = String::new();
    crate::log::push_time(&mut text, time);
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_time_is_written_as_kubernetes_does() {
        let at = |seconds| text(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(at(1_798_761_599), "2026-12-31T23:59:59Z");
    }
}
