//! What the variables of an expression are.

use kubewright_golib::inputs::Inputs;
use kubewright_value::Value;

use super::error::CelFailure;
use super::function::Host;
use super::val::Val;

/// The values of variables.
#[derive(Default, Clone)]
pub struct CelBindings<'a> {
    values: Vec<(&'a str, Val<'a>)>,
    variables: Option<&'a dyn LazyVariables<'a>>,
    host: Option<&'a dyn Host>,
    inputs: Inputs,
}

/// Variables that are only computed when an expression reads them.
pub trait LazyVariables<'a> {
    /// Returns the value of `name`; nothing when there is no such variable.
    ///
    /// # Errors
    /// When it has no value.
    fn find(&'a self, name: &str) -> Result<Option<Val<'a>>, CelFailure>;
}

impl<'a> CelBindings<'a> {
    /// Returns bindings of no variable.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds `name` to JSON, which is not copied.
    #[must_use]
    pub fn with(self, name: &'a str, value: &'a Value) -> Self {
        self.with_val(name, Val::borrowed(value))
    }

    /// Binds `name` to a value.
    #[must_use]
    pub fn with_val(mut self, name: &'a str, value: Val<'a>) -> Self {
        self.bind(name, value);
        self
    }

    /// Binds `name` to a value.
    pub fn bind(&mut self, name: &'a str, value: Val<'a>) {
        match self.values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.values.push((name, value)),
        }
    }

    /// Adds variables that are asked for when they are read and not bound otherwise.
    #[must_use]
    pub fn with_variables(self, variables: &'a dyn LazyVariables<'a>) -> Self {
        Self { variables: Some(variables), ..self }
    }

    /// Sets what functions may ask.
    #[must_use]
    pub fn with_host(self, host: &'a dyn Host) -> Self {
        Self { host: Some(host), ..self }
    }

    /// Sets what no function can know by itself: the present moment, and a seed for what is made up by chance.
    #[must_use]
    pub fn with_inputs(self, inputs: Inputs) -> Self {
        Self { inputs, ..self }
    }

    #[inline]
    pub(super) fn find(&self, name: &str) -> Result<Option<Val<'a>>, CelFailure> {
        if let Some((_, value)) = self.values.iter().find(|(known, _)| *known == name) {
            return Ok(Some(value.clone()));
        }
        self.variables.map_or(Ok(None), |variables| variables.find(name))
    }

    pub(super) fn host(&self) -> Option<&'a dyn Host> {
        self.host
    }

    pub(super) fn inputs(&self) -> Inputs {
        self.inputs
    }
}
