//! `trait`: recorded calls of OpenChoreo's own functions, as `{function, input, expected | error}`; see the corpus's FORMAT.md.
//!
//! Errors are compared by what they are about, never by their wording.

mod admission;
pub(super) mod published;
mod schema;

use kubewright_value::Value;

use super::{CaseResult, SuiteResult, list, text};

type Check = fn(&Value) -> Result<(), String>;

pub(super) fn run(name: &str, suite: &Value) -> SuiteResult {
    let results = list(suite, "cases").iter().map(|case| CaseResult {
        name: text(case, "name").to_owned(),
        failure: match check_for(text(case, "function")) {
            Some(check) => check(case).err(),
            None => Some("unknown function".to_owned()),
        },
    });
    SuiteResult { name: name.to_owned(), cases: results.collect(), uncounted: 0 }
}

/// Returns what a case asks.
fn check_for(function: &str) -> Option<Check> {
    Some(match function {
        "ExtractSchema" => schema::shorthand,
        "ResolveRefs" | "OpenAPIV3ToResolvedSchema" => schema::resolved,
        "OpenAPIV3ToStructural" => schema::accepted,
        "OpenAPIV3ToJSONSchema" | "OpenAPIV3ToStructuralAndJSONSchema" => schema::json_schema,
        "ApplyDefaults" => schema::defaults,
        "ValidateWithJSONSchema" => schema::validation,
        "ValidateTraitSpec" => admission::trait_spec,
        "ValidateWorkloadResources" => admission::workload_resources,
        "ValidateAllowedTraits" | "ValidateTraitInstanceNameUniqueness" => admission::component_traits,
        _ => return None,
    })
}
