//! The data that a template is rendered with.

use kubewright_value::{Text, Value};

use super::item::TemplateItem;

/// The root of a template: a fixed set of fields, like a Go struct.
///
/// Asking it for another field is an error, unlike asking an object for a key it does not have.
#[derive(Debug, Clone, Default)]
pub struct TemplateContext {
    fields: Vec<(Text, ContextField)>,
}

#[derive(Debug, Clone)]
struct ContextField {
    value: Value,
    is_native: bool,
}

impl TemplateContext {
    /// Returns a context without fields.
    #[must_use]
    pub fn new() -> Self {
        Self { fields: Vec::with_capacity(4) }
    }

    /// Adds a field decoded from JSON: its numbers count as Go's `float64`.
    #[must_use]
    pub fn json(self, name: impl Into<Text>, value: impl Into<Value>) -> Self {
        self.with(name.into(), value.into(), false)
    }

    /// Adds a field made in code: its whole numbers count as Go's `int`.
    #[must_use]
    pub fn native(self, name: impl Into<Text>, value: impl Into<Value>) -> Self {
        self.with(name.into(), value.into(), true)
    }

    fn with(mut self, name: Text, value: Value, is_native: bool) -> Self {
        self.fields.push((name, ContextField { value, is_native }));
        self
    }

    /// Returns the JSON value of a field, for walking it in place.
    pub(super) fn plain(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(n, field)| n == name && !field.is_native).map(|(_, field)| &field.value)
    }

    /// Returns a field.
    pub(super) fn field(&self, name: &str) -> Option<TemplateItem> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, field)| field.item())
    }

    /// Returns all fields in the order in which they were added.
    pub(super) fn items(&self) -> impl Iterator<Item = (&Text, TemplateItem)> {
        self.fields.iter().map(|(name, field)| (name, field.item()))
    }
}

impl ContextField {
    fn item(&self) -> TemplateItem {
        if self.is_native { TemplateItem::native(&self.value) } else { TemplateItem::json(&self.value) }
    }
}
