//! What all parts of the server share.

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use crate::{Certificates, Notice, Settings, Snapshot};

/// What all parts of the server share.
#[derive(Debug)]
pub struct State {
    /// What the operator decided.
    pub settings: Settings,
    /// The rules. Swapped whole; a review keeps the one it began with.
    pub snapshot: ArcSwap<Snapshot>,
    /// What is served, and what the API server should believe.
    pub certificates: Certificates,
    /// Where a review says what others should hear of. Full is dropped, and counted.
    pub notices: mpsc::Sender<Notice>,
}
