//! The body of an answer, in the pieces in which it arrives.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::connection::{ApiAnswer, HttpConnection, unreachable_error};
use crate::Error;

/// The body of an answer that is read while it arrives.
pub(super) struct BodyChunks {
    body: Incoming,
    connection: HttpConnection,
    server: String,
}

impl BodyChunks {
    pub(super) fn of(answer: ApiAnswer, server: &str) -> Self {
        let ApiAnswer { response, connection } = answer;
        Self { body: response.into_body(), connection, server: server.to_owned() }
    }

    /// Returns the next bytes, or `None` at the end. Nothing for as long as `idle` is an error.
    pub(super) async fn next(&mut self, idle: Duration) -> Result<Option<Bytes>, Error> {
        loop {
            let Ok(frame) = tokio::time::timeout(idle, self.body.frame()).await else {
                return Err(Error::TimedOut(idle));
            };
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(unreachable_error(&self.server, &error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Returns the connection, for others once the body was read to its end.
    pub(super) fn into_connection(self) -> HttpConnection {
        self.connection
    }
}
