//! The events of a watch: one JSON value a line, for as long as it lasts.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use kubewright_value::{Value, json};

use super::connection::{ApiAnswer, HttpConnection, unreachable_error};
use crate::Error;

/// The events of a watch.
pub struct WatchLines {
    body: Incoming,
    _connection: HttpConnection,
    // INVARIANT: there is no end of a line before `looked_at`.
    bytes: Vec<u8>,
    looked_at: usize,
    limit: usize,
    idle: Duration,
    server: String,
}

impl std::fmt::Debug for WatchLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lines")
    }
}

impl WatchLines {
    pub(super) fn of(answer: ApiAnswer, limit: usize, idle: Duration, server: &str) -> Self {
        let ApiAnswer { response, connection } = answer;
        Self {
            body: response.into_body(),
            _connection: connection,
            bytes: Vec::new(),
            looked_at: 0,
            limit,
            idle,
            server: server.to_owned(),
        }
    }

    /// Returns the next event, or `None` at the end.
    ///
    /// # Errors
    /// When the connection breaks, nothing comes for too long, or an event is too large or no JSON.
    pub async fn next(&mut self) -> Result<Option<Value>, Error> {
        loop {
            if let Some(line) = self.line() {
                if line.len() > self.limit {
                    return Err(Error::TooLarge(self.limit));
                }
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let text =
                    std::str::from_utf8(&line).map_err(|error| Error::Unreadable(error.to_string()))?;
                return json::parse(text).map(Some).map_err(|error| Error::Unreadable(error.to_string()));
            }
            if self.bytes.len() > self.limit {
                return Err(Error::TooLarge(self.limit));
            }
            let Ok(frame) = tokio::time::timeout(self.idle, self.body.frame()).await else {
                return Err(Error::TimedOut(self.idle));
            };
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(unreachable_error(&self.server, &error)),
                Some(Ok(frame)) => self.bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            }
        }
    }

    /// Takes the first whole line.
    fn line(&mut self) -> Option<Vec<u8>> {
        let fresh = self.bytes.get(self.looked_at..).unwrap_or_default();
        match fresh.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                let rest = self.bytes.split_off(self.looked_at + end + 1);
                self.looked_at = 0;
                Some(std::mem::replace(&mut self.bytes, rest))
            }
            None => {
                self.looked_at = self.bytes.len();
                None
            }
        }
    }
}
