//! The body of an answer, decompressed as it arrives.

use std::io::{self, Write};
use std::mem;

use bytes::Bytes;
use flate2::write::GzDecoder;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, HeaderValue};

use super::connection::unreachable_error;
use crate::Error;

/// How many compressed bytes are taken at once. They become at most about a thousand times as many.
const GZIP_INPUT_BYTES: usize = 4 << 10;

/// The body of an answer: at most `limit` bytes, counted after decompression, so that a small answer cannot become a
/// large one in memory. Pieces of it have at most some MiB.
pub(super) struct AnswerBody {
    frames: Incoming,
    /// What has arrived and was not decoded yet.
    pending: Bytes,
    decoder: BodyDecoder,
    server: String,
}

/// What is known about the bytes that came so far.
enum BodyDecoder {
    Plain { left: usize, limit: usize },
    Gzip(Box<GzDecoder<BoundedBuffer>>),
    Unknown(String),
    Ended,
}

/// What was decompressed and not taken yet.
struct BoundedBuffer {
    bytes: Vec<u8>,
    left: usize,
    limit: usize,
    is_full: bool,
}

impl AnswerBody {
    pub(super) fn new(response: Response<Incoming>, limit: usize, server: &str) -> Self {
        let encoding =
            response.headers().get(CONTENT_ENCODING).map(HeaderValue::as_bytes).unwrap_or_default();
        let decoder = match encoding.to_ascii_lowercase().as_slice() {
            b"" | b"identity" => BodyDecoder::Plain { left: limit, limit },
            b"gzip" | b"x-gzip" => BodyDecoder::gzip(limit),
            other => BodyDecoder::Unknown(String::from_utf8_lossy(other).into_owned()),
        };
        Self { frames: response.into_body(), pending: Bytes::new(), decoder, server: server.to_owned() }
    }

    /// Returns the next bytes, or `None` at the end. A call that is cancelled loses nothing.
    ///
    /// # Errors
    /// When the connection breaks, there are more bytes than the limit, or they cannot be decompressed.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            while !self.pending.is_empty() {
                let decoded = self.decoder.decode(&mut self.pending)?;
                if !decoded.is_empty() {
                    return Ok(Some(decoded));
                }
            }
            match self.frames.frame().await {
                None => return Ok(self.decoder.finish()?.filter(|rest| !rest.is_empty())),
                Some(Err(error)) => return Err(unreachable_error(&self.server, &error)),
                Some(Ok(frame)) => self.pending = frame.into_data().unwrap_or_default(),
            }
        }
    }
}

impl BodyDecoder {
    fn gzip(limit: usize) -> Self {
        let buffer = BoundedBuffer { bytes: Vec::new(), left: limit, limit, is_full: false };
        Self::Gzip(Box::new(GzDecoder::new(buffer)))
    }

    /// Takes some of `pending` and returns what that gives, which may be nothing.
    fn decode(&mut self, pending: &mut Bytes) -> Result<Bytes, Error> {
        match self {
            Self::Plain { left, limit } => {
                *left = left.checked_sub(pending.len()).ok_or(Error::TooLarge(*limit))?;
                Ok(mem::take(pending))
            }
            Self::Gzip(decoder) => {
                let data = pending.split_to(pending.len().min(GZIP_INPUT_BYTES));
                let written = decoder.write_all(&data);
                decoder.get_mut().take_decoded(written)
            }
            Self::Unknown(name) => {
                Err(Error::Unreadable(format!("it has the unknown Content-Encoding `{name}`")))
            }
            Self::Ended => Err(Error::Unreadable("it goes on after its end".to_owned())),
        }
    }

    /// Returns what was held back, once; checks the length and the checksum.
    fn finish(&mut self) -> Result<Option<Bytes>, Error> {
        match mem::replace(self, Self::Ended) {
            Self::Gzip(mut decoder) => {
                let finished = decoder.try_finish();
                decoder.get_mut().take_decoded(finished).map(Some)
            }
            Self::Plain { .. } | Self::Unknown(_) | Self::Ended => Ok(None),
        }
    }
}

impl BoundedBuffer {
    fn take_decoded(&mut self, written: io::Result<()>) -> Result<Bytes, Error> {
        match written {
            Ok(()) => Ok(mem::take(&mut self.bytes).into()),
            Err(_) if self.is_full => Err(Error::TooLarge(self.limit)),
            Err(error) => Err(Error::Unreadable(format!("it cannot be decompressed: {error}"))),
        }
    }
}

impl Write for BoundedBuffer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(data.len()) {
            Some(left) => self.left = left,
            None => {
                self.is_full = true;
                return Err(io::Error::other("larger than the limit"));
            }
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
