//! `init`: writes a project file and a CI file.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use kubewright_value::{Map, Value, yaml};

use super::new::write_new_files;
use crate::arguments::{CiSystem, InitArguments, parse_threshold};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{print_stderr, standard_output};

const GITHUB: &str = include_str!("../../templates/project/github.yaml");
const GITLAB: &str = include_str!("../../templates/project/gitlab.yaml");
const HEAD: &str =
    "# What kubewright checks here: `kubewright` runs lint, apply and test. Fields: docs/project.md.\n";

/// Folders that usually hold rules, and those that hold manifests.
const RULE_FOLDERS: [&str; 2] = ["rules", "policies"];
const MANIFEST_FOLDERS: [&str; 4] = ["manifests", "k8s", "deploy", "kubernetes"];

/// Runs the command.
///
/// # Errors
/// When an answer is invalid, or a file is there already or cannot be written.
pub(crate) fn run_init(arguments: &InitArguments) -> Result<ExitStatus, CommandFailure> {
    let asks = !arguments.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let folder = &arguments.dir;
    let rules = answers(&arguments.rules, "Where are the rules?", usual_folder(folder, &RULE_FOLDERS), asks)?;
    let usual = usual_folder(folder, &MANIFEST_FOLDERS);
    let mut resources = answers(&arguments.resources, "Where are the manifests?", usual, asks)?;
    if !asks && arguments.resources.is_empty() {
        // A default is written only where the folder is there.
        resources.retain(|path| folder.join(path).exists());
    }
    let ci = match arguments.ci {
        Some(ci) => ci,
        None if asks => ask_ci()?,
        None => CiSystem::Github,
    };
    if let Some(level) = &arguments.fail_on {
        parse_threshold(level).map_err(|why| CommandFailure::usage(format!("`--fail-on {level}`: {why}")))?;
    }
    let mut files = vec![(folder.join("kubewright.yaml"), project_text(&rules, &resources, arguments))];
    match ci {
        CiSystem::Github => {
            files.push((folder.join(".github/workflows/kubewright.yaml"), GITHUB.to_owned()));
        }
        CiSystem::Gitlab => files.push((folder.join(".gitlab-ci.yml"), GITLAB.to_owned())),
        CiSystem::None => {}
    }
    write_new_files(&files)?;
    report_written(&files, folder, [&rules, &resources])
}

fn report_written(
    files: &[(PathBuf, String)],
    folder: &Path,
    named: [&Vec<String>; 2],
) -> Result<ExitStatus, CommandFailure> {
    let mut out = standard_output();
    for (path, _) in files {
        writeln!(out, "{}", path.display())?;
    }
    writeln!(out, "try: kubewright")?;
    out.flush()?;
    let [rules, resources] = named;
    let is_missing = |path: &&String| !folder.join(path).exists();
    for path in rules.iter().filter(is_missing) {
        let help = "`kubewright new policy NAME` writes a first rule into it";
        print_stderr(format_args!("note: `{path}` is not there yet; {help}"));
    }
    for path in resources.iter().filter(is_missing) {
        print_stderr(format_args!("note: `{path}` is not there yet"));
    }
    if resources.is_empty() {
        print_stderr(format_args!("note: no manifests were found; `resources` of the project names them"));
    }
    Ok(ExitStatus::Clean)
}

fn project_text(rules: &[String], resources: &[String], arguments: &InitArguments) -> String {
    let list = |texts: &[String]| Value::array(texts.iter().map(|text| text.as_str().into()).collect());
    let mut project = Map::from([("rules", list(rules))]);
    if !resources.is_empty() {
        project.insert("resources".into(), list(resources));
    }
    if let Some(level) = &arguments.fail_on {
        project.insert("failOn".into(), level.as_str().into());
    }
    format!("{HEAD}{}", yaml::write(&project.into()))
}

/// Returns the first of `names` that is a folder, or the first of them.
fn usual_folder(folder: &Path, names: &[&'static str]) -> &'static str {
    let found = names.iter().find(|name| folder.join(name).is_dir());
    found.or(names.first()).copied().unwrap_or(".")
}

/// Returns what was given, or the answer to `question`.
fn answers(
    given: &[String],
    question: &str,
    usual: &'static str,
    asks: bool,
) -> Result<Vec<String>, CommandFailure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let answer = if asks { ask(question, usual)? } else { usual.to_owned() };
    Ok(vec![answer])
}

fn ask_ci() -> Result<CiSystem, CommandFailure> {
    match ask("Which CI: github, gitlab or none?", "github")?.as_str() {
        "github" => Ok(CiSystem::Github),
        "gitlab" => Ok(CiSystem::Gitlab),
        "none" => Ok(CiSystem::None),
        other => Err(CommandFailure::usage(format!("there is no CI file for `{other}`"))
            .help("use one of github, gitlab, none")),
    }
}

fn ask(question: &str, usual: &str) -> Result<String, CommandFailure> {
    let mut out = std::io::stderr();
    write!(out, "{question} [{usual}] ")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(match line.trim() {
        "" => usual.to_owned(),
        answer => answer.to_owned(),
    })
}
