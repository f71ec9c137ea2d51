//! A real API server behind proxies, and on behalf of others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kubewright_cluster::{Client, Config, Error, GroupVersionResource};
use kubewright_controlplane::TestCluster;
use kubewright_value::Value;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A proxy that knows CONNECT, and the user `ann` with the password `p@ss`.
struct ConnectProxy {
    port: u16,
    /// The first lines of the requests that it granted.
    granted: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    fn start(runtime: &Runtime, tls: Option<TlsAcceptor>) -> Self {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let granted = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&granted);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, tls) = (Arc::clone(&seen), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => pass_on(tls.accept(stream).await?, &seen).await,
                        None => pass_on(stream, &seen).await,
                    }
                });
            }
        });
        Self { port, granted }
    }
}

async fn pass_on(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    granted: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    // ann:p@ss
    if !head.contains("\r\nProxy-Authorization: Basic YW5uOnBAc3M=\r\n") {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno";
        return stream.write_all(refusal).await;
    }
    let first = head.lines().next().unwrap().to_owned();
    let target = first.split(' ').nth(1).unwrap().to_owned();
    granted.lock().unwrap().push(first);
    let Ok(mut server) = TcpStream::connect(&target).await else {
        return stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
    };
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    copy_bidirectional(&mut stream, &mut server).await.map(|_| ())
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Writes a kubeconfig of the cluster with more fields of the cluster and the user.
fn kubeconfig(cluster: &TestCluster, name: &str, server: &str, fields: [&str; 2]) -> PathBuf {
    let path = cluster.folder().join(name);
    let [cluster_fields, user_fields] = fields;
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
         clusters: [{{name: k, cluster: {{server: '{server}', {cluster_fields}}}}}],
         users: [{{name: u, user: {{token: '{}', {user_fields}}}}}]}}",
        cluster.token(),
    );
    fs::write(&path, text).unwrap();
    path
}

fn connect(path: PathBuf) -> Client {
    Client::new(Config::of_files(&[path], None).unwrap()).unwrap()
}

async fn read_default_namespace(client: &Client) -> Result<Value, Error> {
    client.get(&GroupVersionResource::new("", "v1", "namespaces").named("", "default")).await
}

#[test]
fn calls_lists_and_watches_go_through_the_proxy_of_the_kubeconfig() {
    let Some(cluster) = TestCluster::shared() else { return };
    let runtime = runtime();
    let proxy = ConnectProxy::start(&runtime, None);
    let with = |name: &str, server: &str, user: &str| {
        let fields =
            format!("certificate-authority: ca.crt, proxy-url: 'http://{user}127.0.0.1:{}'", proxy.port);
        connect(kubeconfig(cluster, name, server, [&fields, ""]))
    };
    let client = with("proxied", &cluster.server(), "ann:p%40ss@");
    let namespaces = GroupVersionResource::new("", "v1", "namespaces");
    runtime.block_on(async {
        read_default_namespace(&client).await.unwrap();
        assert!(!client.list(&namespaces.all()).await.unwrap().items.is_empty());
        let mut lines = client.watch(&with_query(&namespaces), Duration::from_secs(10)).await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap().str_at(&["type"]), "ADDED");
    });
    let address = cluster.server().replace("https://", "");
    let granted = proxy.granted.lock().unwrap().clone();
    assert_eq!(granted, vec![format!("CONNECT {address} HTTP/1.1"); granted.len()]);
    assert_eq!(granted.len(), 2, "one connection for calls, one for the watch");

    let error = runtime.block_on(read_default_namespace(&with("wrong", &cluster.server(), "ann:hidden@")));
    let want = format!("proxy http://127.0.0.1:{}: it refuses the user or the password (407)", proxy.port);
    check_unreachable(&error.unwrap_err(), &want);
    let error = runtime.block_on(read_default_namespace(&with("no-user", &cluster.server(), "")));
    check_unreachable(&error.unwrap_err(), "asks for a user and a password (407): write them into its URL");
    let error = runtime.block_on(read_default_namespace(&with("away", "https://127.0.0.1:1", "ann:p%40ss@")));
    check_unreachable(&error.unwrap_err(), "it refuses to connect to 127.0.0.1:1: 502 Bad Gateway");
    drop(proxy);
}

fn with_query(resource: &GroupVersionResource) -> kubewright_k8s::ApiPath {
    let mut path = resource.all();
    path.query.push(("watch".into(), "true".into()));
    path
}

#[track_caller]
fn check_unreachable(error: &Error, want: &str) {
    let text = error.to_string();
    assert!(matches!(error, Error::Unreachable { .. }) && text.ends_with(want), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

#[test]
fn a_proxy_may_speak_tls_with_a_certificate_of_the_kubeconfig() {
    let Some(cluster) = TestCluster::shared() else { return };
    let runtime = runtime();
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    let proxy = ConnectProxy::start(&runtime, Some(TlsAcceptor::from(Arc::new(config))));
    let authorities = format!("{}\n{}", fs::read_to_string(cluster.ca()).unwrap(), signed.cert.pem());
    fs::write(cluster.folder().join("both.crt"), authorities).unwrap();
    let with = |name: &str, authority: &str| {
        let proxy = format!("proxy-url: 'https://ann:p%40ss@localhost:{}'", proxy.port);
        let fields = format!("certificate-authority: {authority}, {proxy}");
        connect(kubeconfig(cluster, name, &cluster.server(), [&fields, ""]))
    };
    runtime.block_on(read_default_namespace(&with("tls-proxied", "both.crt"))).unwrap();
    fs::copy(cluster.ca(), cluster.folder().join("only.crt")).unwrap();
    let error = runtime.block_on(read_default_namespace(&with("tls-untrusted", "only.crt"))).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&format!("proxy https://localhost:{}: invalid peer certificate", proxy.port)),
        "{text}"
    );
}

/// Passes on what comes for `/k8s/clusters/c-abc`, without it, to the API server.
async fn strip_prefix(mut stream: TcpStream, address: String, tls: TlsConnector) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("GET /k8s/clusters/c-abc/api/v1/"), "{head}");
    // One request a connection, so that no further head has to be found.
    let head = head.replacen("/k8s/clusters/c-abc", "", 1).replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut server = tls.connect(name, TcpStream::connect(address).await?).await?;
    server.write_all(head.as_bytes()).await?;
    copy_bidirectional(&mut stream, &mut server).await.map(|_| ())
}

#[test]
fn the_api_server_may_be_below_a_path_of_another_server() {
    let Some(cluster) = TestCluster::shared() else { return };
    let runtime = runtime();
    let mut roots = RootCertStore::empty();
    let authority = fs::read(cluster.ca()).unwrap();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&authority).flatten());
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tls = TlsConnector::from(Arc::new(config));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = cluster.server().replace("https://", "");
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(strip_prefix(stream, address.clone(), tls.clone()));
        }
    });
    let server = format!("http://127.0.0.1:{port}/k8s/clusters/c-abc");
    let client = connect(kubeconfig(cluster, "below", &server, ["", ""]));
    let namespaces = GroupVersionResource::new("", "v1", "namespaces");
    runtime.block_on(async {
        read_default_namespace(&client).await.unwrap();
        assert!(!client.list(&namespaces.all()).await.unwrap().items.is_empty());
        let mut lines = client.watch(&with_query(&namespaces), Duration::from_secs(10)).await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap().str_at(&["type"]), "ADDED");
    });
}

#[test]
fn the_api_server_sees_the_user_to_act_as() {
    let Some(cluster) = TestCluster::shared() else { return };
    let authority = format!("certificate-authority: '{}'", cluster.ca().display());
    let runtime = runtime();
    let acting = |name: &str, user: &str| {
        runtime.block_on(read_default_namespace(&connect(kubeconfig(
            cluster,
            name,
            &cluster.server(),
            [&authority, user],
        ))))
    };
    let error = acting("as-ann", "as: ann").unwrap_err();
    assert!(error.is_forbidden() && error.to_string().contains(r#"User "ann" cannot get"#), "{error}");
    let groups =
        "as: ann, as-groups: ['system:masters'], as-uid: '7', as-user-extra: {example.com/team: [a, b]}";
    acting("as-admin", groups).unwrap();
}
