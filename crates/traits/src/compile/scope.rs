//! The variables that an expression may use, and their types.

use kubewright_cel::{ANY_STEP, CelEnvironment, CelKind, CelProgram, CelType};
use kubewright_value::{Position, Text};

use super::super::functions;
use super::super::schema::{FieldLookup, ParameterField, Schema, Sections};

/// The variables of every expression, besides its parameters.
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

/// The variables at one place.
#[derive(Clone)]
pub(super) struct TypeScope<'s> {
    environment: CelEnvironment,
    /// The variables with declared fields.
    declared: Vec<(Text, ParameterField<'s>)>,
}

/// A read of an undeclared parameter.
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
            environment = environment.variable_of(name, field.map_or(CelType::of(CelKind::Map), field_type));
            declared.extend(field.map(|field| (name.into(), field)));
        }
        Self { environment, declared }
    }

    pub(super) fn environment(&self) -> &CelEnvironment {
        &self.environment
    }

    /// Returns the scope with the variable `resource`.
    pub(super) fn with_resource(&self) -> Self {
        self.with_variable("resource", CelType::ANY, None)
    }

    /// Returns the scope inside a loop over the value of `program`.
    pub(super) fn with_item(&self, variable: &str, program: Option<&CelProgram>) -> Self {
        let over = program.map_or(CelType::ANY, |program| program.result_type().clone());
        let kind = match over.kind {
            CelKind::List => over.elements(),
            CelKind::Map => CelType::of(CelKind::Map)
                .with_fields([("key", CelType::of(CelKind::String)), ("value", over.elements())]),
            _ => CelType::ANY,
        };
        let field = program.and_then(|program| self.listed(program));
        self.with_variable(variable, kind, field)
    }

    /// Returns the undeclared parameters that `program` reads.
    pub(super) fn unknown_reads(&self, program: &CelProgram) -> Vec<UnknownRead<'s>> {
        let mut unknown = Vec::new();
        for read in program.reads() {
            let Some((variable, mut field)) = self.find(&read.variable) else { continue };
            for (name, offset) in read.path.iter().zip(&read.offsets) {
                match step_into_field(field, name) {
                    FieldLookup::Known(inner) => field = inner,
                    FieldLookup::Any => break,
                    FieldLookup::Unknown(nearest) => {
                        let (variable, name) = (variable.clone(), name.clone());
                        let position = program.position(*offset);
                        unknown.push(UnknownRead { variable, name, position, nearest });
                        break;
                    }
                }
            }
        }
        unknown
    }

    /// Returns the item type, if `program` is only a reference to a list parameter.
    fn listed(&self, program: &CelProgram) -> Option<ParameterField<'s>> {
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
    fn with_variable(&self, name: &str, kind: CelType, field: Option<ParameterField<'s>>) -> Self {
        let mut declared = self.declared.clone();
        declared.retain(|(known, _)| known != name);
        declared.extend(field.map(|field| (name.into(), field)));
        Self { environment: self.environment.clone().variable_of(name, kind), declared }
    }
}

fn step_into_field<'s>(field: ParameterField<'s>, name: &str) -> FieldLookup<'s> {
    match (field.items(), field.kind()) {
        (Some(items), _) if name == ANY_STEP => FieldLookup::Known(items),
        (_, Some("object")) if name != ANY_STEP => field.child(name),
        _ => FieldLookup::Any,
    }
}

/// Returns the type of a field. A number may be an integer or not, and what may be null is of any type.
fn field_type(field: ParameterField<'_>) -> CelType {
    if field.is_nullable() {
        return CelType::ANY;
    }
    match field.kind() {
        Some("string") => CelType::of(CelKind::String),
        Some("integer") => CelType::of(CelKind::Int),
        Some("boolean") => CelType::of(CelKind::Bool),
        Some("array") => CelType::with(CelKind::List, field.items().map_or(CelType::ANY, field_type)),
        Some("object") => {
            let fields: Vec<(Text, CelType)> = field
                .names()
                .filter_map(|name| match field.child(name) {
                    FieldLookup::Known(inner) => Some((Text::new(name), field_type(inner))),
                    _ => None,
                })
                .collect();
            match (fields.is_empty(), field.values()) {
                (true, Some(values)) => CelType::with(CelKind::Map, field_type(values)),
                _ => CelType::of(CelKind::Map).with_fields(fields),
            }
        }
        _ => CelType::ANY,
    }
}
