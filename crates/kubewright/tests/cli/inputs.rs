//! Charts, kustomizations and pipes as inputs, and the commands about sets of rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{check, check_with, folder};

/// Runs the binary in the folder of the fixtures, with programs that are found in `programs` only.
fn kubewright_with(programs: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments)
        .current_dir(folder("fixtures/inputs"))
        .env("PATH", programs)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Makes a folder with a program that runs `script`.
#[cfg(unix)]
fn program(folder: &str, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(folder);
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program");
    folder
}

#[test]
fn rendered_documents_are_reported_at_their_templates() {
    let rendered = fs::read_to_string(folder("fixtures/inputs/rendered.yaml")).expect("a file");
    for format in ["table", "github", "json", "sarif", "junit"] {
        let arguments = format!("apply inputs/rules-b -r - -o {format}");
        check_with(&format!("rendered-{format}"), &arguments, &rendered);
    }
}

#[cfg(unix)]
#[test]
fn a_chart_is_rendered_by_helm_without_a_shell() {
    let rendered = folder("fixtures/inputs/rendered.yaml");
    let script = format!("printf '%s\\n' \"$@\" > \"$0.arguments\"\nexec /bin/cat '{}'", rendered.display());
    let programs = program("helm", "helm", &script);
    let arguments = [
        "apply",
        "rules-a",
        "-r",
        "shop",
        "--helm-set",
        "a=$(touch x)",
        "--helm-values",
        "v.yaml",
        "--helm-name",
        "web",
    ];
    let (code, said) = kubewright_with(&programs, &[arguments.as_slice(), &["-o", "github"]].concat());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("::error file=shop/templates/web.yaml,"), "{said}");
    assert!(said.contains("Deployment default/shop (rendered line 6)"), "{said}");
    let given = fs::read_to_string(programs.join("helm.arguments")).expect("arguments");
    let given: Vec<&str> = given.lines().collect();
    assert_eq!(given, ["template", "web", "./shop", "--values", "v.yaml", "--set", "a=$(touch x)"]);
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_says_why() {
    let programs = program("failing", "helm", "echo 'Error: values do not fit' >&2; exit 1");
    let (code, said) = kubewright_with(&programs, &["apply", "rules-a", "-r", "shop"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("KW-F013") && said.contains("Error: values do not fit"), "{said}");
}

#[test]
fn a_chart_without_helm_is_rendered_here_with_true_lines() {
    let arguments = ["apply", "rules-a", "-r", "../../../../files/tests/charts/web", "-o", "github"];
    let (code, said) = kubewright_with(Path::new(""), &arguments);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("`helm` is not installed"), "{said}");
    let place = "::error file=../../../../files/tests/charts/web/templates/deployment.yaml,line=6,col=5,";
    assert!(said.contains(place), "{said}");
}

#[test]
fn a_value_is_named_in_every_format() {
    for format in ["table", "github", "json", "sarif", "junit"] {
        let arguments = [
            "apply",
            "rules-c",
            "-r",
            "../../../../files/tests/charts/web",
            "--helm-namespace",
            "shop",
            "-o",
            format,
        ];
        let (code, said) = kubewright_with(Path::new(""), &arguments);
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("resources.limits.memory") && said.contains("web/values.yaml"),
            "{format}: {said}"
        );
    }
}

#[test]
fn the_output_of_helm_has_true_lines_if_the_chart_is_here() {
    let charts = folder("../../files/tests/charts");
    let rendered = fs::read_to_string(charts.join("web.rendered.yaml")).expect("a file");
    let rules = folder("fixtures/inputs/rules-c");
    let arguments = format!("apply {} -r - --helm-namespace shop -o github", rules.display());
    let output = super::kubewright_in(&charts, &arguments, &rendered);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let place = "::error file=web/templates/deployment.yaml,line=53,col=13,";
    assert!(said.contains(place) && said.contains("at web/values.yaml:58"), "{said}");
}

#[test]
fn a_template_is_called_one() {
    check("inputs-template", "apply inputs/rules-a -r inputs/shop/templates");
    check("inputs-chart-in-folder", "apply inputs/rules-a -r inputs");
}

#[test]
fn two_sets_of_rules_are_compared() {
    check("diff", "diff inputs/rules-a inputs/rules-b -r inputs/rendered.yaml");
    check("diff-same", "diff inputs/rules-a inputs/rules-a -r inputs/rendered.yaml");
    check("diff-json", "diff inputs/rules-a inputs/rules-b -r inputs/rendered.yaml -o json");
    check("impact", "impact inputs/rules-b -r inputs/rendered.yaml");
    check("impact-against", "impact inputs/rules-b --against inputs/rules-a -r inputs/rendered.yaml");
    check(
        "impact-markdown",
        "impact inputs/rules-b --against inputs/rules-a -r inputs/rendered.yaml -o markdown",
    );
    check("impact-json", "impact inputs/rules-b -r inputs/rendered.yaml -o json");
    check("impact-nothing", "impact inputs/rules-a --against inputs/rules-a -r inputs/rendered.yaml");
}

#[test]
fn rules_are_measured_and_compared_with_a_baseline() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench.json");
    let file = file.to_string_lossy();
    let rules = ["bench", "rules-b", "-r", "rendered.yaml"];
    let (code, said) =
        kubewright_with(Path::new(""), &[rules.as_slice(), &["--write-baseline", &file]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 rules on 2 objects"), "{said}");
    let (code, said) = kubewright_with(Path::new(""), &[rules.as_slice(), &["--baseline", &file]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("kyverno/team/label") && said.contains('×'), "{said}");
    let (code, said) =
        kubewright_with(Path::new(""), &[rules.as_slice(), &["--baseline", "rendered.yaml"]].concat());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is not a baseline"), "{said}");
}
