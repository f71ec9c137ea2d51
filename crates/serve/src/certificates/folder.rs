//! Certificates that somebody else keeps, in a folder such as cert-manager's Secret mounted into the pod.
//!
//! The files are looked at every second: they are a few kilobytes, and a mounted Secret is replaced by renaming a
//! link, which no way of being told of changes sees everywhere.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Keys;
use crate::State;
use crate::log::Level;

const EVERY: Duration = Duration::from_secs(1);

/// Reads `tls.crt`, `tls.key` and, if it is there, `ca.crt`.
///
/// # Errors
/// When one of the first two cannot be read.
pub fn read(folder: &Path) -> Result<Keys, String> {
    let file = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))
    };
    let authority = file("ca.crt").unwrap_or_default();
    Ok(Keys { certificate: file("tls.crt")?, key: file("tls.key")?, authority, ..Keys::default() })
}

/// Serves what lies in `folder`, and whatever is put there later, for ever. What is half written is left alone until
/// it is whole.
pub async fn follow(state: Arc<State>, folder: PathBuf) -> Infallible {
    let (mut known, mut told) = (None, String::new());
    loop {
        let found = read(&folder).and_then(|keys| {
            if known.as_ref() == Some(&keys) {
                return Ok(None);
            }
            state.certificates.serve(&keys).map(|()| Some(keys))
        });
        match found {
            Ok(None) => {}
            Ok(Some(keys)) => {
                known = Some(keys);
                told.clear();
                state.metrics.certificate_expires(state.certificates.expiry());
                state.readiness.done("certificate");
                state.log.line(Level::Info, "certificate served").shown("folder", folder.display()).write();
            }
            Err(error) if error != told => {
                state.log.line(Level::Error, "cannot serve the certificate").text("error", &error).write();
                told = error;
            }
            Err(_) => {}
        }
        sleep(EVERY).await;
    }
}
