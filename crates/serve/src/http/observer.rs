//! The stream of a connection of HTTP/1.1, as the server of it sees it.
//!
//! It notes when something comes that is no part of a request that is known already, and ends when it is to, but never with
//! a request that the system has received and the runtime has not heard of: the client could not know that it was not read,
//! and does not repeat a POST.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::connections::ConnectionUsage;

/// A connection of HTTP/1.1.
pub(crate) struct ObservedStream<S> {
    stream: S,
    usage: Arc<ConnectionUsage>,
}

impl<S> ObservedStream<S> {
    pub(crate) fn new(stream: S, usage: &Arc<ConnectionUsage>) -> Self {
        Self { stream, usage: Arc::clone(usage) }
    }
}

/// What has a socket of the system below it.
pub(crate) trait SocketStream {
    fn socket(&self) -> &TcpStream;
}

impl SocketStream for TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl<S: AsyncRead + SocketStream + Unpin> AsyncRead for ObservedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.usage.receives();
        }
        if read.is_pending() && self.usage.ends_now() && !has_received(self.stream.socket()) {
            return Poll::Ready(Ok(()));
        }
        read
    }
}

/// Whether the system has something for the reader of `socket`. The runtime only knows what was there when it asked last.
fn has_received(socket: &TcpStream) -> bool {
    let mut byte = [std::mem::MaybeUninit::uninit()];
    SockRef::from(socket).peek(&mut byte).is_ok_and(|count| count > 0)
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ObservedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
