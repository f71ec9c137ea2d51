use std::future::poll_fn;
use std::io::{Read as _, Write as _};

use tokio::net::TcpListener;

use super::*;

impl SocketStream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

/// A connection on which something was asked, and its client.
async fn asked() -> (ObservedStream<TcpStream>, Arc<ConnectionUsage>, std::net::TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let usage = Arc::<ConnectionUsage>::default();
    drop(usage.begin());
    (ObservedStream::new(stream, &usage), usage, client)
}

/// Reads once, without waiting, and returns what came; `None` if it would have to wait.
async fn read_once(stream: &mut ObservedStream<TcpStream>) -> Option<Vec<u8>> {
    poll_fn(|context| {
        let mut bytes = [0; 64];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut *stream).poll_read(context, &mut buffer);
        Poll::Ready(read.is_ready().then(|| buffer.filled().to_vec()))
    })
    .await
}

#[tokio::test]
async fn an_idle_connection_ends_when_it_is_to() {
    let (mut stream, usage, _client) = asked().await;
    assert_eq!(read_once(&mut stream).await, None);
    usage.end_when_idle();
    assert_eq!(read_once(&mut stream).await, Some(Vec::new()));
}

#[tokio::test]
async fn a_request_that_the_runtime_has_not_heard_of_is_read() {
    let (mut stream, usage, mut client) = asked().await;
    assert_eq!(read_once(&mut stream).await, None);
    client.write_all(b"POST").unwrap();
    usage.end_when_idle();
    // Nothing was awaited in between, so that the runtime could not ask the system.
    assert_eq!(read_once(&mut stream).await, None);
    let mut bytes = [0; 4];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut bytes).await.unwrap();
    assert_eq!(&bytes, b"POST");
    assert_eq!(read_once(&mut stream).await, None, "the rest of the request is on its way");
}

#[tokio::test]
async fn a_request_under_way_is_not_cut_off() {
    let (mut stream, usage, client) = asked().await;
    let under_way = usage.begin();
    usage.end_when_idle();
    assert_eq!(read_once(&mut stream).await, None);
    drop(under_way);
    assert_eq!(read_once(&mut stream).await, Some(Vec::new()));
    drop(stream);
    let mut client = client;
    assert_eq!(client.read(&mut [0; 8]).unwrap(), 0, "the client sees the end");
}
