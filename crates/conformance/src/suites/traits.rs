//! `trait`: calls of the original's functions, as `{cases: [{name, function, input, expected or error}]}`.
//!
//! The wording of an error is not compared. Cases of functions that are not run yet do not count.

mod template;

use kubewright_value::Value;

use super::{CaseResult, SuiteResult, equal, list, text};

/// What a call gives, or its error.
type Answer = Result<Value, String>;

/// The suites in which templates have no variables but those that a case gives.
const TEMPLATES: [&str; 5] = [
    "trait/context_cel_helpers",
    "trait/k8s_names",
    "trait/probe_template",
    "trait/template_find_expressions",
    "trait/template_render",
];

pub(super) fn run(name: &str, suite: &Value) -> SuiteResult {
    let mut result = SuiteResult { name: name.to_owned(), cases: Vec::new(), uncounted: 0 };
    for case in list(suite, "cases") {
        match function(name, text(case, "function")) {
            Some(call) => {
                let failure = compare(case, call(case.get("input").unwrap_or(&Value::Null)));
                result.cases.push(CaseResult { name: text(case, "name").to_owned(), failure: failure.err() });
            }
            None => result.uncounted += 1,
        }
    }
    result
}

fn function(suite: &str, name: &str) -> Option<fn(&Value) -> Answer> {
    Some(match name {
        _ if !TEMPLATES.contains(&suite) => return None,
        "FindCELExpressions" => template::find,
        "Engine.Render" => template::render,
        "RemoveOmittedFields" => template::remove_omitted,
        "GenerateK8sName" => template::name,
        _ => return None,
    })
}

fn compare(case: &Value, answer: Answer) -> Result<(), String> {
    match (answer, case.get("error"), case.get("expected")) {
        (Err(_), Some(_), _) => Ok(()),
        (Ok(found), Some(error), _) => Err(format!("expected the error {error}, got {found}")),
        (Err(message), None, _) => Err(format!("unexpected error: {message}")),
        (Ok(found), None, Some(expected)) => equal(&found, &template::without_omitted(expected)),
        (Ok(_), None, None) => Err("a case of an unknown shape".to_owned()),
    }
}
