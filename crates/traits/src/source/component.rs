//! A Component, and the ReleaseBinding that puts it into an environment.

use super::component_type::{is_cluster, uses};
use super::{Component, ReleaseBinding, parts, workload};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

pub(super) fn read(reader: &mut DocumentReader<'_>) -> Option<Component> {
    let (metadata, spec) = parts::heads(reader)?;
    reader.only(
        &spec,
        &["owner", "type", "componentType", "parameters", "traits", "workflow", "autoDeploy", "autoBuild"],
    );
    let project = parts::owner(reader, &spec).project;
    let component_type = component_type(reader, &spec);
    let parameters = parts::raw(reader, &spec, "parameters");
    let traits = uses(reader, &spec, None);
    Some(Component { metadata, project, component_type, parameters, traits })
}

/// Reads `componentType: {kind, name}`, or the name alone; `deployment/web-app` names the type after the slash.
fn component_type<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Option<(bool, Located<kubewright_value::Text>)> {
    let found = reader.any(spec, "componentType")?;
    let (is_cluster, mut name) = if found.value.as_object().is_some() {
        let fields = reader.object(spec, "componentType")?;
        reader.only(&fields, &["kind", "name"]);
        let is_cluster = is_cluster(reader, &fields, "ComponentType", "ClusterComponentType");
        (is_cluster, reader.string(&fields, "name")?)
    } else {
        (false, reader.string(spec, "componentType")?)
    };
    if let Some((_, after)) = name.value.split_once('/') {
        name.value = after.into();
    }
    Some((is_cluster, name))
}

pub(super) fn read_binding(reader: &mut DocumentReader<'_>) -> Option<ReleaseBinding> {
    let (metadata, spec) = parts::heads(reader)?;
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
    let owner = parts::owner(reader, &spec);
    let environment = parts::plain(reader, &spec, "environment");
    let key = parts::renamed(reader, &spec, "componentTypeEnvironmentConfigs", "componentTypeEnvOverrides");
    let component_type_configs = parts::raw(reader, &spec, key);
    let key = parts::renamed(reader, &spec, "traitEnvironmentConfigs", "traitOverrides");
    let trait_configs = reader.object(&spec, key).map(|fields| fields.values()).unwrap_or_default();
    let (mut env, mut files) = (Vec::new(), Vec::new());
    if let Some(overrides) = reader.object(&spec, "workloadOverrides") {
        reader.only(&overrides, &["container"]);
        if let Some(container) = reader.object(&overrides, "container") {
            reader.only(&container, &["env", "files"]);
            env = workload::variables(reader, &container, "env");
            files = workload::variables(reader, &container, "files");
        }
    }
    Some(ReleaseBinding { metadata, owner, environment, component_type_configs, trait_configs, env, files })
}
