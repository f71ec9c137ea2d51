//! Webhooks, events, limits of namespaces, applications, Services of workloads.

use kubewright_value::{Map, Value};

use super::{Deriving, ReferenceTarget, core, items_at, named_group, text_at};
use crate::{EdgeType, Strength};

/// Labels that say which application an object is part of; the first one counts.
const APPLICATION_LABELS: [&str; 3] =
    ["app.kubernetes.io/instance", "app.kubernetes.io/part-of", "app.kubernetes.io/name"];

/// The fields of these labels.
const NAMED_BY: [&str; 3] = [
    "metadata.labels['app.kubernetes.io/instance']",
    "metadata.labels['app.kubernetes.io/part-of']",
    "metadata.labels['app.kubernetes.io/name']",
];

impl Deriving<'_, '_> {
    /// Workloads that name a Service.
    pub(super) fn workload(&mut self, object: &Value) {
        if self.kind == "StatefulSet" {
            let own = self.namespace.clone();
            let service = core("Service", &own, text_at(object, &["spec", "serviceName"]));
            self.refer(EdgeType::GOVERNED_BY, service, "spec.serviceName", Strength::Required);
        }
    }

    pub(super) fn webhooks(&mut self, object: &Value) {
        for (at, webhook) in items_at(object, &["webhooks"]) {
            if let Some(service) = webhook.at(&["clientConfig", "service"]) {
                self.called(service, &format!("webhooks[{at}].clientConfig.service"));
            }
        }
        for keys in [&["spec", "service"][..], &["spec", "conversion", "webhook", "clientConfig", "service"]]
        {
            if let Some(service) = object.at(keys) {
                self.called(service, &keys.join("."));
            }
        }
    }

    fn called(&mut self, service: &Value, via: &str) {
        let service = core("Service", text_at(service, &["namespace"]), text_at(service, &["name"]));
        self.refer(EdgeType::CALLS_WEBHOOK, service, via, Strength::Required);
    }

    pub(super) fn event(&mut self, object: &Value) {
        for field in ["involvedObject", "regarding"] {
            let Some(about) = object.get(field) else { continue };
            let target = ReferenceTarget {
                group: named_group(about).unwrap_or_default(),
                kind: text_at(about, &["kind"]),
                namespace: text_at(about, &["namespace"]),
                name: text_at(about, &["name"]),
            };
            // The object of an event is often deleted before its event.
            self.refer_if_present(EdgeType::REPORTS_ON, target, field, Strength::Optional);
        }
    }

    /// ResourceQuotas and LimitRanges.
    pub(super) fn limits(&mut self) {
        let own = self.namespace.clone();
        if !own.is_empty() {
            let namespace = core("Namespace", "", &own);
            self.referred_by(EdgeType::LIMITED_BY, namespace, "metadata.namespace", Strength::Required);
        }
    }

    /// The application that labels name, or the release that an annotation names.
    pub(super) fn application(&mut self, metadata: &Value) {
        let labels = metadata.get("labels").and_then(Value::as_object);
        let mut named: Option<(usize, &str)> = None;
        for (label, name) in labels
            .into_iter()
            .flat_map(Map::iter)
            .filter(|(label, _)| label.starts_with("app.kubernetes.io/"))
        {
            let place = APPLICATION_LABELS.iter().position(|known| *known == label);
            let name = name.as_str().unwrap_or_default();
            if let Some(place) =
                place.filter(|place| named.is_none_or(|(best, _)| *place < best) && !name.is_empty())
            {
                named = Some((place, name));
            }
        }
        let namespace = self.namespace.clone();
        let (name, via) = match named {
            Some((place, name)) => (name, NAMED_BY.get(place).copied().unwrap_or_default()),
            None => {
                let name = text_at(metadata, &["annotations", "meta.helm.sh/release-name"]);
                (name, "metadata.annotations['meta.helm.sh/release-name']")
            }
        };
        let application = core("Application", &namespace, name);
        self.refer(EdgeType::PART_OF, application, via, Strength::Implicit);
    }
}
