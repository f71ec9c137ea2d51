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

use super::{SuiteCaseResult, SuiteResult, case_list, case_text, expect_equal};

/// The result of a call, or its error.
type TraitAnswer = Result<Value, String>;

/// How the cases of a function are compared.
enum TraitFunction {
    /// The result for the input is compared.
    Call(fn(&Value) -> TraitAnswer),
    /// The function checks the case itself.
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

pub(super) fn run_trait_suite(name: &str, suite: &Value) -> SuiteResult {
    let mut result = SuiteResult { name: name.to_owned(), cases: Vec::new(), uncounted: 0 };
    for case in case_list(suite, "cases") {
        let judged = match trait_function(name, case_text(case, "function")) {
            Some(TraitFunction::Call(call)) => {
                compare_answer(case, call(case.get("input").unwrap_or(&Value::Null)))
            }
            Some(TraitFunction::Check(check)) => check(case),
            None => {
                result.uncounted += 1;
                continue;
            }
        };
        result
            .cases
            .push(SuiteCaseResult { name: case_text(case, "name").to_owned(), failure: judged.err() });
    }
    result
}

fn trait_function(suite: &str, name: &str) -> Option<TraitFunction> {
    use TraitFunction::{Call, Check};
    Some(match name {
        "ApplyPatches" => Check(patches::check_application),
        "expandPaths" => Check(patches::expansion),
        "ExtractSchema" => Check(schema::check_shorthand),
        "ResolveRefs" | "OpenAPIV3ToResolvedSchema" => Check(schema::check_resolved_schema),
        "OpenAPIV3ToStructural" => Check(schema::accepted),
        "OpenAPIV3ToJSONSchema" | "OpenAPIV3ToStructuralAndJSONSchema" => Check(schema::json_schema),
        "ApplyDefaults" => Check(schema::check_defaults),
        "ValidateWithJSONSchema" => Check(schema::check_validation),
        "ValidateTraitSpec" => Check(admission::trait_spec),
        "ValidateWorkloadResources" => Check(admission::check_type_resources),
        "ValidateAllowedTraits" | "ValidateTraitInstanceNameUniqueness" => Check(admission::component_traits),
        "BuildDerivedContext" => Call(context::derived_answer),
        "BuildComponentContext" => Call(context::component_answer),
        "BuildTraitContext" => Call(context::trait_answer),
        "ExtractWorkloadData" => Call(context::workload_answer),
        "ExtractConfigurationsFromWorkload" => Call(context::configurations_answer),
        "MergeWorkloadOverrides" => Call(context::merge_answer),
        "ResolveEmbeddedTraitBindings" => Call(context::bindings_answer),
        "Pipeline.Render" => Call(pipeline::render_component),
        "evaluatePostRenderValidations" => Call(pipeline::assertions),
        "RenderResources" => Call(pipeline::render_type_resources),
        "EvalForEach" => Call(pipeline::render_each_item),
        "ToIterableItems" => Call(pipeline::list_loop_items),
        "EvaluateValidationRules" => Call(pipeline::evaluate_validations),
        "ShouldInclude" => Call(pipeline::include),
        "ProcessTraits" => Check(|case| processing::stages(case, &["creates", "patches", "removes"])),
        "ApplyTraitCreates" => Check(|case| processing::stages(case, &["creates"])),
        "ApplyTraitPatches" => Check(|case| processing::stages(case, &["patches"])),
        "ApplyTraitRemoves" => Check(|case| processing::stages(case, &["removes"])),
        "FindTargetResources" => Check(processing::targets),
        _ if !TEMPLATES.contains(&suite) => return None,
        "FindCELExpressions" => Call(template::find_template_expressions),
        "Engine.Render" => Call(template::render_template),
        "RemoveOmittedFields" => Call(template::remove_omitted),
        "GenerateK8sName" => Call(template::make_name),
        _ => return None,
    })
}

fn compare_answer(case: &Value, answer: TraitAnswer) -> Result<(), String> {
    match (answer, case.get("error"), case.get("expected")) {
        (Err(_), Some(_), _) => Ok(()),
        (Ok(found), Some(error), _) => Err(format!("expected the error {error}, got {found}")),
        (Err(message), None, _) => Err(format!("unexpected error: {message}")),
        (Ok(found), None, Some(expected)) => {
            expect_equal(&found, &template::without_omitted(&pipeline::comparable(expected)))
        }
        (Ok(_), None, None) => Err("a case of an unknown shape".to_owned()),
    }
}
