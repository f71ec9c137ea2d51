//! The folder of one cluster: certificates, data, logs. Only its owner may read it, because it has tokens.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, process};

use crate::ClusterError;

static FOLDER_COUNT: AtomicU32 = AtomicU32::new(0);

/// Makes a folder for a cluster of this process. The guard removes it.
pub(crate) fn make_folder() -> Result<PathBuf, ClusterError> {
    let number = FOLDER_COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("kubewright-cluster-{}-{number}", process::id()));
    // A process with the same id may have been killed together with its guard.
    let _ = fs::remove_dir_all(&folder);
    for part in [folder.clone(), folder.join("logs"), folder.join("home"), folder.join("certificates")] {
        DirBuilder::new().mode(0o700).create(&part).map_err(ClusterError::at("make", &part))?;
    }
    Ok(folder)
}

/// Where ports are locked: one place for all processes of the machine, whatever cache each has.
pub(crate) fn locks() -> PathBuf {
    env::temp_dir().join("kubewright-cluster-ports")
}

/// Where the logs of `folder` go when its test failed.
pub(crate) fn kept_logs(folder: &Path) -> PathBuf {
    env::temp_dir().join("kubewright-cluster-logs").join(folder.file_name().unwrap_or_default())
}

pub(crate) fn write_text_file(path: &Path, content: &str) -> Result<(), ClusterError> {
    fs::write(path, content).map_err(ClusterError::at("write", path))
}

/// Writes a file that others may be reading: they read what it had, or all that it has now.
pub(crate) fn replace_text_file(path: &Path, content: &str) -> Result<(), ClusterError> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let new = path.with_file_name(name);
    write_text_file(&new, content)?;
    fs::rename(&new, path).map_err(ClusterError::at("rename", &new))
}

pub(crate) fn read_text_file(path: &Path) -> Result<String, ClusterError> {
    fs::read_to_string(path).map_err(ClusterError::at("read", path))
}
