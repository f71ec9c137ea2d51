//! `trait`: calls of the original's functions, as `{cases: [{name, function, input, expected or error}]}`.
//!
//! The wording of an error is not compared. Cases of functions that are not run yet do not count.

mod admission;
mod context;
mod patches;
mod pipeline;
mod processing;
pub(super) mod published;
mod schema;
mod template;

use kubewright_value::Value;

use super::{CaseResult, SuiteResult, equal, list, text};

/// What a call gives, or its error.
type Answer = Result<Value, String>;

/// How a function's cases are judged.
enum Function {
    /// By what the call gives for the input.
    Call(fn(&Value) -> Answer),
    /// By the case as a whole.
    Check(fn(&Value) -> Result<(), String>),
}

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
        let judged = match function(name, text(case, "function")) {
            Some(Function::Call(call)) => compare(case, call(case.get("input").unwrap_or(&Value::Null))),
            Some(Function::Check(check)) => check(case),
            None => {
                result.uncounted += 1;
                continue;
            }
        };
        result.cases.push(CaseResult { name: text(case, "name").to_owned(), failure: judged.err() });
    }
    result
}

fn function(suite: &str, name: &str) -> Option<Function> {
    use Function::{Call, Check};
    Some(match name {
        "ApplyPatches" => Check(patches::application),
        "expandPaths" => Check(patches::expansion),
        "ExtractSchema" => Check(schema::shorthand),
        "ResolveRefs" | "OpenAPIV3ToResolvedSchema" => Check(schema::resolved),
        "OpenAPIV3ToStructural" => Check(schema::accepted),
        "OpenAPIV3ToJSONSchema" | "OpenAPIV3ToStructuralAndJSONSchema" => Check(schema::json_schema),
        "ApplyDefaults" => Check(schema::defaults),
        "ValidateWithJSONSchema" => Check(schema::validation),
        "ValidateTraitSpec" => Check(admission::trait_spec),
        "ValidateWorkloadResources" => Check(admission::workload_resources),
        "ValidateAllowedTraits" | "ValidateTraitInstanceNameUniqueness" => Check(admission::component_traits),
        "BuildDerivedContext" => Call(context::derived),
        "BuildComponentContext" => Call(context::component),
        "BuildTraitContext" => Call(context::of_trait),
        "ExtractWorkloadData" => Call(context::workload),
        "ExtractConfigurationsFromWorkload" => Call(context::configurations),
        "MergeWorkloadOverrides" => Call(context::merge),
        "ResolveEmbeddedTraitBindings" => Call(context::bindings),
        "Pipeline.Render" => Call(pipeline::render),
        "evaluatePostRenderValidations" => Call(pipeline::assertions),
        "RenderResources" => Call(pipeline::resources),
        "EvalForEach" => Call(pipeline::each),
        "ToIterableItems" => Call(pipeline::items),
        "EvaluateValidationRules" => Call(pipeline::rules),
        "ShouldInclude" => Call(pipeline::include),
        "ProcessTraits" => Check(|case| processing::stages(case, &["creates", "patches", "removes"])),
        "ApplyTraitCreates" => Check(|case| processing::stages(case, &["creates"])),
        "ApplyTraitPatches" => Check(|case| processing::stages(case, &["patches"])),
        "ApplyTraitRemoves" => Check(|case| processing::stages(case, &["removes"])),
        "FindTargetResources" => Check(processing::targets),
        _ if !TEMPLATES.contains(&suite) => return None,
        "FindCELExpressions" => Call(template::find),
        "Engine.Render" => Call(template::render),
        "RemoveOmittedFields" => Call(template::remove_omitted),
        "GenerateK8sName" => Call(template::name),
        _ => return None,
    })
}

fn compare(case: &Value, answer: Answer) -> Result<(), String> {
    match (answer, case.get("error"), case.get("expected")) {
        (Err(_), Some(_), _) => Ok(()),
        (Ok(found), Some(error), _) => Err(format!("expected the error {error}, got {found}")),
        (Err(message), None, _) => Err(format!("unexpected error: {message}")),
        (Ok(found), None, Some(expected)) => {
            equal(&found, &template::without_omitted(&pipeline::comparable(expected)))
        }
        (Ok(_), None, None) => Err("a case of an unknown shape".to_owned()),
    }
}
