//! Ports that are free, and stay ours while a component is stopped.
//!
//! They are below the range from which systems take ports for outgoing connections, and each is locked by a file,
//! so that no other test process chooses it between our look and the component's start.

use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use crate::{ClusterError, folder};

const PORT_RANGE: std::ops::Range<u16> = 26_000..30_000;

/// A port of the loopback interface that belongs to this process until it is dropped.
pub struct LoopbackPort {
    pub(crate) number: u16,
    _lock: File,
}

impl LoopbackPort {
    /// Takes the first port that is free: neither another test nor an outgoing connection takes it meanwhile.
    ///
    /// # Errors
    /// If no port is free.
    pub fn reserve() -> Result<Self, ClusterError> {
        let locks = folder::locks();
        fs::create_dir_all(&locks).map_err(ClusterError::at("make", &locks))?;
        PORT_RANGE
            .into_iter()
            .find_map(|number| LoopbackPort::lock(&locks, number))
            .ok_or_else(|| ClusterError::failed(format!("no port of {PORT_RANGE:?} is free")))
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }

    /// Whether a process listens on it.
    pub(crate) fn is_open(&self) -> bool {
        TcpStream::connect(self.address()).is_ok()
    }

    /// `locks` is the folder that all processes share.
    fn lock(locks: &Path, number: u16) -> Option<Self> {
        let lock = OpenOptions::new().create(true).append(true).open(locks.join(number.to_string())).ok()?;
        lock.try_lock().ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(LoopbackPort { number, _lock: lock })
    }
}
