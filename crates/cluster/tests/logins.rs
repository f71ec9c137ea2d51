//! Who asks: tokens that change, programs, certificates.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cluster::{Client, Config, Error, GroupVersionResource, Login, PemSource};
use kubewright_controlplane::{ControlPlaneComponent, TestCluster};
use kubewright_value::Value;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

fn ask(client: &Client) -> Result<Value, Error> {
    client_runtime()
        .block_on(client.get(&GroupVersionResource::new("", "v1", "namespaces").named("", "default")))
}

fn client_runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: std::sync::OnceLock<tokio::runtime::Runtime> = std::sync::OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap())
}

/// A folder as pods have it.
fn account(cluster: &TestCluster, name: &str) -> std::path::PathBuf {
    let folder = cluster.folder().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("token"), cluster.token()).unwrap();
    fs::copy(cluster.ca(), folder.join("ca.crt")).unwrap();
    folder
}

fn port(cluster: &TestCluster) -> String {
    cluster.server().rsplit(':').next().unwrap().to_owned()
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_token_that_was_replaced_is_read_again() {
    let Some(cluster) = TestCluster::shared() else { return };
    let folder = account(cluster, "rotated");
    let config = Config::of_account(&folder, "127.0.0.1", &port(cluster));
    let client = Client::new(Config { read_again_after: Duration::ZERO, ..config }).unwrap();
    ask(&client).unwrap();
    fs::write(folder.join("token"), "wrong").unwrap();
    assert_eq!(ask(&client).unwrap_err().code(), Some(401));
    fs::write(folder.join("token"), format!("{}\n", cluster.token())).unwrap();
    ask(&client).unwrap();
    // A file that is not there for a moment is no reason to forget who asks.
    fs::remove_file(folder.join("token")).unwrap();
    ask(&client).unwrap();
}

#[test]
fn a_token_that_is_refused_is_read_again_at_once() {
    let Some(cluster) = TestCluster::shared() else { return };
    let folder = account(cluster, "refused");
    fs::write(folder.join("token"), "old").unwrap();
    let client = Client::new(Config::of_account(&folder, "127.0.0.1", &port(cluster))).unwrap();
    assert_eq!(ask(&client).unwrap_err().code(), Some(401));
    fs::write(folder.join("token"), cluster.token()).unwrap();
    ask(&client).unwrap();
}

#[test]
fn a_program_says_who_asks_and_is_asked_again_when_that_is_refused() {
    let Some(cluster) = TestCluster::shared() else { return };
    let folder = account(cluster, "exec");
    let program = folder.join("login");
    write_program(
        &program,
        r#"echo x >> "$(dirname "$0")/runs"
case "$KUBERNETES_EXEC_INFO" in *'"server":"https://127.0.0.1:'*) ;; *) exit 3;; esac
echo "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"$(cat "$(dirname "$0")/$FILE")\"}}""#,
    );
    fs::write(
        folder.join("kubeconfig"),
        format!(
            "{{current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}],
             clusters: [{{name: a, cluster: {{server: '{}', certificate-authority: ca.crt}}}}],
             users: [{{name: a, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: ./login,
                env: [{{name: FILE, value: token}}], provideClusterInfo: true, interactiveMode: Never}}}}}}]}}",
            cluster.server()
        ),
    )
    .unwrap();
    let client = Client::new(Config::of_files(&[folder.join("kubeconfig")], None).unwrap()).unwrap();
    let runs = || fs::read_to_string(folder.join("runs")).unwrap().lines().count();
    fs::write(folder.join("token"), "old").unwrap();
    assert_eq!(ask(&client).unwrap_err().code(), Some(401));
    fs::write(folder.join("token"), cluster.token()).unwrap();
    ask(&client).unwrap();
    let before = runs();
    ask(&client).unwrap();
    assert_eq!(runs(), before, "what it said is kept");

    write_program(&program, "exit 7");
    let client = Client::new(Config::of_files(&[folder.join("kubeconfig")], None).unwrap()).unwrap();
    let error = ask(&client).unwrap_err().to_string();
    assert!(error.ends_with("failed: it ended with exit status: 7"), "{error}");
}

#[test]
fn untrusted_server_is_refused_unless_insecure() {
    let Some(cluster) = TestCluster::shared() else { return };
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap().cert.pem();
    let config = Config {
        authority: Some(PemSource::Text(other)),
        login: Login::Token(cluster.token().to_owned()),
        ..Config::at(&cluster.server())
    };
    let error = ask(&Client::new(config.clone()).unwrap()).unwrap_err();
    assert!(matches!(&error, Error::Unreachable { why, .. } if why.contains("certificate")), "{error}");
    ask(&Client::new(Config { is_insecure: true, ..config }).unwrap()).unwrap();
}

#[test]
fn anonymous_login_reports_missing_credentials() {
    let Some(cluster) = TestCluster::shared() else { return };
    let authority = Some(PemSource::File(cluster.ca()));
    let error =
        ask(&Client::new(Config { authority, ..Config::at(&cluster.server()) }).unwrap()).unwrap_err();
    assert!(error.is_forbidden() && error.to_string().contains("system:anonymous"), "{error}");
    let error = ask(&Client::new(Config::at("http://127.0.0.1:1")).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("cannot reach the API server at http://127.0.0.1:1: "), "{error}");
}

#[test]
fn a_certificate_says_who_asks() {
    let folder = std::env::temp_dir().join(format!("kubewright-logins-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(folder.join("ca.crt"), authority.self_signed(&authority_key).unwrap().pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut client = CertificateParams::new(Vec::new()).unwrap();
    client.distinguished_name.push(DnType::CommonName, "ann");
    client.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
    let certificate = client.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();

    let flag = format!("--client-ca-file={}", folder.join("ca.crt").display());
    let cluster =
        TestCluster::builder().api_server_only().flag(ControlPlaneComponent::ApiServer, &flag).start();
    let removed = fs::remove_dir_all(&folder);
    let Some(cluster) = cluster else { return };
    removed.unwrap();
    let encoded = |text: &str| STANDARD.encode(text);
    let kubeconfig = cluster.folder().join("with-certificate");
    fs::write(
        &kubeconfig,
        format!(
            "{{current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}],
             clusters: [{{name: a, cluster: {{server: '{}', certificate-authority: ca.crt}}}}],
             users: [{{name: a, user: {{client-certificate-data: {}, client-key-data: {}}}}}]}}",
            cluster.server(),
            encoded(&certificate.pem()),
            encoded(&key.serialize_pem())
        ),
    )
    .unwrap();
    let client = Client::new(Config::of_files(&[kubeconfig], None).unwrap()).unwrap();
    let error = ask(&client).unwrap_err().to_string();
    assert!(error.contains("User \"ann\" cannot get resource \"namespaces\""), "{error}");

    // The same certificate from a plugin.
    let answer = format!(
        r#"{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",
            "status":{{"clientCertificateData":"{}","clientKeyData":"{}","expirationTimestamp":"2100-01-01T00:00:00Z"}}}}"#,
        certificate.pem().replace('\n', "\\n"),
        key.serialize_pem().replace('\n', "\\n"),
    );
    fs::write(cluster.folder().join("answer"), answer).unwrap();
    write_program(&cluster.folder().join("login"), "cat \"$(dirname \"$0\")/answer\"");
    let kubeconfig = cluster.folder().join("with-plugin");
    fs::write(
        &kubeconfig,
        format!(
            "{{current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}],
             clusters: [{{name: a, cluster: {{server: '{}', certificate-authority: ca.crt}}}}],
             users: [{{name: a, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: ./login}}}}}}]}}",
            cluster.server(),
        ),
    )
    .unwrap();
    let client = Client::new(Config::of_files(&[kubeconfig], None).unwrap()).unwrap();
    let error = ask(&client).unwrap_err().to_string();
    assert!(error.contains("User \"ann\" cannot get resource \"namespaces\""), "{error}");
}
