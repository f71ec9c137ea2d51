//! `trait`: recorded calls, as `{cases: [{name, function, input, expected or error}]}`; the function says who answers.
//!
//! Errors are compared by what they are about, never by their wording. Cases of functions that nobody answers do not count.

mod patches;

use kubewright_value::Value;

use super::{CaseResult, SuiteResult, list, text};

type Check = fn(&Value) -> Result<(), String>;

pub(super) fn run(name: &str, suite: &Value) -> SuiteResult {
    let mut result = SuiteResult { name: name.to_owned(), cases: Vec::new(), uncounted: 0 };
    for case in list(suite, "cases") {
        match check_for(text(case, "function")) {
            Some(check) => {
                let failure = check(case).err();
                result.cases.push(CaseResult { name: text(case, "name").to_owned(), failure });
            }
            None => result.uncounted += 1,
        }
    }
    result
}

/// Returns what a case asks.
fn check_for(function: &str) -> Option<Check> {
    Some(match function {
        "ApplyPatches" => patches::application,
        "expandPaths" => patches::expansion,
        _ => return None,
    })
}
