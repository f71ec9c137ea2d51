//! kubectl, krew, pre-commit, k9s and Homebrew.

use std::fs;
use std::process::Command;

use kubewright_value::{Value, yaml};

use super::{BINARY, VERSION, empty_folder, items, read, read_yaml, repository, run};

#[test]
fn kubectl_kubewright_is_the_same_program_under_another_name() {
    let plugin = empty_folder("kubectl").join("kubectl-kubewright");
    fs::copy(BINARY, &plugin).expect("a copy");
    let (code, text) = run(Command::new(&plugin).args(["apply", "--help"]));
    assert!(code == 0 && text.contains("Usage: kubectl kubewright apply [OPTIONS]"), "{code}: {text}");
    let (code, text) = run(Command::new(&plugin).arg("aply"));
    assert!(code == 2 && text.contains("Usage: kubectl kubewright"), "{code}: {text}");
    let (code, text) = run(Command::new(&plugin).args(["explain", "KW-K001"]));
    assert!(code == 0 && text.contains("unknown field"), "{code}: {text}");
}

/// Renders `.krew.yaml` as krew-release-bot does, with a checksum that is made up.
fn rendered_plugin(tag: &str) -> Value {
    let lines = read(".krew.yaml");
    let lines = lines.lines().map(|line| match line.trim().strip_prefix("{{ addURIAndSha \"") {
        None => line.to_owned(),
        Some(rest) => {
            let (url, rest) = rest.split_once("\" ").expect("an address");
            assert_eq!(rest, ".TagName }}");
            format!("    uri: {url}\n    sha256: {}", "0".repeat(64))
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.replace("{{ .TagName }}", tag).replace("{{ slice .TagName 1 }}", &tag[1..]);
    let unknown = text.lines().find(|line| line.contains("{{") && !line.starts_with('#'));
    assert_eq!(unknown, None, "the bot knows no such function");
    yaml::parse(&text).expect("YAML")
}

#[test]
fn krew_gets_five_platforms_with_the_names_of_the_archives() {
    let plugin = rendered_plugin("v1.2.3");
    assert_eq!(plugin.str_at(&["apiVersion"]), "krew.googlecontainertools.github.com/v1alpha2");
    assert_eq!(plugin.str_at(&["spec", "version"]), "v1.2.3");
    let short = plugin.str_at(&["spec", "shortDescription"]);
    assert!(!short.is_empty() && short.len() <= 50 && !short.ends_with('.'), "{short}");
    let mut found = Vec::new();
    for platform in items(&plugin, &["spec", "platforms"]) {
        let labels = ["os", "arch"].map(|label| platform.str_at(&["selector", "matchLabels", label]));
        let ending = if labels[0] == "windows" { "zip" } else { "tar.gz" };
        let archive =
            format!("/releases/download/v1.2.3/kubewright_1.2.3_{}_{}.{ending}", labels[0], labels[1]);
        assert!(platform.str_at(&["uri"]).ends_with(&archive), "{}", platform.str_at(&["uri"]));
        let files = items(platform, &["files"]).iter().map(|file| file.str_at(&["from"]).to_owned());
        assert_eq!(
            files.collect::<Vec<_>>(),
            [format!("*/{}", platform.str_at(&["bin"])), "*/LICENSE".to_owned()]
        );
        found.push(labels.join("/"));
    }
    assert_eq!(found, ["linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"]);
}

#[test]
fn every_hook_of_pre_commit_is_a_command() {
    let hooks = read_yaml(".pre-commit-hooks.yaml");
    for hook in hooks.as_array().expect("hooks") {
        for field in ["id", "name", "description", "entry", "language"] {
            assert!(!hook.str_at(&[field]).is_empty(), "{hook:?} has no {field}");
        }
        let entry = hook.str_at(&["entry"]);
        let words = match hook.str_at(&["language"]) {
            "system" => entry.strip_prefix("kubewright").expect("the program"),
            "docker_image" => {
                let image = format!("ghcr.io/OWNER/kubewright:{VERSION}");
                entry.strip_prefix(&image).expect("the image of this version")
            }
            other => unreachable!("{other}"),
        };
        let (code, text) = run(Command::new(BINARY).args(words.split_whitespace()).arg("--help"));
        assert_eq!(code, 0, "{entry}: {text}");
    }
}

#[test]
fn the_commands_of_k9s_work_on_what_kubectl_prints() {
    let plugins = read_yaml("packaging/k9s/plugins.yaml");
    let plugins = plugins.get("plugins").and_then(Value::as_object).expect("plugins");
    let folder = empty_folder("k9s");
    let rules = folder.join(".config/kubewright/rules");
    fs::create_dir_all(&rules).expect("a folder");
    fs::copy(repository("examples/kyverno/fixed-image-tags/policy.yaml"), rules.join("policy.yaml"))
        .expect("a rule");
    fs::create_dir_all(folder.join("bin")).expect("a folder");
    std::os::unix::fs::symlink(BINARY, folder.join("bin/kubewright")).expect("a link");
    let objects = repository("examples/pattern/shop.yaml");
    let prologue =
        format!("kubectl() {{ echo \"kubectl $*\" >&2; cat '{}'; }}; less() {{ cat; }}; ", objects.display());
    for (name, plugin) in plugins.iter() {
        assert!(!plugin.str_at(&["shortCut"]).is_empty() && !plugin.str_at(&["description"]).is_empty());
        let script = items(plugin, &["args"]).get(1).and_then(Value::as_str).expect("a script");
        let mut script = script.to_owned();
        for (variable, value) in
            [("$RESOURCE_NAME", "pods"), ("$NAMESPACE", "shop"), ("$NAME", "web"), ("$CONTEXT", "dev")]
        {
            script = script.replace(variable, value);
        }
        assert!(!script.contains('$'), "k9s knows no other variables: {script}");
        let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let script = format!("set -o pipefail; {prologue}{script}");
        let (code, text) =
            run(Command::new("bash").args(["-c", &script]).env("HOME", &folder).env("PATH", path));
        assert!(code == 0 && text.contains("--context dev") && text.contains("web"), "{name} {code}: {text}");
    }
}

#[test]
fn the_formula_is_written_for_a_release() {
    let folder = empty_folder("homebrew");
    fs::write(folder.join("source.tar.gz"), b"source").expect("a file");
    let mut command = Command::new(repository("packaging/homebrew/formula"));
    let (code, formula) = run(command.arg("1.2.3").arg(folder.join("source.tar.gz")));
    assert_eq!(code, 0, "{formula}");
    assert!(formula.contains("/archive/refs/tags/v1.2.3.tar.gz\""));
    assert!(
        formula.contains("  sha256 \"41cf6794ba4200b839c53531555f0f3998df4cbb01a4d5cb0b94e3ca5e23947d\"\n"),
        "{formula}"
    );
    let from_source = read("packaging/homebrew/kubewright.rb");
    assert!(from_source.contains(&format!("/tags/v{VERSION}.tar.gz\"")), "the formula names this version");
}
