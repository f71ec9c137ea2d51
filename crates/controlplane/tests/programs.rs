//! Where the programs come from, with a `go` that only pretends; and what happens without one.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kubewright_controlplane::TestCluster;

/// Says to a part of a test that it is run by that test.
const PART: &str = "KUBEWRIGHT_TEST_PART";

const PROGRAMS: &[&str] = &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// A folder for one test, with an empty cache, and `bin` in front of the system's programs.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        Place(folder)
    }

    /// A `go` that notes each call in `built` and makes the file that `-o` names.
    fn with_pretended_go(self) -> Self {
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = build ] || exit 0\nsleep 0.1\n\
             while [ \"$1\" != -o ]; do shift; done\n: >\"$2\"\necho \"$2\" >>{}\n",
            self.0.join("built").display()
        );
        self.script("go", &script);
        self
    }

    fn script(&self, name: &str, content: &str) {
        let path = self.0.join("bin").join(name);
        fs::write(&path, content).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("PATH", format!("{}:/usr/bin:/bin", self.0.join("bin").display()))
            .env("KUBEWRIGHT_CLUSTER_CACHE", self.0.join("cache"))
            .env_remove("KUBEBUILDER_ASSETS")
            .env_remove("KUBEWRIGHT_CLUSTER");
        command
    }

    fn build(&self) -> Command {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_kubewright-controlplane")));
        command.arg("build").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn built(&self) -> Vec<String> {
        let built = fs::read_to_string(self.0.join("built")).unwrap_or_default();
        built.lines().filter_map(|line| Some(line.rsplit('/').next()?.to_owned())).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn two_processes_build_each_program_once() {
    let place = Place::new("twice").with_pretended_go();
    let both = [place.build().spawn().expect("it runs"), place.build().spawn().expect("it runs")];
    let outputs = both.map(|child| child.wait_with_output().expect("it ends"));
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    assert_eq!(outputs[0].stdout, outputs[1].stdout);
    assert_eq!(place.built().len(), PROGRAMS.len() + 1, "{:?}", place.built());
}

#[test]
fn a_build_that_failed_says_why_and_leaves_no_program() {
    let place = Place::new("broken");
    place.script("go", "#!/bin/sh\n[ \"$1\" = version ] && exit 0\necho 'no such module' >&2\nexit 1\n");
    let output = place.build().output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("cannot build etcd: no such module"), "{}", text(&output));
    assert!(!text(&place.build().output().expect("it runs")).contains("\n/"), "nothing is printed as ready");
}

#[test]
fn assets_are_used_where_they_are_complete() {
    let place = Place::new("assets").with_pretended_go();
    let assets = place.0.join("assets");
    fs::create_dir_all(&assets).expect("a folder");
    for name in PROGRAMS {
        fs::write(assets.join(name), "").expect("a file");
    }
    let output = place.build().env("KUBEBUILDER_ASSETS", &assets).output().expect("it runs");
    assert!(text(&output).starts_with(&format!("{}\n", assets.display())), "{}", text(&output));
    assert_eq!(place.built(), ["helm.unfinished"]);
}

#[test]
fn assets_that_lack_something_are_not_mixed_with_others() {
    let place = Place::new("partial").with_pretended_go();
    let assets = place.0.join("assets");
    fs::create_dir_all(&assets).expect("a folder");
    fs::write(assets.join("etcd"), "").expect("a file");
    let output = place.build().env("KUBEBUILDER_ASSETS", &assets).output().expect("it runs");
    assert!(
        text(&output).contains("`KUBEBUILDER_ASSETS` is not used: it has no kube-apiserver"),
        "{}",
        text(&output)
    );
    assert_eq!(place.built().len(), PROGRAMS.len() + 1);
}

/// A part of the tests below, which run it in a process without Go; alone it does nothing.
#[test]
fn part_that_wants_a_cluster() {
    if std::env::var_os(PART).is_some() {
        assert!(TestCluster::start().is_none());
    }
}

/// Runs `part_that_wants_a_cluster` where there is no Go, and returns what it wrote and the summary.
fn without_go(name: &str, mode: &str) -> (Output, String) {
    let place = Place::new(name);
    place.script("go", "#!/bin/sh\nexit 127\n");
    let summary = place.0.join("skipped");
    let output = place
        .command(&std::env::current_exe().expect("this test"))
        .args(["--exact", "part_that_wants_a_cluster"])
        .env(PART, "1")
        .env("KUBEWRIGHT_CLUSTER", mode)
        .env("KUBEWRIGHT_CLUSTER_SKIPPED", &summary)
        .output()
        .expect("it runs");
    let summary = fs::read_to_string(summary).unwrap_or_default();
    (output, summary)
}

#[test]
fn without_go_a_test_is_skipped_aloud() {
    let (output, summary) = without_go("skipped", "");
    assert!(output.status.success(), "{}", text(&output));
    assert!(summary.starts_with("SKIPPED part_that_wants_a_cluster: no Go on this machine"), "{summary}");
    // The test harness hides what a test prints that passes; this it must not hide.
    assert!(String::from_utf8_lossy(&output.stderr).contains(&summary), "{}", text(&output));
}

#[test]
fn where_a_cluster_is_required_a_machine_without_go_fails() {
    let (output, summary) = without_go("required", "required");
    assert!(!output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("no cluster: no Go on this machine"), "{}", text(&output));
    assert_eq!(summary, "");
}

#[test]
fn switched_off_is_skipped_aloud_too() {
    let (output, summary) = without_go("off", "off");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(summary, "SKIPPED part_that_wants_a_cluster: clusters are switched off\n");
}
