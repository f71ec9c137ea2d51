//! Commands that write files to a disk without room: they say so and exit with 2, files are as they were before, and nothing
//! half-written is left.
//!
//! The disk is a small one in memory, in a mount namespace that ends with the command. Where the machine does not allow
//! that, one line says so.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::path::Path;
use std::process::{Command, Output};

use kubewright_controlplane::announce_skipped;

/// Copies the fixtures to a new disk, fills it up, runs a command there whose standard output goes to a file, and shows what
/// has changed.
const SCRIPT: &str = r#"
fixtures=$1 disk=$2 output=$3; shift 3
mount -t tmpfs -o size=512k tmpfs "$disk"
cp -r "$fixtures"/. "$disk"; cp -r "$disk" "$disk.before"
cd "$disk"; touch stdout fill; cat /dev/zero > fill 2> /dev/null
"$@" > "$output"; code=$?
rm -f fill stdout; find . -type d -empty -delete
diff -r "$disk.before" "$disk" >&2 && echo "unchanged, exit code $code"
rm -r "$disk.before"
"#;

/// Runs `arguments` on a full disk with fixtures; `None` if this machine has no small disks for us.
fn run_on_full_disk(name: &str, output: &str, arguments: &[&str]) -> Option<Output> {
    let disk = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("full-{name}"));
    let _ = std::fs::remove_dir_all(disk.with_extension("before"));
    std::fs::create_dir_all(&disk).expect("a folder");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/disk");
    // As root, or as root of a namespace of users.
    let namespaces: [&[&str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];
    let is_allowed = |flags: &&&[&str]| {
        let mut command = Command::new("unshare");
        command.args(**flags).args(["mount", "-t", "tmpfs", "tmpfs"]).arg(&disk);
        command.output().is_ok_and(|output| output.status.success())
    };
    let Some(flags) = namespaces.iter().find(is_allowed) else {
        announce_skipped("this machine lets us mount no small disk");
        return None;
    };
    let mut command = Command::new("unshare");
    command.args(*flags).args(["sh", "-c", SCRIPT, "disk"]).arg(fixtures).arg(&disk).arg(output);
    command.arg(env!("CARGO_BIN_EXE_kubewright")).args(arguments);
    Some(command.output().expect("a shell"))
}

/// Runs `arguments`, which write to a file, and looks for `want` in what is said about it.
#[track_caller]
fn check(name: &str, arguments: &str, want: &str) {
    check_with_output(name, "/dev/null", arguments, want);
}

#[track_caller]
fn check_with_output(name: &str, output: &str, arguments: &str, want: &str) {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let Some(output) = run_on_full_disk(name, output, &arguments) else { return };
    let (said, problem) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "unchanged, exit code 2\n", "{problem}");
    assert!(problem.contains(want), "`{want}` is not in {problem}");
    assert!(problem.contains("no space left on device"), "{problem}");
}

#[test]
fn a_report_keeps_the_one_before() {
    check(
        "report",
        "apply policy.yaml -r pods.yaml --no-project -o json=report.json",
        "cannot write `report.json`",
    );
    check_with_output(
        "table",
        "stdout",
        "apply policy.yaml -r pods.yaml --no-project",
        "cannot write the output",
    );
    check("graph", "graph -r pods.yaml --no-project -o html=report.json", "cannot write `report.json`");
}

#[test]
fn a_baseline_keeps_what_it_was() {
    let arguments = "apply policy.yaml -r pods.yaml --no-project -q --write-baseline baseline.yaml";
    check("baseline", arguments, "cannot write `baseline.yaml`");
}

#[test]
fn a_fix_changes_all_files_or_none() {
    check("fix", "fix policy.yaml -r pod.yaml -r pods.yaml --no-project --write", "cannot write `pod");
}

#[test]
fn a_new_file_is_whole_or_not_there() {
    check("new", "new modrule shop", "cannot write `./shop");
    check("convert", "convert policy.yaml --to validatingpolicy --output-dir .", "cannot write `");
    check_with_output("install", "stdout", "install", "cannot write the output");
}
