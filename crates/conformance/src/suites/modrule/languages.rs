//! Cases about the languages inside a rule.

use kubewright_gotemplate::{FunctionSet, GoTemplate, Inputs, TemplateContext};
use kubewright_jsonpath::{
    CapturedKey, JsonPathExpression, JsonPathLanguage, JsonPathResult, JsonPathSelector,
};
use kubewright_modrule::{PathTemplate, expand_shorthand};
use kubewright_patch::textdiff;
use kubewright_patch::{self as patch, JsonPatchOperation};
use kubewright_value::{Budget, Map, Number, Value, yaml as yaml_reader};

use super::super::{case_list, case_text, expect_equal};
use super::shared_or_own;

/// Placeholders in a path. A placeholder without a key is an error here and a marker in the corpus.
pub(super) fn check_path_placeholders(_: &Value, case: &Value) -> Result<(), String> {
    let keys = keys_of(case_text(case, "selectKey"));
    let shown: Vec<Value> = keys.iter().map(Value::from).collect();
    expect_equal(&Value::array(shown), case.at(&["expected", "keyParts"]).unwrap_or(&Value::Null))?;
    let wanted = case.str_at(&["expected", "path"]);
    let template = PathTemplate::parse(case_text(case, "pathTemplate")).map_err(|error| error.to_string())?;
    match template.fill(&keys) {
        Ok(path) => expect_equal(&path.to_string().into(), &wanted.into()),
        Err(_) if wanted.contains("#(BADINDEX)") => Ok(()),
        Err(number) => Err(format!("placeholder {number} has no key")),
    }
}

/// Reads `$["0"]["x"]`.
fn keys_of(select_key: &str) -> Vec<CapturedKey> {
    let parts = select_key.split("[\"").skip(1).map(|part| part.trim_end_matches("\"]"));
    parts
        .map(|part| part.parse().map_or_else(|_| CapturedKey::Name(part.into()), CapturedKey::Index))
        .collect()
}

/// Unified text diffs.
pub(super) fn check_text_diff(_: &Value, case: &Value) -> Result<(), String> {
    let diff = textdiff::unified(case_text(case, "a"), case_text(case, "b"), 3);
    expect_equal(&diff.into(), case.at(&["expected", "diff"]).unwrap_or(&Value::Null))
}

/// The `.#N` shorthand.
pub(super) fn check_index_shorthand(_: &Value, case: &Value) -> Result<(), String> {
    expect_equal(
        &expand_shorthand(case_text(case, "input")).into(),
        case.at(&["expected", "output"]).unwrap_or(&Value::Null),
    )
}

/// Templates, with every function that a user can allow.
pub(super) fn check_go_template(suite: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let functions = FunctionSet::refusable().into_iter().fold(FunctionSet::rules(), FunctionSet::allow);
    let inputs = Inputs { now: Some(0), random_seed: Some(0), keys: None };
    let parsed = GoTemplate::parse("t", &expand_shorthand(case_text(case, "template")), &functions);
    let template = match (parsed, expected.get("parseError")) {
        (Err(_), Some(_)) => return Ok(()),
        (Ok(_), Some(_)) => return Err("expected a parse error".to_owned()),
        (Err(error), None) => return Err(format!("unexpected parse error: {}", error.message)),
        (Ok(template), None) => template,
    };
    let mut context = TemplateContext::new();
    for (name, value) in shared_or_own(suite, case, "context").as_object().into_iter().flat_map(Map::iter) {
        context = if name == "SelectKeyParts" {
            context.native(name.clone(), value.clone())
        } else {
            context.json(name.clone(), value.clone())
        };
    }
    let rendered = template.render(&context, &inputs, &mut Budget::default());
    match (rendered, expected.get("error")) {
        (Err(_), Some(_)) => Ok(()),
        (Ok(output), Some(_)) => Err(format!("expected an error, got {output:?}")),
        (Err(error), None) => Err(format!("unexpected error: {}", error.message)),
        (Ok(output), None) => expect_equal(&output.into(), expected.get("output").unwrap_or(&Value::Null)),
    }
}

/// Values of operations.
pub(super) fn check_yaml_value(_: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    match (yaml_reader::parse(case_text(case, "text")), expected.get("error")) {
        (Err(_), Some(_)) => Ok(()),
        (Ok(value), Some(_)) => Err(format!("expected an error, got {value}")),
        (Err(error), None) => Err(format!("unexpected error: {}", error.message)),
        (Ok(value), None) => expect_equal(&value, expected.get("json").unwrap_or(&Value::Null)),
    }
}

/// JSON Patch as ModRules apply it.
pub(super) fn json_patch(_: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let mut document = case.get("input").cloned().unwrap_or_default();
    let operations = JsonPatchOperation::list(case.get("patch").unwrap_or(&Value::Null));
    let applied = operations.and_then(|operations| {
        patch::apply_patch(
            &mut document,
            &operations,
            &kubewright_modrule::PATCH_OPTIONS,
            &mut Budget::default(),
        )
    });
    match (applied, expected.get("error")) {
        (Err(_), Some(_)) => Ok(()),
        (Ok(_), Some(_)) => Err(format!("expected an error, got {document}")),
        (Err(error), None) => Err(format!("unexpected error: {error}")),
        (Ok(_), None) => expect_equal(&document, expected.get("result").unwrap_or(&Value::Null)),
    }
}

/// What a patch selects, with the keys it captures.
pub(super) fn check_selection(suite: &Value, case: &Value) -> Result<(), String> {
    let select = JsonPathSelector::parse(case_text(case, "select")).map_err(|error| error.message)?;
    let items = select
        .evaluate(shared_or_own(suite, case, "input"), &mut Budget::default())
        .map_err(|error| error.message)?;
    let mut found: Vec<Value> = items
        .iter()
        .map(|item| {
            let keys: Vec<Value> = item.keys.iter().map(Value::from).collect();
            Map::from([("keyParts", Value::array(keys)), ("value", item.value.clone())]).into()
        })
        .collect();
    let wanted = case_list(case.get("expected").unwrap_or(&Value::Null), "items");
    let mut wanted: Vec<Value> = wanted
        .iter()
        .map(|item| {
            Map::from([
                ("keyParts", item.get("keyParts").cloned().unwrap_or_default()),
                ("value", item.get("value").cloned().unwrap_or_default()),
            ])
            .into()
        })
        .collect();
    found.sort();
    wanted.sort();
    expect_equal(&Value::array(found), &Value::array(wanted))
}

/// Expressions.
pub(super) fn check_jsonpath_expression(suite: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let language = match case_text(case, "language") {
        "jsonpath" => JsonPathLanguage::Paths,
        "placeholder" => JsonPathLanguage::Placeholders,
        _ => JsonPathLanguage::Full,
    };
    let parsed = JsonPathExpression::parse_as(case_text(case, "expression"), language);
    let wants_error = expected.get("error").is_some();
    let expression = match (parsed, expected.get("parseError")) {
        (Err(_), Some(_)) => return Ok(()),
        (Ok(_), Some(_)) => return Err("expected a parse error".to_owned()),
        // What the original only notices when an object arrives is refused when the rule is loaded.
        (Err(_), None) if wants_error => return Ok(()),
        (Err(error), None) => return Err(format!("unexpected parse error: {}", error.message)),
        (Ok(expression), None) => expression,
    };
    match expression.evaluate(shared_or_own(suite, case, "input"), &mut Budget::default()) {
        Err(_) if wants_error => Ok(()),
        Err(error) => Err(format!("unexpected error: {}", error.message)),
        Ok(found) if wants_error => Err(format!("expected an error, got {}", corpus_notation(&found))),
        Ok(found) => {
            let is_unordered = case.get("unordered").and_then(Value::as_bool) == Some(true);
            let wanted = expected.get("value").unwrap_or(&Value::Null);
            // A Go type that JSON does not have is recorded with its text.
            let wanted =
                if wanted.get("$type").is_some() { wanted.get("text").unwrap_or(wanted) } else { wanted };
            compare_selection(&corpus_notation(&found), wanted, is_unordered)
        }
    }
}

fn compare_selection(found: &Value, wanted: &Value, is_unordered: bool) -> Result<(), String> {
    match (found, wanted) {
        (Value::Array(found), Value::Array(wanted)) if is_unordered => {
            let sorted = |items: &[Value]| {
                let mut items = items.to_vec();
                items.sort();
                Value::array(items)
            };
            expect_equal(&sorted(found), &sorted(wanted))
        }
        _ => expect_equal(found, wanted),
    }
}

/// Returns a result in the corpus's notation, which has marks for values that JSON does not have.
fn corpus_notation(found: &JsonPathResult) -> Value {
    let undefined = || Value::object(Map::from([("$undefined", true.into())]));
    match found {
        JsonPathResult::Undefined => undefined(),
        JsonPathResult::One(value) => mark_special_numbers(value),
        JsonPathResult::Many(items) => Value::array(
            items.iter().map(|item| item.as_ref().map_or_else(undefined, mark_special_numbers)).collect(),
        ),
    }
}

fn mark_special_numbers(value: &Value) -> Value {
    match value {
        Value::Number(Number::Float(float)) if !float.is_finite() => {
            let name = if float.is_nan() {
                "NaN"
            } else if *float > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            Map::from([("$number", name.into())]).into()
        }
        Value::Array(items) => Value::array(items.iter().map(mark_special_numbers).collect()),
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), mark_special_numbers(value))).collect::<Map>().into()
        }
        other => other.clone(),
    }
}
