//! The release workflow, the archive, the bill of materials, `cargo binstall` and the placeholder of the owner.

use std::fs;
use std::path::Path;
use std::process::Command;

use kubewright_value::{Value, json};

use super::{BINARY, VERSION, empty_folder, items, read, read_yaml, repository, run};

const SYSTEMS: [&str; 4] = ["linux", "linux-musl", "darwin", "windows"];

#[test]
fn the_release_has_an_archive_for_every_system_and_architecture() {
    let workflow = read_yaml(".github/workflows/release.yml");
    let include = items(&workflow, &["jobs", "archive", "strategy", "matrix", "include"]);
    let mut found: Vec<String> =
        include.iter().map(|row| format!("{}_{}", row.str_at(&["os"]), row.str_at(&["arch"]))).collect();
    found.sort();
    let mut wanted: Vec<String> =
        SYSTEMS.iter().flat_map(|system| ["amd64", "arm64"].map(|arch| format!("{system}_{arch}"))).collect();
    wanted.sort();
    assert_eq!(found, wanted);
    for row in include {
        let target = row.str_at(&["target"]);
        let architecture = if row.str_at(&["arch"]) == "amd64" { "x86_64-" } else { "aarch64-" };
        assert!(target.starts_with(architecture), "{target}");
    }
}

#[test]
fn workflows_pin_actions_and_keep_expressions_out_of_scripts() {
    for file in [".github/workflows/release.yml", ".github/workflows/ci.yml"] {
        let workflow = read_yaml(file);
        assert_eq!(workflow.str_at(&["permissions", "contents"]), "read");
        let jobs = workflow.get("jobs").and_then(Value::as_object).expect("jobs");
        for step in jobs.values().flat_map(|job| items(job, &["steps"])) {
            assert!(!step.str_at(&["run"]).contains("${{"), "{file}: an expression in a script: {step:?}");
            if let Some(uses) = step.get("uses").and_then(Value::as_str) {
                let digest = uses.split_once('@').map_or("", |(_, digest)| digest);
                let is_digest = digest.len() == 40 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(is_digest, "{file}: {uses} is not pinned by its digest");
            }
        }
    }
}

/// The names of the files in an archive, without its folder.
fn listed(archive: &Path) -> Vec<String> {
    let (code, text) = run(Command::new("tar").arg("-tzf").arg(archive));
    assert_eq!(code, 0, "{text}");
    let names = text.lines().filter_map(|line| line.split_once('/')).map(|(_, name)| name.to_owned());
    names.filter(|name| !name.is_empty() && !name.ends_with('/')).collect()
}

#[test]
fn an_archive_has_everything_and_the_same_bytes_every_time() {
    // What is packed does not matter here; a script that prints is quick to pack.
    let folder = empty_folder("archive");
    let program = folder.join("program");
    fs::write(&program, "#!/bin/sh\nexit 0\n").expect("a file");
    let pack = |system: &str, target: &str| {
        let mut command = Command::new(repository("packaging/archive"));
        command.arg(&program).args([system, "amd64"]).arg(folder.join(target)).env("KUBEWRIGHT", BINARY);
        let (code, text) = run(&mut command);
        assert_eq!(code, 0, "{text}");
        fs::read(text.trim()).expect("an archive")
    };
    let name = format!("kubewright_{VERSION}_linux_amd64");
    assert!(pack("linux", "one") == pack("linux", "two"), "two archives of one program differ");
    let names = listed(&folder.join("one").join(format!("{name}.tar.gz")));
    for wanted in [
        "kubewright",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "completions/kubewright.bash",
        "man/kubewright.1",
        "man/kubewright-apply.1",
    ] {
        assert!(names.iter().any(|name| name == wanted), "{wanted} is missing: {names:?}");
    }
    assert!(pack("windows", "one").starts_with(b"PK"), "Windows gets a zip");
}

#[test]
fn the_bill_of_materials_names_what_the_binary_is_built_from() {
    let bill = || run(&mut Command::new(repository("packaging/sbom")));
    let (code, text) = bill();
    assert_eq!(code, 0, "{text}");
    let document = json::parse(&text).expect("JSON");
    assert_eq!((document.str_at(&["bomFormat"]), document.str_at(&["specVersion"])), ("CycloneDX", "1.6"));
    assert_eq!(
        document.str_at(&["metadata", "component", "purl"]),
        format!("pkg:cargo/kubewright@{VERSION}")
    );
    let components = items(&document, &["components"]);
    let named = |name: &str| components.iter().find(|component| component.str_at(&["name"]) == name);
    let rustls = named("rustls").expect("rustls is linked");
    assert_eq!(items(rustls, &["hashes"]).first().map_or(0, |hash| hash.str_at(&["content"]).len()), 64);
    assert!(
        named("kubewright-kyverno").is_some() && named("kubewright-controlplane").is_none(),
        "tests are not shipped"
    );
    let without = components.iter().find(|component| items(component, &["licenses"]).is_empty());
    assert!(without.is_none(), "no licence: {without:?}");
    assert_eq!(bill().1, text, "the same source has the same document");
}

#[test]
fn cargo_binstall_finds_the_archives() {
    let manifest = read("crates/kubewright/Cargo.toml");
    let section = manifest.split("[package.metadata.binstall").skip(1).collect::<String>();
    assert!(section.contains("kubewright_{ version }_"), "{section}");
    for (target, archive) in [
        ("x86_64-unknown-linux-gnu", "linux_amd64"),
        ("aarch64-unknown-linux-gnu", "linux_arm64"),
        ("x86_64-unknown-linux-musl", "linux-musl_amd64"),
        ("aarch64-unknown-linux-musl", "linux-musl_arm64"),
        ("x86_64-apple-darwin", "darwin_amd64"),
        ("aarch64-apple-darwin", "darwin_arm64"),
        ("x86_64-pc-windows-msvc", "windows_amd64"),
        ("aarch64-pc-windows-msvc", "windows_arm64"),
    ] {
        let overridden = section.split(&format!("overrides.{target}]")).nth(1).unwrap_or_default();
        let overridden = overridden.split("\n[").next().unwrap_or_default();
        assert!(overridden.contains(&format!("_{archive}.")), "{target}: {overridden}");
    }
}

#[test]
fn one_command_writes_the_owner_everywhere() {
    let (code, files) = run(Command::new("git").args(["ls-files", "-z"]).current_dir(repository(".")));
    if code != 0 {
        return eprintln!("SKIPPED: not a clone of git");
    }
    let folder = empty_folder("owner");
    for name in files
        .split('\0')
        .filter(|name| !name.is_empty() && !name.starts_with("crates/") && !name.starts_with("tests/"))
    {
        let Ok(text) = fs::read_to_string(repository(name)) else { continue };
        if text.contains("OWNER") {
            let target = folder.join(name);
            fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
            fs::write(target, text).expect("a file");
        }
    }
    fs::copy(repository("packaging/set-owner"), folder.join("packaging/set-owner")).expect("the script");
    let script = "git init -q . && git add -A && sh -c 'packaging/set-owner Shop-Team' && git grep -lE '/OWNER/' -- ':!docs' ':!packaging/set-owner' ':!SECURITY.md'";
    let (code, left) = run(Command::new("bash").args(["-c", script]).current_dir(&folder));
    assert_eq!((code, left.as_str()), (1, ""), "these still have the placeholder");
    let chart = fs::read_to_string(folder.join("charts/kubewright/Chart.yaml")).expect("the chart");
    assert!(
        chart.contains("https://github.com/Shop-Team/kubewright")
            && chart.contains("ghcr.io/shop-team/kubewright")
    );
}
