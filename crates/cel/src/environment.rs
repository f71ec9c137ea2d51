//! The environment of an expression: the functions, macros, variables and types that it may use.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_value::Text;

use super::function::CelFunctions;
use super::library::CelLibrary;
use super::standard;
use super::val::{CelKind, Val};

/// The static type of an expression, as far as it is known before evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct CelType {
    /// The kind of value.
    pub kind: CelKind,
    /// The type of the items of a list, the values of a map or the value of an optional.
    pub element: Option<Arc<CelType>>,
    /// The types of single fields, where they are known.
    pub fields: Option<Arc<[(Text, CelType)]>>,
    /// The name of the structure, such as `Object.spec`; its kind is a map.
    pub structure: Option<Text>,
}

impl CelType {
    /// Any type, or an unknown one.
    pub const ANY: Self = Self::of(CelKind::Any);

    /// Returns a type with unknown elements.
    #[must_use]
    pub const fn of(kind: CelKind) -> Self {
        Self { kind, element: None, fields: None, structure: None }
    }

    /// Returns the type of the structure `name`.
    #[must_use]
    pub fn structure(name: Text) -> Self {
        Self { structure: Some(name), ..Self::of(CelKind::Map) }
    }

    /// Returns the type of a list, map or optional with elements of type `element`.
    #[must_use]
    pub fn with(kind: CelKind, element: CelType) -> Self {
        let is_known = element.kind != CelKind::Any || element.fields.is_some();
        Self { element: is_known.then(|| Arc::new(element)), ..Self::of(kind) }
    }

    /// Adds known fields to the type. Other fields remain allowed.
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
        match (&self.structure, &self.element) {
            (Some(name), _) => f.write_str(name),
            (None, Some(element)) => write!(f, "{}({element})", self.kind),
            (None, None) => self.kind.fmt(f),
        }
    }
}

/// The functions, macros, variables and types that an expression may use. Cheap to clone.
#[derive(Clone)]
pub struct CelEnvironment {
    parts: Arc<EnvironmentParts>,
}

/// The variables differ from policy to policy; what libraries bring is shared by all copies.
#[derive(Clone)]
struct EnvironmentParts {
    functions: CelFunctions,
    macros: MacroSet,
    variables: HashMap<Text, CelType>,
    constants: Arc<HashMap<Text, Val<'static>>>,
    objects: Arc<HashMap<&'static str, FieldTypes>>,
    types: Arc<HashMap<Text, Text>>,
    structures: Arc<Vec<StructureType>>,
    container: Text,
    is_checked: bool,
    has_mixed_literals: bool,
    has_plain_or_value: bool,
    is_forgiving: bool,
    has_mixed_arithmetic: bool,
    shorthands: Arc<HashMap<&'static str, Shorthand>>,
}

/// A type whose values are written `name{field: value}`.
#[derive(Clone)]
struct StructureType {
    name: Text,
    /// Nothing where any field is allowed.
    fields: Option<FieldTypes>,
    /// Whether every name below it, such as `Object.spec`, is one as well.
    is_family: bool,
}

/// A call that is an alias of a field, such as `workload.ports()` for `derived.ports`.
#[derive(Debug, Clone, Copy)]
pub struct Shorthand {
    /// The call as written: a name, a dot and a name.
    pub call: &'static str,
    /// The variable and its fields, joined by dots.
    pub path: &'static str,
    /// The arguments of the call.
    pub takes: ShorthandArguments,
}

/// The arguments that a [`Shorthand`] takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShorthandArguments {
    /// Nothing.
    Nothing,
    /// Any arguments, which are ignored.
    Anything,
    /// The key of an entry; the call returns the entry as an optional.
    Key,
}

/// The fields of an object type, each with its kind.
pub type FieldTypes = &'static [(&'static str, CelKind)];

/// The macros that an environment has besides the standard ones.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
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
    /// The standard macros only.
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
            constants: Arc::default(),
            objects: Arc::default(),
            types: Arc::new(types.collect()),
            structures: Arc::default(),
            container: Text::default(),
            is_checked: true,
            has_mixed_literals: true,
            has_plain_or_value: false,
            is_forgiving: false,
            has_mixed_arithmetic: false,
            shorthands: Arc::default(),
        };
        Self { parts: Arc::new(parts) }
    }

    /// Adds the functions, macros and types of `library`.
    #[must_use]
    pub fn with(mut self, library: &CelLibrary) -> Self {
        let parts = Arc::make_mut(&mut self.parts);
        (library.functions)(&mut parts.functions);
        parts.macros.bindings |= library.macros.bindings;
        parts.macros.two_variables |= library.macros.two_variables;
        parts.macros.optionals |= library.macros.optionals;
        parts.macros.sorting |= library.macros.sorting;
        for name in library.types {
            Arc::make_mut(&mut parts.types).insert(Text::new(*name), Text::new(*name));
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

    /// Adds a variable of a type to this environment, which is copied only if it is shared.
    pub fn add_variable(&mut self, name: impl Into<Text>, kind: CelType) {
        Arc::make_mut(&mut self.parts).variables.insert(name.into(), kind);
    }

    /// Adds a named constant, such as `http`, on which a library's methods are called.
    #[must_use]
    pub fn constant(mut self, name: impl Into<Text>, value: Val<'static>) -> Self {
        Arc::make_mut(&mut Arc::make_mut(&mut self.parts).constants).insert(name.into(), value);
        self
    }

    /// Adds a call that is an alias of a field. Its receiver need not exist as a variable.
    #[must_use]
    pub fn shorthand(mut self, shorthand: Shorthand) -> Self {
        Arc::make_mut(&mut Arc::make_mut(&mut self.parts).shorthands).insert(shorthand.call, shorthand);
        self
    }

    /// Declares the fields of a library's type. Types of libraries have no fields otherwise.
    #[must_use]
    pub fn object(mut self, name: &'static str, fields: FieldTypes) -> Self {
        let parts = Arc::make_mut(&mut self.parts);
        Arc::make_mut(&mut parts.objects).insert(name, fields);
        Arc::make_mut(&mut parts.types).insert(Text::new_static(name), Text::new_static(name));
        self
    }

    /// Adds a type whose values are written `name{field: value}` and are maps with these fields.
    #[must_use]
    pub fn structure(mut self, name: impl Into<Text>, fields: FieldTypes) -> Self {
        let structure = StructureType { name: name.into(), fields: Some(fields), is_family: false };
        Arc::make_mut(&mut Arc::make_mut(&mut self.parts).structures).push(structure);
        self
    }

    /// Adds the types `name`, `name.a`, `name.a.b` and so on, whose values are maps with any fields.
    #[must_use]
    pub fn structure_family(mut self, name: impl Into<Text>) -> Self {
        let structure = StructureType { name: name.into(), fields: None, is_family: true };
        Arc::make_mut(&mut Arc::make_mut(&mut self.parts).structures).push(structure);
        self
    }

    /// Sets the container in which names are resolved first: in `a.b`, `x` may be `a.b.x`, `a.x` or `x`.
    #[must_use]
    pub fn container(mut self, name: impl Into<Text>) -> Self {
        Arc::make_mut(&mut self.parts).container = name.into();
        self
    }

    /// Turns off checks of names and types: mistakes become errors of the evaluation.
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

    /// Lets literals have elements of several types, as in a map that writes an object.
    #[must_use]
    pub fn with_mixed_literals(mut self) -> Self {
        Arc::make_mut(&mut self.parts).has_mixed_literals = true;
        self
    }

    /// Lets `a.orValue(b)` be `a` when `a` is not an optional.
    #[must_use]
    pub fn with_plain_or_value(mut self) -> Self {
        Arc::make_mut(&mut self.parts).has_plain_or_value = true;
        self
    }

    /// Lets `a.?b.c` be empty when `a.b` is null or a scalar, as the API server does; it is an error otherwise.
    #[must_use]
    pub fn with_forgiving_optionals(mut self) -> Self {
        Arc::make_mut(&mut self.parts).is_forgiving = true;
        self
    }

    /// Lets `+`, `-`, `*` and `/` take an integer and a double, with a double as result, and `==` compare them;
    /// both are errors otherwise.
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

    /// Returns the type of a field.
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
        self.structure_type(name).is_some()
    }

    /// Returns the fields of the structure `name`; nothing where any field is allowed.
    pub(super) fn structure_fields(&self, name: &str) -> Option<FieldTypes> {
        self.structure_type(name).and_then(|known| known.fields)
    }

    fn structure_type(&self, name: &str) -> Option<&StructureType> {
        let is_below = |known: &StructureType| {
            let rest = name.strip_prefix(known.name.as_str());
            known.is_family && rest.is_some_and(|rest| rest.starts_with('.'))
        };
        self.parts.structures.iter().find(|known| known.name == name || is_below(known))
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

    /// Returns what `find` finds for the first of the qualified names that `name` may refer to.
    pub(super) fn first_candidate<T>(&self, name: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        match name.strip_prefix('.') {
            Some(absolute) => find(absolute),
            None if self.parts.container.is_empty() => find(name),
            None => self.candidates(name).iter().find_map(|candidate| find(candidate)),
        }
    }

    /// Returns the qualified names that `name` may refer to, in the order in which they are tried.
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
