//! Writes into etcd through its JSON gateway: fifty times faster than requests to the API server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_controlplane::{ControlPlaneComponent, TestCluster};

/// A connection to the JSON gateway of etcd.
pub(crate) struct EtcdGateway {
    stream: BufReader<TcpStream>,
}

impl EtcdGateway {
    /// Connects to the etcd of `cluster`.
    pub(crate) fn of(cluster: &TestCluster) -> Self {
        let pid = cluster.pid(ControlPlaneComponent::Etcd).expect("etcd runs");
        let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("etcd has arguments");
        let address = arguments
            .split('\0')
            .find_map(|argument| argument.strip_prefix("--listen-client-urls=http://"))
            .expect("etcd listens");
        let stream = TcpStream::connect(address).expect("etcd answers");
        stream.set_nodelay(true).expect("a socket option");
        Self { stream: BufReader::new(stream) }
    }

    /// Puts all pairs of key and value in one transaction.
    pub(crate) fn put(&mut self, pairs: Vec<(String, String)>) {
        let puts: Vec<String> = pairs
            .iter()
            .map(|(key, value)| {
                let (key, value) = (STANDARD.encode(key), STANDARD.encode(value));
                format!(r#"{{"requestPut":{{"key":"{key}","value":"{value}"}}}}"#)
            })
            .collect();
        let body = format!(r#"{{"success":[{}]}}"#, puts.join(","));
        let head = format!(
            "POST /v3/kv/txn HTTP/1.1\r\nHost: etcd\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes()).expect("etcd reads");
        self.read_answer();
    }

    fn read_answer(&mut self) {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("etcd answers");
        assert!(line.contains(" 200 "), "etcd answers {line}");
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let mut header = String::new();
            self.stream.read_line(&mut header).expect("etcd sends a header");
            let header = header.trim().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length is a number");
            }
            is_chunked |= header.starts_with("transfer-encoding: chunked");
            if header.is_empty() {
                break;
            }
        }
        while is_chunked {
            let mut size = String::new();
            self.stream.read_line(&mut size).expect("etcd sends a size");
            length = usize::from_str_radix(size.trim(), 16).expect("a size is a number");
            self.skip(length + 2);
            is_chunked = length > 0;
            length = 0;
        }
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("etcd sends a body");
    }
}
