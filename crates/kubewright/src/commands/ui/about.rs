//! What the page was started with.

use std::sync::Arc;

use kubewright_ui::MAX_PAGE_REQUEST_BYTES;
use kubewright_value::{Map, Value};

use super::cluster::{self, ClusterPage};
use crate::arguments::UiArguments;
use crate::failure::CommandFailure;

/// What the page was started with.
#[derive(Default)]
pub(super) struct PageState {
    /// The cluster that is shown.
    pub(super) cluster: Option<Arc<ClusterPage>>,
    /// Whether only GET is answered.
    pub(super) is_read_only: bool,
}

impl PageState {
    /// Reads what `arguments` name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(arguments: &UiArguments) -> Result<Self, CommandFailure> {
        Ok(Self { cluster: cluster::open_cluster(arguments)?.map(Arc::new), ..Self::default() })
    }

    /// Returns the cluster that is shown, for people.
    fn cluster_value(&self) -> Option<Value> {
        self.cluster.as_ref().map(|page| page.about())
    }
}

/// Returns what the page can do.
pub(super) fn about_value(state: &PageState) -> Value {
    let (cluster, is_pure) = (state.cluster_value(), !state.is_read_only);
    let features = [
        ("try", is_pure),
        ("graph", true),
        ("reports", cluster.is_some()),
        ("impact", cluster.is_some() && is_pure),
        ("project", false),
        ("tests", false),
        ("save", false),
    ];
    let features: Map = features.into_iter().map(|(name, is_there)| (name.into(), is_there.into())).collect();
    Map::from([
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("mode", if cluster.is_some() { "cluster" } else { "files" }.into()),
        ("readOnly", state.is_read_only.into()),
        ("features", features.into()),
        ("project", Value::Null),
        ("cluster", cluster.into()),
        ("limits", Map::from([("bodyBytes", Value::from(MAX_PAGE_REQUEST_BYTES))]).into()),
    ])
    .into()
}
