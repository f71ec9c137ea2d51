//! How many failures of the public policies get a fix that passes.
//!
//! The policies are those of the conformance corpus; without it the test says so and ends. `CORPUS` names its folder.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The least share of failures that get a fix, in percent, by folder of the corpus.
const FLOORS: [(&str, usize); 4] =
    [("pod-security", 95), ("pod-security-cel", 80), ("pod-security-vpol", 95), ("best-practices", 30)];

fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        std::env::var_os("CORPUS").map_or_else(|| root.join("../shared/conformance"), |name| root.join(name));
    let folder = folder.join("kyverno/policies");
    folder.is_dir().then_some(folder)
}

/// Returns the folders below `folder` that hold a policy beside resources to test it on.
fn policies(folder: &Path, found: &mut Vec<(PathBuf, Vec<PathBuf>)>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let tests = folder.join(".kyverno-test");
    if tests.is_dir() {
        let files = std::fs::read_dir(&tests).expect("a folder").flatten().map(|entry| entry.path());
        let is_resource = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("resource"))
        };
        found.push((folder.to_owned(), files.filter(is_resource).collect()));
    }
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    for entry in entries.iter().filter(|entry| entry.is_dir() && !is_hidden(entry)) {
        policies(entry, found);
    }
}

/// Returns how many failures have a fix, and how many there are.
fn fixed(policy: &Path, resources: &[PathBuf]) -> (usize, usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
    command.args(["fix", "--no-project", "--no-mutations", "-q"]).arg(policy);
    resources.iter().for_each(|path| {
        command.arg("-r").arg(path);
    });
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains(" of ")).unwrap_or_default();
    let mut numbers = line.split(' ').filter_map(|word| word.replace(',', "").parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn failures_of_public_policies_get_a_fix_that_passes() {
    let Some(corpus) = corpus() else {
        println!("SKIPPED: no conformance corpus; set CORPUS");
        return;
    };
    for (folder, floor) in FLOORS {
        let mut found = Vec::new();
        policies(&corpus.join(folder), &mut found);
        let counts = found.iter().map(|(policy, resources)| fixed(policy, resources));
        let (fixed, all) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        println!("{folder}: {fixed} of {all} failures get a fix");
        assert!(all > 0, "{folder} has failures");
        assert!(fixed * 100 >= all * floor, "{folder}: {fixed} of {all} failures get a fix");
    }
}
