//! MOUNTS: the claims, ConfigMaps and Secrets behind volumes, and what identifies a volume that is no object.

use std::collections::HashSet;

use kubewright_value::{Map, Value};

use super::{Deriving, Template, core, items, strength_of, text};
use crate::{EdgeType, Strength};

/// Volumes that are the same wherever these fields are equal.
const IDENTITIES: &[(&str, &[&str])] = &[
    ("hostPath", &["path"]),
    ("nfs", &["server", "path"]),
    ("csi", &["driver", "volumeHandle"]),
    ("iscsi", &["targetPortal", "iqn", "lun"]),
    ("glusterfs", &["endpoints", "path"]),
    ("rbd", &["pool", "image"]),
    ("cephfs", &["monitors", "path"]),
    ("fc", &["targetWWNs", "wwids", "lun"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("gcePersistentDisk", &["pdName"]),
    ("azureDisk", &["diskURI"]),
    ("azureFile", &["shareName"]),
    ("cinder", &["volumeID"]),
    ("vsphereVolume", &["volumePath"]),
    ("portworxVolume", &["volumeID"]),
    ("quobyte", &["registry", "volume"]),
    ("scaleIO", &["gateway", "volumeName"]),
    ("storageos", &["volumeName"]),
    ("photonPersistentDisk", &["pdID"]),
    ("flocker", &["datasetUUID"]),
    ("image", &["reference"]),
];

/// Where kinds of volumes name the Secret they are opened with.
const OPENED_WITH: &[(&str, &[&str])] = &[
    ("csi", &["nodePublishSecretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("rbd", &["secretRef", "name"]),
    ("cephfs", &["secretRef", "name"]),
    ("scaleIO", &["secretRef", "name"]),
    ("storageos", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("azureFile", &["secretName"]),
];

impl Deriving<'_> {
    pub(super) fn volumes(&mut self, template: &Template<'_>) {
        let mounted = mounted(template.spec);
        for (at, volume) in items(template.spec, &["volumes"]) {
            let name = text(volume, &["name"]);
            let is_mounted = mounted.contains(name);
            let mount = Mount { volume, name, is_mounted, path: format!("{}.volumes[{at}]", template.path) };
            self.volume(&mount);
        }
    }

    fn volume(&mut self, mount: &Mount<'_>) {
        let namespace = self.namespace.clone();
        let (volume, path) = (mount.volume, &mount.path);
        let claim = text(volume, &["persistentVolumeClaim", "claimName"]);
        let claim = core("PersistentVolumeClaim", &namespace, claim);
        let via = format!("{path}.persistentVolumeClaim");
        self.refer(EdgeType::MOUNTS, claim, &via, mount.strength(Strength::Required));
        if volume.get("ephemeral").is_some() && self.kind == "Pod" {
            // Kubernetes makes the claim when the Pod starts, so nothing is missing before.
            let claim = format!("{}-{}", self.name, mount.name);
            let claim = core("PersistentVolumeClaim", &namespace, &claim);
            let via = format!("{path}.ephemeral");
            self.refer_if_present(EdgeType::MOUNTS, claim, &via, mount.strength(Strength::Required));
        }
        if let Some(source) = volume.get("configMap") {
            self.configuration(
                mount,
                "ConfigMap",
                text(source, &["name"]),
                source,
                &format!("{path}.configMap"),
            );
        }
        if let Some(source) = volume.get("secret") {
            self.configuration(
                mount,
                "Secret",
                text(source, &["secretName"]),
                source,
                &format!("{path}.secret"),
            );
        }
        for (at, sources) in items(volume, &["projected", "sources"]) {
            for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
                if let Some(source) = sources.get(field) {
                    let via = format!("{path}.projected.sources[{at}].{field}");
                    self.configuration(mount, kind, text(source, &["name"]), source, &via);
                }
            }
        }
        for (field, source) in volume.as_object().into_iter().flat_map(Map::iter) {
            self.opened_with(field, source, path);
            self.identity_of(mount, field, source);
        }
        self.identity_by_name(mount);
    }

    /// A ConfigMap or Secret in a volume is both mounted and used.
    fn configuration(&mut self, mount: &Mount<'_>, kind: &str, name: &str, source: &Value, via: &str) {
        let namespace = self.namespace.clone();
        let target = core(kind, &namespace, name);
        self.refer(EdgeType::MOUNTS, target, via, mount.strength(strength_of(source)));
        self.refer(EdgeType::USES_CONFIG, target, via, mount.strength(strength_of(source)));
    }

    /// Adds the Secret that a volume is opened with.
    fn opened_with(&mut self, field: &str, source: &Value, path: &str) {
        let Some((_, keys)) = OPENED_WITH.iter().find(|(known, _)| *known == field) else { return };
        let namespace = self.namespace.clone();
        let secret = core("Secret", &namespace, text(source, keys));
        let via = format!("{path}.{field}.{}", keys.first().copied().unwrap_or_default());
        self.refer(EdgeType::USES_CONFIG, secret, &via, Strength::Required);
    }

    /// Adds what a volume has in common with others that are the same.
    fn identity_of(&mut self, mount: &Mount<'_>, field: &str, source: &Value) {
        let Some((_, keys)) = IDENTITIES.iter().find(|(known, _)| *known == field) else { return };
        let parts: Option<Vec<String>> = keys.iter().map(|key| part(source.get(key)?)).collect();
        if let Some(parts) = parts.filter(|parts| parts.iter().any(|part| !part.is_empty())) {
            let name = format!("{field}:{}", parts.join(":"));
            let via = format!("{}.{field}", mount.path);
            let strength = mount.strength(Strength::Required);
            self.refer(EdgeType::MOUNTS, core("Volume", "", &name), &via, strength);
        }
    }

    /// Volumes of the same name in one namespace count as shared.
    fn identity_by_name(&mut self, mount: &Mount<'_>) {
        let is_given = mount.name.starts_with("kube-api-access-") || mount.name.starts_with("default-token-");
        if !mount.name.is_empty() && !is_given && self.graph.references.volumes_match_by_name() {
            let namespace = self.namespace.clone();
            let name = format!("name:{}", mount.name);
            let via = format!("{}.name", mount.path);
            self.refer(EdgeType::MOUNTS, core("Volume", &namespace, &name), &via, Strength::Implicit);
        }
    }
}

/// One volume of a Pod.
struct Mount<'o> {
    volume: &'o Value,
    name: &'o str,
    is_mounted: bool,
    path: String,
}

impl Mount<'_> {
    /// A volume that no container mounts is not needed.
    fn strength(&self, strength: Strength) -> Strength {
        if self.is_mounted { strength } else { Strength::Optional }
    }
}

/// Returns the names of the volumes that a container mounts.
fn mounted(spec: &Value) -> HashSet<&str> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = lists.into_iter().flat_map(|list| items(spec, &[list]));
    let mounts = containers.flat_map(|(_, container)| {
        items(container, &["volumeMounts"]).chain(items(container, &["volumeDevices"]))
    });
    mounts.map(|(_, mount)| text(mount, &["name"])).collect()
}

/// Returns a part of an identity as text; a list of texts is joined.
fn part(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            items.map(|items| items.join(","))
        }
        _ => None,
    }
}
