//! Ports that are free, and stay ours while a component is stopped.
//!
//! They are below the range from which systems take ports for outgoing connections, and each is locked by a file,
//! so that no other test process chooses it between our look and the component's start.

use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use crate::ClusterError;

const PORT_RANGE: std::ops::Range<u16> = 26_000..30_000;

/// A port of the loopback interface that belongs to this process.
pub(crate) struct LoopbackPort {
    pub(crate) number: u16,
    _lock: File,
}

impl LoopbackPort {
    /// Takes the first free port; `locks` is the folder that all processes share.
    pub(crate) fn take(locks: &Path) -> Result<Self, ClusterError> {
        fs::create_dir_all(locks).map_err(ClusterError::at("make", locks))?;
        PORT_RANGE
            .into_iter()
            .find_map(|number| LoopbackPort::lock(locks, number))
            .ok_or_else(|| ClusterError::failed(format!("no port of {PORT_RANGE:?} is free")))
    }

    /// Whether a process listens on it.
    pub(crate) fn is_open(&self) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.number)).is_ok()
    }

    fn lock(locks: &Path, number: u16) -> Option<Self> {
        let lock = OpenOptions::new().create(true).append(true).open(locks.join(number.to_string())).ok()?;
        lock.try_lock().ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(LoopbackPort { number, _lock: lock })
    }
}
