//! `dataplane`, `environment` and the gateway that is put together of both.

use kubewright_value::{Map, Value};

use super::super::source::{DataPlane, Environment, Gateway, GatewayEndpoint, Listener, Network};
use super::{put, texts};

/// Returns `dataplane`.
pub(crate) fn data_plane(plane: &DataPlane) -> Value {
    let mut map = Map::new();
    put(&mut map, "secretStore", plane.secret_store.clone());
    put(&mut map, "gateway", gateway(&plane.gateway));
    if let Some((kind, name)) = &plane.observability {
        let reference = Map::from([("kind", kind.clone().into()), ("name", name.clone().into())]);
        map.insert("observabilityPlaneRef".into(), Value::object(reference));
    }
    if !plane.metadata.annotations.is_empty() {
        map.insert("annotations".into(), texts(&plane.metadata.annotations));
    }
    Value::object(map)
}

/// Returns `environment`. Its gateway is that of the data plane with the endpoints of the environment in their places.
pub(crate) fn environment(environment: &Environment, plane: &DataPlane, channel: Option<&str>) -> Value {
    let merged = Gateway {
        ingress: network(environment.gateway.ingress.as_ref(), plane.gateway.ingress.as_ref()),
        egress: network(environment.gateway.egress.as_ref(), plane.gateway.egress.as_ref()),
    };
    let mut map = Map::new();
    put(&mut map, "gateway", gateway(&merged));
    put(&mut map, "defaultNotificationChannel", channel.filter(|channel| !channel.is_empty()));
    Value::object(map)
}

/// An endpoint is taken whole: listeners of one gateway are of no use at another.
fn network(over: Option<&Network>, base: Option<&Network>) -> Option<Network> {
    let pick =
        |of: fn(&Network) -> Option<&GatewayEndpoint>| over.and_then(of).or(base.and_then(of)).cloned();
    over.or(base)?;
    Some(Network {
        external: pick(|network| network.external.as_ref()),
        internal: pick(|network| network.internal.as_ref()),
    })
}

fn gateway(gateway: &Gateway) -> Option<Value> {
    let mut map = Map::new();
    for (key, network) in [("ingress", &gateway.ingress), ("egress", &gateway.egress)] {
        let Some(network) = network else { continue };
        let mut endpoints = Map::new();
        put(&mut endpoints, "external", network.external.as_ref().map(endpoint));
        put(&mut endpoints, "internal", network.internal.as_ref().map(endpoint));
        if !endpoints.is_empty() {
            map.insert(key.into(), Value::object(endpoints));
        }
    }
    (!map.is_empty()).then(|| Value::object(map))
}

fn endpoint(endpoint: &GatewayEndpoint) -> Value {
    let mut map = Map::new();
    put(&mut map, "name", endpoint.name.clone());
    put(&mut map, "namespace", endpoint.namespace.clone());
    for (key, found) in [("http", &endpoint.http), ("https", &endpoint.https), ("tls", &endpoint.tls)] {
        put(&mut map, key, found.as_ref().map(listener));
    }
    Value::object(map)
}

fn listener(listener: &Listener) -> Value {
    let mut map = Map::new();
    put(&mut map, "listenerName", listener.name.clone());
    put(&mut map, "port", listener.port);
    put(&mut map, "host", listener.host.clone());
    Value::object(map)
}
