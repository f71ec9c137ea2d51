//! What an expression may use: functions, macros, variables and types.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_value::Text;

use super::function::CelFunctions;
use super::library::CelLibrary;
use super::standard;
use super::val::{CelKind, Val};

/// What is known about the type of an expression before it is evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct CelType {
    /// What it is.
    pub kind: CelKind,
    /// What its items, values or the value in it are.
    pub element: Option<Arc<CelType>>,
    /// What its fields are, where they are known one by one.
    pub fields: Option<Arc<[(Text, CelType)]>>,
}

impl CelType {
    /// Of any type, or of a type that is not known.
    pub const ANY: Self = Self::of(CelKind::Any);

    /// Returns a type whose elements are not known.
    #[must_use]
    pub const fn of(kind: CelKind) -> Self {
        Self { kind, element: None, fields: None }
    }

    /// Returns a list, a map or an optional with elements of a type.
    #[must_use]
    pub fn with(kind: CelKind, element: CelType) -> Self {
        let is_known = element.kind != CelKind::Any || element.fields.is_some();
        Self { kind, element: is_known.then(|| Arc::new(element)), fields: None }
    }

    /// Returns this type, of which some fields are known; it may have others.
    #[must_use]
    pub fn with_fields(self, fields: impl IntoIterator<Item = (impl Into<Text>, CelType)>) -> Self {
        let fields = fields.into_iter().map(|(name, kind)| (name.into(), kind)).collect();
        Self { fields: Some(fields), ..self }
    }

    /// Returns the type of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> CelType {
        let known = self.fields.iter().flat_map(|fields| fields.iter()).find(|(field, _)| *field == name);
        known.map_or_else(|| self.elements(), |(_, kind)| kind.clone())
    }

    /// Returns the type of the elements.
    #[must_use]
    pub fn elements(&self) -> CelType {
        self.element.as_deref().cloned().unwrap_or(Self::ANY)
    }
}

impl std::fmt::Display for CelType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.element {
            Some(element) => write!(f, "{}({element})", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

/// What an expression may use. Cheap to clone.
#[derive(Clone)]
pub struct CelEnvironment {
    parts: Arc<EnvironmentParts>,
}

#[derive(Clone)]
struct EnvironmentParts {
    functions: CelFunctions,
    macros: MacroSet,
    variables: HashMap<Text, CelType>,
    constants: HashMap<Text, Val<'static>>,
    objects: HashMap<&'static str, FieldTypes>,
    types: HashMap<Text, Text>,
    structures: Vec<Text>,
    container: Text,
    is_checked: bool,
    has_mixed_literals: bool,
    has_plain_or_value: bool,
    is_forgiving: bool,
    has_mixed_arithmetic: bool,
    shorthands: HashMap<&'static str, Shorthand>,
}

/// A call that stands for a field of a variable, such as `workload.ports()` for `derived.ports`.
#[derive(Debug, Clone, Copy)]
pub struct Shorthand {
    /// The call as it is written, a name, a dot and a name.
    pub call: &'static str,
    /// The variable and the fields behind it, with dots.
    pub path: &'static str,
    /// What may be between the parentheses.
    pub takes: Takes,
}

/// What a [`Shorthand`] takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// Nothing, or something that is not looked at.
    Anything,
    /// The key of an entry, which the call gives as an optional.
    Key,
}

/// The fields of a type, and of which type they are.
pub type FieldTypes = &'static [(&'static str, CelKind)];

/// Which macros exist, besides those of the standard.
#[derive(Debug, Clone, Copy, Default)]
pub struct MacroSet {
    /// `cel.bind(x, 1, x + x)`
    pub bindings: bool,
    /// `list.all(index, value, ...)` and the like
    pub two_variables: bool,
    /// `optional.optMap(x, x + 1)`, and the syntax of optionals
    pub optionals: bool,
    /// `list.sortBy(x, x.name)`
    pub sorting: bool,
}

impl MacroSet {
    /// None besides those of the standard.
    pub const NONE: Self = Self { bindings: false, two_variables: false, optionals: false, sorting: false };
}

impl CelEnvironment {
    /// Returns the environment of the language itself, without libraries and variables.
    #[must_use]
    pub fn standard() -> Self {
        let mut functions = CelFunctions::default();
        standard::add_standard_functions(&mut functions);
        let kinds = [
            CelKind::Null,
            CelKind::Bool,
            CelKind::Int,
            CelKind::UInt,
            CelKind::Double,
            CelKind::String,
            CelKind::Bytes,
            CelKind::List,
            CelKind::Map,
            CelKind::Timestamp,
            CelKind::Duration,
            CelKind::Type,
            CelKind::Optional,
        ];
        let types = kinds.iter().map(|kind| (Text::new(kind.name()), Text::new(kind.name())));
        let parts = EnvironmentParts {
            functions,
            macros: MacroSet::default(),
            variables: HashMap::new(),
            constants: HashMap::new(),
            objects: HashMap::new(),
            types: types.collect(),
            structures: Vec::new(),
            container: Text::default(),
            is_checked: true,
            has_mixed_literals: true,
            has_plain_or_value: false,
            is_forgiving: false,
            has_mixed_arithmetic: false,
            shorthands: HashMap::new(),
        };
        Self { parts: Arc::new(parts) }
    }

    /// Adds what `library` has.
    #[must_use]
    pub fn with(mut self, library: &CelLibrary) -> Self {
        let parts = Arc::make_mut(&mut self.parts);
        (library.functions)(&mut parts.functions);
        parts.macros.bindings |= library.macros.bindings;
        parts.macros.two_variables |= library.macros.two_variables;
        parts.macros.optionals |= library.macros.optionals;
        parts.macros.sorting |= library.macros.sorting;
        for name in library.types {
            parts.types.insert(Text::new(*name), Text::new(*name));
        }
        self
    }

    /// Adds a variable of any type. A name may have dots: `variables.image` is found before `variables`.
    #[must_use]
    pub fn variable(self, name: impl Into<Text>) -> Self {
        self.variable_of(name, CelType::ANY)
    }

    /// Adds a variable of a type.
    #[must_use]
    pub fn variable_of(mut self, name: impl Into<Text>, kind: CelType) -> Self {
        Arc::make_mut(&mut self.parts).variables.insert(name.into(), kind);
        self
    }

    /// Adds a variable of a type to this environment, which is not copied unless somebody else has it too.
    pub fn add_variable(&mut self, name: impl Into<Text>, kind: CelType) {
        Arc::make_mut(&mut self.parts).variables.insert(name.into(), kind);
    }

    /// Adds a name for a value that is always the same, such as the object whose methods a library has.
    #[must_use]
    pub fn constant(mut self, name: impl Into<Text>, value: Val<'static>) -> Self {
        Arc::make_mut(&mut self.parts).constants.insert(name.into(), value);
        self
    }

    /// Adds a call that stands for a field of a variable. The receiver need not exist.
    #[must_use]
    pub fn shorthand(mut self, shorthand: Shorthand) -> Self {
        Arc::make_mut(&mut self.parts).shorthands.insert(shorthand.call, shorthand);
        self
    }

    /// Says which fields values of a library's type have; other types of libraries have none.
    #[must_use]
    pub fn object(mut self, name: &'static str, fields: FieldTypes) -> Self {
        let parts = Arc::make_mut(&mut self.parts);
        parts.objects.insert(name, fields);
        parts.types.insert(Text::new_static(name), Text::new_static(name));
        self
    }

    /// Adds a type of which values are made with `name{field: value}`; they are maps.
    #[must_use]
    pub fn structure(mut self, name: impl Into<Text>) -> Self {
        Arc::make_mut(&mut self.parts).structures.push(name.into());
        self
    }

    /// Sets where names are looked for first: in `a.b`, `x` may be `a.b.x`, `a.x` or `x`.
    #[must_use]
    pub fn container(mut self, name: impl Into<Text>) -> Self {
        Arc::make_mut(&mut self.parts).container = name.into();
        self
    }

    /// Leaves names and types to the evaluation: what is wrong there is an error of the evaluation only.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        Arc::make_mut(&mut self.parts).is_checked = false;
        self
    }

    /// Refuses `[1, 'a']` and `{'a': 1, 'b': 'c'}`, as the API server does.
    #[must_use]
    pub fn without_mixed_literals(mut self) -> Self {
        Arc::make_mut(&mut self.parts).has_mixed_literals = false;
        self
    }

    /// Lets `a.orValue(b)` be `a` where that is no optional.
    #[must_use]
    pub fn with_plain_or_value(mut self) -> Self {
        Arc::make_mut(&mut self.parts).has_plain_or_value = true;
        self
    }

    /// Lets `a.?b.c` be absent where `a.b` is null or a scalar, as the API server does; otherwise it is an error.
    #[must_use]
    pub fn with_forgiving_optionals(mut self) -> Self {
        Arc::make_mut(&mut self.parts).is_forgiving = true;
        self
    }

    /// Lets `+`, `-`, `*` and `/` take an integer and a double, as a double, and `==` compare them; otherwise that is an error.
    #[must_use]
    pub fn with_mixed_arithmetic(mut self) -> Self {
        Arc::make_mut(&mut self.parts).has_mixed_arithmetic = true;
        self
    }

    /// Returns the functions that may be called.
    #[must_use]
    pub fn functions(&self) -> &CelFunctions {
        &self.parts.functions
    }

    /// Returns the names of the variables, sorted.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.parts.variables.keys().map(Text::as_str).collect();
        names.sort_unstable();
        names
    }

    pub(super) fn macros(&self) -> MacroSet {
        self.parts.macros
    }

    pub(super) fn variable_type(&self, name: &str) -> Option<&CelType> {
        self.parts.variables.get(name)
    }

    pub(super) fn constant_named(&self, name: &str) -> Option<&Val<'static>> {
        self.parts.constants.get(name)
    }

    pub(super) fn has_field(&self, object: &str, field: &str) -> bool {
        self.fields(object).any(|(name, _)| *name == field)
    }

    /// Returns of which type a field is.
    pub(super) fn field_type(&self, object: &str, field: &str) -> CelType {
        let found = self.fields(object).find(|(name, _)| *name == field);
        found.map_or(CelType::ANY, |(_, kind)| CelType::of(*kind))
    }

    fn fields(&self, object: &str) -> impl Iterator<Item = &'static (&'static str, CelKind)> {
        self.parts.objects.get(object).copied().unwrap_or_default().iter()
    }

    pub(super) fn type_named(&self, name: &str) -> Option<&Text> {
        self.parts.types.get(name)
    }

    pub(super) fn has_structure(&self, name: &str) -> bool {
        self.parts.structures.iter().any(|known| known == name)
    }

    pub(super) fn is_forgiving(&self) -> bool {
        self.parts.is_forgiving
    }

    pub(super) fn has_shorthands(&self) -> bool {
        !self.parts.shorthands.is_empty()
    }

    pub(super) fn shorthand_named(&self, call: &str) -> Option<Shorthand> {
        self.parts.shorthands.get(call).copied()
    }

    pub(super) fn has_mixed_arithmetic(&self) -> bool {
        self.parts.has_mixed_arithmetic
    }

    pub(super) fn is_checked(&self) -> bool {
        self.parts.is_checked
    }

    pub(super) fn has_plain_or_value(&self) -> bool {
        self.parts.has_plain_or_value
    }

    pub(super) fn has_mixed_literals(&self) -> bool {
        self.parts.has_mixed_literals
    }

    /// Returns the names that `name` may stand for, the ones to be tried first in front.
    pub(super) fn candidates(&self, name: &str) -> Vec<Text> {
        if let Some(absolute) = name.strip_prefix('.') {
            return vec![Text::new(absolute)];
        }
        let mut container = self.parts.container.as_str();
        let mut names = Vec::new();
        while !container.is_empty() {
            names.push(Text::from(format!("{container}.{name}")));
            container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        names.push(Text::new(name));
        names
    }
}
