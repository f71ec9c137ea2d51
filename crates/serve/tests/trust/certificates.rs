//! Certificates on a real control plane, and in a mounted folder.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cluster::GroupVersionResource;
use kubewright_controlplane::{Balancer, TestCluster};
use kubewright_serve::certificates::{
    CertificateKeys, CertificateStep, CertificateTerms, follow_certificate_folder, next_certificate_step,
    take_certificate_step,
};
use kubewright_serve::{ServeSettings, ServerState};
use kubewright_value::{Map, Value, json};

use crate::handshake;
use crate::replica::{POLICY, Replica, client, get, settings, time};

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("soon")
}

fn secret(name: &str, namespace: &str, keys: &CertificateKeys) -> String {
    let metadata = Map::from([("name", name.into()), ("namespace", namespace.into())]);
    let secret = Map::from([
        ("apiVersion", "v1".into()),
        ("kind", "Secret".into()),
        ("type", "kubernetes.io/tls".into()),
        ("metadata", metadata.into()),
        ("data", keys.data()),
    ]);
    json::to_string(&secret.into())
}

fn bundle_of(configuration: &Value) -> Option<String> {
    let encoded = configuration.get("webhooks")?.item(0)?.at(&["clientConfig", "caBundle"])?.as_str()?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[test]
fn certificates_and_their_authority_are_replaced_under_requests_and_none_is_lost() {
    let Some(cluster) = TestCluster::start() else { return };
    cluster.create_namespace("rotating");
    let balancer = Balancer::start().expect("a balancer");
    let settings = ServeSettings {
        certificate_life: Duration::from_secs(6),
        ..settings(&balancer, "rotating", "rotating")
    };
    // An authority whose time is up in a few seconds.
    let terms = CertificateTerms::of(&settings);
    let old = take_certificate_step(CertificateStep::Make, &CertificateKeys::default(), now() - 44, &terms)
        .expect("keys");
    let old = take_certificate_step(CertificateStep::Renew, &old, now(), &terms).expect("keys");
    assert!(matches!(next_certificate_step(Some(&old), now(), None, &terms), CertificateStep::Wait(_)));
    cluster.kubectl(&["create", "-f", "-"], &secret("rotating-tls", "rotating", &old)).expect_success();

    let replicas: Vec<Replica> =
        (0..2).map(|_| Replica::start(&cluster, &balancer, settings.clone(), POLICY)).collect();
    let first = time(&cluster, "the webhooks are there", || {
        get(&cluster, &["validatingwebhookconfigurations", "rotating"]).is_some()
    });
    println!("configured after {first:?}");

    let (stop, address) = (AtomicBool::new(false), balancer.address());
    let (asked, shaken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut bundles = BTreeSet::new();
    std::thread::scope(|scope| {
        let requests = scope.spawn(|| create_again_and_again(&cluster, &stop, &asked));
        let handshakes = scope.spawn(|| shake_again_and_again(&cluster, address, &stop, &shaken));
        let begun = Instant::now();
        // Both authorities, then the new one alone, and a certificate renewed after that.
        while begun.elapsed() < Duration::from_secs(60) {
            let keys = CertificateKeys::of(
                &get(&cluster, &["secret", "rotating-tls", "-n", "rotating"]).expect("it"),
            );
            bundles.insert(keys.bundle());
            if keys.old_authority.is_empty()
                && keys.authority != old.authority
                && begun.elapsed().as_secs() > 15
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        println!("{} bundles in {:?}", bundles.len(), begun.elapsed());
        stop.store(true, Ordering::Relaxed);
        requests.join().expect("no request is refused");
        handshakes.join().expect("no handshake fails");
    });
    assert_eq!(bundles.len(), 3, "the old one, both, the new one");
    println!(
        "{} requests, {} handshakes, 0 lost",
        asked.load(Ordering::Relaxed),
        shaken.load(Ordering::Relaxed)
    );
    assert!(asked.load(Ordering::Relaxed) > 50 && shaken.load(Ordering::Relaxed) > 50);
    drop(replicas);
}

/// Asks the API server for what the webhook must be asked about, until it is told to stop.
fn create_again_and_again(cluster: &TestCluster, stop: &AtomicBool, count: &AtomicUsize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = client(cluster);
    let mut path = GroupVersionResource::new("", "v1", "configmaps").within("default");
    path.query.push(("dryRun".into(), "All".into()));
    let object = json::parse(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a-"}}"#);
    let object = object.expect("json");
    runtime.block_on(async {
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = client.create(&path, &object).await {
                panic!("after {}: {error}", count.load(Ordering::Relaxed));
            }
            count.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

/// Connects anew each time, believing what the configuration says and what it said half a second ago: an API server
/// hears of a change a little later.
fn shake_again_and_again(
    cluster: &TestCluster,
    address: std::net::SocketAddr,
    stop: &AtomicBool,
    count: &AtomicUsize,
) {
    let mut known: Vec<(Instant, String)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let configuration = get(cluster, &["validatingwebhookconfigurations", "rotating"]).expect("it");
        known.push((Instant::now(), bundle_of(&configuration).expect("a bundle")));
        known.retain(|(time, _)| time.elapsed() < Duration::from_secs(2));
        let before = known.iter().rev().find(|(time, _)| time.elapsed() > Duration::from_millis(500));
        for bundle in [known.last(), before].into_iter().flatten().map(|(_, bundle)| bundle) {
            if let Err(error) = handshake::shake(address, bundle, "127.0.0.1") {
                panic!("after {}: {error}", count.load(Ordering::Relaxed));
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_secret_that_is_deleted_or_damaged_comes_back_within_five_seconds() {
    let Some(cluster) = TestCluster::start() else { return };
    cluster.create_namespace("keeping");
    let balancer = Balancer::start().expect("a balancer");
    let settings = settings(&balancer, "keeping", "keeping");
    let _replicas: Vec<Replica> =
        (0..2).map(|_| Replica::start(&cluster, &balancer, settings.clone(), POLICY)).collect();
    let read = || get(&cluster, &["secret", "keeping-tls", "-n", "keeping"]);
    // A replica that starts while there is no Secret cannot know what was in it.
    cluster.wait_until("both know the Secret", || balancer.ready() == 2);
    let made = read().expect("it");
    assert_eq!(made.get("type").and_then(Value::as_str), Some("kubernetes.io/tls"));
    let keys = CertificateKeys::of(&made);
    assert!(keys.served().is_ok());

    cluster.kubectl(&["delete", "secret", "keeping-tls", "-n", "keeping"], "").expect_success();
    let back = time(&cluster, "the Secret is back", || read().is_some());
    println!("deleted: back after {back:?}");
    assert!(back < Duration::from_secs(5), "{back:?}");
    assert!(CertificateKeys::of(&read().expect("it")) == keys, "the same as before");

    let patch = format!(r#"{{"data":{{"tls.key":"{}","mine":"eA=="}}}}"#, STANDARD.encode("nonsense"));
    cluster.kubectl(&["patch", "secret", "keeping-tls", "-n", "keeping", "-p", &patch], "").expect_success();
    let back =
        time(&cluster, "the Secret is whole", || CertificateKeys::of(&read().expect("it")).served().is_ok());
    println!("damaged: whole after {back:?}");
    assert!(back < Duration::from_secs(5), "{back:?}");
    let mended = read().expect("it");
    assert_eq!(
        mended.at(&["data", "mine"]).and_then(Value::as_str),
        Some("eA=="),
        "what others put there stays"
    );
    assert_eq!(CertificateKeys::of(&mended).bundle(), keys.bundle(), "the authority need not be replaced");

    let bundle = get(&cluster, &["validatingwebhookconfigurations", "keeping"]).as_ref().and_then(bundle_of);
    handshake::shake(balancer.address(), &bundle.expect("a bundle"), "127.0.0.1").expect("a handshake");
}

#[test]
fn replicas_that_start_at_once_share_one_authority() {
    let Some(cluster) = TestCluster::builder().api_server_only().start() else { return };
    cluster.kubectl(&["create", "namespace", "together"], "").expect_success();
    let balancer = Balancer::start().expect("a balancer");
    let settings = settings(&balancer, "together", "together");
    let replicas: Vec<Replica> =
        (0..5).map(|_| Replica::start(&cluster, &balancer, settings.clone(), POLICY)).collect();
    cluster.wait_until("all are ready", || balancer.ready() == 5);
    let keys =
        CertificateKeys::of(&get(&cluster, &["secret", "together-tls", "-n", "together"]).expect("it"));
    for replica in &replicas {
        handshake::shake(replica.address, &keys.bundle(), "127.0.0.1").expect("a handshake");
        handshake::shake(replica.address, &keys.bundle(), "kubewright.together.svc").expect("a handshake");
    }
}

#[test]
fn certificate_folder_is_followed() {
    let folder = std::env::temp_dir().join(format!("kubewright-certificates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let terms = CertificateTerms::of(&ServeSettings::default());
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    let put = |keys: &CertificateKeys| {
        write("tls.crt", &keys.certificate);
        write("tls.key", &keys.key);
        write("ca.crt", &keys.authority);
    };
    let make = || {
        take_certificate_step(CertificateStep::Make, &CertificateKeys::default(), now(), &terms)
            .expect("keys")
    };
    let (first, second) = (make(), make());
    let (notices, _told) = tokio::sync::mpsc::channel(1);
    let state = Arc::new(ServerState::new(ServeSettings::default(), notices));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.spawn(follow_certificate_folder(Arc::clone(&state), folder.clone()));
    let bundle = || state.certificates.bundle().borrow().clone();
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    assert!(!state.readiness.is_loaded(), "not ready without a certificate");
    put(&first);
    wait("the first", &|| bundle() == Some(first.bundle()) && state.readiness.is_loaded());
    // The key of another certificate, as for a moment while files are replaced one by one.
    write("tls.crt", &second.certificate);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(bundle(), Some(first.bundle()));
    put(&second);
    // Other replicas may serve the first for a while.
    wait("the second", &|| bundle() == Some(second.bundle() + &first.bundle()));
    std::fs::remove_dir_all(&folder).expect("removed");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(state.certificates.is_ready(), "what is gone from the folder is still served");
    runtime.shutdown_background();
}
