//! The table of what fields are for.

use std::sync::LazyLock;

use kubewright_value::{Map, Text, Value};

use crate::object;

const FIELD_DESCRIPTIONS: &str = include_str!("fields.txt");

/// The fields of some kinds.
pub(crate) struct FieldSection {
    /// The kinds.
    pub(crate) kinds: Vec<&'static str>,
    /// The `apiVersion` of kinds without a definition.
    api_version: Option<&'static str>,
    fields: Vec<DescribedField>,
}

struct DescribedField {
    /// The way to it; `[]` behind a name is an item of a list.
    path: Vec<&'static str>,
    values: Vec<&'static str>,
    description: &'static str,
}

/// The sections of the table.
pub(crate) static SECTIONS: LazyLock<Vec<FieldSection>> = LazyLock::new(|| {
    let mut sections: Vec<FieldSection> = Vec::new();
    for line in FIELD_DESCRIPTIONS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("= ") {
            let (versions, kinds) = head.split_whitespace().partition(|word| word.contains('/'));
            let versions: Vec<&str> = versions;
            let api_version = versions.first().copied();
            sections.push(FieldSection { kinds, api_version, fields: Vec::new() });
        } else if let (Some(section), Some(field)) = (sections.last_mut(), DescribedField::read(line)) {
            section.fields.push(field);
        }
    }
    sections
});

impl DescribedField {
    fn read(line: &'static str) -> Option<Self> {
        let (head, description) = line.split_once(": ")?;
        let (path, values) = head.split_once(' ').unwrap_or((head, ""));
        let values = values.split('|').filter(|value| !value.is_empty()).collect();
        Some(Self { path: path.split('.').collect(), values, description })
    }
}

impl FieldSection {
    /// Returns a schema of the fields in the table; nothing for kinds that have a definition.
    pub(crate) fn outline(&self) -> Option<Value> {
        let api_version = self.api_version?;
        let text = || object([("type", "string".into())]);
        let metadata = object([
            ("type", "object".into()),
            ("properties", object([("name", text()), ("namespace", text()), ("labels", object([]))])),
        ]);
        let kinds = Value::array(self.kinds.iter().map(|kind| Value::from(*kind)).collect());
        let properties = object([
            ("apiVersion", object([("enum", Value::array(vec![api_version.into()]))])),
            ("kind", object([("enum", kinds)])),
            ("metadata", metadata),
        ]);
        let mut schema = object([("type", "object".into()), ("properties", properties)]);
        for field in &self.fields {
            add_field(&mut schema, &field.path, field);
        }
        Some(schema)
    }

    /// Writes the descriptions into a schema.
    pub(crate) fn describe(&self, schema: &mut Value) {
        for field in &self.fields {
            if let Some(map) = place_of(schema, &field.path).and_then(Value::as_object_mut) {
                map.insert("description".into(), field.description.into());
            }
        }
    }
}

/// Returns the schema at the end of `path`.
fn place_of<'s>(schema: &'s mut Value, path: &[&str]) -> Option<&'s mut Value> {
    let mut here = schema;
    for name in path {
        let (name, is_item) = name.strip_suffix("[]").map_or((*name, false), |name| (name, true));
        here = here.as_object_mut()?.get_mut("properties")?.as_object_mut()?.get_mut(name)?;
        if is_item {
            here = here.as_object_mut()?.get_mut("items")?;
        }
    }
    Some(here)
}

fn add_field(schema: &mut Value, path: &[&str], field: &DescribedField) {
    let Some((first, rest)) = path.split_first() else {
        if !field.values.is_empty() {
            let values = Value::array(field.values.iter().map(|value| Value::from(*value)).collect());
            crate::convert::set(schema, &["enum"], values);
        }
        return;
    };
    let (name, is_item) = first.strip_suffix("[]").map_or((*first, false), |name| (name, true));
    if is_item {
        crate::convert::set(schema, &["type"], "object".into());
    }
    let Some(map) = schema.as_object_mut() else { return };
    if !map.contains_key("properties") {
        map.insert("properties".into(), Map::new().into());
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    let Some(child) = properties.and_then(|map| map.get_or_insert(&Text::from(name))) else { return };
    if child.is_null() {
        *child = object([]);
    }
    if !is_item {
        return add_field(child, rest, field);
    }
    let Some(map) = child.as_object_mut() else { return };
    map.insert("type".into(), "array".into());
    if let Some(items) = map.get_or_insert(&Text::from("items")) {
        if items.is_null() {
            *items = object([]);
        }
        add_field(items, rest, field);
    }
}
