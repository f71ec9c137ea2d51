//! The parts of a context from documents as they are read, one by one.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Value};

use super::super::shelf::Shelf;
use super::super::source::{self, Resource};
use super::{Given, Secrets, Setting};

/// Returns `dataplane` and `environment`; nothing where one of the documents is something else.
#[must_use]
pub fn planes(
    data_plane: &Document,
    environment: &Document,
    channel: Option<&str>,
) -> Option<(Value, Value)> {
    let (Some(Resource::DataPlane(plane)), _) = source::read(data_plane) else { return None };
    let (Some(Resource::Environment(found)), _) = source::read(environment) else { return None };
    Some((super::data_plane(&plane), super::environment(&found, &plane, channel)))
}

/// Returns `workload`.
#[must_use]
pub fn workload(document: Option<&Document>) -> Value {
    super::workload_of(document.and_then(read_workload).as_ref())
}

/// Returns what the descriptions of the endpoints of a Workload list, by endpoint.
#[must_use]
pub fn endpoint_resources(document: &Document) -> (Value, Vec<Diagnostic>) {
    match read_workload(document) {
        Some(workload) => super::endpoint_resources_of(&workload, document),
        None => (Value::object(Map::new()), Vec::new()),
    }
}

/// Returns `configurations` of a Workload with the SecretReferences that there are.
#[must_use]
pub fn configurations(document: Option<&Document>, secrets: &[Document]) -> (Value, Vec<Diagnostic>) {
    let mut all = Shelf::default();
    for document in secrets {
        if let (Some(Resource::SecretReference(secret)), _) = source::read(document) {
            all.put(secret.metadata.name.clone(), secret.metadata.namespace.clone(), secret);
        }
    }
    let secrets = Secrets { all: &all, namespace: None };
    let workload = document.and_then(|document| Some((document, read_workload(document)?)));
    let Some((document, workload)) = workload else { return super::configurations_of(&[], &[], secrets) };
    let env: Vec<Setting<'_>> = workload.env.iter().map(|variable| Setting { variable, document }).collect();
    let files: Vec<Setting<'_>> =
        workload.files.iter().map(|variable| Setting { variable, document }).collect();
    super::configurations_of(&env, &files, secrets)
}

/// Returns `parameters` and `environmentConfigs` for what is given to the Trait or component type `declaring`,
/// and what is wrong with them or with their schemas.
#[must_use]
pub fn parameters(
    declaring: &Document,
    given: &Document,
    configs: &Document,
) -> (Value, Value, Vec<Diagnostic>) {
    let (resource, mut diagnostics) = source::read(declaring);
    let sections = match resource {
        Some(Resource::Trait(found)) => found.sections,
        Some(Resource::ComponentType(found)) => found.sections,
        _ => Default::default(),
    };
    let about = declaring.value.str_at(&["kind"]);
    let declared = |what, schema: Option<&super::super::schema::Schema>, document: &Document| {
        let given = Given { value: &document.value, document, path: &[] };
        super::declared(schema, Some(given), &document.locate(&[]), (what, about))
    };
    let (parameters, found) = declared("parameters", sections.parameters.as_ref(), given);
    diagnostics.extend(found);
    let (configs, found) = declared("environmentConfigs", sections.environment_configs.as_ref(), configs);
    diagnostics.extend(found);
    (parameters, configs, diagnostics)
}

fn read_workload(document: &Document) -> Option<source::Workload> {
    match source::read(document).0 {
        Some(Resource::Workload(workload)) => Some(workload),
        _ => None,
    }
}
