//! The GitHub Action: its inputs are never code, and its scripts run against an archive on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BINARY, VERSION, empty_folder, items, read_yaml, repository, run};

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
    - name: has-a-team
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate: {failureAction: Enforce, message: set the label team, pattern: {metadata: {labels: {team: \"?*\"}}}}
";
const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

#[test]
fn inputs_reach_scripts_through_the_environment_only() {
    let action = read_yaml("action.yml");
    assert_eq!(action.str_at(&["runs", "using"]), "composite");
    let inputs = action.get("inputs").and_then(kubewright_value::Value::as_object).expect("inputs");
    for (name, input) in inputs.iter() {
        assert!(!input.str_at(&["description"]).is_empty(), "{name} has no description");
        assert!(input.get("default").is_some(), "{name} has no default");
    }
    let steps = items(&action, &["runs", "steps"]);
    assert!(steps.len() >= 4);
    for step in steps {
        assert!(!step.str_at(&["run"]).contains("${{"), "an expression is part of a script: {step:?}");
        assert!(step.get("uses").is_some() || step.str_at(&["shell"]) == "bash");
    }
}

/// A folder with a release of this binary: the archive that `packaging/archive` makes, and its checksum.
fn release() -> PathBuf {
    let folder = empty_folder("release");
    let mut pack = Command::new(repository("packaging/archive"));
    let (code, text) = run(pack.args([BINARY, "linux", "amd64"]).arg(&folder).env("COMPRESSION", "1"));
    assert_eq!(code, 0, "{text}");
    let (code, sums) = run(Command::new("sh").arg("-c").arg("sha256sum *.tar.gz").current_dir(&folder));
    assert_eq!(code, 0, "{sums}");
    fs::write(folder.join("checksums.txt"), sums).expect("checksums");
    folder
}

fn install(release: &Path, target: &Path, version: &str) -> (i32, String) {
    let mut command = Command::new(repository("packaging/action/install"));
    let files = [("GITHUB_PATH", "path"), ("GITHUB_OUTPUT", "output")];
    command.envs(files.map(|(name, file)| (name, target.join(file))));
    command.env("GITHUB_ACTION_PATH", repository(".")).env("INSTALL_FOLDER", target.join("bin"));
    command.env("KUBEWRIGHT_VERSION", version);
    command.env("KUBEWRIGHT_DOWNLOAD_URL", format!("file://{}", release.display()));
    run(command.env("RUNNER_SYSTEM", "Linux").env("RUNNER_ARCHITECTURE", "X64"))
}

#[test]
fn an_archive_is_installed_if_its_checksum_is_right() {
    let (release, target) = (release(), empty_folder("action"));
    let (code, text) = install(&release, &target, "");
    assert_eq!((code, text.trim()), (0, format!("kubewright {VERSION}").as_str()));
    assert_eq!(fs::read_to_string(target.join("output")).expect("outputs"), format!("version={VERSION}\n"));
    check_the_run(&target);

    // The same release with another byte.
    let archive = release.join(format!("kubewright_{VERSION}_linux_amd64.tar.gz"));
    let mut bytes = fs::read(&archive).expect("the archive");
    bytes.push(0);
    fs::write(&archive, bytes).expect("the archive");
    let other = empty_folder("action-changed");
    let (code, text) = install(&release, &other, VERSION);
    assert!(code == 2 && text.contains("does not have the SHA-256"), "{code}: {text}");
    assert!(!other.join("bin/kubewright").exists());

    let (code, text) = install(&release, &other, "../../etc");
    assert!(code == 2 && text.contains("is not a version"), "{code}: {text}");
    let (code, text) = install(&release, &other, "9.9.9");
    assert!(
        code == 2 && text.contains("does not list kubewright_9.9.9_linux_amd64.tar.gz")
            || text.contains("cannot download"),
        "{text}"
    );
}

/// Runs the second script with the installed binary.
fn check_the_run(target: &Path) {
    fs::write(target.join("policy.yaml"), POLICY).expect("a file");
    fs::write(target.join("object.yaml"), MANIFEST).expect("a file");
    // A `gh` that writes down what it is asked.
    let gh = target.join("bin/gh");
    fs::write(&gh, "#!/bin/sh\necho \"$@\" >> \"$GH_LOG\"\n").expect("a file");
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).expect("a program");

    let script = |variables: &[(&str, &str)]| {
        let mut command = Command::new(repository("packaging/action/run"));
        let path = format!("{}:{}", target.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let files = [("GITHUB_STEP_SUMMARY", "summary"), ("GITHUB_OUTPUT", "result"), ("GH_LOG", "gh-log")];
        command.envs(files.map(|(name, file)| (name, target.join(file)))).env("PATH", path);
        command.env("KUBEWRIGHT_MARKDOWN", target.join("result.md")).env("GH_REPO", "shop/deploy");
        run(command.envs(variables.iter().copied()).current_dir(target))
    };
    let apply = [
        ("KUBEWRIGHT_COMMAND", "apply"),
        ("KUBEWRIGHT_RULES", "policy.yaml"),
        ("KUBEWRIGHT_RESOURCES", " object.yaml\n"),
    ];
    let more =
        [("KUBEWRIGHT_SARIF", "out.sarif"), ("KUBEWRIGHT_COMMENT", "true"), ("KUBEWRIGHT_PULL_REQUEST", "7")];
    let (code, text) = script(&[apply.as_slice(), &more].concat());
    assert!(code == 1 && text.contains("::error file=object.yaml,line="), "{code}: {text}");
    let outputs = fs::read_to_string(target.join("result")).expect("outputs");
    assert!(outputs.contains("exit-code=1\n") && outputs.contains("sarif=out.sarif\n"), "{outputs}");
    assert!(fs::read_to_string(target.join("out.sarif")).expect("SARIF").contains("set the label team"));
    assert!(fs::read_to_string(target.join("summary")).expect("a summary").contains("set the label team"));
    assert!(
        fs::read_to_string(target.join("gh-log"))
            .expect("calls")
            .contains("repos/shop/deploy/issues/7/comments")
    );

    // Words that a shell would run, and flags in a list of files, stay words.
    let hostile = [
        ("KUBEWRIGHT_COMMAND", "apply"),
        ("KUBEWRIGHT_RULES", "$(touch${IFS}owned) `touch owned`"),
        ("KUBEWRIGHT_ARGS", "-r\nobject.yaml\n; touch owned"),
    ];
    let (code, text) = script(&hostile);
    assert!(code == 2 && !target.join("owned").exists(), "{code}: {text}");
    let (code, text) = script(&[("KUBEWRIGHT_COMMAND", "apply"), ("KUBEWRIGHT_RULES", "--help")]);
    assert!(code == 2 && text.contains("belongs to `args`"), "{code}: {text}");
    let (code, text) = script(&[("KUBEWRIGHT_COMMAND", "serve")]);
    assert!(code == 2 && text.contains("there is no command `serve`"), "{code}: {text}");
}
