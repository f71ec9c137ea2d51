//! The variables of expressions.

use kubewright_cel::{CelFailure, LazyVariables, Val};
use kubewright_value::{Text, Value};

use super::compile::program::LoopProgram;

/// The values of variables such as `metadata` and `parameters`.
#[derive(Debug, Clone, Default)]
pub struct RenderContext {
    values: Vec<(Text, Value)>,
}

impl RenderContext {
    /// Returns a context without variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns this context with the variable `name`.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.set(name, value);
        self
    }

    /// Sets the variable `name`.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.values.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.values.push((name.into(), value)),
        }
    }

    /// Returns the variable `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the names in the order in which they were set.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.values.iter().map(|(name, _)| name)
    }
}

/// The variables at one place: the context, the item of a loop, and the selected resource.
#[derive(Clone, Copy)]
pub(crate) struct VariableScope<'n> {
    pub(crate) context: &'n RenderContext,
    pub(crate) item: Option<(&'n str, &'n Value)>,
    pub(crate) resource: Option<&'n Value>,
}

impl<'n> VariableScope<'n> {
    /// Returns the scope outside of loops.
    pub(crate) fn of(context: &'n RenderContext) -> Self {
        Self { context, item: None, resource: None }
    }

    /// Returns the scope for `item` of the loop `each`; without a loop there is no item.
    pub(crate) fn within(
        context: &'n RenderContext,
        each: Option<&'n LoopProgram>,
        item: Option<&'n Value>,
    ) -> Self {
        let item = each.zip(item).map(|(each, item)| (each.variable.as_str(), item));
        Self { item, ..Self::of(context) }
    }
}

/// `resource` shadows a loop variable of that name, and a loop variable shadows the context.
impl<'a, 'n: 'a> LazyVariables<'a> for VariableScope<'n> {
    fn find(&'a self, name: &str) -> Result<Option<Val<'a>>, CelFailure> {
        let resource = self.resource.filter(|_| name == "resource");
        let item = || self.item.filter(|(known, _)| *known == name).map(|(_, value)| value);
        Ok(resource.or_else(item).or_else(|| self.context.get(name)).map(Val::borrowed))
    }
}
