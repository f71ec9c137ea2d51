//! The types of edges, and what an edge knows about itself.

use crate::Id;

/// The type of an edge. Those that are built in are constants; users add others by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeType(pub(crate) u16);

/// How much the referrer needs what it refers to. Whether there is an edge never depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// It does not work without.
    Required,
    /// It is said that it may be absent, or declared and not used.
    Optional,
    /// It is a wish.
    Preferred,
    /// Nobody wrote it: it follows from a default, a name or labels that agree.
    Implicit,
}

impl Strength {
    /// Returns the word for it in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::Preferred => "preferred",
            Self::Implicit => "implicit",
        }
    }
}

/// One relationship between two nodes. There may be several between the same two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'g> {
    /// Who refers, owns, selects.
    pub from: Id,
    /// What is referred to, owned, selected.
    pub to: Id,
    /// The type.
    pub kind: EdgeType,
    /// The field that made it, such as `spec.volumes[1].configMap`. It is a field of `from`, or of `to` where that names
    /// its owner or namespace, or of the object in `through`.
    pub via: &'g str,
    /// How much it is needed.
    pub strength: Strength,
    /// The object in between: the NetworkPolicy that joins two Pods, the Job between a CronJob and its Pod.
    pub through: Option<Id>,
}

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl EdgeType {
            $($(#[$doc])* pub const $name: Self = Self($number);)*
        }

        /// The names of the built-in types, each at its number.
        pub(crate) const BUILT_IN: &[&str] = &[$(stringify!($name)),*];

        #[cfg(test)]
        const NUMBERS: &[u16] = &[$($number),*];
    };
}

types! {
    /// Owner → dependent.
    OWNS = 0;
    /// Controller → Pod, also through other controllers.
    MANAGES = 1;
    /// Pod or workload → claim, ConfigMap, Secret, identity of a volume.
    MOUNTS = 2;
    /// Service → Pod or workload.
    EXPOSES = 3;
    /// Pod or workload → ConfigMap, Secret.
    USES_CONFIG = 4;
    /// NetworkPolicy → Pod or workload, and between those that a policy joins, both ways.
    SAME_NETWORK = 5;
    /// Namespace → object in it.
    IS_NAMESPACE_OF = 6;
    /// Pod or workload → ServiceAccount.
    USES_SA = 7;
    /// Pod or workload → Pod or Node that attracts it.
    HAS_AFFINITY_TO = 8;
    /// Widget → widget that it lists.
    REFERENCES_KRATEO = 9;
    /// Table or Paragraph → Markdown that names it in a label.
    MANAGES_KRATEO = 10;
    /// Pod or workload → Pod that it keeps away from.
    HAS_ANTI_AFFINITY_TO = 11;
    /// Pod, workload or ServiceAccount → Secret for pulling images.
    PULLS_WITH = 12;
    /// Ingress → Service or other backend.
    ROUTES_TO = 13;
    /// Ingress or Gateway → Secret.
    TERMINATES_TLS_WITH = 14;
    /// Ingress, Gateway, claim, volume, Pod → its class.
    OF_CLASS = 15;
    /// Route → Gateway or Service that it attaches to.
    ATTACHES_TO = 16;
    /// Route → Service.
    FORWARDS_TO = 17;
    /// ReferenceGrant → namespace from which it allows references.
    GRANTS_REFERENCE = 18;
    /// Policy → what it is attached to.
    TARGETS_POLICY = 19;
    /// Autoscaler → workload.
    SCALES = 20;
    /// PodDisruptionBudget → Pod or workload.
    PROTECTS = 21;
    /// NetworkPolicy → Pod or workload that it selects.
    ISOLATES = 22;
    /// NetworkPolicy → Pod or workload that may call those it selects.
    ALLOWS_FROM = 23;
    /// NetworkPolicy → Pod or workload that those it selects may call.
    ALLOWS_TO = 24;
    /// Binding → Role or ClusterRole.
    BINDS_ROLE = 25;
    /// Binding → ServiceAccount, User or Group.
    BINDS_SUBJECT = 26;
    /// ClusterRole → ClusterRole that it takes rules from.
    AGGREGATES = 27;
    /// Claim → PersistentVolume, PersistentVolume → claim.
    BOUND_TO = 28;
    /// StorageClass or PersistentVolume → CSIDriver.
    PROVISIONED_BY = 29;
    /// VolumeAttachment → PersistentVolume, Node, CSIDriver.
    ATTACHES_VOLUME = 30;
    /// VolumeSnapshot → claim or content.
    SNAPSHOT_OF = 31;
    /// Pod → Node.
    SCHEDULED_ON = 32;
    /// StatefulSet → the Service that names its Pods.
    GOVERNED_BY = 33;
    /// Webhook configuration, APIService, CustomResourceDefinition → Service.
    CALLS_WEBHOOK = 34;
    /// CustomResourceDefinition → its instances.
    DEFINES_KIND = 35;
    /// Namespace → ResourceQuota, LimitRange.
    LIMITED_BY = 36;
    /// ServiceMonitor → Service, PodMonitor → Pod.
    SCRAPES = 37;
    /// Certificate → issuer and Secret.
    ISSUES = 38;
    /// ExternalSecret → store and Secret.
    SYNCS_FROM = 39;
    /// What delivers → where it takes it from.
    DEPLOYS = 40;
    /// Object → application.
    PART_OF = 41;
    /// Pod or workload → image.
    USES_IMAGE = 42;
    /// Event → object.
    REPORTS_ON = 43;
    /// Any other reference.
    REFERS_TO = 44;
    /// ServiceAccount, User or Group → Role or ClusterRole that a binding gives it.
    CAN_ACCESS = 45;
    /// Pod or workload → tainted Node on which it may run all the same.
    TOLERATES = 46;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_the_number_of_its_place() {
        assert!(NUMBERS.iter().enumerate().all(|(place, number)| place == usize::from(*number)));
        assert_eq!(BUILT_IN[usize::from(EdgeType::USES_SA.0)], "USES_SA");
    }
}
