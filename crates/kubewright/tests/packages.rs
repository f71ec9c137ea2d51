//! The files of package managers: each is read, and what can run without a network runs. What needs other programs is in
//! `make test-packages`. `make packages` writes the files that follow from others.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

#[path = "packages/action.rs"]
mod action;
#[path = "packages/artifacthub.rs"]
mod artifacthub;
#[path = "packages/bundle.rs"]
mod bundle;
#[path = "packages/chart.rs"]
mod chart;
#[path = "packages/gitops.rs"]
mod gitops;
#[path = "packages/images.rs"]
mod images;
#[path = "packages/plugins.rs"]
mod plugins;
#[path = "packages/releases.rs"]
mod releases;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubewright_value::{Source, Value, yaml};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");

/// A file or folder of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[track_caller]
fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).expect(path)
}

#[track_caller]
fn read_yaml(path: &str) -> Value {
    yaml::parse(&read(path)).expect(path)
}

/// Every document of a stream.
#[track_caller]
fn documents(text: &str) -> Vec<Value> {
    let parsed = yaml::read(&Source::new("documents", text));
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
    parsed.documents.into_iter().map(|document| document.value).collect()
}

fn items<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    value.at(path).and_then(Value::as_array).unwrap_or_default()
}

fn texts(value: &Value, path: &[&str]) -> Vec<String> {
    items(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// An empty folder for one test.
fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs a command that must start, whatever its result.
fn run(command: &mut Command) -> (i32, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (status.code().expect("an exit code"), text)
}

/// Compares a generated file with the one in the repository, or writes it with UPDATE_PACKAGES=1.
fn check_generated(path: &Path, want: &str, outdated: &mut Vec<PathBuf>) {
    if fs::read_to_string(path).is_ok_and(|text| text == want) {
        return;
    }
    if std::env::var_os("UPDATE_PACKAGES").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, want).expect("a file");
    } else {
        outdated.push(path.to_owned());
    }
}
