//! Test results as JSON.

use std::io::{self, Write as _};

use kubewright_value::{Map, Value, json};

use super::DOCUMENT_VERSION;
use crate::render::ReportWriter;
use crate::{
    CoverageSummary, CoveredRule, RuleBranchCoverage, TestCaseResult, TestFileResult, TestResults,
    UncoveredBranch,
};

/// Writes the results as one document, case by case, because there may be many.
pub(super) fn write_json_cases(tests: &TestResults<'_>, out: &mut ReportWriter) -> io::Result<()> {
    write!(out, "{{\n  \"version\": {DOCUMENT_VERSION},\n  \"results\": [")?;
    let mut is_first = true;
    let of_file = |file: &'_ TestFileResult| {
        file.results.iter().map(|result| case_value(result, &file.file)).collect::<Vec<_>>()
    };
    for case in tests.files.iter().flat_map(of_file) {
        let start = if std::mem::take(&mut is_first) { "\n    " } else { ",\n    " };
        write!(out, "{start}{}", indented_json(&case, "    "))?;
    }
    let end = if is_first { "]" } else { "\n  ]" };
    write!(out, "{end},\n  \"summary\": {}", indented_json(&cases_summary_value(tests), "  "))?;
    if let Some(coverage) = tests.coverage {
        write!(out, ",\n  \"coverage\": {}", indented_json(&coverage_value(coverage), "  "))?;
    }
    writeln!(out, "\n}}")
}

/// Returns the same document as a value.
pub(in crate::render) fn cases_value(tests: &TestResults<'_>) -> Value {
    let of_file = |file: &TestFileResult| {
        file.results.iter().map(|result| case_value(result, &file.file)).collect::<Vec<Value>>()
    };
    let results = Value::array(tests.files.iter().flat_map(of_file).collect());
    let mut document = Map::from([
        ("version", Value::from(DOCUMENT_VERSION)),
        ("results", results),
        ("summary", cases_summary_value(tests)),
    ]);
    if let Some(coverage) = tests.coverage {
        document.insert("coverage".into(), coverage_value(coverage));
    }
    document.into()
}

fn cases_summary_value(tests: &TestResults<'_>) -> Value {
    let (passed, failed) = tests.counts();
    Map::from([("passed", Value::from(passed)), ("failed", failed.into())]).into()
}

fn indented_json(value: &Value, by: &str) -> String {
    json::to_shown_pretty(value).replace('\n', &format!("\n{by}"))
}

fn case_value(result: &TestCaseResult, file: &str) -> Value {
    let rule = result.rule.as_ref();
    let mut item = Map::from([
        ("file", Value::from(file)),
        ("case", result.case.as_str().into()),
        ("dialect", rule.map(|rule| rule.dialect).into()),
        ("policy", rule.map(|rule| rule.policy.clone()).into()),
        ("rule", rule.and_then(|rule| rule.rule.clone()).into()),
        ("ruleType", rule.and_then(|rule| rule.sort.clone()).into()),
    ]);
    if let Some(method) = rule.and_then(|rule| rule.method) {
        item.insert("method".into(), method.into());
    }
    let rest = [
        ("kind", Value::from(result.kind.clone())),
        ("namespace", result.namespace.clone().into()),
        ("resource", result.resource.clone().into()),
        ("expected", result.expected.as_str().into()),
        ("actual", result.actual.as_str().into()),
        ("ok", result.is_ok.into()),
        ("message", result.message.as_str().into()),
    ];
    for (key, value) in rest {
        item.insert(key.into(), value);
    }
    if let Some((file, line)) = result.object_place() {
        item.insert("placeFile".into(), file.into());
        item.insert("placeLine".into(), line.into());
    }
    item.into()
}

fn coverage_value(coverage: &CoverageSummary) -> Value {
    let rows = |is_branch: bool| -> Value {
        let rows = coverage.uncovered.iter().filter(|uncovered| uncovered.branch.is_some() == is_branch);
        rows.map(uncovered_value).collect::<Vec<_>>().into()
    };
    Map::from([
        ("rules", Value::from(coverage.rules)),
        ("exercised", coverage.exercised_rules.into()),
        ("missing", rows(false)),
        ("branches", coverage.branches.into()),
        ("branchesExercised", coverage.exercised_branches.into()),
        ("missingBranches", rows(true)),
        ("percent", Value::from((coverage.percent() * 10.0).round() / 10.0)),
        ("byRule", Value::array(coverage.by_rule.iter().map(covered_rule_value).collect())),
    ])
    .into()
}

fn covered_rule_value(rule: &CoveredRule) -> Value {
    Map::from([
        ("rule", Value::from(rule.rule.as_str())),
        ("file", rule.file.as_str().into()),
        ("line", u64::from(rule.line).into()),
        ("exercised", rule.is_exercised.into()),
        ("branches", rule.branches.len().into()),
        ("branchesExercised", rule.exercised_branches().into()),
        ("lines", Value::array(rule.branches.iter().map(branch_value).collect())),
    ])
    .into()
}

fn branch_value(branch: &RuleBranchCoverage) -> Value {
    Map::from([
        ("line", Value::from(u64::from(branch.line))),
        ("what", branch.what.as_str().into()),
        ("exercised", branch.is_exercised.into()),
    ])
    .into()
}

fn uncovered_value(uncovered: &UncoveredBranch) -> Map {
    let mut row = Map::from([("rule", Value::from(uncovered.rule.as_str()))]);
    if let Some(branch) = &uncovered.branch {
        row.insert("branch".into(), branch.as_str().into());
    }
    row.insert("place".into(), uncovered.place.as_str().into());
    row
}
