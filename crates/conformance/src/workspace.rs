//! The files of this workspace, and what Cargo knows about its packages.

#![expect(clippy::expect_used, reason = "a test about the workspace fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubewright_value::{Value, json};

/// Packages that are built for development and never shipped.
pub const DEVELOPMENT_PACKAGES: &[&str] = &[
    "kubewright-conformance",
    "kubewright-controlplane",
    "kubewright-load",
    "kubewright-bench",
    "kubewright-fuzz",
];

/// Returns the root folder of the workspace.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Returns the files below `folder` that end with `.extension`, with their texts.
#[must_use]
pub fn files_below(folder: &Path, extension: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_symlink() || path.ends_with("target") || path.ends_with("node_modules") {
            continue;
        }
        if path.is_dir() {
            files.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(&path).expect("text");
            files.push((path, text));
        }
    }
    files
}

/// Returns whether `path` is a file of tests: `tests.rs`, or below a folder `tests`.
#[must_use]
pub fn is_test_file(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

/// Returns the Rust files of all packages without tests, by their paths below the workspace.
#[must_use]
pub fn production_sources() -> Vec<(PathBuf, String)> {
    let root = workspace_root();
    let folders = ["crates", "bench", "fuzz"].into_iter();
    let files = folders.flat_map(|folder| files_below(&root.join(folder), "rs"));
    let files = files.filter(|(path, _)| !is_test_file(path.strip_prefix(&root).expect("a file of ours")));
    files
        .map(|(path, text)| {
            let path = path.strip_prefix(&root).expect("a file of ours").to_owned();
            (path, without_test_module(&text).to_owned())
        })
        .collect()
}

/// Returns `text` up to its inline module of tests.
#[must_use]
pub fn without_test_module(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Returns what `cargo metadata` says with `arguments`.
#[must_use]
pub fn cargo_metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(workspace_root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json::parse(&String::from_utf8(output.stdout).expect("text")).expect("JSON")
}
