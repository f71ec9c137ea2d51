//! The body of an answer, decompressed as it arrives.

use std::io::{self, Write};
use std::mem;

use bytes::Bytes;
use flate2::write::GzDecoder;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::CONTENT_ENCODING;

use super::connection::unreachable_error;
use crate::Error;

/// The body of an answer: at most `limit` bytes, counted after decompression, so that a small answer cannot become a
/// large one in memory.
pub(super) struct AnswerBody {
    frames: Incoming,
    decoder: BodyDecoder,
    server: String,
}

/// What is known about the bytes that came so far.
enum BodyDecoder {
    Plain { left: usize, limit: usize },
    Gzip(Box<GzDecoder<BoundedBuffer>>),
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
    /// Reads the body of `response`.
    ///
    /// # Errors
    /// When it is compressed in a way that was not asked for.
    pub(super) fn new(response: Response<Incoming>, limit: usize, server: &str) -> Result<Self, Error> {
        let encoding =
            response.headers().get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
        let decoder = match encoding.as_deref() {
            None | Some(b"" | b"identity") => BodyDecoder::Plain { left: limit, limit },
            Some(b"gzip" | b"x-gzip") => BodyDecoder::gzip(limit),
            Some(other) => {
                let name = String::from_utf8_lossy(other).into_owned();
                return Err(Error::Unreadable(format!("it has the unknown Content-Encoding `{name}`")));
            }
        };
        Ok(Self { frames: response.into_body(), decoder, server: server.to_owned() })
    }

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    /// When the connection breaks, there are more bytes than the limit, or they cannot be decompressed.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let bytes = match self.frames.frame().await {
                None => match self.decoder.finish()? {
                    Some(rest) if !rest.is_empty() => return Ok(Some(rest)),
                    _ => return Ok(None),
                },
                Some(Err(error)) => return Err(unreachable_error(&self.server, &error)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.decoder.decode(data)?,
                    Err(_) => continue,
                },
            };
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
        }
    }
}

impl BodyDecoder {
    fn gzip(limit: usize) -> Self {
        let buffer = BoundedBuffer { bytes: Vec::new(), left: limit, limit, is_full: false };
        Self::Gzip(Box::new(GzDecoder::new(buffer)))
    }

    fn decode(&mut self, data: Bytes) -> Result<Bytes, Error> {
        match self {
            Self::Plain { left, limit } => {
                *left = left.checked_sub(data.len()).ok_or(Error::TooLarge(*limit))?;
                Ok(data)
            }
            Self::Gzip(decoder) => {
                let written = decoder.write_all(&data);
                decoder.get_mut().take_decoded(written)
            }
            Self::Ended => Err(Error::Unreadable("it goes on after its end".to_owned())),
        }
    }

    /// Returns what was held back, once; checks the length and the checksum.
    fn finish(&mut self) -> Result<Option<Bytes>, Error> {
        match mem::replace(self, Self::Ended) {
            Self::Plain { .. } | Self::Ended => Ok(None),
            Self::Gzip(mut decoder) => {
                let finished = decoder.try_finish();
                decoder.get_mut().take_decoded(finished).map(Some)
            }
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
