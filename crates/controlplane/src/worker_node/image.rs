//! Images of containers, made of files without a registry.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::ClusterError;

/// An image with one program and no other file.
#[derive(Debug, Clone)]
pub struct ContainerImage<'p> {
    /// Such as `docker.io/library/kubewright:0.1.0`.
    pub name: &'p str,
    /// The program, which must not need shared libraries. It is `/NAME` in the image.
    pub program: &'p Path,
    /// Who runs it, such as `65532:65532`.
    pub user: &'p str,
}

impl ContainerImage<'_> {
    /// Writes it as an OCI archive into `folder` and returns the path.
    pub(crate) fn write_archive(&self, folder: &Path) -> Result<PathBuf, ClusterError> {
        let base = folder.join(self.name.replace(['/', ':'], "_"));
        let (root, layout) = (base.join("root"), base.join("layout"));
        let blobs = layout.join("blobs/sha256");
        for part in [&root, &blobs] {
            fs::create_dir_all(part).map_err(ClusterError::at("make", part))?;
        }
        let program = self.program.file_name().unwrap_or_default();
        fs::copy(self.program, root.join(program)).map_err(ClusterError::at("copy", self.program))?;
        let layer = archive(&root, &base.join("layer.tar"))?;
        let layer = Blob::store(&blobs, &fs::read(&layer).map_err(ClusterError::at("read", &layer))?)?;
        let config = Blob::store(&blobs, self.config(&program.to_string_lossy(), &layer).as_bytes())?;
        let manifest = Blob::store(&blobs, manifest(&config, &layer).as_bytes())?;
        let index = self.index(&manifest);
        for (name, content) in [("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#), ("index.json", &index)] {
            let path = layout.join(name);
            fs::write(&path, content).map_err(ClusterError::at("write", &path))?;
        }
        archive(&layout, &base.with_extension("tar"))
    }

    fn config(&self, program: &str, layer: &Blob) -> String {
        format!(
            r#"{{"architecture":"{}","os":"linux","config":{{"User":"{}","Entrypoint":["/{program}"]}},"rootfs":{{"type":"layers","diff_ids":["sha256:{}"]}}}}"#,
            go_architecture(),
            self.user,
            layer.digest
        )
    }

    fn index(&self, manifest: &Blob) -> String {
        let Blob { digest, size } = manifest;
        format!(
            r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:{digest}","size":{size},"annotations":{{"io.containerd.image.name":"{}"}}}}]}}"#,
            self.name
        )
    }
}

/// Content that is named by its digest.
struct Blob {
    digest: String,
    size: usize,
}

impl Blob {
    fn store(folder: &Path, content: &[u8]) -> Result<Self, ClusterError> {
        let digest: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(&digest);
        fs::write(&path, content).map_err(ClusterError::at("write", &path))?;
        Ok(Self { digest, size: content.len() })
    }
}

fn manifest(config: &Blob, layer: &Blob) -> String {
    format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:{}","size":{}}},"layers":[{{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:{}","size":{}}}]}}"#,
        config.digest, config.size, layer.digest, layer.size
    )
}

/// Puts the content of `folder` into the file `path`.
fn archive(folder: &Path, path: &Path) -> Result<PathBuf, ClusterError> {
    let file = File::create(path).map_err(ClusterError::at("write", path))?;
    let status = Command::new("tar")
        .args(["--create", "--owner=0", "--group=0", "--directory"])
        .arg(folder)
        .arg(".")
        .stdout(file)
        .status();
    match status {
        Ok(status) if status.success() => Ok(path.to_owned()),
        Ok(status) => Err(ClusterError::failed(format!("tar: {status}"))),
        Err(error) => Err(ClusterError::failed(format!("cannot run `tar`: {error}"))),
    }
}

/// The name that Go, and with it every image, has for this architecture.
fn go_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
