//! `new`, `init` and `test --new`: what they write holds, and they replace nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::{check, kubewright_in};

/// Returns an empty folder.
fn empty_folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(path.join(".git")).expect("a folder");
    path
}

#[track_caller]
fn run(path: &Path, arguments: &str, want: i32) -> String {
    let output = kubewright_in(path, arguments, "");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(want), "{arguments}: {text}");
    text
}

#[test]
fn new_rules_pass_their_own_tests_and_lint() {
    let folder = empty_folder("scaffold-new");
    for kind in ["modrule", "policy", "vpol", "trait", "pattern", "test"] {
        run(&folder, &format!("new {kind} my-{kind} --dir rules"), 0);
        run(&folder, &format!("test rules/my-{kind}"), 0);
        let text = run(&folder, &format!("lint rules/my-{kind} --deny-warnings"), 0);
        assert!(text.contains("nothing wrong"), "{kind}: {text}");
    }
    let text = run(&folder, "new policy my-policy --dir rules", 2);
    assert!(text.contains("is there already, and is not replaced"), "{text}");
    run(&folder, "new policy Wrong_Name", 2);
    run(&folder, "new polcy x", 2);
}

#[test]
fn init_writes_a_project_that_checks_the_repository() {
    let folder = empty_folder("scaffold-init");
    run(&folder, "new policy limits --dir policies", 0);
    run(&folder, "new policy other --dir deploy", 0);
    let text = run(&folder, "init --ci gitlab --fail-on never", 0);
    assert!(text.contains(".gitlab-ci.yml"), "{text}");
    let project = fs::read_to_string(folder.join("kubewright.yaml")).expect("a project");
    assert!(project.ends_with("rules:\n- policies\nresources:\n- deploy\nfailOn: never\n"), "{project}");
    let text = run(&folder, "", 0);
    assert!(text.contains("kubewright lint") && text.contains("kubewright test"), "{text}");
    let text = run(&folder, "init", 2);
    assert!(text.contains("is there already"), "{text}");
}

#[test]
fn init_refuses_to_write_half_of_its_files() {
    let folder = empty_folder("scaffold-half");
    fs::create_dir_all(folder.join(".github/workflows")).expect("a folder");
    fs::write(folder.join(".github/workflows/kubewright.yaml"), "mine").expect("a file");
    run(&folder, "init", 2);
    assert!(!folder.join("kubewright.yaml").exists());
    run(&folder, "init --ci none --fail-on severe", 2);
    assert!(!folder.join("kubewright.yaml").exists());
}

#[test]
fn test_that_was_written_of_what_happens_now_holds() {
    let folder = empty_folder("scaffold-test");
    run(&folder, "new policy limits", 0);
    fs::remove_file(folder.join("limits/kubewright-test.yaml")).expect("a test");
    run(&folder, "test --new limits/policy.yaml -r limits/objects.yaml", 0);
    let text = run(&folder, "test limits", 0);
    assert!(text.contains("2 passed, 0 failed"), "{text}");
    run(&folder, "test --new limits/policy.yaml -r limits/objects.yaml", 2);
    check("test-new", "test --new rules/shop.yaml -r manifests/shop.yaml -- -");
}
