//! Arguments of `new` and `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Writes a rule with a test that passes.
#[derive(Debug, Args)]
#[command(after_help = "\
A folder is made with the rule, objects to try it on, and a kubewright-test.yaml that passes. No file is replaced.

Examples:
  kubewright new policy require-limits
  kubewright new modrule add-team --dir rules
  kubewright test require-limits

Exit codes: 0 written, 2 bad input, or a file is there already")]
pub(crate) struct NewArguments {
    /// What to write
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: ScaffoldKind,

    /// The name of the rule, in lower case with dashes
    #[arg(value_name = "NAME", value_parser = check_rule_name)]
    pub(crate) name: String,

    /// The folder in which the folder of the rule is made [default: that of the project's rules, or this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// What `new` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaffoldKind {
    /// A ModRule of KubeMod
    Modrule,
    /// A ClusterPolicy of Kyverno
    Policy,
    /// A ValidatingPolicy of Kyverno, in CEL
    Vpol,
    /// A Trait of OpenChoreo
    Trait,
    /// A Pattern of KubePattern
    Pattern,
    /// A ClusterPolicy with a test that shows more of what tests can check
    Test,
}

/// Writes a project file and a CI file.
#[derive(Debug, Args)]
#[command(after_help = "\
Folders that are not named are asked for on a terminal, and are otherwise `rules` or `policies`, and `manifests`, `k8s` or
`deploy`, whichever is there. No file is replaced.

Examples:
  kubewright init
  kubewright init --rules policies --resources k8s --ci github
  kubewright init --ci none --fail-on high

Exit codes: 0 written, 2 bad input, or a file is there already")]
pub(crate) struct InitArguments {
    /// A file or folder with rules; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) rules: Vec<String>,

    /// A file or folder with manifests; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) resources: Vec<String>,

    /// The least severity that makes the check fail
    #[arg(long, value_name = "LEVEL")]
    pub(crate) fail_on: Option<String>,

    /// The CI file to write [default: github]
    #[arg(long, value_enum, value_name = "CI")]
    pub(crate) ci: Option<CiSystem>,

    /// Ask nothing
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// The folder of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
}

/// Systems that run checks of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CiSystem {
    /// .github/workflows/kubewright.yaml
    Github,
    /// .gitlab-ci.yml
    Gitlab,
    /// No file
    None,
}

/// Checks that `name` is that of a Kubernetes object.
fn check_rule_name(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = !name.is_empty() && name.len() <= 63 && name.chars().all(is_plain);
    if is_name && !name.starts_with('-') && !name.ends_with('-') {
        return Ok(name.to_owned());
    }
    Err("a name has lower case letters, digits and dashes, and begins and ends with a letter or digit"
        .to_owned())
}
