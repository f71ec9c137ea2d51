//! The body of a response, sent in parts, so that it counts as memory until the client has read it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::connections::RequestGuard;

/// How much is handed to the connection at once.
const PART_BYTES: usize = 64 << 10;

/// The body of an answer. The request is under way, and `H` is held, until it is sent.
#[derive(Debug)]
pub(crate) struct ResponseBody<H> {
    bytes: Bytes,
    _under_way: RequestGuard,
    _held: H,
}

impl<H> ResponseBody<H> {
    pub(crate) fn new(bytes: Bytes, under_way: RequestGuard, held: H) -> Self {
        under_way.answers();
        Self { bytes, _under_way: under_way, _held: held }
    }
}

impl<H: Unpin> Body for ResponseBody<H> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.bytes.len().min(PART_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
