//! Where the programs come from: `KUBEBUILDER_ASSETS`, the user's cache, or a build with Go.
//!
//! A build is kept in a folder whose name has the version and a hash of the sources, so that a change of either
//! is another folder and nothing there ever has to be judged for its age.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, io};

use sha2::{Digest, Sha256};

use crate::ClusterError;
use crate::skip::write_stderr;

const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";
const CACHE_VARIABLE: &str = "KUBEWRIGHT_CLUSTER_CACHE";

/// The minor version of Kubernetes, such as `1.28`, for which `tests/cluster/versions` has a `.mod` file; without it the
/// version of `tests/cluster/go.mod` is built.
const VERSION_VARIABLE: &str = "KUBEWRIGHT_CLUSTER_VERSION";

/// The module of the registry that images are asked of.
const REGISTRY_MODULE: &str = "github.com/distribution/distribution/v3";

/// Returns the folder that has all of `names`, and builds what is missing there.
///
/// # Errors
/// `Unavailable` if something is missing and there is no Go; `Failed` if a build failed.
pub fn programs(names: &[&str]) -> Result<PathBuf, ClusterError> {
    if let Some(assets) = assets(names) {
        return Ok(assets);
    }
    let module = Module::of(names)?;
    let folder = cache()?.join(module.key()?);
    if missing_programs(&folder, names).is_empty() {
        return Ok(folder);
    }
    require_go(names)?;
    fs::create_dir_all(&folder).map_err(ClusterError::at("make", &folder))?;
    // Test processes run side by side; the second finds the work done.
    let _lock = lock_build(&folder.join("lock"))?;
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

/// A Go module and what is built from it.
struct Module {
    folder: PathBuf,
    /// What it requires, beside which its `.sum` is.
    requirements: PathBuf,
    /// The dependency whose version is that of the programs.
    dependency: &'static str,
}

impl Module {
    fn of(names: &[&str]) -> Result<Self, ClusterError> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cluster");
        let root = root.canonicalize().map_err(ClusterError::at("find", &root))?;
        Ok(match names {
            ["helm"] => Module {
                requirements: root.join("helm/go.mod"),
                folder: root.join("helm"),
                dependency: "helm.sh/helm/v3",
            },
            ["registry"] => Module {
                requirements: root.join("registry/go.mod"),
                folder: root.join("registry"),
                dependency: REGISTRY_MODULE,
            },
            _ => Module {
                requirements: go_requirements(&root)?,
                folder: root,
                dependency: "k8s.io/kubernetes",
            },
        })
    }

    /// `kubernetes-v1.36.3-0123456789ab`: the same sources have the same key on every machine of this kind.
    fn key(&self) -> Result<String, ClusterError> {
        let mut files = vec![self.requirements.clone(), self.requirements.with_extension("sum")];
        let commands = self.folder.join("cmd");
        for entry in fs::read_dir(&commands).into_iter().flatten().flatten() {
            files.push(entry.path().join("main.go"));
        }
        files.sort();
        let mut hash = Sha256::new_with_prefix(format!("{} {}", env::consts::OS, env::consts::ARCH));
        for file in files {
            let content = fs::read(&file).map_err(ClusterError::at("read", &file))?;
            hash.update(file.strip_prefix(&self.folder).unwrap_or(&file).as_os_str().as_encoded_bytes());
            hash.update(content.len().to_le_bytes());
            hash.update(content);
        }
        let hash: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let product = match self.dependency {
            REGISTRY_MODULE => "registry",
            helm if helm.starts_with("helm") => "helm",
            _ => "kubernetes",
        };
        Ok(format!("{product}-{}-{hash}", self.version()?))
    }

    fn version(&self) -> Result<String, ClusterError> {
        let path = &self.requirements;
        let content = fs::read_to_string(path).map_err(ClusterError::at("read", path))?;
        content
            .lines()
            .find_map(|line| {
                line.trim().strip_prefix("require ").unwrap_or(line.trim()).strip_prefix(self.dependency)
            })
            .and_then(|rest| rest.split_whitespace().next())
            .map(str::to_owned)
            .ok_or_else(|| {
                ClusterError::failed(format!("`{}` does not require {}", path.display(), self.dependency))
            })
    }

    fn build(&self, name: &str, folder: &Path) -> Result<(), ClusterError> {
        let version = self.version()?;
        let package = match name {
            "helm" => "helm.sh/helm/v3/cmd/helm".to_owned(),
            "registry" => format!("{REGISTRY_MODULE}/cmd/registry"),
            name => format!("./cmd/{name}"),
        };
        let unfinished = folder.join(format!("{name}.unfinished"));
        let started = Instant::now();
        write_stderr(&format!("building {name} ({}); the first time this takes minutes\n", self.key()?));
        let output = Command::new("go")
            .args(["build", "-trimpath", "-ldflags", &link_flags(name, &version), "-modfile"])
            .arg(&self.requirements)
            .arg("-o")
            .arg(&unfinished)
            .arg(package)
            .current_dir(&self.folder)
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| ClusterError::failed(format!("cannot run `go`: {error}")))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(ClusterError::failed(format!("cannot build {name}: {reason}")));
        }
        fs::rename(&unfinished, folder.join(name)).map_err(ClusterError::at("rename", &unfinished))?;
        write_stderr(&format!("built {name} in {:.0} s\n", started.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// Returns the requirements of the version that the environment names.
fn go_requirements(root: &Path) -> Result<PathBuf, ClusterError> {
    let Some(version) = env::var(VERSION_VARIABLE).ok().filter(|version| !version.is_empty()) else {
        return Ok(root.join("go.mod"));
    };
    let path = root.join(format!("versions/v{}.mod", version.trim_start_matches('v')));
    if path.is_file() {
        return Ok(path);
    }
    Err(ClusterError::failed(format!(
        "`{VERSION_VARIABLE}` is `{version}`, and there is no `{}`",
        path.display()
    )))
}

/// The version is known only when a program is linked; without it the API server says `v0.0.0-master`.
fn link_flags(name: &str, version: &str) -> String {
    if name == "registry" {
        return "-s -w".to_owned();
    }
    if name == "helm" {
        return format!("-s -w -X helm.sh/helm/v3/internal/version.version={version}");
    }
    let minor = version.split('.').nth(1).unwrap_or_default();
    let mut flags = "-s -w".to_owned();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (variable, value) in [("gitVersion", version), ("gitMajor", "1"), ("gitMinor", minor)] {
            flags.push_str(&format!(" -X {package}.{variable}={value}"));
        }
    }
    flags
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
