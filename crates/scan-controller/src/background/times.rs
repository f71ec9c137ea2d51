//! Times as the API server writes them.

/// Returns a time such as `2024-05-01T12:00:00Z` in seconds since 1970.
pub(crate) fn seconds_of(text: &str) -> Option<i64> {
    kubewright_golib::time::parse_time("2006-01-02T15:04:05Z07:00", text).ok().map(|time| time.unix())
}

/// Returns a resource version as a number; 0 where it is none.
pub(crate) fn version_of(text: &str) -> u64 {
    text.parse().unwrap_or_default()
}
