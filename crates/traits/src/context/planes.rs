//! The variables `dataplane` and `environment`, and the gateway merged from both.

use kubewright_value::{Map, Value};

use super::super::source::{
    DataPlane, EnvironmentDefinition, Gateway, GatewayEndpoint, GatewayNetwork, Listener,
};
use super::{insert_present, text_pairs_object};

/// Returns `dataplane`.
pub(crate) fn data_plane_variable(plane: &DataPlane) -> Value {
    let mut map = Map::new();
    insert_present(&mut map, "secretStore", plane.secret_store.clone());
    insert_present(&mut map, "gateway", gateway_value(&plane.gateway));
    if let Some((kind, name)) = &plane.observability {
        let reference = Map::from([("kind", kind.clone().into()), ("name", name.clone().into())]);
        map.insert("observabilityPlaneRef".into(), Value::object(reference));
    }
    if !plane.metadata.annotations.is_empty() {
        map.insert("annotations".into(), text_pairs_object(&plane.metadata.annotations));
    }
    Value::object(map)
}

/// Returns `environment`. Its gateway is that of the data plane, overridden by the endpoints of the environment.
pub(crate) fn environment_variable(
    environment: &EnvironmentDefinition,
    plane: &DataPlane,
    channel: Option<&str>,
) -> Value {
    let merged = Gateway {
        ingress: merge_network(environment.gateway.ingress.as_ref(), plane.gateway.ingress.as_ref()),
        egress: merge_network(environment.gateway.egress.as_ref(), plane.gateway.egress.as_ref()),
    };
    let mut map = Map::new();
    insert_present(&mut map, "gateway", gateway_value(&merged));
    insert_present(&mut map, "defaultNotificationChannel", channel.filter(|channel| !channel.is_empty()));
    Value::object(map)
}

/// An endpoint is overridden as a whole, because its listeners belong to one gateway.
fn merge_network(over: Option<&GatewayNetwork>, base: Option<&GatewayNetwork>) -> Option<GatewayNetwork> {
    let pick = |of: fn(&GatewayNetwork) -> Option<&GatewayEndpoint>| {
        over.and_then(of).or(base.and_then(of)).cloned()
    };
    over.or(base)?;
    Some(GatewayNetwork {
        external: pick(|network| network.external.as_ref()),
        internal: pick(|network| network.internal.as_ref()),
    })
}

fn gateway_value(gateway: &Gateway) -> Option<Value> {
    let mut map = Map::new();
    for (key, network) in [("ingress", &gateway.ingress), ("egress", &gateway.egress)] {
        let Some(network) = network else { continue };
        let mut endpoints = Map::new();
        insert_present(&mut endpoints, "external", network.external.as_ref().map(gateway_endpoint_value));
        insert_present(&mut endpoints, "internal", network.internal.as_ref().map(gateway_endpoint_value));
        if !endpoints.is_empty() {
            map.insert(key.into(), Value::object(endpoints));
        }
    }
    (!map.is_empty()).then(|| Value::object(map))
}

fn gateway_endpoint_value(endpoint: &GatewayEndpoint) -> Value {
    let mut map = Map::new();
    insert_present(&mut map, "name", endpoint.name.clone());
    insert_present(&mut map, "namespace", endpoint.namespace.clone());
    for (key, found) in [("http", &endpoint.http), ("https", &endpoint.https), ("tls", &endpoint.tls)] {
        insert_present(&mut map, key, found.as_ref().map(listener_value));
    }
    Value::object(map)
}

fn listener_value(listener: &Listener) -> Value {
    let mut map = Map::new();
    insert_present(&mut map, "listenerName", listener.name.clone());
    insert_present(&mut map, "port", listener.port);
    insert_present(&mut map, "host", listener.host.clone());
    Value::object(map)
}
