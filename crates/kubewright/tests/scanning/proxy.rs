//! A proxy in front of the API server that answers with errors, and cuts off, holds back and repeats watches.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use kubewright_controlplane::{ClusterProgram, TestCluster};

/// How often a watch looks whether it is cut off or held back.
const WATCH_POLL: Duration = Duration::from_millis(50);

/// How often each event that was held back is sent.
const REPEATS: usize = 10;

/// What the proxy does with requests instead of passing them on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyFault {
    /// Lists come in pages, and all pages but the first have expired.
    ExpiredPages,
    /// Every request is answered with 429.
    Throttled,
    /// Every write of a report is answered with 409.
    Conflicts,
}

impl ProxyFault {
    /// Returns the status for a request with this first line; `None` where it is passed on.
    fn status(self, line: &str) -> Option<u16> {
        let is_write = !line.starts_with("GET ");
        match self {
            Self::ExpiredPages if line.contains("sendInitialEvents=true") => Some(422),
            Self::ExpiredPages if line.contains("continue=") => Some(410),
            Self::Throttled => Some(429),
            Self::Conflicts if is_write && line.contains("/reports") => Some(409),
            Self::ExpiredPages | Self::Conflicts => None,
        }
    }
}

/// The proxy; the API server is reached through `kubectl proxy`, without TLS.
pub(crate) struct FaultProxy<'c> {
    /// A kubeconfig that leads here.
    pub(crate) kubeconfig: PathBuf,
    state: Arc<ProxyState>,
    _kubectl: ClusterProgram<'c>,
}

#[derive(Debug, Default)]
struct ProxyState {
    upstream: String,
    fault: Mutex<Option<ProxyFault>>,
    /// How many requests got an error.
    refused: AtomicU64,
    /// Grows when all watches are to end.
    cuts: AtomicU64,
    ended_watches: AtomicU64,
    is_holding: AtomicBool,
    /// How many events were held back and then sent, repetitions included.
    released: AtomicU64,
}

impl<'c> FaultProxy<'c> {
    pub(crate) fn start(cluster: &'c TestCluster) -> Self {
        let mut command = Command::new(cluster.kubectl_program());
        command.args(["proxy", "--port=0"]);
        let kubectl = cluster.run_beside("kubectl-proxy", command).expect("kubectl proxy");
        let mut upstream = None;
        cluster.wait_until("kubectl proxy listens", || {
            let log = kubectl.log();
            upstream = log.split("Starting to serve on ").nth(1).map(|address| address.trim().to_owned());
            upstream.is_some()
        });
        let state = Arc::new(ProxyState { upstream: upstream.unwrap_or_default(), ..ProxyState::default() });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let kubeconfig = cluster.folder().join("faults.kubeconfig");
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: '{server}'}}}}], \
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{token: none}}}}]}}"
        );
        std::fs::write(&kubeconfig, text).expect("a kubeconfig");
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || state.serve(client));
            }
        });
        Self { kubeconfig, state, _kubectl: kubectl }
    }

    /// Begins a fault.
    pub(crate) fn begin(&self, fault: ProxyFault) {
        self.state.refused.store(0, Ordering::Relaxed);
        *self.state.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Ends the fault, and returns how many requests it hit.
    pub(crate) fn end(&self) -> u64 {
        *self.state.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.state.refused.load(Ordering::Relaxed)
    }

    /// Ends all watches.
    pub(crate) fn cut_watches(&self) {
        self.state.cuts.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many watches were ended.
    pub(crate) fn ended_watches(&self) -> u64 {
        self.state.ended_watches.load(Ordering::Relaxed)
    }

    /// Holds back the events of ConfigMaps.
    pub(crate) fn hold_events(&self) {
        self.state.is_holding.store(true, Ordering::Relaxed);
    }

    /// Sends the events that were held back, each several times.
    pub(crate) fn release_events(&self) {
        self.state.is_holding.store(false, Ordering::Relaxed);
    }

    /// Returns how many events were sent that had been held back.
    pub(crate) fn released_events(&self) -> u64 {
        self.state.released.load(Ordering::Relaxed)
    }
}

impl ProxyState {
    /// Answers one request and closes the connection.
    fn serve(&self, mut client: TcpStream) {
        let Some((head, body)) = read_request(&client) else { return };
        let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let line = head.first().map(String::as_str).unwrap_or_default();
        if let Some(status) = fault.and_then(|fault| fault.status(line)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let _ = client.write_all(error_answer(status).as_bytes());
            return;
        }
        let Some(mut upstream) = self.send_on(&head, &body) else { return };
        match line.contains("watch=true") {
            true => self.relay_watch(upstream, &mut client, line.contains("/configmaps?")),
            false => drop(std::io::copy(&mut upstream, &mut client)),
        }
    }

    /// Passes a request on. HTTP/1.0, because its answers have no chunks: a line of a watch is a line.
    fn send_on(&self, head: &[String], body: &[u8]) -> Option<TcpStream> {
        let mut upstream = TcpStream::connect(&self.upstream).ok()?;
        let mut request = head.first()?.replace("HTTP/1.1", "HTTP/1.0");
        for header in head.iter().skip(1) {
            let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
            if name != "connection" && name != "authorization" {
                request.push_str("\r\n");
                request.push_str(header);
            }
        }
        request.push_str("\r\n\r\n");
        upstream.write_all(request.as_bytes()).and_then(|()| upstream.write_all(body)).ok()?;
        Some(upstream)
    }

    fn relay_watch(&self, upstream: TcpStream, client: &mut TcpStream, can_hold: bool) {
        let cuts = self.cuts.load(Ordering::Relaxed);
        if upstream.set_read_timeout(Some(WATCH_POLL)).is_err() {
            return;
        }
        let mut upstream = BufReader::new(upstream);
        let (mut line, mut held) = (Vec::new(), Vec::new());
        loop {
            let read = upstream.read_until(b'\n', &mut line);
            if self.cuts.load(Ordering::Relaxed) != cuts {
                self.ended_watches.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let is_holding = can_hold && self.is_holding.load(Ordering::Relaxed);
            if !is_holding && self.release(client, &mut held).is_err() {
                return;
            }
            match read {
                Ok(_) if !line.ends_with(b"\n") => return,
                Ok(_) if is_holding => held.push(std::mem::take(&mut line)),
                Ok(_) if client.write_all(&std::mem::take(&mut line)).is_err() => return,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
        }
    }

    fn release(&self, client: &mut TcpStream, held: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
        for event in held.drain(..) {
            client.write_all(&event.repeat(REPEATS))?;
            self.released.fetch_add(REPEATS as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Reads the lines of the head and the body of a request.
fn read_request(client: &TcpStream) -> Option<(Vec<String>, Vec<u8>)> {
    let mut reader = BufReader::new(client);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head.iter().find_map(|header| {
        let (name, value) = header.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or_default()];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn error_answer(code: u16) -> String {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        _ => "Invalid",
    };
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","code":{code},"reason":"{reason}","message":"a fault"}}"#
    );
    let length = body.len();
    format!(
        "HTTP/1.1 {code} {reason}\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}
