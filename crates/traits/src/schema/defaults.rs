//! Defaults as the API server fills them in: a key that is left out, or null where null is not allowed, takes the
//! default of its schema; then the same is done inside. A missing object is not created for the defaults of its fields.

use kubewright_value::{Budget, Exhausted, Map, Value};

use super::node::{AdditionalProperties, SchemaNode};

/// Returns `given` with the defaults of `root`; nothing at all counts as an empty object.
pub(super) fn apply_defaults(
    root: &SchemaNode,
    given: &Value,
    budget: &mut Budget,
) -> Result<Value, Exhausted> {
    let mut value = match given {
        Value::Null => Value::object(Map::new()),
        other => other.clone(),
    };
    fill_defaults(root, &mut value, budget)?;
    Ok(value)
}

fn fill_defaults(node: &SchemaNode, value: &mut Value, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.step(1)?;
    match value {
        Value::Object(_) if node.has_field_schemas() => {
            let Some(map) = value.as_object_mut() else { return Ok(()) };
            fill_object(node, map, budget)
        }
        Value::Array(_) => {
            let (Some(items), Some(schema)) = (value.as_array_mut(), node.items.as_deref()) else {
                return Ok(());
            };
            budget.produce(items.len())?;
            for item in items {
                replace_null(schema, item);
                fill_defaults(schema, item, budget)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn fill_object(node: &SchemaNode, map: &mut Map, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.produce(map.len())?;
    for (name, schema) in node.properties.iter() {
        budget.step(1)?;
        let Some(default) = &schema.default else { continue };
        match map.get(name) {
            None => {
                budget.produce(size_of::<Value>())?;
                map.insert(name.clone(), default.clone());
            }
            Some(Value::Null) if !schema.is_nullable => {
                map.insert(name.clone(), default.clone());
            }
            Some(_) => {}
        }
    }
    for (name, value) in map.iter_mut() {
        match (node.properties.get(name), &node.additional) {
            (Some(schema), _) => fill_defaults(schema, value, budget)?,
            (None, AdditionalProperties::Each(schema)) => {
                replace_null(schema, value);
                fill_defaults(schema, value, budget)?;
            }
            (None, _) => {}
        }
    }
    Ok(())
}

fn replace_null(schema: &SchemaNode, value: &mut Value) {
    if let (Value::Null, false, Some(default)) = (&*value, schema.is_nullable, &schema.default) {
        *value = default.clone();
    }
}

impl SchemaNode {
    fn has_field_schemas(&self) -> bool {
        !self.properties.is_empty() || matches!(self.additional, AdditionalProperties::Each(_))
    }
}
