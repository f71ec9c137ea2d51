//! The changes that lead from one object to another.

use kubewright_value::{Step, Value};

use crate::FieldChange;

/// Returns the changes that make `after` of `before`, as small as possible for texts.
#[must_use]
pub fn value_changes(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    add_changes(before, after, &mut Vec::new(), &mut changes);
    changes
}

fn add_changes(before: &Value, after: &Value, path: &mut Vec<Step>, changes: &mut Vec<FieldChange>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new.iter() {
                path.push(Step::Key(key.clone()));
                match old.get(key) {
                    Some(old) => add_changes(old, value, path, changes),
                    None => changes.push(FieldChange::Set { path: path.clone(), value: value.clone() }),
                }
                path.pop();
            }
            for key in old.keys().filter(|key| !new.contains_key(key)) {
                let path = [path.as_slice(), &[Step::Key(key.clone())]].concat();
                changes.push(FieldChange::Remove { path });
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() <= new.len() => {
            for (index, value) in new.iter().enumerate() {
                path.push(Step::Index(index));
                match old.get(index) {
                    Some(old) => add_changes(old, value, path, changes),
                    None => changes.push(FieldChange::Set { path: path.clone(), value: value.clone() }),
                }
                path.pop();
            }
        }
        _ => changes.push(FieldChange::Set { path: path.clone(), value: after.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::yaml;

    use super::*;

    #[test]
    fn value_changes_lead_from_one_object_to_the_other() {
        let (before, after) = ("{a: 1, b: [x], c: {d: 1}}", "{a: 2, b: [x, z], c: {e: 1}}");
        let (mut value, after) = (yaml::parse(before).unwrap(), yaml::parse(after).unwrap());
        let changes = value_changes(&value, &after);
        let shown: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["set a to 2", "set b[1] to \"z\"", "set c.e to 1", "remove c.d"]);
        changes.iter().for_each(|change| change.apply(&mut value).unwrap());
        assert_eq!(value, after);
    }
}
