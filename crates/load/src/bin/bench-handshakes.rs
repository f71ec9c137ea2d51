//! What a TLS 1.3 handshake costs, for each cryptography library and key exchange that is built in.
//!
//! Two threads shake hands over loopback without resumption, with an ECDSA P-256 certificate, as an API server and the
//! webhook do. The CPU time of each thread is counted, so that a busy machine gives nearly the same figure.
//! docs/cryptography.md has the figures beside those of aws-lc-rs. To measure it again, enable rustls' feature
//! `aws_lc_rs` for this crate and add `rustls::crypto::aws_lc_rs::default_provider()` to `rows`.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

const HOST: &str = "webhook.example.com";

/// Counts the CPU time of TLS handshakes.
#[derive(Parser)]
struct Arguments {
    /// How many handshakes each row takes
    #[arg(long, default_value_t = 2000)]
    handshakes: u32,
}

/// One row: a library, offering one key exchange.
struct Row {
    library: &'static str,
    provider: CryptoProvider,
}

/// The CPU time of a handshake at both ends.
struct HandshakeCost {
    client: Duration,
    server: Duration,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    println!("library      key exchange      client µs   server µs   server handshakes/s and core");
    for row in rows() {
        let exchange =
            row.provider.kx_groups.first().map_or_else(String::new, |kx| format!("{:?}", kx.name()));
        let cost = measure(&Arc::new(row.provider), arguments.handshakes)?;
        let [client, server] = [cost.client, cost.server].map(|time| time.as_secs_f64() * 1e6);
        println!("{:<12} {exchange:<15} {client:>11.1} {server:>11.1} {:>18.0}", row.library, 1e6 / server);
    }
    Ok(())
}

fn rows() -> Vec<Row> {
    let libraries = [("ring", rustls::crypto::ring::default_provider())];
    let each = |(library, provider): (&'static str, CryptoProvider)| {
        let groups: Vec<&'static dyn SupportedKxGroup> = provider.kx_groups.clone();
        let of_group = move |group| Row {
            library,
            provider: CryptoProvider { kx_groups: vec![group], ..provider.clone() },
        };
        groups.into_iter().map(of_group)
    };
    libraries.into_iter().flat_map(each).collect()
}

fn measure(provider: &Arc<CryptoProvider>, handshakes: u32) -> io::Result<HandshakeCost> {
    let (client, server) = configs(provider).map_err(io::Error::other)?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let answering = std::thread::spawn(move || {
        per_handshake(handshakes, || {
            let (mut stream, _) = listener.accept()?;
            let mut connection = ServerConnection::new(Arc::clone(&server)).map_err(io::Error::other)?;
            connection.complete_io(&mut stream).map(|_| ())
        })
    });
    let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
    let client = per_handshake(handshakes, || {
        let mut stream = TcpStream::connect(address)?;
        let mut connection =
            ClientConnection::new(Arc::clone(&client), name.clone()).map_err(io::Error::other)?;
        connection.complete_io(&mut stream)?;
        // Waits until the server has closed, so that its last bytes are not refused.
        io::copy(&mut stream, &mut io::sink()).map(|_| ())
    })?;
    let server = answering.join().map_err(|_| io::Error::other("the server panicked"))??;
    Ok(HandshakeCost { client, server })
}

/// Returns the CPU time of this thread for one `handshake`, as the mean of `count`.
fn per_handshake(count: u32, mut handshake: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    let before = thread_cpu()?;
    for _ in 0..count {
        handshake()?;
    }
    Ok((thread_cpu()? - before) / count.max(1))
}

fn thread_cpu() -> io::Result<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().and_then(|field| field.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::Error::other("unreadable schedstat"))
}

type Configs = (Arc<ClientConfig>, Arc<ServerConfig>);

fn configs(provider: &Arc<CryptoProvider>) -> Result<Configs, Box<dyn std::error::Error + Send + Sync>> {
    let issued = rcgen::generate_simple_self_signed([HOST.to_owned()])?;
    let certificate = CertificateDer::from(issued.cert.der().to_vec());
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der())?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let mut client = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.resumption = Resumption::disabled();
    let mut server = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    server.send_tls13_tickets = 0;
    Ok((Arc::new(client), Arc::new(server)))
}
