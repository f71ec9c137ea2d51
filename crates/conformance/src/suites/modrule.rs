//! `modrule`: KubeMod's own tests and probes of it, as `{suite, input?, context?, cases[]}`; see the corpus's FORMAT.md.
//!
//! Patches are compared by what they do, errors by their kind, never by their wording.

mod languages;
mod rules;

use kubewright_value::Value;

use super::{SuiteCaseResult, SuiteResult, case_text};

pub(super) fn run_modrule_suite(name: &str, suite: &Value) -> SuiteResult {
    let stem = name.rsplit('/').next().unwrap_or_default();
    let check = check_for(stem);
    let cases = suite.get("cases").and_then(Value::as_array).unwrap_or_default();
    let counts = |case: &&Value| !matches!(case_text(case, "verdict"), "bug" | "nondeterministic");
    let results = cases.iter().filter(counts).map(|case| SuiteCaseResult {
        name: case_text(case, "name").to_owned(),
        failure: check
            .map_or_else(|| Err("unknown suite".to_owned()), |check| judge_modrule_case(check, suite, case))
            .err(),
    });
    let uncounted = cases.iter().filter(|case| !counts(case)).count();
    SuiteResult { name: name.to_owned(), cases: results.collect(), uncounted }
}

/// Runs one case. The corpus records the original's answer; if the case says that the documentation promises another
/// one, the recorded answer must not be given.
fn judge_modrule_case(check: ModRuleCheck, suite: &Value, case: &Value) -> Result<(), String> {
    match (case_text(case, "verdict"), check(suite, case)) {
        ("contract", Ok(())) => {
            Err("this is the original's answer, against its own documentation".to_owned())
        }
        ("contract", Err(_)) => Ok(()),
        (_, answer) => answer,
    }
}

type ModRuleCheck = fn(&Value, &Value) -> Result<(), String>;

/// Returns the check of a suite's cases.
fn check_for(stem: &str) -> Option<ModRuleCheck> {
    Some(match stem {
        "core-calculatepatch" | "x-patch" | "x-load" => rules::check_patch_rules,
        "core-determinerejections" | "x-reject" => rules::check_rejections,
        "core-dragnetwebhook" | "x-admission" | "x-contract-examples" => rules::check_admission,
        "core-ismatch" => rules::check_match_criteria,
        "core-modrulestore" => rules::check_store_selection,
        "x-match" => rules::check_criterion,
        "x-validate" => rules::check_rule_validation,
        "x-podbinding" => rules::check_pod_binding,
        "x-dryrun" => rules::check_dry_run,
        "core-pathfromkeyparts" => languages::check_path_placeholders,
        "util-diff" => languages::check_text_diff,
        "util-template" => languages::check_index_shorthand,
        "x-template" => languages::check_go_template,
        "x-value-yaml" => languages::check_yaml_value,
        "x-jsonpatch" => languages::json_patch,
        "x-selectkeys" => languages::check_selection,
        _ if stem.contains("jsonpath") => languages::check_jsonpath_expression,
        _ => return None,
    })
}

/// Returns the shared part of a suite, or the case's own.
fn shared_or_own<'v>(suite: &'v Value, case: &'v Value, key: &str) -> &'v Value {
    case.get(key).or_else(|| suite.get(key)).unwrap_or(&Value::Null)
}
