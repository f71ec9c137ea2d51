//! MOUNTS: the claims, ConfigMaps and Secrets behind volumes, and the identity of a volume without an object.

use kubewright_value::{Map, Value};

use super::{Deriving, core, items_at, strength_of, text_at};
use crate::names::{FieldPath, NO_PLACE};
use crate::{EdgeType, Strength};

/// Volumes that are the same wherever these fields are equal.
pub(super) const VOLUME_IDENTITY_FIELDS: &[(&str, &[&str])] = &[
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
pub(super) const VOLUME_SECRET_FIELDS: &[(&str, &[&str])] = &[
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

impl Deriving<'_, '_> {
    /// The volumes of a Pod; `mounted` are the sorted names of those that a container mounts.
    pub(super) fn volumes(&mut self, path: &'static str, volumes: &[Value], mounted: &[&str]) {
        for (at, volume) in volumes.iter().enumerate() {
            let name = text_at(volume, &["name"]);
            let is_mounted = mounted.binary_search(&name).is_ok();
            self.volume(&Mount { volume, name, is_mounted, path, at });
        }
    }

    fn volume(&mut self, mount: &Mount<'_>) {
        let namespace = self.namespace.clone();
        for (field, source) in mount.volume.as_object().into_iter().flat_map(Map::iter) {
            match field.as_str() {
                "name" => {}
                "persistentVolumeClaim" => {
                    let claim = core("PersistentVolumeClaim", &namespace, text_at(source, &["claimName"]));
                    let via = mount.field("persistentVolumeClaim");
                    self.refer(EdgeType::MOUNTS, claim, via, mount.strength(Strength::Required));
                }
                "configMap" => {
                    let name = text_at(source, &["name"]);
                    self.configuration(mount, ("ConfigMap", name), source, mount.field("configMap"));
                }
                "secret" => {
                    let name = text_at(source, &["secretName"]);
                    self.configuration(mount, ("Secret", name), source, mount.field("secret"));
                }
                "projected" => self.projected(mount, source),
                "ephemeral" if self.kind == "Pod" => {
                    // Kubernetes makes the claim when the Pod starts, so nothing is missing before.
                    let claim = format!("{}-{}", self.name, mount.name);
                    let claim = core("PersistentVolumeClaim", &namespace, &claim);
                    let via = mount.field("ephemeral");
                    self.refer_if_present(EdgeType::MOUNTS, claim, via, mount.strength(Strength::Required));
                }
                other => {
                    self.opened_with(mount, other, source);
                    self.identity_of(mount, other, source);
                }
            }
        }
        self.identity_by_name(mount);
    }

    fn projected(&mut self, mount: &Mount<'_>, projected: &Value) {
        for (at, sources) in items_at(projected, &["sources"]) {
            for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
                if let Some(source) = sources.get(field) {
                    let via = [
                        (mount.path, NO_PLACE),
                        ("volumes", mount.at),
                        ("projected.sources", at),
                        (field, NO_PLACE),
                    ];
                    self.configuration(mount, (kind, text_at(source, &["name"])), source, via.into());
                }
            }
        }
    }

    /// A ConfigMap or Secret in a volume is both mounted and used.
    fn configuration(
        &mut self,
        mount: &Mount<'_>,
        (kind, name): (&str, &str),
        source: &Value,
        via: FieldPath<'_>,
    ) {
        let namespace = self.namespace.clone();
        let target = core(kind, &namespace, name);
        self.refer(EdgeType::MOUNTS, target, via, mount.strength(strength_of(source)));
        self.refer(EdgeType::USES_CONFIG, target, via, mount.strength(strength_of(source)));
    }

    /// Adds the Secret that a volume is opened with.
    fn opened_with(&mut self, mount: &Mount<'_>, field: &str, source: &Value) {
        let Some((field, keys)) = VOLUME_SECRET_FIELDS.iter().find(|(known, _)| *known == field) else {
            return;
        };
        let namespace = self.namespace.clone();
        let secret = core("Secret", &namespace, text_at(source, keys));
        let named = keys.first().copied().unwrap_or_default();
        let via = [(mount.path, NO_PLACE), ("volumes", mount.at), (*field, NO_PLACE), (named, NO_PLACE)];
        self.refer(EdgeType::USES_CONFIG, secret, via, Strength::Required);
    }

    /// Adds what a volume has in common with others that are the same.
    fn identity_of(&mut self, mount: &Mount<'_>, field: &str, source: &Value) {
        let Some((field, keys)) = VOLUME_IDENTITY_FIELDS.iter().find(|(known, _)| *known == field) else {
            return;
        };
        let parts: Option<Vec<String>> = keys.iter().map(|key| identity_part(source.get(key)?)).collect();
        if let Some(parts) = parts.filter(|parts| parts.iter().any(|part| !part.is_empty())) {
            let name = format!("{field}:{}", parts.join(":"));
            let strength = mount.strength(Strength::Required);
            self.refer(EdgeType::MOUNTS, core("Volume", "", &name), mount.field(field), strength);
        }
    }

    /// Volumes of the same name in one namespace count as shared.
    fn identity_by_name(&mut self, mount: &Mount<'_>) {
        let is_given = mount.name.starts_with("kube-api-access-") || mount.name.starts_with("default-token-");
        if !mount.name.is_empty() && !is_given && self.graph.references.volumes_match_by_name() {
            let namespace = self.namespace.clone();
            let name = ["name:", mount.name].concat();
            let volume = core("Volume", &namespace, &name);
            self.refer(EdgeType::MOUNTS, volume, mount.field("name"), Strength::Implicit);
        }
    }
}

/// One volume of a Pod.
struct Mount<'o> {
    volume: &'o Value,
    name: &'o str,
    is_mounted: bool,
    path: &'static str,
    at: usize,
}

impl Mount<'_> {
    fn field(&self, field: &'static str) -> FieldPath<'static> {
        FieldPath::from([(self.path, NO_PLACE), ("volumes", self.at), (field, NO_PLACE)])
    }

    /// A volume that no container mounts is not needed.
    fn strength(&self, strength: Strength) -> Strength {
        if self.is_mounted { strength } else { Strength::Optional }
    }
}

/// Returns a part of an identity as text; a list of texts is joined.
fn identity_part(value: &Value) -> Option<String> {
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
