//! `trait`: recorded calls, as `{cases: [{name, function, input, expected or error}]}`. The function says who answers.

mod patches;

use kubewright_value::Value;

use super::{CaseResult, SuiteResult, equal, list, text};

/// What a call gave, or why it failed.
type Answer = Result<Value, String>;

/// Who answers the calls of each function.
const FUNCTIONS: &[(&str, fn(&Value) -> Answer)] =
    &[("ApplyPatches", patches::apply), ("expandPaths", patches::expand)];

pub(super) fn run(name: &str, suite: &Value) -> SuiteResult {
    let cases = list(suite, "cases").iter().filter_map(|case| {
        let (_, answer) = FUNCTIONS.iter().find(|(function, _)| *function == text(case, "function"))?;
        let answer = answer(case.get("input").unwrap_or(&Value::Null));
        Some(CaseResult { name: text(case, "name").to_owned(), failure: judge(case, answer).err() })
    });
    SuiteResult { name: name.to_owned(), cases: cases.collect(), uncounted: 0 }
}

fn judge(case: &Value, answer: Answer) -> Result<(), String> {
    match (answer, case.get("error"), case.get("expected")) {
        (Err(_), Some(_), _) => Ok(()),
        (Err(error), None, _) => Err(format!("unexpected error: {error}")),
        (Ok(answer), Some(error), _) => Err(format!("expected the error {error}, got {answer}")),
        (Ok(answer), None, expected) => equal(&answer, expected.unwrap_or(&Value::Null)),
    }
}
