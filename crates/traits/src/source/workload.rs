//! A Workload, and the SecretReference that its variables and files may come from.

use kubewright_engine::Diagnostic;

use super::{
    ConfigVariable, Endpoint, EndpointConnection, ResourceDependency, SecretReference, SecretSource,
    Workload, code, parts,
};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

const ENDPOINT_TYPES: [&str; 7] = ["HTTP", "REST", "gRPC", "GraphQL", "Websocket", "TCP", "UDP"];
const VISIBILITIES: [&str; 4] = ["project", "namespace", "internal", "external"];

pub(super) fn read_workload_definition(reader: &mut DocumentReader<'_>) -> Option<Workload> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    reader.only(&spec, &["owner", "container", "endpoints", "dependencies", "connections", "source", "type"]);
    let owner = parts::read_owner(reader, &spec);
    let mut workload = Workload {
        metadata,
        owner,
        image: None,
        command: Vec::new(),
        args: Vec::new(),
        env: Vec::new(),
        files: Vec::new(),
        endpoints: Vec::new(),
        connections: Vec::new(),
        resources: Vec::new(),
    };
    if let Some(container) = reader.object(&spec, "container") {
        reader.only(&container, &["image", "command", "args", "env", "files"]);
        workload.image = parts::read_plain_text(reader, &container, "image");
        workload.command = reader.plain(&container, "command");
        workload.args = reader.plain(&container, "args");
        workload.env = read_variables(reader, &container, "env");
        workload.files = read_variables(reader, &container, "files");
    }
    for (name, fields) in reader.object(&spec, "endpoints").map(|all| reader.each(&all)).unwrap_or_default() {
        workload.endpoints.extend(read_workload_endpoint(reader, name, &fields));
    }
    if let Some(dependencies) = reader.object(&spec, "dependencies") {
        reader.only(&dependencies, &["endpoints", "resources"]);
        workload.connections = read_connections(reader, &dependencies, "endpoints");
        workload.resources = read_resource_dependencies(reader, &dependencies);
    } else if parts::read_renamed_field(reader, &spec, "dependencies", "connections") == "connections" {
        workload.connections = read_connections(reader, &spec, "connections");
    }
    Some(workload)
}

/// Returns the variables or files of a container.
pub(super) fn read_variables<'d>(
    reader: &mut DocumentReader<'d>,
    container: &DocumentFields<'d>,
    key: &str,
) -> Vec<ConfigVariable> {
    let mut variables = Vec::new();
    for fields in reader.objects(container, key).unwrap_or_default() {
        let is_file = key == "files";
        let more: &[&str] = if is_file { &["mountPath"] } else { &[] };
        let known: Vec<&str> = ["key", "value", "valueFrom"].iter().chain(more).copied().collect();
        reader.only(&fields, &known);
        let name = reader.filled(&fields, "key");
        let mount_path = match is_file {
            true => reader.required_string(&fields, "mountPath").map(|path| path.value),
            false => None,
        };
        let value = reader.string(&fields, "value").map(|value| value.value);
        let secret = read_secret_key_ref(reader, &fields);
        if value.as_ref().is_some_and(|value| !value.is_empty()) && secret.is_some() {
            let location = reader.document.locate_key(&fields.path);
            let message = "`value` and `valueFrom` are both set";
            reader.report(Diagnostic::new(&code::TWO_VALUES, message, location).help("keep one of the two"));
        }
        let Some(name) = name else { continue };
        variables.push(ConfigVariable { path: fields.path, key: name.value, mount_path, value, secret });
    }
    variables
}

fn read_secret_key_ref<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<(kubewright_value::Text, kubewright_value::Text)> {
    let from = reader.object(fields, "valueFrom")?;
    reader.only(&from, &["secretKeyRef", "secretRef"]);
    let key = parts::read_renamed_field(reader, &from, "secretKeyRef", "secretRef");
    let reference = reader.object(&from, key)?;
    reader.only(&reference, &["name", "key"]);
    let (name, key) = (reader.filled(&reference, "name"), reader.filled(&reference, "key"));
    Some((name?.value, key?.value))
}

fn read_workload_endpoint<'d>(
    reader: &mut DocumentReader<'d>,
    name: kubewright_value::Text,
    fields: &DocumentFields<'d>,
) -> Option<Endpoint> {
    reader.only(fields, &["type", "port", "targetPort", "displayName", "basePath", "visibility", "schema"]);
    let kind = reader.required_string(fields, "type");
    if let Some(kind) = &kind {
        reader.one_of(kind, "endpoint type", &ENDPOINT_TYPES.map(|word| (word, ())));
    }
    if reader.any(fields, "port").is_none() {
        reader.missing(fields, "port");
    }
    let port = reader.integer(fields, "port");
    let visibility = reader.strings(fields, "visibility").unwrap_or_default();
    for word in &visibility {
        reader.one_of(word, "visibility", &VISIBILITIES.map(|word| (word, ())));
    }
    let schema = reader.object(fields, "schema").map(|schema| {
        reader.only(&schema, &["type", "content"]);
        (parts::read_plain_text(reader, &schema, "type"), parts::read_plain_text(reader, &schema, "content"))
    });
    Some(Endpoint {
        name,
        kind: kind?.value,
        port: port?.value,
        target_port: reader.integer(fields, "targetPort").map(|port| port.value).filter(|port| *port != 0),
        display_name: parts::read_plain_text(reader, fields, "displayName"),
        base_path: parts::read_plain_text(reader, fields, "basePath"),
        visibility: visibility.into_iter().map(|word| word.value).collect(),
        schema,
    })
}

fn read_connections<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<EndpointConnection> {
    let mut connections = Vec::new();
    for fields in reader.objects(fields, key).unwrap_or_default() {
        reader.only(
            &fields,
            &["namespace", "project", "component", "name", "endpoint", "visibility", "envBindings"],
        );
        let key = parts::read_renamed_field(reader, &fields, "name", "endpoint");
        let (component, endpoint) = (reader.filled(&fields, "component"), reader.filled(&fields, key));
        let project = parts::read_plain_text(reader, &fields, "project");
        let visibility = parts::read_plain_text(reader, &fields, "visibility");
        let bindings = reader.pairs(&fields, "envBindings");
        let (Some(component), Some(endpoint)) = (component, endpoint) else { continue };
        let (component, endpoint) = (component.value, endpoint.value);
        connections.push(EndpointConnection { project, component, endpoint, visibility, bindings });
    }
    connections
}

fn read_resource_dependencies<'d>(
    reader: &mut DocumentReader<'d>,
    dependencies: &DocumentFields<'d>,
) -> Vec<ResourceDependency> {
    let mut resources = Vec::new();
    for fields in reader.objects(dependencies, "resources").unwrap_or_default() {
        reader.only(&fields, &["ref", "envBindings", "fileBindings"]);
        let resource = reader.filled(&fields, "ref");
        let (env, files) = (reader.pairs(&fields, "envBindings"), reader.pairs(&fields, "fileBindings"));
        let Some(resource) = resource else { continue };
        resources.push(ResourceDependency { resource: resource.value, env, files });
    }
    resources
}

pub(super) fn read_secret(reader: &mut DocumentReader<'_>) -> Option<SecretReference> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    reader.only(&spec, &["template", "data", "refreshInterval"]);
    let mut data = Vec::new();
    for fields in reader.objects(&spec, "data").unwrap_or_default() {
        reader.only(&fields, &["secretKey", "remoteRef"]);
        let key = reader.filled(&fields, "secretKey");
        let mut source =
            SecretSource { key: Default::default(), remote_key: None, property: None, version: None };
        if let Some(remote) = reader.required_object(&fields, "remoteRef") {
            reader.only(&remote, &["key", "property", "version"]);
            source.remote_key = parts::read_plain_text(reader, &remote, "key");
            source.property = parts::read_plain_text(reader, &remote, "property");
            source.version = parts::read_plain_text(reader, &remote, "version");
        }
        let Some(key) = key else { continue };
        data.push(SecretSource { key: key.value, ..source });
    }
    Some(SecretReference { metadata, data })
}
