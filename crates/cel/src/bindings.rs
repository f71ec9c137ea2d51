//! The values of an expression's variables.

use kubewright_golib::inputs::Inputs;
use kubewright_value::Value;

use super::error::CelFailure;
use super::function::Host;
use super::val::Val;

/// The values of an expression's variables, and what its functions may use from outside.
#[derive(Default, Clone)]
pub struct CelBindings<'a> {
    values: Vec<(&'a str, Val<'a>)>,
    variables: Option<&'a dyn LazyVariables<'a>>,
    host: Option<&'a dyn Host>,
    inputs: Inputs,
}

/// Variables whose values are computed only when an expression reads them.
pub trait LazyVariables<'a> {
    /// Returns the value of `name`; nothing when there is no such variable.
    ///
    /// # Errors
    /// When it has no value.
    fn find(&'a self, name: &str) -> Result<Option<Val<'a>>, CelFailure>;
}

impl<'a> CelBindings<'a> {
    /// Returns empty bindings.
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

    /// Adds lazy variables, used for names that are not bound directly.
    #[must_use]
    pub fn with_variables(self, variables: &'a dyn LazyVariables<'a>) -> Self {
        Self { variables: Some(variables), ..self }
    }

    /// Sets the host that functions such as `resource.get` query.
    #[must_use]
    pub fn with_host(self, host: &'a dyn Host) -> Self {
        Self { host: Some(host), ..self }
    }

    /// Sets the current time and the random seed, which evaluation never reads from the machine.
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
