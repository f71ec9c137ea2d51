//! The way to the API server: straight, or through a proxy.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::ApiServerAddress;
use super::session::ApiSession;
use super::socks::connect_by_socks;
use crate::config::basic_authorization;
use crate::{ProxyScheme, ProxyServer};

/// How much a proxy may say before the connection begins.
const MAX_PROXY_HEAD_BYTES: usize = 16 << 10;

/// Something that can be read and written.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens a connection to the API server, still without its TLS. Errors name the proxy if there is one.
pub(super) async fn open_stream(
    address: &ApiServerAddress,
    session: &ApiSession,
) -> io::Result<Box<dyn Stream>> {
    let Some(proxy) = &address.proxy else {
        return Ok(Box::new(connect_tcp(&address.host, address.port).await?));
    };
    let opened = match proxy.scheme {
        ProxyScheme::Socks5 => {
            async {
                let mut tcp = connect_tcp(&proxy.host, proxy.port).await?;
                connect_by_socks(&mut tcp, proxy, &address.host, address.port).await?;
                Ok(Box::new(tcp) as Box<dyn Stream>)
            }
            .await
        }
        ProxyScheme::Http | ProxyScheme::Https => through_http_proxy(proxy, address, session).await,
    };
    opened.map_err(|error| io::Error::new(error.kind(), format!("proxy {proxy}: {error}")))
}

async fn through_http_proxy(
    proxy: &ProxyServer,
    address: &ApiServerAddress,
    session: &ApiSession,
) -> io::Result<Box<dyn Stream>> {
    let tcp = connect_tcp(&proxy.host, proxy.port).await?;
    let mut stream: Box<dyn Stream> = match &session.proxy_tls {
        Some(tls) => {
            let name = ServerName::try_from(proxy.host.clone()).map_err(io::Error::other)?;
            Box::new(TlsConnector::from(Arc::clone(tls)).connect(name, tcp).await?)
        }
        None => Box::new(tcp),
    };
    // Without TLS the proxy gets the requests themselves, with the whole URL.
    if address.is_tls {
        request_tunnel(&mut stream, proxy, &address.host_header()).await?;
    }
    Ok(stream)
}

async fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let tcp = TcpStream::connect((host, port)).await?;
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

/// Asks the proxy by CONNECT to pass on bytes to `target`.
async fn request_tunnel(stream: &mut Box<dyn Stream>, proxy: &ProxyServer, target: &str) -> io::Result<()> {
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: kubewright\r\n");
    if let Some((user, password)) = &proxy.credentials {
        request.push_str(&format!("Proxy-Authorization: {}\r\n", basic_authorization(user, password)));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let head = read_proxy_head(stream).await?;
    let line = head.lines().next().unwrap_or_default();
    let mut words = line.splitn(3, ' ');
    let (version, code, reason) = (words.next(), words.next(), words.next());
    let code: Option<u16> = code.and_then(|code| code.parse().ok());
    match (version, code) {
        (Some("HTTP/1.1" | "HTTP/1.0"), Some(200..=299)) => Ok(()),
        (Some("HTTP/1.1" | "HTTP/1.0"), Some(407)) if proxy.credentials.is_none() => {
            Err(io::Error::other("it asks for a user and a password (407): write them into its URL"))
        }
        (Some("HTTP/1.1" | "HTTP/1.0"), Some(407)) => {
            Err(io::Error::other("it refuses the user or the password (407)"))
        }
        (Some("HTTP/1.1" | "HTTP/1.0"), Some(code)) => {
            let reason = reason.unwrap_or_default().trim();
            Err(io::Error::other(format!("it refuses to connect to {target}: {code} {reason}")))
        }
        _ => Err(io::Error::other("what it answers is not HTTP")),
    }
}

/// Reads up to the empty line that ends the head. Nothing comes after it before we have spoken, as TLS has it.
async fn read_proxy_head(stream: &mut Box<dyn Stream>) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection"));
        }
        head.extend_from_slice(buffer.get(..count).unwrap_or_default());
        // A refusal has a body, which is of no interest.
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
        if head.len() > MAX_PROXY_HEAD_BYTES {
            return Err(io::Error::other("its answer is too long"));
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
