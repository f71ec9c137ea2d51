//! `cel`: the language's own suite, as `{cases: [{name, section, expr, bindings, value or evalError}]}`.
//!
//! A case with neither a value nor an error wants `true`. The libraries that the suite uses are all on.

use std::sync::Arc;

use kubewright_cel::library;
use kubewright_cel::{
    CelBindings, CelCost, CelEnvironment, CelKind, CelProgram, CelType, MapEntries, MapVal, Val,
};
use kubewright_value::{Map, Value};

use super::{SuiteCaseResult, SuiteResult, case_list, case_text};

pub(super) fn run_cel_suite(name: &str, suite: &Value) -> SuiteResult {
    let environment = library::EXTENSIONS
        .iter()
        .fold(CelEnvironment::standard(), |environment, library| environment.with(library));
    let cases = case_list(suite, "cases").iter().map(|case| SuiteCaseResult {
        name: format!("{}/{}", case_text(case, "section"), case_text(case, "name")),
        failure: run_cel_case(case, environment.clone())
            .err()
            .map(|failure| format!("{}: {failure}", case_text(case, "expr"))),
    });
    SuiteResult { name: name.to_owned(), cases: cases.collect(), uncounted: 0 }
}

fn run_cel_case(case: &Value, mut environment: CelEnvironment) -> Result<(), String> {
    if case.get("disableCheck").and_then(Value::as_bool) == Some(true) {
        environment = environment.unchecked();
    }
    if let Some(container) = case.get("container").and_then(Value::as_str) {
        environment = environment.container(container);
    }
    for declared in case_list(case, "typeEnv") {
        let kind =
            declared.get("ident").and_then(|ident| ident.get("type")).map_or(CelType::ANY, declared_type);
        environment = environment.variable_of(case_text(declared, "name"), kind);
    }
    let bound = case.get("bindings").and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let mut bindings = CelBindings::new();
    for (name, binding) in bound {
        let value = binding.get("value").ok_or("a binding without a value")?;
        bindings.bind(name, val_of(value)?);
    }
    let program = CelProgram::compile(case_text(case, "expr"), &environment);
    let program = program.map_err(|errors| {
        errors
            .iter()
            .map(|error| format!("{} at {:?}", error.message, error.position))
            .collect::<Vec<_>>()
            .join("; ")
    });
    let found = match &program {
        Ok(program) => program.evaluate(&bindings, &mut CelCost::default()).map_err(|error| error.message),
        Err(message) => Err(message.clone()),
    };
    match (found, case.get("evalError"), case.get("value")) {
        (Err(_), Some(_), _) => Ok(()),
        (Err(message), None, _) => Err(format!("unexpected error: {message}")),
        (Ok(found), Some(error), _) => Err(format!("expected the error {error}, got {found:?}")),
        (Ok(found), None, wanted) => {
            let wanted = wanted.map_or(Ok(Val::Bool(true)), val_of)?;
            if is_same_cel_value(&found, &wanted) {
                Ok(())
            } else {
                Err(format!("expected {wanted:?}, got {found:?}"))
            }
        }
    }
}

/// Equal and of the same type, all the way down; NaN is itself here.
fn is_same_cel_value(a: &Val<'_>, b: &Val<'_>) -> bool {
    match (a, b) {
        (Val::List(a), Val::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same_cel_value(&a, &b))
        }
        (Val::Map(a), Val::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(&key).is_some_and(|other| is_same_cel_value(&value, &other)))
        }
        (Val::Double(a), Val::Double(b)) if a.is_nan() => b.is_nan(),
        _ => a.kind() == b.kind() && a.equals(b, &mut CelCost::default()).unwrap_or(false),
    }
}

fn val_of(value: &Value) -> Result<Val<'_>, String> {
    let entry = value.as_object().and_then(|map| map.entry(0));
    let (kind, inner) = entry.ok_or_else(|| format!("a value of an unknown shape: {value}"))?;
    let whole = || inner.as_str().unwrap_or_default();
    let wrong = || format!("a value of an unknown shape: {value}");
    Ok(match kind.as_str() {
        "nullValue" => Val::Null,
        "boolValue" => Val::Bool(inner.as_bool().ok_or_else(wrong)?),
        "int64Value" => Val::Int(whole().parse().map_err(|_| wrong())?),
        "uint64Value" => Val::UInt(whole().parse().map_err(|_| wrong())?),
        "doubleValue" => Val::Double(match inner {
            Value::Number(number) => number.as_f64(),
            _ => match whole() {
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                "NaN" => f64::NAN,
                _ => return Err(wrong()),
            },
        }),
        "stringValue" => Val::text(whole()),
        "bytesValue" => Val::Bytes(bytes_of(whole()).into()),
        "typeValue" => Val::Type(whole().into()),
        "listValue" => Val::list(case_list(inner, "values").iter().map(val_of).collect::<Result<_, _>>()?),
        "mapValue" => {
            let mut entries = MapEntries::new();
            for entry in case_list(inner, "entries") {
                let part = |key| entry.get(key).ok_or_else(wrong).and_then(val_of);
                entries.insert(part("key")?, part("value")?);
            }
            Val::Map(MapVal::Made(Arc::new(entries)))
        }
        _ => return Err(wrong()),
    })
}

/// Reads base64.
fn bytes_of(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_usize, 0_u32);
    for value in text.chars().map_while(|c| LETTERS.find(c)) {
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    bytes
}

fn declared_type(value: &Value) -> CelType {
    let Some((kind, inner)) = value.as_object().and_then(|map| map.entry(0)) else { return CelType::ANY };
    let of = |key| inner.get(key).map_or(CelType::ANY, declared_type);
    match (kind.as_str(), inner.as_str()) {
        ("null", _) => CelType::of(CelKind::Null),
        ("primitive", Some("BOOL")) => CelType::of(CelKind::Bool),
        ("primitive", Some("INT64")) => CelType::of(CelKind::Int),
        ("primitive", Some("UINT64")) => CelType::of(CelKind::UInt),
        ("primitive", Some("DOUBLE")) => CelType::of(CelKind::Double),
        ("primitive", Some("STRING")) => CelType::of(CelKind::String),
        ("primitive", Some("BYTES")) => CelType::of(CelKind::Bytes),
        ("wellKnown", Some("TIMESTAMP")) => CelType::of(CelKind::Timestamp),
        ("wellKnown", Some("DURATION")) => CelType::of(CelKind::Duration),
        ("listType", _) => CelType::with(CelKind::List, of("elemType")),
        ("mapType", _) => CelType::with(CelKind::Map, of("valueType")),
        _ => CelType::ANY,
    }
}
