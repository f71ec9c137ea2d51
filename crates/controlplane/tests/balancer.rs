//! One address in front of several servers. Needs no cluster.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::Balancer;

/// A server that says its name to everybody who writes a byte, again and again, and whether it is ready.
struct Server {
    address: SocketAddr,
    health: SocketAddr,
    is_ready: Arc<AtomicBool>,
}

impl Server {
    fn named(name: u8) -> Self {
        let is_ready = Arc::new(AtomicBool::new(true));
        let (listener, health) = (listen(), listen());
        let server = Server {
            address: listener.local_addr().expect("an address"),
            health: health.local_addr().expect("an address"),
            is_ready: Arc::clone(&is_ready),
        };
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                thread::spawn(move || echo(connection, name));
            }
        });
        thread::spawn(move || {
            for mut connection in health.incoming().flatten() {
                let _ = connection.read(&mut [0; 256]);
                let status = if is_ready.load(Ordering::SeqCst) { "200 OK" } else { "503 No" };
                let _ = write!(connection, "HTTP/1.1 {status}\r\n\r\n");
            }
        });
        server
    }
}

fn listen() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")
}

fn echo(mut connection: TcpStream, name: u8) {
    while connection.read_exact(&mut [0]).is_ok() && connection.write_all(&[name]).is_ok() {}
}

fn connect(balancer: &Balancer) -> TcpStream {
    let connection = TcpStream::connect(balancer.address()).expect("a connection");
    connection.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    connection
}

/// Who answers on `connection`, if anybody does.
fn ask(mut connection: &TcpStream) -> Option<u8> {
    let mut answer = [0];
    connection.write_all(&[0]).and_then(|()| connection.read_exact(&mut answer)).ok()?;
    Some(answer[0])
}

#[track_caller]
fn wait_for(balancer: &Balancer, ready: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while balancer.ready() != ready {
        assert!(Instant::now() < deadline, "{} are ready", balancer.ready());
        thread::sleep(Duration::from_millis(10));
    }
}

/// A balancer with two servers that are ready, `a` and `b`.
fn pair() -> (Balancer, Server, Server) {
    let (balancer, a, b) = (Balancer::start().expect("it starts"), Server::named(b'a'), Server::named(b'b'));
    balancer.add(a.address, a.health);
    balancer.add(b.address, b.health);
    wait_for(&balancer, 2);
    (balancer, a, b)
}

#[test]
fn connections_go_to_the_servers_in_turn() {
    let (balancer, _a, _b) = pair();
    let mut answers: Vec<_> = (0..4).filter_map(|_| ask(&connect(&balancer))).collect();
    answers.sort_unstable();
    assert_eq!(answers, b"aabb");
}

#[test]
fn a_server_that_is_not_ready_keeps_its_connections_and_gets_no_new_ones() {
    let (balancer, a, _b) = pair();
    let both = [connect(&balancer), connect(&balancer)];
    let mut before: Vec<_> = both.iter().filter_map(ask).collect();
    a.is_ready.store(false, Ordering::SeqCst);
    wait_for(&balancer, 1);
    let mut after: Vec<_> = both.iter().filter_map(ask).collect();
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!((before.as_slice(), after.as_slice()), (&b"ab"[..], &b"ab"[..]));
    assert!((0..4).all(|_| ask(&connect(&balancer)) == Some(b'b')));
}

#[test]
fn without_a_ready_server_a_connection_is_closed() {
    let balancer = Balancer::start().expect("it starts");
    assert_eq!(ask(&connect(&balancer)), None);
}

#[test]
fn a_cut_ends_connections_and_new_ones_work() {
    let (balancer, _a, _b) = pair();
    let connection = connect(&balancer);
    assert!(ask(&connection).is_some());
    balancer.cut();
    assert_eq!(ask(&connection), None);
    assert!(ask(&connect(&balancer)).is_some());
}
