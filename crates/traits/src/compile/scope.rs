//! What an expression may name where it stands, and of what type it is.

use kubewright_cel::{ANY, Environment, Kind, Program, Type};
use kubewright_value::{Position, Text};

use super::super::functions;
use super::super::schema::{FieldLookup, ParameterField, Schema, Sections};

/// What every expression sees besides its parameters.
pub(crate) const CONTEXT: [&str; 8] = [
    "metadata",
    "dataplane",
    "environment",
    "gateway",
    "workload",
    "configurations",
    "dependencies",
    "derived",
];

/// The names at one place.
#[derive(Clone)]
pub(super) struct TypeScope<'s> {
    environment: Environment,
    /// The variables whose fields are declared.
    declared: Vec<(Text, ParameterField<'s>)>,
}

/// A parameter that is read and not declared.
pub(super) struct UnknownRead<'s> {
    pub(super) variable: Text,
    pub(super) name: Text,
    pub(super) position: Position,
    pub(super) nearest: Option<&'s str>,
}

impl<'s> TypeScope<'s> {
    pub(super) fn new(sections: &'s Sections, is_trait: bool, more: &[Text]) -> Self {
        let mut environment = functions::trait_environment();
        let usual = CONTEXT.into_iter().chain(is_trait.then_some("trait"));
        for name in usual.chain(more.iter().map(Text::as_str)) {
            environment = environment.variable(name);
        }
        let mut declared = Vec::new();
        let parts =
            [("parameters", &sections.parameters), ("environmentConfigs", &sections.environment_configs)];
        for (name, schema) in parts {
            let field = schema.as_ref().map(Schema::root);
            environment = environment.variable_of(name, field.map_or(Type::of(Kind::Map), field_type));
            declared.extend(field.map(|field| (name.into(), field)));
        }
        Self { environment, declared }
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the scope in which a resource is looked at.
    pub(super) fn with_resource(&self) -> Self {
        self.with_variable("resource", Type::ANY, None)
    }

    /// Returns the scope inside of a loop over what `program` gives.
    pub(super) fn with_item(&self, variable: &str, program: Option<&Program>) -> Self {
        let over = program.map_or(Type::ANY, |program| program.result_type().clone());
        let kind = match over.kind {
            Kind::List => over.elements(),
            Kind::Map => {
                Type::of(Kind::Map).with_fields([("key", Type::of(Kind::String)), ("value", over.elements())])
            }
            _ => Type::ANY,
        };
        let field = program.and_then(|program| self.listed(program));
        self.with_variable(variable, kind, field)
    }

    /// Returns the parameters that `program` reads and nobody declares.
    pub(super) fn unknown_reads(&self, program: &Program) -> Vec<UnknownRead<'s>> {
        let mut unknown = Vec::new();
        for read in program.reads() {
            let Some((variable, mut field)) = self.find(&read.variable) else { continue };
            for (name, position) in read.path.iter().zip(&read.positions) {
                match step_into_field(field, name) {
                    FieldLookup::Known(inner) => field = inner,
                    FieldLookup::Any => break,
                    FieldLookup::Unknown(nearest) => {
                        let (variable, name) = (variable.clone(), name.clone());
                        unknown.push(UnknownRead { variable, name, position: *position, nearest });
                        break;
                    }
                }
            }
        }
        unknown
    }

    /// Returns what the items are, if `program` names a list of the parameters and nothing else.
    fn listed(&self, program: &Program) -> Option<ParameterField<'s>> {
        let written: Vec<&str> = program.source().trim().split('.').collect();
        let (first, rest) = written.split_first()?;
        let (_, mut field) = self.find(first)?;
        for name in rest {
            match field.child(name) {
                FieldLookup::Known(inner) => field = inner,
                _ => return None,
            }
        }
        field.items()
    }

    fn find(&self, name: &str) -> Option<(&Text, ParameterField<'s>)> {
        self.declared.iter().find(|(known, _)| known == name).map(|(name, field)| (name, *field))
    }

    /// A variable hides one of the same name.
    fn with_variable(&self, name: &str, kind: Type, field: Option<ParameterField<'s>>) -> Self {
        let mut declared = self.declared.clone();
        declared.retain(|(known, _)| known != name);
        declared.extend(field.map(|field| (name.into(), field)));
        Self { environment: self.environment.clone().variable_of(name, kind), declared }
    }
}

fn step_into_field<'s>(field: ParameterField<'s>, name: &str) -> FieldLookup<'s> {
    match (field.items(), field.kind()) {
        (Some(items), _) if name == ANY => FieldLookup::Known(items),
        (_, Some("object")) if name != ANY => field.child(name),
        _ => FieldLookup::Any,
    }
}

/// Returns the type of a field. A number may be an integer or not, and what may be null is of any type.
fn field_type(field: ParameterField<'_>) -> Type {
    if field.is_nullable() {
        return Type::ANY;
    }
    match field.kind() {
        Some("string") => Type::of(Kind::String),
        Some("integer") => Type::of(Kind::Int),
        Some("boolean") => Type::of(Kind::Bool),
        Some("array") => Type::with(Kind::List, field.items().map_or(Type::ANY, field_type)),
        Some("object") => {
            let fields: Vec<(Text, Type)> = field
                .names()
                .filter_map(|name| match field.child(name) {
                    FieldLookup::Known(inner) => Some((Text::new(name), field_type(inner))),
                    _ => None,
                })
                .collect();
            match (fields.is_empty(), field.values()) {
                (true, Some(values)) => Type::with(Kind::Map, field_type(values)),
                _ => Type::of(Kind::Map).with_fields(fields),
            }
        }
        _ => Type::ANY,
    }
}
