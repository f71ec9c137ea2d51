//! Clients that must have a certificate: the API server has one, the neighbour has none.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kubewright_controlplane::{Balancer, ControlPlaneComponent, TestCluster};
use kubewright_serve::ServeSettings;
use kubewright_serve::certificates::CertificateKeys;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::replica::{POLICY, Replica, get, settings};

/// The files of an API server that shows a certificate to webhooks; removed when this is dropped.
struct ClientFiles(PathBuf);

impl ClientFiles {
    fn write() -> Self {
        let folder = std::env::temp_dir().join(format!("kubewright-clients-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let files = Self(folder);
        let authority_key = KeyPair::generate().expect("a key");
        let mut authority = CertificateParams::new(Vec::new()).expect("names");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = authority.self_signed(&authority_key).expect("a certificate");
        files.save("ca.crt", &certificate.pem());
        let issuer = Issuer::new(authority, authority_key);
        let mut client = CertificateParams::new(vec!["kube-apiserver".to_owned()]).expect("names");
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = client.signed_by(&key, &issuer).expect("a certificate");
        files.save("client.crt", &certificate.pem());
        files.save("client.key", &key.serialize_pem());
        files.save("kubeconfig", &files.kubeconfig());
        files.save("admission.yaml", &files.admission_configuration());
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn save(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn kubeconfig(&self) -> String {
        let (certificate, key) = (self.path("client.crt"), self.path("client.key"));
        format!(
            "apiVersion: v1\nkind: Config\nusers:\n- name: '*'\n  user: {{client-certificate: {}, client-key: {}}}\n",
            certificate.display(),
            key.display()
        )
    }

    fn admission_configuration(&self) -> String {
        let kubeconfig = self.path("kubeconfig");
        let plugin = |name: &str| {
            format!(
                "- name: {name}\n  configuration: {{apiVersion: apiserver.config.k8s.io/v1, \
                 kind: WebhookAdmissionConfiguration, kubeConfigFile: {}}}\n",
                kubeconfig.display()
            )
        };
        let plugins = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"].map(plugin).concat();
        format!("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n{plugins}")
    }
}

impl Drop for ClientFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Asks for a review without a certificate, and returns the first bytes of the answer.
///
/// # Errors
/// When the connection is refused or closed.
fn ask_without_a_certificate(address: SocketAddr, bundle: &str) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| error.to_string();
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(authority.expect("a certificate")).expect("an authority");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).map_err(said)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(said)?;
    let mut stream = StreamOwned::new(connection, stream);
    stream.write_all(b"GET /validate HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").map_err(said)?;
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).map_err(said)?;
    Ok(answer)
}

fn bundle(cluster: &TestCluster) -> String {
    let secret = get(cluster, &["secret", "known-tls", "-n", "known"]).expect("the certificates");
    CertificateKeys::of(&secret).bundle()
}

#[test]
fn only_a_client_with_a_certificate_is_served() {
    let files = ClientFiles::write();
    let flag = format!("--admission-control-config-file={}", files.path("admission.yaml").display());
    let builder = TestCluster::builder().api_server_only().flag(ControlPlaneComponent::ApiServer, &flag);
    let Some(cluster) = builder.start() else { return };
    cluster.create_namespace("known");
    let balancer = Balancer::start().expect("a balancer");
    let start = |client_ca: Option<&Path>| {
        let client_ca = client_ca.map(Path::to_owned);
        let settings = ServeSettings { client_ca, ..settings(&balancer, "known", "known") };
        Replica::start(&cluster, &balancer, settings, POLICY)
    };
    let asks = |replica: &Replica| ask_without_a_certificate(replica.address, &bundle(&cluster));
    let replica = start(Some(&files.path("ca.crt")));
    let agent = || {
        let labelled = "{apiVersion: v1, kind: ConfigMap, metadata: {name: agent, labels: {agent: 'yes'}}}";
        cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], labelled)
    };
    cluster.wait_until("the API server is served", || agent().stderr.contains("agents are not welcome"));
    let refused = asks(&replica).expect_err("a neighbour is not served");
    assert!(refused.contains("CertificateRequired"), "{refused}");
    drop(replica);

    // The same neighbour is answered by a server that asks for no certificate.
    let open = start(None);
    cluster.wait_until("the open server has its certificate", || {
        asks(&open).is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 "))
    });
}

#[test]
fn authorities_that_cannot_be_read_are_refused_at_the_start() {
    let balancer = Balancer::start().expect("a balancer");
    let files =
        ClientFiles(std::env::temp_dir().join(format!("kubewright-no-clients-{}", std::process::id())));
    fs::create_dir_all(&files.0).expect("a folder");
    files.save("empty.crt", "nothing");
    for (name, expected) in [("empty.crt", "it contains no certificate"), ("missing.crt", "No such file")] {
        let settings =
            ServeSettings { client_ca: Some(files.path(name)), ..settings(&balancer, "known", "known") };
        let (notices, _told) = tokio::sync::mpsc::channel(1);
        let state = Arc::new(kubewright_serve::ServerState::new(settings, notices));
        let resolver = state.certificates.resolver();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let ended = runtime.block_on(async {
            let server = kubewright_serve::WebhookServer::bind(state).expect("addresses");
            server.serve(resolver, std::future::ready(())).await
        });
        let told = ended.expect_err("it cannot begin").to_string();
        assert!(told.contains(expected) && told.contains(name), "{told}");
    }
}
