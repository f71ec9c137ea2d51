//! Where the programs come from: `KUBEBUILDER_ASSETS`, the user's cache, or a build with Go.
//!
//! A build is kept in a folder whose name has the version and a hash of the sources, so that a change of either
//! is another folder and nothing there ever has to be judged for its age.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use crate::ClusterError;
use crate::go_module::GoModule;
use crate::skip::write_stderr;

const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";
const CACHE_VARIABLE: &str = "KUBEWRIGHT_CLUSTER_CACHE";

/// Returns the folder that has all of `names`, if they were built before.
#[must_use]
pub fn built_programs(names: &[&str]) -> Option<PathBuf> {
    let folder = cache().ok()?.join(GoModule::of(names).ok()?.key().ok()?);
    assets(names).or_else(|| missing_programs(&folder, names).is_empty().then_some(folder))
}

/// The programs of a control plane.
pub const CONTROL_PLANE_PROGRAMS: &[&str] =
    &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
/// The programs of nodes.
pub(crate) const NODE_PROGRAMS: &[&str] = &["kubelet", "kube-proxy", "pause"];

/// Returns the folder that has all of `names`, and builds what is missing there.
///
/// # Errors
/// `Unavailable` if something is missing and there is no Go, or if what an optional program is built from cannot be
/// downloaded; `Failed` if a build failed.
pub fn programs(names: &[&str]) -> Result<PathBuf, ClusterError> {
    if let Some(assets) = assets(names) {
        return Ok(assets);
    }
    let module = GoModule::of(names)?;
    let folder = cache()?.join(module.key()?);
    if missing_programs(&folder, names).is_empty() {
        return Ok(folder);
    }
    require_go(names)?;
    fs::create_dir_all(&folder).map_err(ClusterError::at("make", &folder))?;
    // Test processes run side by side; the second finds the work done.
    let _lock = lock_build(&folder.join("lock"))?;
    module.require_downloads()?;
    for name in missing_programs(&folder, names) {
        module.build(name, &folder)?;
    }
    Ok(folder)
}

/// The folder that all test processes of this user share.
pub(crate) fn cache() -> Result<PathBuf, ClusterError> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(CACHE_VARIABLE)
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("kubewright-cluster")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/kubewright-cluster")))
        .ok_or_else(|| {
            ClusterError::failed(format!("neither `{CACHE_VARIABLE}` nor `HOME` is set to a folder"))
        })
}

/// The folder that the environment names, if it has everything: programs of two versions are not mixed.
fn assets(names: &[&str]) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os(ASSETS_VARIABLE)?);
    let missing = missing_programs(&folder, names);
    if missing.is_empty() {
        return Some(folder);
    }
    write_stderr(&format!("`{ASSETS_VARIABLE}` is not used: it has no {}\n", missing.join(", ")));
    None
}

fn missing_programs<'n>(folder: &Path, names: &[&'n str]) -> Vec<&'n str> {
    names.iter().copied().filter(|name| !folder.join(name).is_file()).collect()
}

fn require_go(names: &[&str]) -> Result<(), ClusterError> {
    let go = Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match go {
        Ok(status) if status.success() => Ok(()),
        _ => Err(ClusterError::Unavailable(format!(
            "no Go on this machine to build {}, and `{ASSETS_VARIABLE}` does not name a folder with them",
            names.join(", ")
        ))),
    }
}

fn lock_build(path: &Path) -> Result<File, ClusterError> {
    let locked = File::create(path).and_then(|file| -> io::Result<File> {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(ClusterError::at("lock", path))
}
