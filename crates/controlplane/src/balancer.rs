//! What a Service does in a cluster with a network: one address, and connections to those behind it that are ready.
//!
//! As with a real one, a connection stays where it went: a backend that is no longer ready gets no new ones and keeps
//! those it has, and a backend that dies takes its connections with it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often each backend is asked whether it is ready.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// How long it may take to answer that.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a connection may take. A Service does not wait for any; clients of it give up when they like.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// One address in front of several servers on this machine.
pub struct Balancer {
    address: SocketAddr,
    shared: Arc<BalancerState>,
}

#[derive(Default)]
struct BalancerState {
    backends: Mutex<Vec<Backend>>,
    connections: Mutex<Vec<TcpStream>>,
    next: AtomicUsize,
    is_over: AtomicBool,
}

#[derive(Clone)]
struct Backend {
    address: SocketAddr,
    health: SocketAddr,
    is_ready: bool,
}

impl Balancer {
    /// Listens on a free port of the loopback interface, without backends.
    ///
    /// # Errors
    /// If it cannot.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(BalancerState::default());
        let (accepting, probing) = (Arc::clone(&shared), Arc::clone(&shared));
        thread::spawn(move || accepting.accept(&listener));
        thread::spawn(move || probing.probe());
        Ok(Balancer { address, shared })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a server. It gets connections while `GET /readyz` at `health`, in plain HTTP, is answered with 200.
    pub fn add(&self, address: SocketAddr, health: SocketAddr) {
        self.shared.backends().push(Backend { address, health, is_ready: false });
    }

    /// Removes a server. Its connections stay.
    pub fn remove(&self, address: SocketAddr) {
        self.shared.backends().retain(|backend| backend.address != address);
    }

    /// How many servers are ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.shared.backends().iter().filter(|backend| backend.is_ready).count()
    }

    /// Cuts every connection, as a network that fails would.
    pub fn cut(&self) {
        for connection in self.shared.connections().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        self.cut();
    }
}

impl BalancerState {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            // Without a ready backend the connection is closed, as by a Service without endpoints.
            let (Ok(client), Some(backend)) = (client, self.choose()) else { continue };
            let shared = Arc::clone(self);
            thread::spawn(move || shared.join(&client, backend));
        }
    }

    /// The ready ones in turn.
    fn choose(&self) -> Option<SocketAddr> {
        let ready: Vec<_> = self.backends().iter().filter(|b| b.is_ready).map(|b| b.address).collect();
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(ready.len())?;
        ready.get(turn).copied()
    }

    fn join(&self, client: &TcpStream, backend: SocketAddr) {
        let Ok(server) = TcpStream::connect_timeout(&backend, CONNECT_TIMEOUT) else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        if let (Ok(one), Ok(other)) = (client.try_clone(), server.try_clone()) {
            self.connections().extend([one, other]);
        }
        thread::scope(|scope| {
            scope.spawn(|| copy_stream(client, &server));
            copy_stream(&server, client);
        });
        let both = [client.peer_addr().ok(), server.local_addr().ok()];
        self.connections().retain(|connection| {
            let ends = [connection.peer_addr().ok(), connection.local_addr().ok()];
            ends.iter().all(|end| end.is_none() || !both.contains(end))
        });
    }

    fn probe(&self) {
        while !self.is_over.load(Ordering::SeqCst) {
            let known = self.backends().clone();
            for backend in known {
                let is_ready = is_backend_ready(backend.health).unwrap_or(false);
                let mut backends = self.backends();
                let same = backends.iter_mut().find(|other| other.address == backend.address);
                if let Some(same) = same {
                    same.is_ready = is_ready;
                }
            }
            thread::sleep(PROBE_INTERVAL);
        }
    }

    fn backends(&self) -> MutexGuard<'_, Vec<Backend>> {
        self.backends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies until `from` ends, and tells `to`.
fn copy_stream(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn is_backend_ready(health: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&health, PROBE_TIMEOUT)?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    stream.write_all(b"GET /readyz HTTP/1.0\r\nhost: localhost\r\n\r\n")?;
    let mut start = [0; 12];
    stream.read_exact(&mut start)?;
    Ok(start.starts_with(b"HTTP/1.") && start.ends_with(b" 200"))
}
