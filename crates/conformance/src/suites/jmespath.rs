//! `jmespath`: the language's own suite, as `[{given, cases: [{expression, result or error or bench}]}]`.

use kubewright_jmespath::{JmesPathErrorKind, JmesPathExpression, JmesPathFunctions, JmesPathParseErrorKind};
use kubewright_value::{Budget, Value};

use super::{SuiteCaseResult, SuiteResult, case_list, case_text, expect_equal};

pub(super) fn run_jmespath_suite(name: &str, suite: &Value) -> SuiteResult {
    let functions = JmesPathFunctions::standard();
    let mut cases = Vec::new();
    for (i, group) in suite.as_array().unwrap_or_default().iter().enumerate() {
        let given = group.get("given").unwrap_or(&Value::Null);
        for (j, case) in case_list(group, "cases").iter().enumerate() {
            let name = format!("{i}.{j}: {}", case_text(case, "expression"));
            cases.push(SuiteCaseResult { name, failure: run_jmespath_case(given, case, &functions).err() });
        }
    }
    SuiteResult { name: name.to_owned(), cases, uncounted: 0 }
}

fn run_jmespath_case(given: &Value, case: &Value, functions: &JmesPathFunctions) -> Result<(), String> {
    let found = search_jmespath(given, case_text(case, "expression"), functions);
    match (found, case.get("error").and_then(Value::as_str), case.get("result")) {
        (Err((kind, _)), Some(error), _) if kind == error => Ok(()),
        (Err((kind, message)), Some(error), _) => Err(format!("expected {error}, got {kind}: {message}")),
        (Err((kind, message)), None, _) => Err(format!("unexpected error: {kind}: {message}")),
        (Ok(found), Some(error), _) => Err(format!("expected {error}, got {found}")),
        (Ok(found), None, Some(expected)) => expect_equal(&found, expected),
        // A benchmark must only run.
        (Ok(_), None, None) if case.get("bench").is_some() => Ok(()),
        (Ok(_), None, None) => Err("a case of an unknown shape".to_owned()),
    }
}

/// Returns the result, or the suite's name of the error and its message.
fn search_jmespath(
    given: &Value,
    expression: &str,
    functions: &JmesPathFunctions,
) -> Result<Value, (&'static str, String)> {
    let expression = JmesPathExpression::parse(expression, functions).map_err(|error| {
        let word = match error.kind {
            JmesPathParseErrorKind::Syntax => "syntax",
            JmesPathParseErrorKind::UnknownFunction => "unknown-function",
            JmesPathParseErrorKind::Arity => "invalid-arity",
        };
        (word, error.message)
    })?;
    expression.evaluate(given, &mut Budget::default()).map_err(|error| {
        let word = match error.kind {
            JmesPathErrorKind::Type => "invalid-type",
            JmesPathErrorKind::Value => "invalid-value",
            JmesPathErrorKind::Limit => "limit",
        };
        (word, error.message)
    })
}
