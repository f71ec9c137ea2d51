//! Certificates from a folder, such as cert-manager's Secret mounted into the pod.
//!
//! The files are polled every second: they are a few kilobytes, and a mounted Secret is replaced by renaming a symbolic
//! link, which file notifications do not report on every system.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::CertificateKeys;
use crate::ServerState;
use crate::log::LogLevel;

const FOLDER_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How large a file may be, in bytes.
const MAX_CERTIFICATE_FILE_BYTES: u64 = 1 << 20;

/// Reads `tls.crt`, `tls.key` and, if it is there, `ca.crt`.
///
/// # Errors
/// When one of the first two cannot be read.
pub fn read_certificate_folder(folder: &Path) -> Result<CertificateKeys, String> {
    let file = |name: &str| {
        let path = folder.join(name);
        let wrong = |why: &dyn std::fmt::Display| format!("`{}`: {why}", path.display());
        let about = std::fs::metadata(&path).map_err(|error| wrong(&error))?;
        // Reading a pipe or a device could block for ever.
        if !about.is_file() || about.len() > MAX_CERTIFICATE_FILE_BYTES {
            return Err(wrong(&"not a regular file, or larger than 1 MiB"));
        }
        std::fs::read_to_string(&path).map_err(|error| wrong(&error))
    };
    let authority = file("ca.crt").unwrap_or_default();
    Ok(CertificateKeys {
        certificate: file("tls.crt")?,
        key: file("tls.key")?,
        authority,
        ..CertificateKeys::default()
    })
}

/// Serves the certificate in `folder` and follows its changes, for ever. Files that do not fit together yet are ignored
/// until they do. The server is not ready before there is a certificate.
pub fn follow_certificate_folder(
    state: Arc<ServerState>,
    folder: PathBuf,
) -> impl Future<Output = Infallible> + Send {
    if !state.certificates.is_ready() {
        state.readiness.wait_for(super::CERTIFICATE_CONDITION);
    }
    run_folder_watch(state, folder)
}

async fn run_folder_watch(state: Arc<ServerState>, folder: PathBuf) -> Infallible {
    let (mut known, mut told) = (None, String::new());
    loop {
        match serve_if_changed(&state, &folder, &mut known) {
            Ok(false) => {}
            Ok(true) => {
                told.clear();
                state.metrics.certificate_expires(state.certificates.expiry());
                state.readiness.done(super::CERTIFICATE_CONDITION);
                state
                    .log
                    .line(LogLevel::Info, "certificate served")
                    .shown("folder", folder.display())
                    .write();
            }
            Err(error) if error != told => {
                state.log.line(LogLevel::Error, "cannot serve the certificate").text("error", &error).write();
                told = error;
            }
            Err(_) => {}
        }
        sleep(FOLDER_POLL_INTERVAL).await;
    }
}

/// Serves what lies in `folder` if it is not `known`, and returns whether it was new. The authority of before stays
/// among those to believe: other replicas may have it for a while.
fn serve_if_changed(
    state: &ServerState,
    folder: &Path,
    known: &mut Option<CertificateKeys>,
) -> Result<bool, String> {
    let mut keys = read_certificate_folder(folder)?;
    if let Some(known) = known {
        keys.old_authority = match keys.authority == known.authority {
            true => known.old_authority.clone(),
            false => known.authority.clone(),
        };
    }
    if known.as_ref() == Some(&keys) {
        return Ok(false);
    }
    state.certificates.serve(&keys)?;
    *known = Some(keys);
    Ok(true)
}
