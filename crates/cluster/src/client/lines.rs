//! The events of a watch: one JSON value a line, for as long as it lasts.

use std::time::Duration;

use kubewright_value::{Value, json};

use super::chunks::BodyChunks;
use super::connection::ApiAnswer;
use crate::Error;

/// The events of a watch.
pub struct WatchLines {
    chunks: BodyChunks,
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    // INVARIANT: there is no end of a line between `start` and `looked_at`.
    looked_at: usize,
    limit: usize,
    idle: Duration,
}

impl std::fmt::Debug for WatchLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lines")
    }
}

impl WatchLines {
    pub(super) fn of(answer: ApiAnswer, limit: usize, idle: Duration, server: &str) -> Self {
        let chunks = BodyChunks::of(answer, server);
        Self { chunks, bytes: Vec::new(), start: 0, looked_at: 0, limit, idle }
    }

    /// Changes for how long nothing may come.
    pub(crate) fn set_idle(&mut self, idle: Duration) {
        self.idle = idle;
    }

    /// Returns the next event, or `None` at the end. A call that is cancelled loses nothing.
    ///
    /// # Errors
    /// When the connection breaks, nothing comes for too long, or an event is too large or no JSON.
    pub async fn next(&mut self) -> Result<Option<Value>, Error> {
        let limit = self.limit;
        loop {
            while let Some(line) = self.line() {
                if line.len() > limit {
                    return Err(Error::TooLarge(limit));
                }
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let text = std::str::from_utf8(line).map_err(|error| Error::Unreadable(error.to_string()))?;
                return json::parse(text).map(Some).map_err(|error| Error::Unreadable(error.to_string()));
            }
            if self.bytes.len() - self.start > limit {
                return Err(Error::TooLarge(limit));
            }
            match self.chunks.next(self.idle).await? {
                None => return Ok(None),
                Some(chunk) => self.push(&chunk),
            }
        }
    }

    /// Takes the first whole line.
    fn line(&mut self) -> Option<&[u8]> {
        let fresh = self.bytes.get(self.looked_at..).unwrap_or_default();
        match fresh.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                let (start, end) = (self.start, self.looked_at + end + 1);
                (self.start, self.looked_at) = (end, end);
                self.bytes.get(start..end)
            }
            None => {
                self.looked_at = self.bytes.len();
                None
            }
        }
    }

    /// Adds bytes behind those of the line that has begun; whole lines were taken before.
    fn push(&mut self, chunk: &[u8]) {
        self.bytes.drain(..self.start);
        self.looked_at -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(chunk);
    }
}
