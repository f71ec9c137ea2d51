//! Services, Endpoints, Ingresses, Gateway API, NetworkPolicies.

use kubewright_value::Value;

use super::{Deriving, ReferenceTarget, core, items_at, named_group, or, text_at};
use crate::graph::{FOREIGN, Only, Selection, SelectionScope};
use crate::names::Symbol;
use crate::selector::GraphSelector;
use crate::{EdgeType, Strength};

const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";

impl Deriving<'_, '_> {
    pub(super) fn network(&mut self, object: &Value) {
        match (self.group.clone().as_str(), self.kind.clone().as_str()) {
            ("", "Service") => self.service(object),
            ("", "Endpoints") => self.endpoints(object),
            ("discovery.k8s.io", "EndpointSlice") => self.endpoint_slice(object),
            (GATEWAY_GROUP, "Gateway") => self.gateway(object),
            (GATEWAY_GROUP, "ReferenceGrant") => self.reference_grant(object),
            (GATEWAY_GROUP, kind) if kind.ends_with("Route") => self.route(object),
            (GATEWAY_GROUP, kind) if kind.ends_with("Policy") => self.attached_policy(object),
            (_, "Ingress") => self.ingress(object),
            (_, "NetworkPolicy") => self.network_policy(object),
            _ => {}
        }
    }

    fn service(&mut self, object: &Value) {
        let Some(labels) = object.at(&["spec", "selector"]).and_then(Value::as_object) else { return };
        let selector = GraphSelector::of_map(labels).filter(|selector| !selector.is_empty());
        if let Some(selector) = selector.filter(|_| text_at(object, &["spec", "type"]) != "ExternalName") {
            self.select(EdgeType::EXPOSES, selector, "spec.selector", Strength::Required);
        }
    }

    fn endpoint_slice(&mut self, object: &Value) {
        let service = text_at(object, &["metadata", "labels", "kubernetes.io/service-name"]);
        for (at, endpoint) in items_at(object, &["endpoints"]) {
            self.endpoint(service, endpoint, &format!("EndpointSlice endpoints[{at}].targetRef"));
        }
    }

    fn endpoints(&mut self, object: &Value) {
        let service = self.name.clone();
        for (at, subset) in items_at(object, &["subsets"]) {
            for list in ["addresses", "notReadyAddresses"] {
                for (place, address) in items_at(subset, &[list]) {
                    let via = format!("Endpoints subsets[{at}].{list}[{place}].targetRef");
                    self.endpoint(&service, address, &via);
                }
            }
        }
    }

    /// A Service leads to what an endpoint of it names.
    fn endpoint(&mut self, service: &str, endpoint: &Value, via: &str) {
        let is_read = !service.is_empty() && self.derives(EdgeType::EXPOSES);
        let Some(target) = endpoint.get("targetRef").filter(|_| is_read) else { return };
        let (kind, name) = (or(text_at(target, &["kind"]), "Pod"), text_at(target, &["name"]));
        if name.is_empty() {
            return;
        }
        let namespace = self.namespace.clone();
        let service = self.identity(core("Service", &namespace, service));
        let target = self.identity(core(kind, or(text_at(target, &["namespace"]), &namespace), name));
        let (from, to) = (self.draft.node_of(service), self.draft.node_of(target));
        self.wire(from, to, EdgeType::EXPOSES, via, Strength::Required, FOREIGN);
    }

    fn ingress(&mut self, object: &Value) {
        for field in ["defaultBackend", "backend"] {
            if let Some(backend) = object.at(&["spec", field]) {
                self.backend(backend, &format!("spec.{field}"));
            }
        }
        for (at, rule) in items_at(object, &["spec", "rules"]) {
            for (place, path) in items_at(rule, &["http", "paths"]) {
                if let Some(backend) = path.get("backend") {
                    self.backend(backend, &format!("spec.rules[{at}].http.paths[{place}].backend"));
                }
            }
        }
        let namespace = self.namespace.clone();
        for (at, tls) in items_at(object, &["spec", "tls"]) {
            let secret = core("Secret", &namespace, text_at(tls, &["secretName"]));
            self.refer(
                EdgeType::TERMINATES_TLS_WITH,
                secret,
                &format!("spec.tls[{at}].secretName"),
                Strength::Required,
            );
        }
        let annotation = "kubernetes.io/ingress.class";
        let named = text_at(object, &["spec", "ingressClassName"]);
        let (name, via) = match named.is_empty() {
            false => (named, "spec.ingressClassName"),
            true => (
                text_at(object, &["metadata", "annotations", annotation]),
                "metadata.annotations['kubernetes.io/ingress.class']",
            ),
        };
        let class = ReferenceTarget { group: "networking.k8s.io", kind: "IngressClass", namespace: "", name };
        match named.is_empty() {
            false => self.refer(EdgeType::OF_CLASS, class, via, Strength::Required),
            // The annotation may name a class without an object.
            true if !name.is_empty() => {
                self.refer_if_present(EdgeType::OF_CLASS, class, via, Strength::Required);
            }
            true => {}
        }
    }

    /// The backend of an Ingress, also as the older API writes it.
    fn backend(&mut self, backend: &Value, path: &str) {
        let namespace = self.namespace.clone();
        for (keys, field) in [(&["service", "name"][..], "service"), (&["serviceName"], "serviceName")] {
            let service = core("Service", &namespace, text_at(backend, keys));
            self.refer(EdgeType::ROUTES_TO, service, &format!("{path}.{field}"), Strength::Required);
        }
        if let Some(resource) = backend.get("resource") {
            let (kind, name) = (text_at(resource, &["kind"]), text_at(resource, &["name"]));
            let group = named_group(resource).unwrap_or_default();
            let target = ReferenceTarget { group, kind, namespace: &namespace, name };
            self.refer(EdgeType::ROUTES_TO, target, &format!("{path}.resource"), Strength::Required);
        }
    }

    fn gateway(&mut self, object: &Value) {
        let name = text_at(object, &["spec", "gatewayClassName"]);
        let class = ReferenceTarget { group: GATEWAY_GROUP, kind: "GatewayClass", namespace: "", name };
        self.refer(EdgeType::OF_CLASS, class, "spec.gatewayClassName", Strength::Required);
        for (at, listener) in items_at(object, &["spec", "listeners"]) {
            for (place, certificate) in items_at(listener, &["tls", "certificateRefs"]) {
                let via = format!("spec.listeners[{at}].tls.certificateRefs[{place}]");
                self.gateway_reference(EdgeType::TERMINATES_TLS_WITH, certificate, ("", "Secret"), &via);
            }
        }
    }

    fn route(&mut self, object: &Value) {
        for (at, parent) in items_at(object, &["spec", "parentRefs"]) {
            let via = format!("spec.parentRefs[{at}]");
            self.gateway_reference(EdgeType::ATTACHES_TO, parent, (GATEWAY_GROUP, "Gateway"), &via);
        }
        let service = ("", "Service");
        for (at, rule) in items_at(object, &["spec", "rules"]) {
            let path = format!("spec.rules[{at}]");
            self.mirrors(rule, &path);
            for (place, backend) in items_at(rule, &["backendRefs"]) {
                let path = format!("{path}.backendRefs[{place}]");
                self.gateway_reference(EdgeType::FORWARDS_TO, backend, service, &path);
                self.mirrors(backend, &path);
            }
        }
    }

    /// Filters that send requests to another Service too.
    fn mirrors(&mut self, holder: &Value, path: &str) {
        for (at, filter) in items_at(holder, &["filters"]) {
            if let Some(backend) = filter.at(&["requestMirror", "backendRef"]) {
                let via = format!("{path}.filters[{at}].requestMirror.backendRef");
                self.gateway_reference(EdgeType::FORWARDS_TO, backend, ("", "Service"), &via);
            }
        }
    }

    fn attached_policy(&mut self, object: &Value) {
        if let Some(target) = object.at(&["spec", "targetRef"]) {
            self.gateway_reference(EdgeType::TARGETS_POLICY, target, ("", ""), "spec.targetRef");
        }
        for (at, target) in items_at(object, &["spec", "targetRefs"]) {
            self.gateway_reference(
                EdgeType::TARGETS_POLICY,
                target,
                ("", ""),
                &format!("spec.targetRefs[{at}]"),
            );
        }
    }

    fn reference_grant(&mut self, object: &Value) {
        let kind = EdgeType::GRANTS_REFERENCE;
        for (at, from) in items_at(object, &["spec", "from"]) {
            let namespace = core("Namespace", "", text_at(from, &["namespace"]));
            self.refer(kind, namespace, &format!("spec.from[{at}]"), Strength::Required);
        }
        let own = self.namespace.clone();
        for (at, to) in items_at(object, &["spec", "to"]) {
            let (group, kind_to) = (text_at(to, &["group"]), text_at(to, &["kind"]));
            let target =
                ReferenceTarget { group, kind: kind_to, namespace: &own, name: text_at(to, &["name"]) };
            self.refer(kind, target, &format!("spec.to[{at}]"), Strength::Required);
        }
    }

    /// A reference of the Gateway API: group, kind and namespace may be left out.
    fn gateway_reference(&mut self, kind: EdgeType, reference: &Value, usual: (&str, &str), via: &str) {
        let own = self.namespace.clone();
        let target = ReferenceTarget {
            group: reference.get("group").and_then(Value::as_str).unwrap_or(usual.0),
            kind: or(text_at(reference, &["kind"]), usual.1),
            namespace: or(text_at(reference, &["namespace"]), &own),
            name: text_at(reference, &["name"]),
        };
        self.refer(kind, target, via, Strength::Required);
    }

    fn network_policy(&mut self, object: &Value) {
        let nothing = Value::object(kubewright_value::Map::new());
        let selector =
            object.at(&["spec", "podSelector"]).filter(|selector| !selector.is_null()).unwrap_or(&nothing);
        if let Some(selector) = GraphSelector::of_labels(selector) {
            self.select(EdgeType::ISOLATES, selector, "spec.podSelector", Strength::Required);
        }
        for (rules, peers, kind) in
            [("ingress", "from", EdgeType::ALLOWS_FROM), ("egress", "to", EdgeType::ALLOWS_TO)]
        {
            for (at, rule) in items_at(object, &["spec", rules]) {
                for (place, peer) in items_at(rule, &[peers]) {
                    self.peer(kind, peer, &format!("spec.{rules}[{at}].{peers}[{place}]"));
                }
            }
        }
    }

    /// A peer of a NetworkPolicy; addresses are not looked at.
    fn peer(&mut self, kind: EdgeType, peer: &Value, via: &str) {
        let given = |field: &str| peer.get(field).filter(|selector| !selector.is_null());
        let (pods, namespaces) = (given("podSelector"), given("namespaceSelector"));
        if pods.is_none() && namespaces.is_none() {
            return;
        }
        let selector = pods.map_or_else(|| Some(GraphSelector::default()), GraphSelector::of_labels);
        let scopes = match namespaces {
            None => vec![SelectionScope::Namespace(self.here)],
            Some(namespaces) => {
                let selector = GraphSelector::of_labels(namespaces);
                selector.map(|selector| self.scopes_of(selector)).unwrap_or_default()
            }
        };
        for (scope, selector) in scopes.into_iter().filter_map(|scope| Some((scope, selector.clone()?))) {
            let selection = Selection { class: Symbol::EMPTY, only: Only::All, scope, selector };
            self.select_in(kind, selection, via, Strength::Required);
        }
    }
}
