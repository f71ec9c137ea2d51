//! Projects: `kubewright.yaml`, baselines, ignores in manifests, and what changed in git.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{check, folder, kubewright_in, masked};

const RUN: &str = "apply project/policies -r project/manifests/pods.yaml --no-project";

/// Runs the binary in `path` and returns its exit code and what it prints.
fn run(path: &Path, arguments: &str) -> (i32, String) {
    let output = kubewright_in(path, arguments, "");
    let text = [output.stdout, output.stderr].map(|bytes| masked(&String::from_utf8_lossy(&bytes)));
    (output.status.code().expect("an exit code"), text.concat())
}

/// Returns an empty folder with the project of the fixtures in it.
fn project_copy(name: &str) -> std::path::PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&target);
    copy_folder(&folder("fixtures/project"), &target);
    target
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file");
        }
    }
}

#[test]
fn project_gives_commands_what_they_were_not_given() {
    check("project-apply", "apply --project project/kubewright.yaml");
    check("project-check", "--project project/kubewright.yaml");
    check(
        "project-flags-win",
        "apply project/policies --rule no-host-network --project project/kubewright.yaml",
    );
    check("project-impact", "impact --project project/kubewright.yaml");
    check("project-why", "why '*/*/web' --project project/kubewright.yaml --status fail");
    check("project-broken", "apply --project project/broken/kubewright.yaml");
    check("project-missing", "apply --project project/none.yaml");
    check("project-no-rules", "apply");
    check("project-no-manifests", "apply project/policies");
}

#[test]
fn project_is_found_from_folders_below_it() {
    let (code, text) = run(&folder("fixtures/project/manifests"), "apply -q");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("../manifests/pods.yaml"), "{text}");
    let (code, text) = run(&folder("fixtures/project/manifests"), "apply -q --no-project");
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("no rules are given"), "{text}");
}

#[test]
fn rules_are_selected_by_wildcard_severity_and_category() {
    check("project-rule-wildcard", &format!("{RUN} --rule 'pod-security/no-*' -q"));
    check("project-skip-rule", &format!("{RUN} --skip-rule pod-security -q"));
    check("project-skip-rule-unknown", &format!("{RUN} --skip-rule pod-securty"));
    check("project-category", &format!("{RUN} --category 'pod*' --severity low -q --no-ignores"));
    check("project-category-unknown", &format!("{RUN} --category Resource"));
    check("project-severity", &format!("{RUN} --severity high -q"));
}

#[test]
fn fail_on_decides_which_failures_count_for_the_exit_code() {
    let failing = format!("{RUN} --rule pod-security --no-ignores -q");
    for (flag, want) in [("", 1), ("--fail-on low", 1), ("--fail-on medium", 0), ("--fail-on never", 0)] {
        let (code, text) = run(&folder("fixtures"), &format!("{failing} {flag}"));
        assert_eq!(code, want, "{flag}: {text}");
    }
    check("project-fail-on-unknown", &format!("{RUN} --fail-on hihg"));
}

#[test]
fn ignores_and_baselines_take_failures_out_of_the_count() {
    check("project-ignores", RUN);
    check("project-no-ignores", &format!("{RUN} --no-ignores"));
    check("project-baseline", &format!("{RUN} --baseline project/known/baseline.yaml"));
    check("project-baseline-wrong", &format!("{RUN} --baseline project/kubewright.yaml"));
    for format in ["json", "sarif", "junit", "policyreport"] {
        check(
            &format!("project-ignores-{format}"),
            &format!("{RUN} --baseline project/known/baseline.yaml -o {format}"),
        );
    }
}

#[test]
fn baseline_that_was_written_knows_every_failure() {
    let project = project_copy("project-baseline");
    let (code, text) = run(&project, "apply --no-ignores --write-baseline known.yaml -q");
    assert_eq!((code, text.contains("6 known failures written to `known.yaml`")), (0, true), "{text}");
    let written = fs::read_to_string(project.join("known.yaml")).expect("a baseline");
    let reasoned =
        written.replacen("reason: \"\"", "reason: because", 1).replacen("since: \"20", "since: \"19", 1);
    fs::write(project.join("known.yaml"), &reasoned).expect("a baseline");
    let (code, text) = run(&project, "apply --no-ignores --baseline known.yaml");
    assert_eq!((code, text.contains("(6 in the baseline)")), (0, true), "{text}");
    let (code, _) = run(&project, "apply --no-ignores --write-baseline known.yaml");
    assert_eq!(code, 0);
    let again = fs::read_to_string(project.join("known.yaml")).expect("a baseline");
    assert_eq!(again, reasoned, "dates and reasons are kept");
    let (code, text) = run(&project, "apply --write-baseline policies/workloads.yaml");
    assert_eq!((code, text.contains("is not a baseline")), (2, true), "{text}");
}

fn git(path: &Path, arguments: &[&str]) {
    let name = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    let status =
        Command::new("git").arg("-C").arg(path).args(name).args(arguments).output().expect("git runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
}

#[test]
fn since_reviews_files_that_git_says_have_changed() {
    let project = project_copy("project-since");
    fs::write(project.join("manifests/other.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\n")
        .expect("a manifest");
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "all"]);
    let (code, text) = run(&project, "apply --since HEAD");
    assert_eq!((code, text.starts_with("0 objects, 0 outcomes")), (0, true), "{text}");
    fs::write(project.join("manifests/new one.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\n")
        .expect("a manifest");
    fs::write(project.join("manifests/other.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: another}\n")
        .expect("a manifest");
    let (_, text) = run(&project, "apply --since HEAD");
    assert!(text.contains("Pod new") || text.contains("Pod default/new"), "{text}");
    assert!(text.contains("another") && !text.contains("batch"), "{text}");
    assert!(text.contains("2 objects"), "{text}");
    let service = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{selector: {{app: {name}}}}}\n"
        )
    };
    fs::write(project.join("manifests/old-service.yaml"), service("old")).expect("a manifest");
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "services"]);
    fs::write(project.join("manifests/new-service.yaml"), service("added")).expect("a manifest");
    let (code, text) = run(&project, "detect --pattern orphan-service --since HEAD");
    assert_eq!((code, text.contains("added"), text.contains("default/old")), (1, true, false), "{text}");
    let (code, text) = run(&project, "apply --since no-such-branch");
    assert_eq!((code, text.contains("no-such-branch")), (2, true), "{text}");
}

#[test]
fn since_needs_a_repository() {
    let path = std::env::temp_dir().join(format!("kubewright-since-{}", std::process::id()));
    copy_folder(&folder("fixtures/project"), &path);
    let (code, text) = run(&path, "apply --since HEAD");
    fs::remove_dir_all(&path).expect("the folder is removed");
    assert_eq!((code, text.contains("needs a repository of git")), (2, true), "{text}");
}
