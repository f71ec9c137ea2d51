//! Single variables of a context, computed from documents.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Value};

use super::super::named_resources::NamedResources;
use super::super::source::{self, OpenChoreoResource};
use super::{GivenParameters, SourcedVariable, VisibleSecrets};

/// Returns `dataplane` and `environment`; `None` if one of the documents has another kind.
#[must_use]
pub fn planes_of_documents(
    data_plane: &Document,
    environment: &Document,
    channel: Option<&str>,
) -> Option<(Value, Value)> {
    let (Some(OpenChoreoResource::DataPlane(plane)), _) = source::read_openchoreo_document(data_plane) else {
        return None;
    };
    let (Some(OpenChoreoResource::Environment(found)), _) = source::read_openchoreo_document(environment)
    else {
        return None;
    };
    Some((super::data_plane_variable(&plane), super::environment_variable(&found, &plane, channel)))
}

/// Returns `workload`.
#[must_use]
pub fn workload_of_document(document: Option<&Document>) -> Value {
    super::workload_variable(document.and_then(read_workload).as_ref())
}

/// Returns the operations in the API descriptions of a Workload, by endpoint.
#[must_use]
pub fn endpoint_resources_of_document(document: &Document) -> (Value, Vec<Diagnostic>) {
    match read_workload(document) {
        Some(workload) => super::list_endpoint_resources(&workload, document),
        None => (Value::object(Map::new()), Vec::new()),
    }
}

/// Returns `configurations` of a Workload, resolved with `secrets`.
#[must_use]
pub fn configurations_of_document(
    document: Option<&Document>,
    secrets: &[Document],
) -> (Value, Vec<Diagnostic>) {
    let mut all = NamedResources::default();
    for document in secrets {
        if let (Some(OpenChoreoResource::SecretReference(secret)), _) =
            source::read_openchoreo_document(document)
        {
            all.put(secret.metadata.name.clone(), secret.metadata.namespace.clone(), secret);
        }
    }
    let secrets = VisibleSecrets { all: &all, namespace: None };
    let workload = document.and_then(|document| Some((document, read_workload(document)?)));
    let Some((document, workload)) = workload else {
        return super::resolve_configurations(&[], &[], secrets);
    };
    let env: Vec<SourcedVariable<'_>> =
        workload.env.iter().map(|variable| SourcedVariable { variable, document }).collect();
    let files: Vec<SourcedVariable<'_>> =
        workload.files.iter().map(|variable| SourcedVariable { variable, document }).collect();
    super::resolve_configurations(&env, &files, secrets)
}

/// Returns `parameters` and `environmentConfigs` for the Trait or component type `declaring`, and the mistakes in
/// them or in their schemas.
#[must_use]
pub fn parameters_of_document(
    declaring: &Document,
    given: &Document,
    configs: &Document,
) -> (Value, Value, Vec<Diagnostic>) {
    let (resource, mut diagnostics) = source::read_openchoreo_document(declaring);
    let sections = match resource {
        Some(OpenChoreoResource::Trait(found)) => found.sections,
        Some(OpenChoreoResource::ComponentType(found)) => found.sections,
        _ => Default::default(),
    };
    let about = declaring.value.str_at(&["kind"]);
    let declared = |what, schema: Option<&super::super::schema::Schema>, document: &Document| {
        let given = GivenParameters { value: &document.value, document, path: &[] };
        super::bind_declared(schema, Some(given), &document.locate(&[]), (what, about))
    };
    let (parameters, found) = declared("parameters", sections.parameters.as_ref(), given);
    diagnostics.extend(found);
    let (configs, found) = declared("environmentConfigs", sections.environment_configs.as_ref(), configs);
    diagnostics.extend(found);
    (parameters, configs, diagnostics)
}

fn read_workload(document: &Document) -> Option<source::Workload> {
    match source::read_openchoreo_document(document).0 {
        Some(OpenChoreoResource::Workload(workload)) => Some(workload),
        _ => None,
    }
}
