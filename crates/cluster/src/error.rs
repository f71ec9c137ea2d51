//! Why a call failed.

use std::fmt;
use std::time::Duration;

use kubewright_value::{Value, json};
use thiserror::Error;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// It is not known where the API server is or who asks.
    #[error("{0}")]
    Config(String),
    /// No connection, or one that broke.
    #[error("cannot reach the API server at {server}: {why}")]
    Unreachable {
        /// The address.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// No answer in time.
    #[error("the API server did not answer within {0:?}")]
    TimedOut(Duration),
    /// An answer that is larger than the caller takes.
    #[error("the answer of the API server is larger than {0} bytes")]
    TooLarge(usize),
    /// An answer that is not what was asked for.
    #[error("the answer of the API server cannot be read: {0}")]
    Unreadable(String),
    /// The API server says no.
    #[error(transparent)]
    Status(#[from] ApiStatus),
}

/// What the API server says when it does not do what it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Error)]
#[error("{message}{}", RetryHint(*retry_after))]
pub struct ApiStatus {
    /// The HTTP status.
    pub code: u16,
    /// The reason in one word, such as `NotFound` or `AlreadyExists`; may be empty.
    pub reason: String,
    /// What it says.
    pub message: String,
    /// How long the API server asks to wait before the call is repeated.
    pub retry_after: Option<Duration>,
    /// Where a list whose pages have expired (410) goes on, with the objects as they are now; mostly empty.
    pub continue_token: String,
}

/// The end of a message: how long the API server asks to wait.
struct RetryHint(Option<Duration>);

impl fmt::Display for RetryHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, " (it asks to retry after {} s)", wait.as_secs()),
            None => Ok(()),
        }
    }
}

impl Error {
    /// Returns the HTTP status, if the API server gave one.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status.code),
            _ => None,
        }
    }

    /// Returns how long the API server asks to wait before the call is repeated, if it does.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status(status) => status.retry_after,
            _ => None,
        }
    }

    /// Returns whether the object or the resource is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Returns whether the write conflicts: the object has changed, or exists already.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// Returns whether the object is there already.
    #[must_use]
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::Status(status) if status.reason == "AlreadyExists")
    }

    /// Returns whether the version from which a watch or a list should go on is forgotten.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code() == Some(410)
    }

    /// Returns whether the object is not valid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.code() == Some(422)
    }

    /// Returns whether the client is not allowed to do this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }
}

impl ApiStatus {
    /// Reads the body of an answer with the status `code`.
    pub(crate) fn of_answer(code: u16, body: &str) -> Self {
        match json::parse(body) {
            Ok(value) if value.get("kind").and_then(Value::as_str) == Some("Status") => {
                Self { code, ..Self::of_object(&value) }
            }
            _ => {
                let start: String = body.chars().take(200).collect();
                let message = match start.trim() {
                    "" => format!("the API server answered with {code}"),
                    text => format!("the API server answered with {code}: {text}"),
                };
                Self { code, message, ..Self::default() }
            }
        }
    }

    /// Reads a `Status` object.
    pub(crate) fn of_object(value: &Value) -> Self {
        let text = |key| value.str_at(&[key]).to_owned();
        let code = value.get("code").and_then(Value::as_i64).and_then(|code| u16::try_from(code).ok());
        let seconds = value.at(&["details", "retryAfterSeconds"]).and_then(Value::as_i64);
        let mut status = Self {
            code: code.unwrap_or_default(),
            reason: text("reason"),
            message: text("message"),
            retry_after: seconds
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            continue_token: value.str_at(&["metadata", "continue"]).to_owned(),
        };
        if status.message.is_empty() {
            status.message = format!("the API server answered with {} {}", status.code, status.reason);
        }
        status
    }
}
