//! Writes the Events of a queue that are due.

use std::time::Instant;

use kubewright_cluster::{Client, Error, GroupVersionResource, PatchType};
use kubewright_k8s::ObjectName;
use kubewright_value::Value;

use super::{EventQueue, EventWrite, Regarding};

impl EventQueue {
    /// Writes what is due. `find` says how Events point to an object.
    pub async fn write_due(&mut self, client: &Client, find: impl Fn(&ObjectName) -> Regarding) {
        let mut is_away = false;
        for write in self.due(Instant::now(), find) {
            // An API server that does not answer is not asked for each of them.
            let written = if is_away { Err(None) } else { write_event(client, &write).await.map_err(Some) };
            is_away |= matches!(&written, Err(Some(error)) if error.code().is_none());
            // What is refused is lost, which is no reason to do anything else.
            if written.is_err_and(|error| error.is_none_or(|error| is_event_retryable(&error))) {
                self.again(&write);
            }
        }
    }
}

/// Returns whether the same Event may be written later.
fn is_event_retryable(error: &Error) -> bool {
    error.code().is_none_or(|code| matches!(code, 404 | 429) || code >= 500)
}

async fn write_event(client: &Client, write: &EventWrite) -> Result<Value, Error> {
    let events = GroupVersionResource::new("", "v1", "events");
    if write.is_new {
        return client.create(&events.within(&write.namespace), &write.object).await;
    }
    client.patch(&events.named(&write.namespace, &write.name), PatchType::Merge, &write.object).await
}
