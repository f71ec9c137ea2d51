//! An Environment, and the DataPlane that it is on.

use super::component_type::read_is_cluster_kind;
use super::{DataPlane, EnvironmentDefinition, Gateway, GatewayEndpoint, GatewayNetwork, Listener, parts};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

pub(super) fn read_environment(reader: &mut DocumentReader<'_>) -> Option<EnvironmentDefinition> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    reader.only(&spec, &["dataPlaneRef", "isProduction", "gateway", "hooks"]);
    let data_plane = reader.any(&spec, "dataPlaneRef").and_then(|found| match found.value.as_str() {
        Some(name) => Some((false, name.into())),
        None => {
            let fields = reader.object(&spec, "dataPlaneRef")?;
            reader.only(&fields, &["kind", "name"]);
            let is_cluster = read_is_cluster_kind(reader, &fields, "DataPlane", "ClusterDataPlane");
            Some((is_cluster, reader.filled(&fields, "name")?.value))
        }
    });
    let gateway = read_gateway(reader, &spec);
    Some(EnvironmentDefinition { metadata, data_plane, gateway })
}

pub(super) fn read_data_plane(reader: &mut DocumentReader<'_>) -> Option<DataPlane> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    let known = [
        "planeID",
        "clusterAgent",
        "gateway",
        "imagePullSecretRefs",
        "secretStoreRef",
        "observabilityPlaneRef",
    ];
    reader.only(&spec, &known);
    let gateway = read_gateway(reader, &spec);
    let secret_store = reader.object(&spec, "secretStoreRef").and_then(|store| {
        reader.only(&store, &["name"]);
        parts::read_plain_text(reader, &store, "name")
    });
    let observability = reader.object(&spec, "observabilityPlaneRef").and_then(|plane| {
        reader.only(&plane, &["kind", "name"]);
        let kind =
            parts::read_plain_text(reader, &plane, "kind").unwrap_or_else(|| "ObservabilityPlane".into());
        Some((kind, parts::read_plain_text(reader, &plane, "name")?))
    });
    Some(DataPlane { metadata, gateway, secret_store, observability })
}

fn read_gateway<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Gateway {
    let Some(fields) = reader.object(spec, "gateway") else { return Gateway::default() };
    reader.only(&fields, &["ingress", "egress"]);
    Gateway {
        ingress: read_gateway_network(reader, &fields, "ingress"),
        egress: read_gateway_network(reader, &fields, "egress"),
    }
}

fn read_gateway_network<'d>(
    reader: &mut DocumentReader<'d>,
    gateway: &DocumentFields<'d>,
    key: &str,
) -> Option<GatewayNetwork> {
    let fields = reader.object(gateway, key)?;
    reader.only(&fields, &["external", "internal"]);
    Some(GatewayNetwork {
        external: read_gateway_endpoint(reader, &fields, "external"),
        internal: read_gateway_endpoint(reader, &fields, "internal"),
    })
}

fn read_gateway_endpoint<'d>(
    reader: &mut DocumentReader<'d>,
    network: &DocumentFields<'d>,
    key: &str,
) -> Option<GatewayEndpoint> {
    let fields = reader.object(network, key)?;
    reader.only(&fields, &["name", "namespace", "http", "https", "tls"]);
    Some(GatewayEndpoint {
        name: parts::read_plain_text(reader, &fields, "name"),
        namespace: parts::read_plain_text(reader, &fields, "namespace"),
        http: read_listener(reader, &fields, "http"),
        https: read_listener(reader, &fields, "https"),
        tls: read_listener(reader, &fields, "tls"),
    })
}

fn read_listener<'d>(
    reader: &mut DocumentReader<'d>,
    endpoint: &DocumentFields<'d>,
    key: &str,
) -> Option<Listener> {
    let fields = reader.object(endpoint, key)?;
    reader.only(&fields, &["listenerName", "port", "host"]);
    Some(Listener {
        name: parts::read_plain_text(reader, &fields, "listenerName"),
        port: reader.integer(&fields, "port").map(|port| port.value).filter(|port| *port != 0),
        host: parts::read_plain_text(reader, &fields, "host"),
    })
}
