//! SOCKS version 5 (RFC 1928) with user and password (RFC 1929).

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::ProxyServer;

const SOCKS_VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USERNAME_PASSWORD: u8 = 2;
const CONNECT_COMMAND: u8 = 1;
const IPV4_ADDRESS: u8 = 1;
const DOMAIN_NAME: u8 = 3;
const IPV6_ADDRESS: u8 = 4;

/// Asks the proxy at the other end of `stream` to connect to `host`, a name that it resolves itself.
pub(super) async fn connect_by_socks(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &ProxyServer,
    host: &str,
    port: u16,
) -> io::Result<()> {
    choose_method(stream, proxy).await?;
    let mut request = vec![SOCKS_VERSION, CONNECT_COMMAND, 0];
    match host.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            request.push(IPV4_ADDRESS);
            request.extend(address.octets());
        }
        Ok(std::net::IpAddr::V6(address)) => {
            request.push(IPV6_ADDRESS);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(DOMAIN_NAME);
            push_counted(&mut request, host, "the name of the API server")?;
        }
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    read_reply(stream).await
}

async fn choose_method(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &ProxyServer,
) -> io::Result<()> {
    match proxy.credentials {
        Some(_) => stream.write_all(&[SOCKS_VERSION, 2, NO_AUTHENTICATION, USERNAME_PASSWORD]).await?,
        None => stream.write_all(&[SOCKS_VERSION, 1, NO_AUTHENTICATION]).await?,
    }
    let (version, method) = (stream.read_u8().await?, stream.read_u8().await?);
    match (version, method, &proxy.credentials) {
        (SOCKS_VERSION, NO_AUTHENTICATION, _) => Ok(()),
        (SOCKS_VERSION, USERNAME_PASSWORD, Some((user, password))) => {
            let mut request = vec![1];
            push_counted(&mut request, user, "the user")?;
            push_counted(&mut request, password, "the password")?;
            stream.write_all(&request).await?;
            let (_, status) = (stream.read_u8().await?, stream.read_u8().await?);
            if status == 0 { Ok(()) } else { Err(io::Error::other("it refuses the user or the password")) }
        }
        (SOCKS_VERSION, ..) => {
            Err(io::Error::other("it asks for a user and a password: write them into its URL"))
        }
        _ => Err(io::Error::other("what it answers is not SOCKS version 5")),
    }
}

/// Reads whether the proxy is connected, and where from, which is of no interest.
async fn read_reply(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, status, _, kind] = head;
    if version != SOCKS_VERSION {
        return Err(io::Error::other("what it answers is not SOCKS version 5"));
    }
    let why = match status {
        0 => None,
        2 => Some("its rules do not allow the connection"),
        3 => Some("network unreachable"),
        4 => Some("host unreachable"),
        5 => Some("connection refused"),
        _ => Some("it cannot connect"),
    };
    if let Some(why) = why {
        return Err(io::Error::other(format!("{why} (SOCKS status {status})")));
    }
    let length = match kind {
        IPV4_ADDRESS => 4,
        IPV6_ADDRESS => 16,
        _ => usize::from(stream.read_u8().await?),
    };
    let mut bound = vec![0; length + 2];
    stream.read_exact(&mut bound).await?;
    Ok(())
}

fn push_counted(request: &mut Vec<u8>, text: &str, what: &str) -> io::Result<()> {
    let length = u8::try_from(text.len());
    request.push(length.map_err(|_| io::Error::other(format!("{what} is longer than 255 bytes")))?);
    request.extend(text.bytes());
    Ok(())
}
