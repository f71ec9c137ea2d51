//! Lists the kinds of a scan, page by page, in the order of the API server.
//!
//! Objects are handed over as they arrive. A list that must begin again, because its pages have become old, goes on after
//! the last object that was handed over, so that each is seen once and in order.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_cluster::{Error, GroupVersionResource};
use kubewright_k8s::ApiPath;
use kubewright_value::Value;

use super::cluster::ScanCluster;

/// How many objects one page has.
const PAGE_OBJECTS: usize = 500;

/// How often a list begins again because its pages have become old.
const MAX_LIST_RESTARTS: usize = 3;

/// Hands every object at `path` to `visit`, until that breaks.
///
/// # Errors
/// When the API server does not answer, or refuses.
pub(super) fn visit_objects(
    cluster: &ScanCluster,
    path: &ApiPath,
    visit: &mut dyn FnMut(Value) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut listing = KindListing { page: PAGE_OBJECTS, restarts: 0, last: None };
    loop {
        match listing.pages(cluster, path, visit) {
            Err(Error::TooLarge(_)) if listing.page > 1 => listing.page = (listing.page / 10).max(1),
            Err(error) if error.is_gone() && listing.restarts < MAX_LIST_RESTARTS => listing.restarts += 1,
            other => return other,
        }
    }
}
