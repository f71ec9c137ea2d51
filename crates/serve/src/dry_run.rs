//! What would happen: rules and an object in, the effect out. Nothing is stored, and no rule of the cluster takes part.

use kubewright_value::{Deadline, Map, Value, json};

use crate::Snapshot;

/// Answers a dry run with an HTTP status and a JSON body; work that is not done at `deadline` is given up.
#[must_use]
pub fn run_dry_run(snapshot: &Snapshot, body: &[u8], deadline: Option<Deadline>) -> (u16, String) {
    match evaluate_dry_run(snapshot, body, deadline) {
        Ok(answer) => (200, json::to_string(&answer)),
        Err(error) => (400, json::to_string(&Map::from([("error", error.into())]).into())),
    }
}

fn evaluate_dry_run(snapshot: &Snapshot, body: &[u8], deadline: Option<Deadline>) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the request is not UTF-8")?;
    let request = json::parse(text).map_err(|error| format!("the request is not JSON: {error}"))?;
    snapshot
        .languages()
        .find_map(|language| language.dry_run(&request, deadline))
        .unwrap_or_else(|| Err("the request has no rules and no object".to_owned()))
}
