//! A network between replicas and everything else that loses packets and changes their order.
//!
//! The kernel has a tunnel for this that sends its packets as UDP datagrams (VXLAN). Both ends of the tunnel send theirs to
//! this process, which passes on what is not to be lost. Replicas run in a network namespace of their own, at the far end.
//! Needs root.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::installation::ReplicaPlace;

/// The end of the tunnel on which replicas reach the API server.
pub(crate) const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 2, 1));
/// The end of the tunnel on which reviews reach replicas.
const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 2, 2));
/// Where replicas are asked for their health; the kubelet does that on the node itself, where nothing is lost.
const FAR_HEALTH: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 3, 2));

/// Where this process gets the packets of both ends, and where they go.
const RELAY: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);
const TUNNELS: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
const NEAR_PORT: u16 = 4811;
const FAR_PORT: u16 = 4812;

/// Makes both ends of the tunnel, in the namespaces of the processes `$1` (the tunnels), `$2` (replicas) and `$3` (this
/// process). A packet of the tunnel is one of the wire: the kernel must not leave it to a card to cut larger ones.
/// What is sent to an address of this network after it is gone stays on this machine.
const SCRIPT: &str = r#"
ip route replace unreachable 198.18.0.0/22 metric 4096
link="nsenter --net=/proc/$1/ns/net"; far="nsenter --net=/proc/$2/ns/net"
ip link add kwlink0 type veth peer name kwlink1
ip link set kwlink1 netns "$1"
ip addr add 198.18.1.1/30 dev kwlink0; ip link set kwlink0 up
$link ip addr add 198.18.1.2/30 dev kwlink1; $link ip link set kwlink1 up
$link ip link add kwlossy0 type vxlan id 1 local 198.18.1.2 remote 198.18.1.1 dstport 4811
$link ip link add kwlossy1 type vxlan id 1 local 198.18.1.2 remote 198.18.1.1 dstport 4812
$link ip link set kwlossy0 netns "$3"
$link ip link set kwlossy1 netns "$2"
ip addr add 198.18.2.1/30 dev kwlossy0; ip link set kwlossy0 mtu 1400 gso_max_segs 1 up
$far ip addr add 198.18.2.2/30 dev kwlossy1; $far ip link set kwlossy1 mtu 1400 gso_max_segs 1 up
ip link add kwhealth0 type veth peer name kwhealth1
ip link set kwhealth1 netns "$2"
ip addr add 198.18.3.1/30 dev kwhealth0; ip link set kwhealth0 up
$far ip addr add 198.18.3.2/30 dev kwhealth1; $far ip link set kwhealth1 up; $far ip link set lo up
"#;

/// Of this many packets one is lost: 5 %.
const LOSS: u64 = 20;
/// Of this many packets one comes later than those behind it: 10 %.
const DELAY: u64 = 10;
/// How much later, in milliseconds, at most.
const MAX_DELAY_MILLIS: u64 = 30;

/// How often a direction looks whether it is over.
const RELAY_POLL: Duration = Duration::from_millis(50);

/// The network. It is gone when this is dropped.
pub(crate) struct LossyNetwork {
    /// Processes that do nothing but keep a namespace.
    _link: NamespaceHolder,
    far: NamespaceHolder,
    state: Arc<RelayState>,
}

#[derive(Debug, Default)]
struct RelayState {
    is_losing: AtomicBool,
    is_over: AtomicBool,
    passed: AtomicU64,
    lost: AtomicU64,
    delayed: AtomicU64,
}

impl LossyNetwork {
    /// Makes a network that loses nothing yet.
    ///
    /// # Errors
    /// What this machine does not allow.
    pub(crate) fn make() -> Result<Self, String> {
        let (link, far) = (NamespaceHolder::start()?, NamespaceHolder::start()?);
        let ids = [link.0.id(), far.0.id(), std::process::id()].map(|id| id.to_string());
        let made = Command::new("sh").args(["-ec", SCRIPT, "network"]).args(ids).output();
        let made = made.map_err(|error| error.to_string())?;
        if !made.status.success() {
            let reason = String::from_utf8_lossy(&made.stderr);
            return Err(format!("no tunnel: {}", reason.lines().last().unwrap_or("no reason given")));
        }
        let state = Arc::new(RelayState::default());
        let socket = |port| UdpSocket::bind((RELAY, port)).map_err(|error| error.to_string());
        let (near, distant) = (socket(NEAR_PORT)?, socket(FAR_PORT)?);
        let copies = near.try_clone().and_then(|near| Ok((near, distant.try_clone()?)));
        let (near_copy, distant_copy) = copies.map_err(|error| error.to_string())?;
        RelayDirection::start(near, distant_copy, FAR_PORT, &state);
        RelayDirection::start(distant, near_copy, NEAR_PORT, &state);
        Ok(Self { _link: link, far, state })
    }

    pub(crate) fn lose(&self, is_losing: bool) {
        self.state.is_losing.store(is_losing, Ordering::SeqCst);
    }

    /// Where replicas run.
    pub(crate) fn replica_place(&self) -> ReplicaPlace {
        let namespace = format!("--net=/proc/{}/ns/net", self.far.0.id());
        ReplicaPlace {
            address: FAR,
            health: FAR_HEALTH,
            enter: vec!["nsenter".to_owned(), namespace, "--".to_owned()],
        }
    }

    /// How many packets passed, were lost, and came late.
    pub(crate) fn counts(&self) -> [u64; 3] {
        [&self.state.passed, &self.state.lost, &self.state.delayed].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Drop for LossyNetwork {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        // Until both directions have seen it: a network that is made next needs their ports.
        thread::sleep(RELAY_POLL * 3);
        let _ = Command::new("ip")
            .args(["route", "del", "unreachable", "198.18.0.0/22", "metric", "4096"])
            .output();
    }
}

/// A process in a network namespace of its own, which ends with this one.
struct NamespaceHolder(Child);

impl NamespaceHolder {
    fn start() -> Result<Self, String> {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "echo there; read line"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("no `unshare`: {error}"))?;
        let mut said = [0; 6];
        let is_there = child.stdout.as_mut().is_some_and(|output| output.read_exact(&mut said).is_ok());
        let holder = Self(child);
        if is_there { Ok(holder) } else { Err("no network namespaces".to_owned()) }
    }
}

impl Drop for NamespaceHolder {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Packets from one end to the other.
struct RelayDirection {
    from: UdpSocket,
    to: UdpSocket,
    target: SocketAddr,
    state: Arc<RelayState>,
    /// Those that come late, the first one on top.
    late: BinaryHeap<Reverse<(Instant, Vec<u8>)>>,
    random: u64,
}

impl RelayDirection {
    fn start(from: UdpSocket, to: UdpSocket, port: u16, state: &Arc<RelayState>) {
        let target = SocketAddr::new(TUNNELS.into(), port);
        let state = Arc::clone(state);
        let late = BinaryHeap::new();
        let mut direction = Self { from, to, target, state, late, random: u64::from(port) };
        thread::spawn(move || direction.relay());
    }

    fn relay(&mut self) {
        let mut bytes = vec![0; 1 << 16];
        while !self.state.is_over.load(Ordering::SeqCst) {
            let wait = self.send_late_packets();
            if self.from.set_read_timeout(Some(wait)).is_err() {
                return;
            }
            let Ok(count) = self.from.recv(&mut bytes) else { continue };
            let mut packet = bytes.get(..count).unwrap_or_default().to_vec();
            fill_checksum(&mut packet);
            self.pass(packet);
        }
    }

    fn pass(&mut self, packet: Vec<u8>) {
        let is_losing = self.state.is_losing.load(Ordering::SeqCst);
        if is_losing && self.next_random().is_multiple_of(LOSS) {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        } else if is_losing && self.next_random().is_multiple_of(DELAY) {
            self.state.delayed.fetch_add(1, Ordering::Relaxed);
            let delay = Duration::from_millis(1 + self.next_random() % MAX_DELAY_MILLIS);
            self.late.push(Reverse((Instant::now() + delay, packet)));
        } else {
            self.state.passed.fetch_add(1, Ordering::Relaxed);
            let _ = self.to.send_to(&packet, self.target);
        }
    }

    /// Sends what is late enough, and returns how long it takes until something else is.
    fn send_late_packets(&mut self) -> Duration {
        while let Some(Reverse((due, packet))) = self.late.peek() {
            let left = due.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return left.min(RELAY_POLL);
            }
            let _ = self.to.send_to(packet, self.target);
            self.late.pop();
        }
        RELAY_POLL
    }

    /// The same numbers in every run.
    fn next_random(&mut self) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
}

/// Fills in the checksum of a TCP segment in a packet of the tunnel. The kernel leaves that to the network card, which this
/// way does not have.
fn fill_checksum(packet: &mut [u8]) -> Option<()> {
    const IPV4: [u8; 2] = [8, 0];
    const TCP: u8 = 6;
    // Eight bytes of the tunnel, then two addresses and a type.
    let (_, ethernet) = packet.split_at_mut_checked(8)?;
    let (head, ip) = ethernet.split_at_mut_checked(14)?;
    if head.get(12..14)? != IPV4 || *ip.get(9)? != TCP {
        return None;
    }
    let header = usize::from(ip.first()? & 15) * 4;
    let total = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
    let addresses: Vec<u8> = ip.get(12..20)?.to_vec();
    let segment = ip.get_mut(header..total)?;
    segment.get_mut(16..18)?.fill(0);
    let length = u16::try_from(segment.len()).ok()?.to_be_bytes();
    let parts = [&addresses[..], &[0, TCP], &length, &*segment].concat();
    let words = parts.chunks(2).map(|pair| {
        u64::from(pair.first().copied().unwrap_or(0)) << 8 | u64::from(pair.get(1).copied().unwrap_or(0))
    });
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = !u16::try_from(sum).ok()?;
    segment.get_mut(16..18)?.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}
