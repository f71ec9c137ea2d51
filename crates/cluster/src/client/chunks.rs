//! The body of an answer, in the pieces in which it arrives.

use std::time::Duration;

use bytes::Bytes;

use super::body::AnswerBody;
use super::connection::{ApiAnswer, HttpConnection};
use crate::Error;

/// The body of an answer that is read while it arrives.
pub(super) struct BodyChunks {
    body: AnswerBody,
    connection: HttpConnection,
}

impl BodyChunks {
    pub(super) fn of(answer: ApiAnswer, server: &str) -> Self {
        let ApiAnswer { response, connection } = answer;
        // Who reads in pieces bounds what it keeps of them.
        Self { body: AnswerBody::new(response, usize::MAX, server), connection }
    }

    /// Returns the next bytes, or `None` at the end. Nothing for as long as `idle` is an error.
    pub(super) async fn next(&mut self, idle: Duration) -> Result<Option<Bytes>, Error> {
        match tokio::time::timeout(idle, self.body.next()).await {
            Ok(next) => next,
            Err(_) => Err(Error::TimedOut(idle)),
        }
    }

    /// Returns the connection, for others once the body was read to its end.
    pub(super) fn into_connection(self) -> HttpConnection {
        self.connection
    }
}
