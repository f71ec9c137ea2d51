//! `test --new`: a test file of what rules do now.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_files as files;
use kubewright_report::text::plural;
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Map, Value, yaml};

use crate::arguments::{ObjectArguments, RuleArguments, TestArguments};
use crate::commands::new::write_new_files;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Columns, standard_output};
use crate::rule_inputs::{RuleInputs, print_diagnostics};

const HEAD: &str =
    "# What the rules do now. Keep the cases that are as they should be, and correct the others.\n";

/// Writes a test file with a case for each rule and object that it judges.
///
/// # Errors
/// When there are no rules or objects, or the file is there already.
pub(super) fn write_test(
    arguments: &TestArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let rules = RuleArguments {
        rules: arguments.new.clone(),
        options: arguments.options.clone(),
        ..RuleArguments::default()
    };
    let resources = arguments.resources.clone();
    let objects = ObjectArguments { resources, operation: "CREATE".to_owned(), ..ObjectArguments::default() };
    let inputs = RuleInputs::open(&rules, &objects)?;
    let (cases, diagnostics) = current_cases(inputs)?;
    if print_diagnostics(&diagnostics, color.paint_errors()) {
        return Ok(ExitStatus::BadInput);
    }
    if cases.is_empty() {
        return Err(no_cases());
    }
    let target = target_file(arguments);
    let folder = target.parent().unwrap_or(Path::new(""));
    let count = plural(cases.len(), "case");
    let text = test_text(
        vec![
            ("rules", paths_from(folder, &arguments.new)),
            ("resources", paths_from(folder, &arguments.resources)),
        ],
        cases,
    );
    let mut out = standard_output();
    if target == Path::new("-") {
        write!(out, "{text}")?;
    } else {
        write_new_files(&[(target.clone(), text)])?;
        writeln!(out, "{}: {count}", target.display())?;
    }
    out.flush()?;
    Ok(ExitStatus::Clean)
}

/// Returns a case for each rule and object that it judges, and what is wrong with the inputs.
///
/// # Errors
/// When no thread can be started.
pub(in crate::commands) fn current_cases(
    inputs: RuleInputs,
) -> Result<(Vec<Value>, Vec<Diagnostic>), CommandFailure> {
    let mut cases = Vec::new();
    let reviewer = inputs.reviewer(Columns { all_outcomes: true, ..Columns::default() });
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| reviewer.review(document),
        |row, _| {
            cases.extend(row.outcomes.iter().map(|outcome| case_value(&row, outcome)));
            Ok(())
        },
    )?;
    let mut diagnostics = inputs.diagnostics;
    diagnostics.extend(problems);
    Ok((cases, diagnostics))
}

/// Returns a test file in `folder` of what the rules of `rule_files` say about the object of a row.
#[cfg(feature = "lsp")]
pub(in crate::commands) fn test_of_row(folder: &Path, rule_files: &[String], row: &ObjectRow) -> String {
    let cases = row.outcomes.iter().map(|outcome| case_value(row, outcome)).collect();
    let resources = [row.location.file.to_string()];
    let fields =
        vec![("rules", paths_from(folder, rule_files)), ("resources", paths_from(folder, &resources))];
    test_text(fields, cases)
}

/// Returns the failure of a test without cases.
pub(in crate::commands) fn no_cases() -> CommandFailure {
    CommandFailure::usage("no rule is about any of the objects")
        .help("`kubewright trace` with the same rules and objects says why")
}

/// Returns a test file with `fields` before its cases.
pub(in crate::commands) fn test_text(fields: Vec<(&str, Value)>, cases: Vec<Value>) -> String {
    let head = [("apiVersion", Value::from("kubewright.dev/v1alpha1")), ("kind", "Test".into())];
    let fields = head.into_iter().chain(fields).chain([("cases", Value::array(cases))]);
    let test: Map = fields.map(|(name, value)| (name.into(), value)).collect();
    format!("{HEAD}{}", yaml::write(&test.into()))
}

/// Returns the file to write: the one that was named, or `kubewright-test.yaml` beside the first rule.
fn target_file(arguments: &TestArguments) -> PathBuf {
    if let Some(named) = arguments.paths.first() {
        return PathBuf::from(named);
    }
    let rule = arguments.new.first().map(Path::new).unwrap_or(Path::new("."));
    let folder = if rule.is_dir() { rule } else { rule.parent().unwrap_or(Path::new("")) };
    folder.join("kubewright-test.yaml")
}

fn case_value(row: &ObjectRow, outcome: &OutcomeRow) -> Value {
    let namespace = if row.namespace.is_empty() { String::new() } else { format!("{}/", row.namespace) };
    let word = if outcome.is_patched() { "patch" } else { outcome.status.name() };
    let mut case = Map::from([
        ("name", Value::from(format!("{} {} {}", outcome.rule.short(), case_verb(word), row.subject))),
        ("rule", outcome.rule.to_string().into()),
        ("resource", format!("{}/{namespace}{}", row.kind, row.name).into()),
        ("outcome", word.into()),
    ]);
    if outcome.is_patched() {
        let patch = outcome.patch.iter().map(kubewright_patch::JsonPatchOperation::to_value).collect();
        case.insert("patch".into(), Value::array(patch));
    } else if outcome.status == RuleStatus::Fail && !outcome.message.is_empty() {
        case.insert("message".into(), outcome.message.clone().into());
    }
    case.into()
}

fn case_verb(word: &str) -> &'static str {
    match word {
        "pass" => "passes",
        "fail" => "fails",
        "warn" => "warns of",
        "error" => "cannot judge",
        "patch" => "changes",
        _ => "skips",
    }
}

/// Returns `paths` as they are from `folder`.
fn paths_from(folder: &Path, paths: &[String]) -> Value {
    Value::array(paths.iter().map(|path| path_from(folder, Path::new(path)).into()).collect())
}

fn path_from(folder: &Path, path: &Path) -> String {
    let real = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
    };
    let (folder, path) = (real(folder), real(path));
    let shared = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let found: PathBuf = up.chain(path.components().skip(shared)).collect();
    if found.as_os_str().is_empty() { ".".to_owned() } else { found.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_test_file() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(path_from(&here.join("src"), &here.join("templates/test")), "../templates/test");
        assert_eq!(path_from(here, here), ".");
    }
}
