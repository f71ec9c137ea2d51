//! Durations: the shared type, with Go's words for what is wrong.

use kubewright_value::duration::{Duration, DurationError};

/// Writes nanoseconds as Go's `Duration.String`.
#[must_use]
pub fn format_duration(nanoseconds: i64) -> String {
    Duration::from_nanoseconds(nanoseconds).to_string()
}

/// Reads a duration as Go's `ParseDuration`, into nanoseconds.
///
/// # Errors
/// When it is not a duration, in Go's words.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    Duration::parse(text).map(Duration::nanoseconds).map_err(|error| match error {
        DurationError::Syntax | DurationError::TooLong => format!("time: invalid duration {text:?}"),
        DurationError::MissingUnit => format!("time: missing unit in duration {text:?}"),
        DurationError::UnknownUnit => format!("time: unknown unit in duration {text:?}"),
    })
}
