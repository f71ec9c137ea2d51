//! Claims, volumes, classes, attachments, snapshots.

use kubewright_value::Value;

use super::{Deriving, ReferenceTarget, core, named_group, text_at};
use crate::{EdgeType, Strength};

const STORAGE_GROUP: &str = "storage.k8s.io";
const SNAPSHOT_GROUP: &str = "snapshot.storage.k8s.io";

impl Deriving<'_, '_> {
    pub(super) fn storage(&mut self, object: &Value) {
        match self.kind.as_str() {
            "PersistentVolumeClaim" => self.claim(object),
            "PersistentVolume" => self.persistent_volume(object),
            "StorageClass" => self.driver(EdgeType::PROVISIONED_BY, object, &["provisioner"]),
            "VolumeAttachment" => self.attachment(object),
            "VolumeSnapshot" => self.snapshot(object),
            "VolumeSnapshotClass" => self.driver(EdgeType::PROVISIONED_BY, object, &["driver"]),
            _ => {}
        }
    }

    fn claim(&mut self, object: &Value) {
        let own = self.namespace.clone();
        let volume = core("PersistentVolume", "", text_at(object, &["spec", "volumeName"]));
        self.refer(EdgeType::BOUND_TO, volume, "spec.volumeName", Strength::Required);
        self.storage_class(object);
        for field in ["dataSource", "dataSourceRef"] {
            let Some(source) = object.at(&["spec", field]) else { continue };
            let group = named_group(source).unwrap_or_default();
            let (kind, name) = (text_at(source, &["kind"]), text_at(source, &["name"]));
            let namespace = super::or(text_at(source, &["namespace"]), &own);
            let target = ReferenceTarget { group, kind, namespace, name };
            self.refer(EdgeType::REFERS_TO, target, &format!("spec.{field}"), Strength::Required);
        }
    }

    fn persistent_volume(&mut self, object: &Value) {
        let claim = object.at(&["spec", "claimRef"]);
        if let Some(claim) = claim {
            let claim =
                core("PersistentVolumeClaim", text_at(claim, &["namespace"]), text_at(claim, &["name"]));
            self.refer(EdgeType::BOUND_TO, claim, "spec.claimRef", Strength::Required);
        }
        self.storage_class(object);
        self.driver(EdgeType::PROVISIONED_BY, object, &["spec", "csi", "driver"]);
    }

    fn storage_class(&mut self, object: &Value) {
        let name = text_at(object, &["spec", "storageClassName"]);
        let class = ReferenceTarget { group: STORAGE_GROUP, kind: "StorageClass", namespace: "", name };
        self.refer(EdgeType::OF_CLASS, class, "spec.storageClassName", Strength::Required);
    }

    /// Drivers are often not listed, and then nothing is missing.
    fn driver(&mut self, kind: EdgeType, object: &Value, keys: &[&str]) {
        let name = text_at(object, keys);
        if !name.is_empty() {
            let driver = ReferenceTarget { group: STORAGE_GROUP, kind: "CSIDriver", namespace: "", name };
            self.refer_if_present(kind, driver, &keys.join("."), Strength::Required);
        }
    }

    fn attachment(&mut self, object: &Value) {
        let volume =
            core("PersistentVolume", "", text_at(object, &["spec", "source", "persistentVolumeName"]));
        let node = core("Node", "", text_at(object, &["spec", "nodeName"]));
        let kind = EdgeType::ATTACHES_VOLUME;
        self.refer(kind, volume, "spec.source.persistentVolumeName", Strength::Required);
        self.refer(kind, node, "spec.nodeName", Strength::Required);
        self.driver(kind, object, &["spec", "attacher"]);
    }

    fn snapshot(&mut self, object: &Value) {
        let own = self.namespace.clone();
        let claim = text_at(object, &["spec", "source", "persistentVolumeClaimName"]);
        let claim = core("PersistentVolumeClaim", &own, claim);
        self.refer(EdgeType::SNAPSHOT_OF, claim, "spec.source.persistentVolumeClaimName", Strength::Required);
        let cluster = |kind, name| ReferenceTarget { group: SNAPSHOT_GROUP, kind, namespace: "", name };
        for (keys, kind, edge) in [
            (
                &["spec", "source", "volumeSnapshotContentName"][..],
                "VolumeSnapshotContent",
                EdgeType::SNAPSHOT_OF,
            ),
            (&["spec", "volumeSnapshotClassName"], "VolumeSnapshotClass", EdgeType::OF_CLASS),
        ] {
            self.refer(edge, cluster(kind, text_at(object, keys)), &keys.join("."), Strength::Required);
        }
    }
}
