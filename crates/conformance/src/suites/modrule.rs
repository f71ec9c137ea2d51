//! `modrule`: KubeMod's own tests and probes of it, as `{suite, input?, context?, cases[]}`; see the corpus's FORMAT.md.
//!
//! Patches are compared by what they do, errors by their kind, never by their wording.

mod languages;
mod rules;

use kubewright_value::Value;

use super::{CaseResult, SuiteResult, text};

pub(super) fn run(name: &str, suite: &Value) -> SuiteResult {
    let stem = name.rsplit('/').next().unwrap_or_default();
    let check = check_for(stem);
    let cases = suite.get("cases").and_then(Value::as_array).unwrap_or_default();
    let counts = |case: &&Value| !matches!(text(case, "verdict"), "bug" | "nondeterministic");
    let results = cases.iter().filter(counts).map(|case| CaseResult {
        name: text(case, "name").to_owned(),
        failure: check
            .map_or_else(|| Err("unknown suite".to_owned()), |check| judge(check, suite, case))
            .err(),
    });
    let uncounted = cases.iter().filter(|case| !counts(case)).count();
    SuiteResult { name: name.to_owned(), cases: results.collect(), uncounted }
}

/// The corpus records what the original answers; where the verdict is that the documentation promises otherwise,
/// that very answer is the wrong one.
fn judge(check: Check, suite: &Value, case: &Value) -> Result<(), String> {
    match (text(case, "verdict"), check(suite, case)) {
        ("contract", Ok(())) => {
            Err("this is the original's answer, against its own documentation".to_owned())
        }
        ("contract", Err(_)) => Ok(()),
        (_, answer) => answer,
    }
}

type Check = fn(&Value, &Value) -> Result<(), String>;

/// Returns what the cases of a suite ask.
fn check_for(stem: &str) -> Option<Check> {
    Some(match stem {
        "core-calculatepatch" | "x-patch" | "x-load" => rules::patch,
        "core-determinerejections" | "x-reject" => rules::rejections,
        "core-dragnetwebhook" | "x-admission" | "x-contract-examples" => rules::admission,
        "core-ismatch" => rules::criteria,
        "core-modrulestore" => rules::store,
        "x-match" => rules::criterion,
        "x-validate" => rules::validate,
        "x-podbinding" => rules::binding,
        "x-dryrun" => rules::dry_run,
        "core-pathfromkeyparts" => languages::path,
        "util-diff" => languages::diff,
        "util-template" => languages::shorthand,
        "x-template" => languages::template,
        "x-value-yaml" => languages::yaml,
        "x-jsonpatch" => languages::json_patch,
        "x-selectkeys" => languages::select,
        _ if stem.contains("jsonpath") => languages::expression,
        _ => return None,
    })
}

/// Returns the shared part of a suite, or the case's own.
fn shared<'v>(suite: &'v Value, case: &'v Value, key: &str) -> &'v Value {
    case.get(key).or_else(|| suite.get(key)).unwrap_or(&Value::Null)
}
