//! Values and their types as Go prints them, for Kyverno's messages.
//!
//! `kyverno apply` and `kyverno test` read every number of an object as a double, so these print a million as `1e+06`.

use kubewright_golib::float;
use kubewright_value::{Budget, Exhausted, Value};

/// Returns the text that `%v` prints.
pub(super) fn format_go_value(value: &Value, budget: &mut Budget) -> Result<String, Exhausted> {
    let mut out = String::new();
    write_go_value(value, &mut out, budget)?;
    Ok(out)
}

/// Returns the text that `%T` prints.
pub(super) fn go_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn write_go_value(value: &Value, out: &mut String, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.step(1)?;
    let start = out.len();
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        Value::Number(found) => out.push_str(&float::format_float(found.as_f64(), 'g', None)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            budget.enter()?;
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                write_go_value(item, out, budget)?;
            }
            out.push(']');
            budget.leave();
            return budget.produce(2);
        }
        Value::Object(map) => {
            budget.enter()?;
            out.push_str("map[");
            for (index, (key, item)) in map.sorted().into_iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                out.push_str(key);
                out.push(':');
                budget.produce(key.len())?;
                write_go_value(item, out, budget)?;
            }
            out.push(']');
            budget.leave();
            return budget.produce(5);
        }
    }
    budget.produce(out.len() - start)
}
