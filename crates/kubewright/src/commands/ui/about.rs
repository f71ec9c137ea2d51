//! What the page was started with.

use kubewright_ui::MAX_PAGE_REQUEST_BYTES;
use kubewright_value::{Map, Value};

use crate::arguments::UiArguments;
use crate::failure::CommandFailure;

/// What the page was started with.
#[derive(Debug, Default)]
pub(super) struct PageState {}

impl PageState {
    /// Reads what `arguments` name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(_arguments: &UiArguments) -> Result<Self, CommandFailure> {
        Ok(Self::default())
    }
}

/// Returns what the page can do.
pub(super) fn about_value(_state: &PageState) -> Value {
    let features = [
        ("try", true),
        ("graph", false),
        ("reports", false),
        ("impact", false),
        ("project", false),
        ("tests", false),
        ("save", false),
    ];
    let features: Map = features.into_iter().map(|(name, is_there)| (name.into(), is_there.into())).collect();
    Map::from([
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("mode", "files".into()),
        ("features", features.into()),
        ("project", Value::Null),
        ("cluster", Value::Null),
        ("limits", Map::from([("bodyBytes", Value::from(MAX_PAGE_REQUEST_BYTES))]).into()),
    ])
    .into()
}
