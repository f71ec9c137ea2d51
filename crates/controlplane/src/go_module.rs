//! The Go modules of `tests/cluster`, and what is built from each.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::ClusterError;
use crate::skip::write_stderr;

/// The minor version of Kubernetes, such as `1.28`, for which `tests/cluster/versions` has a `.mod` file; without it the
/// version of `tests/cluster/go.mod` is built.
const VERSION_VARIABLE: &str = "KUBEWRIGHT_CLUSTER_VERSION";

/// The file with the CustomResourceDefinitions that are packaged with a module, beside its programs.
pub(crate) const DEFINITIONS_FILE: &str = "definitions.yaml";

/// Where a module is and what it has.
struct ModuleSource {
    /// Its folder below `tests/cluster`, and the first part of its key.
    name: &'static str,
    /// The dependency whose version is that of the programs.
    dependency: &'static str,
    /// The package of its program, below the dependency; `.` for the dependency itself.
    package: &'static str,
    /// The Go toolchain that builds it, which Go downloads; empty for the one that is installed.
    toolchain: &'static str,
    /// Folders with CustomResourceDefinitions, below a dependency.
    definitions: &'static [(&'static str, &'static str)],
    /// Whether tests are skipped where its dependencies cannot be downloaded.
    is_optional: bool,
}

const MODULE_SOURCES: &[(&str, ModuleSource)] = &[
    (
        "helm",
        ModuleSource {
            name: "helm",
            dependency: "helm.sh/helm/v3",
            package: "cmd/helm",
            toolchain: "",
            definitions: &[],
            is_optional: false,
        },
    ),
    (
        "registry",
        ModuleSource {
            name: "registry",
            dependency: "github.com/distribution/distribution/v3",
            package: "cmd/registry",
            toolchain: "",
            definitions: &[],
            is_optional: false,
        },
    ),
    (
        "cosign",
        ModuleSource {
            name: "cosign",
            dependency: "github.com/sigstore/cosign/v2",
            package: "cmd/cosign",
            toolchain: "",
            definitions: &[],
            is_optional: true,
        },
    ),
    (
        "chainsaw",
        ModuleSource {
            name: "chainsaw",
            dependency: "github.com/kyverno/chainsaw",
            package: ".",
            // It does not build with Go 1.26.
            toolchain: "go1.24.9",
            definitions: &[],
            is_optional: true,
        },
    ),
    (
        "reports-controller",
        ModuleSource {
            name: "kyverno",
            dependency: "github.com/kyverno/kyverno",
            package: "cmd/reports-controller",
            toolchain: "",
            definitions: &[
                ("github.com/kyverno/kyverno", "config/crds/kyverno"),
                ("github.com/kyverno/kyverno", "config/crds/policies.kyverno.io"),
                ("github.com/kyverno/kyverno", "config/crds/policyreport"),
                ("github.com/kyverno/kyverno", "config/crds/reports"),
                ("github.com/openreports/reports-api", "config/crd"),
            ],
            is_optional: true,
        },
    ),
    (
        "kubelet",
        ModuleSource {
            name: "node",
            dependency: "k8s.io/kubernetes",
            package: "cmd/kubelet",
            toolchain: "",
            definitions: &[],
            is_optional: true,
        },
    ),
    (
        "kube-proxy",
        ModuleSource {
            name: "node",
            dependency: "k8s.io/kubernetes",
            package: "cmd/kube-proxy",
            toolchain: "",
            definitions: &[],
            is_optional: true,
        },
    ),
    (
        "pause",
        ModuleSource {
            name: "node",
            dependency: "k8s.io/kubernetes",
            package: "",
            toolchain: "",
            definitions: &[],
            is_optional: true,
        },
    ),
];

const CONTROL_PLANE: ModuleSource = ModuleSource {
    name: "kubernetes",
    dependency: "k8s.io/kubernetes",
    package: "",
    toolchain: "",
    definitions: &[],
    is_optional: false,
};

/// A Go module and what is built from it.
pub(crate) struct GoModule {
    source: &'static ModuleSource,
    folder: PathBuf,
    /// What it requires, beside which its `.sum` is.
    requirements: PathBuf,
}

impl GoModule {
    /// The module that the first of `names` is built from; the others are of the same.
    pub(crate) fn of(names: &[&str]) -> Result<Self, ClusterError> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cluster");
        let root = root.canonicalize().map_err(ClusterError::at("find", &root))?;
        let source = MODULE_SOURCES.iter().find(|(program, _)| names.first() == Some(program));
        Ok(match source {
            Some((_, source)) => {
                let folder = root.join(source.name);
                GoModule { source, requirements: folder.join("go.mod"), folder }
            }
            None => GoModule { source: &CONTROL_PLANE, requirements: go_requirements(&root)?, folder: root },
        })
    }

    /// `kubernetes-v1.36.3-0123456789ab`: the same sources have the same key on every machine of this kind.
    pub(crate) fn key(&self) -> Result<String, ClusterError> {
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
        Ok(format!("{}-{}-{hash}", self.source.name, self.version()?))
    }

    /// Downloads what an optional program is built from.
    ///
    /// # Errors
    /// `Unavailable` if that is impossible: a module proxy need not have every module.
    pub(crate) fn require_downloads(&self) -> Result<(), ClusterError> {
        if !self.source.is_optional {
            return Ok(());
        }
        let output = self.go(&["list", "-deps", &self.package(self.source.package)])?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().last().unwrap_or_default();
        Err(ClusterError::Unavailable(format!("{} cannot be downloaded: {reason}", self.source.dependency)))
    }

    /// Makes `name` in `folder`.
    pub(crate) fn build(&self, name: &str, folder: &Path) -> Result<(), ClusterError> {
        if name == DEFINITIONS_FILE {
            return self.write_definitions(&folder.join(name));
        }
        let unfinished = folder.join(format!("{name}.unfinished"));
        let started = Instant::now();
        write_stderr(&format!("building {name} ({}); the first time this takes minutes\n", self.key()?));
        let output = self
            .go_command()
            .args(["build", "-trimpath", "-ldflags", &link_flags(name, &self.version()?), "-modfile"])
            .arg(&self.requirements)
            .arg("-o")
            .arg(&unfinished)
            .arg(self.package_of(name))
            .output()
            .map_err(|error| cannot_run_go(&error))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(ClusterError::failed(format!("cannot build {name}: {reason}")));
        }
        fs::rename(&unfinished, folder.join(name)).map_err(ClusterError::at("rename", &unfinished))?;
        write_stderr(&format!("built {name} in {:.0} s\n", started.elapsed().as_secs_f64()));
        Ok(())
    }

    /// Joins the CustomResourceDefinitions of the module into one file.
    fn write_definitions(&self, path: &Path) -> Result<(), ClusterError> {
        let mut text = String::new();
        for (dependency, below) in self.source.definitions {
            let folder = self.folder_of(dependency)?.join(below);
            let entries = fs::read_dir(&folder).map_err(ClusterError::at("read", &folder))?;
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.sort();
            for file in files {
                let content = fs::read_to_string(&file).map_err(ClusterError::at("read", &file))?;
                text.push_str("---\n");
                text.push_str(content.trim_start_matches("---\n"));
            }
        }
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, text).map_err(ClusterError::at("write", &unfinished))?;
        fs::rename(&unfinished, path).map_err(ClusterError::at("rename", &unfinished))
    }

    /// Where Go keeps the sources of a dependency.
    fn folder_of(&self, dependency: &str) -> Result<PathBuf, ClusterError> {
        let output = self.go(&["list", "-m", "-f", "{{.Dir}}", dependency])?;
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !folder.is_empty() {
            return Ok(PathBuf::from(folder));
        }
        let reason = String::from_utf8_lossy(&output.stderr);
        Err(ClusterError::failed(format!("no sources of {dependency}: {reason}")))
    }

    fn go(&self, arguments: &[&str]) -> Result<Output, ClusterError> {
        self.go_command().args(arguments).output().map_err(|error| cannot_run_go(&error))
    }

    /// Go in the folder of the module, with the toolchain of the module.
    fn go_command(&self) -> Command {
        let mut command = Command::new("go");
        command.current_dir(&self.folder).env("CGO_ENABLED", "0").env("GOWORK", "off").stdin(Stdio::null());
        if !self.source.toolchain.is_empty() {
            command.env("GOTOOLCHAIN", self.source.toolchain);
        }
        command
    }

    fn package(&self, below: &str) -> String {
        match below {
            "." => self.source.dependency.to_owned(),
            below => format!("{}/{below}", self.source.dependency),
        }
    }

    /// What is built for `name`: a main of ours, or one of the dependency.
    fn package_of(&self, name: &str) -> String {
        let source = MODULE_SOURCES.iter().find(|(program, _)| *program == name);
        match source.map_or(self.source.package, |(_, source)| source.package) {
            "" => format!("./cmd/{name}"),
            package => self.package(package),
        }
    }

    fn version(&self) -> Result<String, ClusterError> {
        let path = &self.requirements;
        let content = fs::read_to_string(path).map_err(ClusterError::at("read", path))?;
        let dependency = self.source.dependency;
        content
            .lines()
            .find_map(|line| {
                let line = line.trim();
                let rest = line.strip_prefix("require ").unwrap_or(line).strip_prefix(dependency)?;
                rest.strip_prefix(' ')?.split_whitespace().next()
            })
            .map(str::to_owned)
            .ok_or_else(|| {
                ClusterError::failed(format!("`{}` does not require {dependency}", path.display()))
            })
    }
}

fn cannot_run_go(error: &std::io::Error) -> ClusterError {
    ClusterError::failed(format!("cannot run `go`: {error}"))
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
    let flags = match name {
        "cosign" | "registry" => String::new(),
        "chainsaw" => format!(" -X github.com/kyverno/chainsaw/pkg/version.BuildVersion={version}"),
        "helm" => format!(" -X helm.sh/helm/v3/internal/version.version={version}"),
        "reports-controller" => format!(" -X github.com/kyverno/kyverno/pkg/version.BuildVersion={version}"),
        _ => kubernetes_version_flags(version),
    };
    format!("-s -w{flags}")
}

fn kubernetes_version_flags(version: &str) -> String {
    let minor = version.split('.').nth(1).unwrap_or_default();
    let mut flags = String::new();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (variable, value) in [("gitVersion", version), ("gitMajor", "1"), ("gitMinor", minor)] {
            flags.push_str(&format!(" -X {package}.{variable}={value}"));
        }
    }
    flags
}
