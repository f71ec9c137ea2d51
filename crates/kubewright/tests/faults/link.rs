//! The network between replicas and the API server: a proxy of bytes that delays, holds back or swallows them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kubewright_controlplane::TestCluster;

/// How often bytes that are held back look whether they may go on.
const HOLD_POLL: Duration = Duration::from_millis(20);

/// A way to the API server.
pub(crate) struct Link {
    address: SocketAddr,
    state: Arc<LinkState>,
}

#[derive(Debug, Default)]
struct LinkState {
    /// For everything that passes, in each direction.
    delay_millis: AtomicU64,
    is_holding: AtomicBool,
    /// Connections that were made before the last swallowing lead nowhere, and neither side is told.
    generation: AtomicU64,
}

impl Link {
    /// A way to the API server of `cluster` that does nothing yet.
    pub(crate) fn to(cluster: &TestCluster) -> Self {
        Self::beginning_at(Ipv4Addr::LOCALHOST.into(), cluster)
    }

    /// The same from another address of this machine.
    pub(crate) fn beginning_at(address: IpAddr, cluster: &TestCluster) -> Self {
        let server: SocketAddr = cluster.server().trim_start_matches("https://").parse().expect("an address");
        let listener = TcpListener::bind((address, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(LinkState::default());
        let of_thread = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // An API server that is away refuses connections, and so does the way to it.
                if let Ok(upstream) = TcpStream::connect(server) {
                    of_thread.join(&client, &upstream);
                }
            }
        });
        Self { address, state }
    }

    /// Writes a kubeconfig that leads here.
    pub(crate) fn kubeconfig(&self, cluster: &TestCluster, own: &PathBuf) -> PathBuf {
        let text = fs::read_to_string(own).expect("a kubeconfig");
        let path = cluster.folder().join(format!("kubeconfig-link-{}", self.address.port()));
        // The certificate names the address of the API server.
        let (own, name) = (cluster.server(), Ipv4Addr::LOCALHOST);
        let server = format!(r#""https://{}", tls-server-name: "{name}""#, self.address);
        fs::write(&path, text.replace(&format!(r#""{own}""#), &server)).expect("a file");
        path
    }

    pub(crate) fn delay(&self, delay: Duration) {
        let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.state.delay_millis.store(millis, Ordering::SeqCst);
    }

    /// Lets nothing pass until it is told otherwise; what was held back comes late.
    pub(crate) fn hold(&self, is_holding: bool) {
        self.state.is_holding.store(is_holding, Ordering::SeqCst);
    }

    /// Swallows from now on what the connections of now carry; new ones work.
    pub(crate) fn swallow(&self) {
        self.state.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl LinkState {
    fn join(self: &Arc<Self>, client: &TcpStream, upstream: &TcpStream) {
        let generation = self.generation.load(Ordering::SeqCst);
        for (from, to) in [(client, upstream), (upstream, client)] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
            let state = Arc::clone(self);
            thread::spawn(move || state.pass(from, to, generation));
        }
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, generation: u64) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            thread::sleep(Duration::from_millis(self.delay_millis.load(Ordering::SeqCst)));
            while self.is_holding.load(Ordering::SeqCst) {
                thread::sleep(HOLD_POLL);
            }
            if self.generation.load(Ordering::SeqCst) != generation {
                continue;
            }
            if to.write_all(bytes.get(..count).unwrap_or_default()).is_err() {
                break;
            }
        }
        // The end of a swallowed connection is swallowed, too.
        if self.generation.load(Ordering::SeqCst) == generation {
            let _ = to.shutdown(Shutdown::Both);
        }
    }
}
