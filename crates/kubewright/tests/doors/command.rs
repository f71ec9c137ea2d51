//! The first door: `kubewright apply`.

use std::path::Path;
use std::process::Command;

use kubewright_patch as patch;
use kubewright_value::{Budget, Limits, Value, json};

use crate::cases::{Case, documents};
use crate::verdict::Verdict;

/// Who asks, at every door: the administrator of the cluster.
pub(crate) const USER: &str = "admin";
pub(crate) const GROUPS: [&str; 2] = ["system:masters", "system:authenticated"];

/// Asks the command line about `objects` and returns a verdict for each.
pub(crate) fn command_line(
    case: &Case,
    rules: &Path,
    objects: &[Value],
    folder: &Path,
) -> Result<Vec<Verdict>, String> {
    let file = folder.join("objects.yaml");
    std::fs::write(&file, documents(objects)).map_err(|error| error.to_string())?;
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .arg("apply")
        .arg(rules)
        .arg("-r")
        .arg(&file)
        .arg("--world")
        .arg(folder.join("world.yaml"))
        .args(["-o", "json", "--operation", &case.operation, "--namespace", &case.namespace])
        .args(["--user", USER, "--group", GROUPS[0], "--group", GROUPS[1]])
        .env("NO_COLOR", "1")
        .output()
        .map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let answer = json::parse(&printed).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let rows = answer.get("objects").and_then(Value::as_array).unwrap_or_default();
    // Each object is a line, after the one that separates it from the one before. No row is no rule's opinion.
    let row = |number: usize| {
        rows.iter().find(|row| row.get("line").and_then(Value::as_i64) == i64::try_from(2 * number + 2).ok())
    };
    let untouched =
        |object: &Value| Verdict { is_allowed: true, object: object.clone(), reasons: Vec::new() };
    let objects = objects.iter().enumerate();
    objects
        .map(|(number, object)| row(number).map_or(Ok(untouched(object)), |row| verdict(row, object)))
        .collect()
}

fn verdict(row: &Value, before: &Value) -> Result<Verdict, String> {
    let outcomes = row.get("outcomes").and_then(Value::as_array).unwrap_or_default();
    let refuses = |outcome: &&Value| outcome.get("refuses").and_then(Value::as_bool) == Some(true);
    let text = |outcome: &Value| {
        let of = |key: &str| outcome.str_at(&[key]).to_owned();
        Some(of("denial")).filter(|denial| !denial.is_empty()).unwrap_or_else(|| of("message"))
    };
    Ok(Verdict {
        is_allowed: row.get("allowed").and_then(Value::as_bool).unwrap_or_default(),
        object: patched(before, row.get("patch").unwrap_or(&Value::Null))?,
        reasons: outcomes.iter().filter(refuses).map(text).collect(),
    })
}

/// Applies a JSON Patch.
pub(crate) fn patched(object: &Value, operations: &Value) -> Result<Value, String> {
    let wrong = |error: patch::PatchError| error.to_string();
    let mut object = object.clone();
    let operations = patch::JsonPatchOperation::list(operations).map_err(wrong)?;
    let mut budget = Budget::new(Limits::default());
    patch::apply_patch(&mut object, &operations, &patch::PatchOptions::rfc6902(), &mut budget)
        .map_err(wrong)?;
    Ok(object)
}
