//! The parameters of traits: schemas, their defaults, and what they refuse.

use kubewright_engine::DiagnosticLevel;
use kubewright_traits::schema::{Options, Problem, Schema};
use kubewright_value::{Budget, Limits, Value};

use super::super::{equal, text};

/// What an error is about; the first of these that the recorded error has, ours must have too.
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
pub(super) fn shorthand(case: &Value) -> Result<(), String> {
    let input = input(case, "fields");
    let option = |key| case.at(&["input", "options", key]).and_then(Value::as_bool).unwrap_or(false);
    let options = Options {
        is_closed: option("setAdditionalPropertiesFalse"),
        skips_defaults: option("skipDefaultValidation"),
    };
    let types = case.at(&["input", "types"]).map(|types| (types, [].as_slice()));
    let (schema, problems) = Schema::shorthand((input, &[]), types, options);
    judge(case, &errors(&problems), |expected| equal(&schema.to_json_schema(), schema_of(expected)))
}

/// JSON Schema with its references written out.
pub(super) fn resolved(case: &Value) -> Result<(), String> {
    if input(case, "schema").is_null() {
        return Ok(());
    }
    let (schema, problems) = Schema::open_api(input(case, "schema"), &[]);
    judge(case, &errors(&problems), |expected| equal(&schema.to_display_schema(), schema_of(expected)))
}

/// JSON Schema that is read or refused.
pub(super) fn accepted(case: &Value) -> Result<(), String> {
    let (_, problems) = Schema::open_api(input(case, "schema"), &[]);
    judge(case, &errors(&problems), |_| Ok(()))
}

/// JSON Schema as it is validated with.
pub(super) fn json_schema(case: &Value) -> Result<(), String> {
    let (schema, problems) = Schema::open_api(input(case, "schema"), &[]);
    judge(case, &errors(&problems), |expected| equal(&schema.to_json_schema(), schema_of(expected)))
}

/// Values with the defaults of a schema.
pub(super) fn defaults(case: &Value) -> Result<(), String> {
    let (schema, problems) = Schema::open_api(input(case, "schema"), &[]);
    let values = schema.with_defaults(input(case, "values"), &mut Budget::new(Limits::default()));
    let values = values.map_err(|error| error.to_string())?;
    judge(case, &errors(&problems), |expected| equal(&values, expected.get("values").unwrap_or(&Value::Null)))
}

/// Values that a schema takes or refuses.
pub(super) fn validation(case: &Value) -> Result<(), String> {
    if input(case, "schema").is_null() {
        return judge(case, &["schema is nil".to_owned()], |_| Ok(()));
    }
    let (schema, problems) = Schema::open_api(input(case, "schema"), &[]);
    let wrongs = schema.check(input(case, "values"), &mut Budget::new(Limits::default()));
    let wrongs = wrongs.map_err(|error| error.to_string())?;
    let mut messages = errors(&problems);
    messages.extend(
        wrongs
            .into_iter()
            .filter(|wrong| wrong.severity == DiagnosticLevel::Error)
            .map(|wrong| wrong.message),
    );
    judge(case, &messages, |_| Ok(()))
}

fn judge(
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
        false => {
            Err(format!("expected an error with `{subject}`, got {errors:?} in {}", text(case, "function")))
        }
    }
}

fn errors(problems: &[Problem]) -> Vec<String> {
    let errors = problems.iter().filter(|problem| problem.severity == DiagnosticLevel::Error);
    errors.map(|problem| problem.message.clone()).collect()
}

fn input<'v>(case: &'v Value, key: &str) -> &'v Value {
    case.at(&["input", key]).unwrap_or(&Value::Null)
}

fn schema_of(expected: &Value) -> &Value {
    expected.get("schema").unwrap_or(&Value::Null)
}
