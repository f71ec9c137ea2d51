//! A Component, and the ReleaseBinding that puts it into an environment.

use super::component_type::{read_is_cluster_kind, read_trait_uses};
use super::{ComponentDefinition, ReleaseBinding, parts, workload};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

pub(super) fn read_component(reader: &mut DocumentReader<'_>) -> Option<ComponentDefinition> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    reader.only(
        &spec,
        &["owner", "type", "componentType", "parameters", "traits", "workflow", "autoDeploy", "autoBuild"],
    );
    let project = parts::read_owner(reader, &spec).project;
    let component_type = read_component_type_reference(reader, &spec);
    let parameters = parts::read_raw_value(reader, &spec, "parameters");
    let traits = read_trait_uses(reader, &spec, None);
    Some(ComponentDefinition { metadata, project, component_type, parameters, traits })
}

/// Reads `componentType: {kind, name}`, or the name alone; `deployment/web-app` names the type after the slash.
fn read_component_type_reference<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Option<(bool, Located<kubewright_value::Text>)> {
    let found = reader.any(spec, "componentType")?;
    let (is_cluster, mut name) = if found.value.as_object().is_some() {
        let fields = reader.object(spec, "componentType")?;
        reader.only(&fields, &["kind", "name"]);
        let is_cluster = read_is_cluster_kind(reader, &fields, "ComponentType", "ClusterComponentType");
        (is_cluster, reader.string(&fields, "name")?)
    } else {
        (false, reader.string(spec, "componentType")?)
    };
    if let Some((_, after)) = name.value.split_once('/') {
        name.value = after.into();
    }
    Some((is_cluster, name))
}

pub(super) fn read_release_binding(reader: &mut DocumentReader<'_>) -> Option<ReleaseBinding> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    reader.only(
        &spec,
        &[
            "owner",
            "environment",
            "releaseName",
            "componentTypeEnvironmentConfigs",
            "componentTypeEnvOverrides",
            "traitEnvironmentConfigs",
            "traitOverrides",
            "workloadOverrides",
            "state",
        ],
    );
    let owner = parts::read_owner(reader, &spec);
    let environment = parts::read_plain_text(reader, &spec, "environment");
    let key = parts::read_renamed_field(
        reader,
        &spec,
        "componentTypeEnvironmentConfigs",
        "componentTypeEnvOverrides",
    );
    let component_type_configs = parts::read_raw_value(reader, &spec, key);
    let key = parts::read_renamed_field(reader, &spec, "traitEnvironmentConfigs", "traitOverrides");
    let trait_configs = reader.object(&spec, key).map(|fields| fields.values()).unwrap_or_default();
    let (mut env, mut files) = (Vec::new(), Vec::new());
    if let Some(overrides) = reader.object(&spec, "workloadOverrides") {
        reader.only(&overrides, &["container"]);
        if let Some(container) = reader.object(&overrides, "container") {
            reader.only(&container, &["env", "files"]);
            env = workload::read_variables(reader, &container, "env");
            files = workload::read_variables(reader, &container, "files");
        }
    }
    Some(ReleaseBinding { metadata, owner, environment, component_type_configs, trait_configs, env, files })
}
