//! The parameters of traits: schemas, their defaults, and what they refuse.

use kubewright_engine::DiagnosticLevel;
use kubewright_traits::schema::{Schema, SchemaProblem, ShorthandOptions};
use kubewright_value::{Budget, Limits, Value};

use super::super::{case_text, expect_equal};

/// The subjects of errors: the first that occurs in the recorded error must occur in ours.
const SUBJECTS: [&str; 40] = [
    "circular $ref",
    "cyclic type reference",
    "exceeded maximum depth",
    "empty schema expression",
    "only local $ref supported",
    "unsupported $ref path",
    "empty definition name",
    "$ref must be a string",
    "not found",
    "value is not a valid object",
    "value must be an object",
    "should be one of",
    "should be greater than or equal to",
    "should be less than or equal to",
    "should match",
    "should be at least",
    "should have at least",
    "must be of type",
    "is a forbidden property",
    "is required",
    "empty integer value",
    "empty number value",
    "invalid map type expression",
    "map key type must be",
    "unknown type",
    "unknown constraint marker",
    "missing a value",
    "is not allowed",
    "invalid minLength",
    "invalid maxLength",
    "invalid minimum",
    "invalid maximum",
    "invalid multipleOf",
    "invalid minItems",
    "invalid maxItems",
    "invalid exclusiveMinimum",
    "invalid exclusiveMaximum",
    "invalid enum value",
    "invalid default",
    "schema is nil",
];

/// Shorthand to JSON Schema.
pub(super) fn check_shorthand(case: &Value) -> Result<(), String> {
    let input = case_input(case, "fields");
    let option = |key| case.at(&["input", "options", key]).and_then(Value::as_bool).unwrap_or(false);
    let options = ShorthandOptions {
        is_closed: option("setAdditionalPropertiesFalse"),
        skips_defaults: option("skipDefaultValidation"),
    };
    let types = case.at(&["input", "types"]).map(|types| (types, [].as_slice()));
    let (schema, problems) = Schema::shorthand((input, &[]), types, options);
    judge_schema_case(case, &schema_errors(&problems), |expected| {
        expect_equal(&schema.to_json_schema(), schema_of(expected))
    })
}

/// JSON Schema with its references written out.
pub(super) fn check_resolved_schema(case: &Value) -> Result<(), String> {
    if case_input(case, "schema").is_null() {
        return Ok(());
    }
    let (schema, problems) = Schema::open_api(case_input(case, "schema"), &[]);
    judge_schema_case(case, &schema_errors(&problems), |expected| {
        expect_equal(&schema.to_display_schema(), schema_of(expected))
    })
}

/// JSON Schema that is read or refused.
pub(super) fn accepted(case: &Value) -> Result<(), String> {
    let (_, problems) = Schema::open_api(case_input(case, "schema"), &[]);
    judge_schema_case(case, &schema_errors(&problems), |_| Ok(()))
}

/// JSON Schema as it is validated with.
pub(super) fn json_schema(case: &Value) -> Result<(), String> {
    let (schema, problems) = Schema::open_api(case_input(case, "schema"), &[]);
    judge_schema_case(case, &schema_errors(&problems), |expected| {
        expect_equal(&schema.to_json_schema(), schema_of(expected))
    })
}

/// Values with the defaults of a schema.
pub(super) fn check_defaults(case: &Value) -> Result<(), String> {
    let (schema, problems) = Schema::open_api(case_input(case, "schema"), &[]);
    let values = schema.with_defaults(case_input(case, "values"), &mut Budget::new(Limits::default()));
    let values = values.map_err(|error| error.to_string())?;
    judge_schema_case(case, &schema_errors(&problems), |expected| {
        expect_equal(&values, expected.get("values").unwrap_or(&Value::Null))
    })
}

/// Values that a schema takes or refuses.
pub(super) fn check_validation(case: &Value) -> Result<(), String> {
    if case_input(case, "schema").is_null() {
        return judge_schema_case(case, &["schema is nil".to_owned()], |_| Ok(()));
    }
    let (schema, problems) = Schema::open_api(case_input(case, "schema"), &[]);
    let wrongs = schema.check(case_input(case, "values"), &mut Budget::new(Limits::default()));
    let wrongs = wrongs.map_err(|error| error.to_string())?;
    let mut messages = schema_errors(&problems);
    messages.extend(
        wrongs
            .into_iter()
            .filter(|wrong| wrong.severity == DiagnosticLevel::Error)
            .map(|wrong| wrong.message),
    );
    judge_schema_case(case, &messages, |_| Ok(()))
}

fn judge_schema_case(
    case: &Value,
    errors: &[String],
    compare: impl Fn(&Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some(error) = case.get("error").and_then(Value::as_str) else {
        return match errors {
            [] => compare(case.get("expected").unwrap_or(&Value::Null)),
            errors => Err(format!("expected no error, got {}", errors.join("; "))),
        };
    };
    // Of an error with other words it only counts that there is one.
    let subject = SUBJECTS.iter().find(|subject| error.contains(**subject)).copied().unwrap_or_default();
    match errors.iter().any(|ours| ours.contains(subject)) {
        true => Ok(()),
        false => Err(format!(
            "expected an error with `{subject}`, got {errors:?} in {}",
            case_text(case, "function")
        )),
    }
}

fn schema_errors(problems: &[SchemaProblem]) -> Vec<String> {
    let errors = problems.iter().filter(|problem| problem.severity == DiagnosticLevel::Error);
    errors.map(|problem| problem.message.clone()).collect()
}

fn case_input<'v>(case: &'v Value, key: &str) -> &'v Value {
    case.at(&["input", key]).unwrap_or(&Value::Null)
}

fn schema_of(expected: &Value) -> &Value {
    expected.get("schema").unwrap_or(&Value::Null)
}
