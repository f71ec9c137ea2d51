//! `fix`: changes that make rules pass, in texts that keep everything else.

use std::fs;
use std::path::Path;

use super::{check, check_with, kubewright_in};

#[test]
fn fix_shows_the_smallest_changes() {
    check("fix", "fix project/policies -r project/manifests/pods.yaml --no-project");
    check("fix-mutations", "fix rules -r manifests --no-project");
    check("fix-nothing", "fix rules -r manifests --no-project --no-mutations --rule replace-missing -q");
    check("fix-choices", "fix fix/policy.yaml -r fix/pod.yaml --no-project");
    check("fix-second-choice", "fix fix/policy.yaml -r fix/pod.yaml --no-project --choice 2 --rule profile");
    check("fix-misspelt", "fix fix/misspelt.yaml -r fix/pod.yaml --no-project");
    check_with(
        "fix-stdin",
        "fix project/policies -r - --write --no-project",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true, containers: []}\n",
    );
}

#[test]
fn fix_writes_files_so_that_nothing_is_left() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fix-write");
    let _ = fs::remove_dir_all(&target);
    fs::create_dir_all(&target).expect("a folder");
    let fixtures = super::folder("fixtures/fix");
    for file in ["policy.yaml", "pod.yaml"] {
        fs::copy(fixtures.join(file), target.join(file)).expect("a file");
    }
    let run = |arguments: &str| {
        let output = kubewright_in(&target, arguments, "");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = run("fix policy.yaml -r pod.yaml --write --no-project");
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run("apply policy.yaml -r pod.yaml --no-project");
    assert_eq!(code, Some(0), "{text}");
    let before = fs::read_to_string(fixtures.join("pod.yaml")).expect("a manifest");
    let after = fs::read_to_string(target.join("pod.yaml")).expect("a manifest");
    for comment in before.lines().filter(|line| line.trim_start().starts_with('#')) {
        assert!(after.contains(comment), "`{comment}` is kept in\n{after}");
    }
    let (code, text) = run("fix policy.yaml -r pod.yaml --write --no-project");
    assert_eq!((code, text.as_str()), (Some(0), "nothing to fix\n"));
}
