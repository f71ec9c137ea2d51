//! Following names into a schema, for checking the expressions that use them.

use kubewright_engine::nearest_word;
use kubewright_value::Value;

use super::node::{AdditionalProperties, SchemaNode};

/// A parameter, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct ParameterField<'s> {
    node: &'s SchemaNode,
}

/// The result of looking up a name in a schema.
#[derive(Debug, Clone, Copy)]
pub enum FieldLookup<'s> {
    /// A declared field, or the value of a map.
    Known(ParameterField<'s>),
    /// The schema does not say.
    Any,
    /// The schema has no such field; the nearest that it has.
    Unknown(Option<&'s str>),
}

impl<'s> ParameterField<'s> {
    pub(super) fn new(node: &'s SchemaNode) -> Self {
        Self { node }
    }

    /// Returns the name of the type in JSON Schema; `None` if any type is allowed.
    #[must_use]
    pub fn kind(self) -> Option<&'static str> {
        self.node.kind.map(super::node::SchemaType::name).filter(|_| !self.node.is_int_or_string)
    }

    /// Returns the names of the declared fields, as they are written.
    pub fn names(self) -> impl Iterator<Item = &'s str> {
        self.node.properties.names()
    }

    /// Returns whether a value may be null.
    #[must_use]
    pub fn is_nullable(self) -> bool {
        self.node.is_nullable
    }

    /// Returns whether the field `name` is there once defaults are filled in.
    #[must_use]
    pub fn has_always(self, name: &str) -> bool {
        let is_required = self.node.required.iter().any(|known| known == name);
        is_required || self.node.properties.get(name).is_some_and(|field| field.default.is_some())
    }

    /// Returns the default.
    #[must_use]
    pub fn default(self) -> Option<&'s Value> {
        self.node.default.as_ref()
    }

    /// Returns the values that are allowed; empty for any.
    #[must_use]
    pub fn choices(self) -> &'s [Value] {
        &self.node.choices
    }

    /// Returns the description.
    #[must_use]
    pub fn description(self) -> Option<&'s str> {
        self.node.note("description").and_then(Value::as_str)
    }

    /// Returns the schema of list items.
    #[must_use]
    pub fn items(self) -> Option<ParameterField<'s>> {
        self.node.items.as_deref().map(Self::new)
    }

    /// Returns the schema of the values of a map with free keys.
    #[must_use]
    pub fn values(self) -> Option<ParameterField<'s>> {
        match &self.node.additional {
            AdditionalProperties::Each(node) => Some(Self::new(node)),
            _ => None,
        }
    }

    /// Looks up `name`.
    #[must_use]
    pub fn child(self, name: &str) -> FieldLookup<'s> {
        if let Some(node) = self.node.properties.get(name) {
            return FieldLookup::Known(Self::new(node));
        }
        match &self.node.additional {
            AdditionalProperties::Each(node) => FieldLookup::Known(Self::new(node)),
            AdditionalProperties::Any => FieldLookup::Any,
            AdditionalProperties::Open if self.node.allows_undeclared_fields() => FieldLookup::Any,
            _ => FieldLookup::Unknown(nearest_word(name, self.node.properties.names())),
        }
    }
}
