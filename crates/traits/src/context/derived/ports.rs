//! The ports of a Service for the endpoints of a workload.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_value::{Map, Value};

/// The maximum length of a port name in Kubernetes.
const MAX_PORT_NAME_BYTES: usize = 15;

/// Returns a port per endpoint, by name. Of endpoints with the same port and protocol only the first gets one.
pub(super) fn service_ports(workload: &Value) -> Value {
    let Some(endpoints) = workload.get("endpoints").and_then(Value::as_object) else {
        return Value::array(Vec::new());
    };
    let (mut taken, mut names) = (BTreeSet::new(), PortNames::default());
    let mut ports = Vec::new();
    for (name, endpoint) in endpoints.sorted() {
        let number = |key| endpoint.get(key).and_then(Value::as_i64).filter(|port| *port != 0);
        let port = number("port").unwrap_or_default();
        let is_udp = endpoint.get("type").and_then(Value::as_str) == Some("UDP");
        let protocol = if is_udp { "UDP" } else { "TCP" };
        if !taken.insert((port, protocol)) {
            continue;
        }
        let name = names.unused(&clean_port_name(name, port));
        ports.push(Value::object(Map::from([
            ("name", name.into()),
            ("port", port.into()),
            ("targetPort", number("targetPort").unwrap_or(port).into()),
            ("protocol", protocol.into()),
        ])));
    }
    Value::array(ports)
}

/// Returns `name` as a valid port name.
fn clean_port_name(name: &str, port: i64) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        '_' => Some('-'),
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' => Some(c),
        _ => None,
    };
    let clean: String = name.chars().filter_map(letter).collect();
    let cut: String = clean.trim_matches('-').chars().take(MAX_PORT_NAME_BYTES).collect();
    match cut.trim_end_matches('-') {
        "" => format!("port-{port}"),
        name => name.to_owned(),
    }
}

/// The port names in use.
#[derive(Default)]
struct PortNames {
    taken: BTreeSet<String>,
    /// The next suffix for each name.
    next: BTreeMap<String, usize>,
}

impl PortNames {
    /// Returns `name`, with a numeric suffix if it is in use.
    fn unused(&mut self, name: &str) -> String {
        let mut found = name.to_owned();
        while !self.taken.insert(found.clone()) {
            let counter = self.next.entry(name.to_owned()).or_insert(2);
            let suffix = format!("-{counter}");
            let room = MAX_PORT_NAME_BYTES.saturating_sub(suffix.len());
            found = format!("{}{suffix}", name.get(..room).unwrap_or(name));
            *counter += 1;
        }
        found
    }
}
