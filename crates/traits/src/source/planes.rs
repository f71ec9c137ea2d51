//! An Environment, and the DataPlane that it is on.

use super::component_type::is_cluster;
use super::{DataPlane, Environment, Gateway, GatewayEndpoint, Listener, Network, parts};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

pub(super) fn read_environment(reader: &mut DocumentReader<'_>) -> Option<Environment> {
    let (metadata, spec) = parts::heads(reader)?;
    reader.only(&spec, &["dataPlaneRef", "isProduction", "gateway", "hooks"]);
    let data_plane = reader.any(&spec, "dataPlaneRef").and_then(|found| match found.value.as_str() {
        Some(name) => Some((false, name.into())),
        None => {
            let fields = reader.object(&spec, "dataPlaneRef")?;
            reader.only(&fields, &["kind", "name"]);
            let is_cluster = is_cluster(reader, &fields, "DataPlane", "ClusterDataPlane");
            Some((is_cluster, reader.filled(&fields, "name")?.value))
        }
    });
    let gateway = gateway(reader, &spec);
    Some(Environment { metadata, data_plane, gateway })
}

pub(super) fn read_data_plane(reader: &mut DocumentReader<'_>) -> Option<DataPlane> {
    let (metadata, spec) = parts::heads(reader)?;
    let known = [
        "planeID",
        "clusterAgent",
        "gateway",
        "imagePullSecretRefs",
        "secretStoreRef",
        "observabilityPlaneRef",
    ];
    reader.only(&spec, &known);
    let gateway = gateway(reader, &spec);
    let secret_store = reader.object(&spec, "secretStoreRef").and_then(|store| {
        reader.only(&store, &["name"]);
        parts::plain(reader, &store, "name")
    });
    let observability = reader.object(&spec, "observabilityPlaneRef").and_then(|plane| {
        reader.only(&plane, &["kind", "name"]);
        let kind = parts::plain(reader, &plane, "kind").unwrap_or_else(|| "ObservabilityPlane".into());
        Some((kind, parts::plain(reader, &plane, "name")?))
    });
    Some(DataPlane { metadata, gateway, secret_store, observability })
}

fn gateway<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Gateway {
    let Some(fields) = reader.object(spec, "gateway") else { return Gateway::default() };
    reader.only(&fields, &["ingress", "egress"]);
    Gateway { ingress: network(reader, &fields, "ingress"), egress: network(reader, &fields, "egress") }
}

fn network<'d>(reader: &mut DocumentReader<'d>, gateway: &DocumentFields<'d>, key: &str) -> Option<Network> {
    let fields = reader.object(gateway, key)?;
    reader.only(&fields, &["external", "internal"]);
    Some(Network {
        external: endpoint(reader, &fields, "external"),
        internal: endpoint(reader, &fields, "internal"),
    })
}

fn endpoint<'d>(
    reader: &mut DocumentReader<'d>,
    network: &DocumentFields<'d>,
    key: &str,
) -> Option<GatewayEndpoint> {
    let fields = reader.object(network, key)?;
    reader.only(&fields, &["name", "namespace", "http", "https", "tls"]);
    Some(GatewayEndpoint {
        name: parts::plain(reader, &fields, "name"),
        namespace: parts::plain(reader, &fields, "namespace"),
        http: listener(reader, &fields, "http"),
        https: listener(reader, &fields, "https"),
        tls: listener(reader, &fields, "tls"),
    })
}

fn listener<'d>(
    reader: &mut DocumentReader<'d>,
    endpoint: &DocumentFields<'d>,
    key: &str,
) -> Option<Listener> {
    let fields = reader.object(endpoint, key)?;
    reader.only(&fields, &["listenerName", "port", "host"]);
    Some(Listener {
        name: parts::plain(reader, &fields, "listenerName"),
        port: reader.integer(&fields, "port").map(|port| port.value).filter(|port| *port != 0),
        host: parts::plain(reader, &fields, "host"),
    })
}
