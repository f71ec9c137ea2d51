//! How the lists of Kubernetes' built-in kinds are merged: by which keys, as a set, or not at all.
//!
//! A list that is not in the table is replaced as a whole. The keys are those of the newest Kubernetes, with one
//! exception: the ports of an ephemeral container have none, because policies were written against releases without it.

/// A type of which some lists are merged.
#[derive(Debug)]
pub struct MergeType {
    /// The name of the type, for people.
    pub name: &'static str,
    fields: &'static [(&'static str, FieldMerge)],
}

/// How a field is merged.
#[derive(Debug, Clone, Copy)]
pub enum FieldMerge {
    /// An object in which some lists are merged.
    Object(&'static MergeType),
    /// A list of objects that are identified by keys.
    Keyed(&'static [MergeKey], Option<&'static MergeType>),
    /// A list of scalars that is a set.
    Set,
}

/// A field that identifies the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeKey {
    /// The name of the field.
    pub name: &'static str,
    /// The value that the API server fills in, where it does.
    pub default: Option<&'static str>,
}

impl MergeType {
    /// Returns the type of objects of a built-in kind; `api_version` is `group/version`. Nothing for other kinds.
    #[must_use]
    pub fn of_kind(api_version: &str, kind: &str) -> Option<&'static Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if !crate::is_built_in_group(group) && group != "extensions"
            || kind.is_empty()
            || kind.ends_with("List")
        {
            return None;
        }
        let own = KINDS.iter().find(|(of, name, _)| *of == group && *name == kind);
        Some(own.map_or(&PLAIN, |(_, _, known)| known))
    }

    /// Returns how the field called `name` is merged; nothing where a list in it is replaced.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<FieldMerge> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, merge)| *merge)
    }
}

const fn key(name: &'static str) -> MergeKey {
    MergeKey { name, default: None }
}

const NAME: &[MergeKey] = &[key("name")];
const TYPE: &[MergeKey] = &[key("type")];
const IP: &[MergeKey] = &[key("ip")];
const PROTOCOL: MergeKey = MergeKey { name: "protocol", default: Some("TCP") };

const METADATA: (&str, FieldMerge) = ("metadata", FieldMerge::Object(&OBJECT_META));
const CONDITIONS: (&str, FieldMerge) = ("conditions", FieldMerge::Keyed(TYPE, None));
const STATUS: (&str, FieldMerge) = ("status", FieldMerge::Object(&STATUS_WITH_CONDITIONS));
const TEMPLATE: (&str, FieldMerge) = ("template", FieldMerge::Object(&POD_TEMPLATE));

static OBJECT_META: MergeType = MergeType {
    name: "ObjectMeta",
    fields: &[("finalizers", FieldMerge::Set), ("ownerReferences", FieldMerge::Keyed(&[key("uid")], None))],
};
static STATUS_WITH_CONDITIONS: MergeType = MergeType { name: "Status", fields: &[CONDITIONS] };
static PLAIN: MergeType = MergeType { name: "Object", fields: &[METADATA, STATUS] };

static CONTAINER: MergeType = MergeType {
    name: "Container",
    fields: &[
        ("env", FieldMerge::Keyed(NAME, None)),
        ("ports", FieldMerge::Keyed(&[key("containerPort"), PROTOCOL], None)),
        ("volumeMounts", FieldMerge::Keyed(&[key("mountPath")], None)),
        ("volumeDevices", FieldMerge::Keyed(&[key("devicePath")], None)),
    ],
};
static EPHEMERAL_CONTAINER: MergeType = MergeType {
    name: "EphemeralContainer",
    fields: &[
        ("env", FieldMerge::Keyed(NAME, None)),
        ("volumeMounts", FieldMerge::Keyed(&[key("mountPath")], None)),
        ("volumeDevices", FieldMerge::Keyed(&[key("devicePath")], None)),
    ],
};
static VOLUME: MergeType =
    MergeType { name: "Volume", fields: &[("ephemeral", FieldMerge::Object(&EPHEMERAL_VOLUME))] };
static EPHEMERAL_VOLUME: MergeType = MergeType {
    name: "EphemeralVolumeSource",
    fields: &[("volumeClaimTemplate", FieldMerge::Object(&CLAIM_TEMPLATE))],
};
static CLAIM_TEMPLATE: MergeType = MergeType { name: "PersistentVolumeClaimTemplate", fields: &[METADATA] };
static POD_SPEC: MergeType = MergeType {
    name: "PodSpec",
    fields: &[
        ("containers", FieldMerge::Keyed(NAME, Some(&CONTAINER))),
        ("initContainers", FieldMerge::Keyed(NAME, Some(&CONTAINER))),
        ("ephemeralContainers", FieldMerge::Keyed(NAME, Some(&EPHEMERAL_CONTAINER))),
        ("volumes", FieldMerge::Keyed(NAME, Some(&VOLUME))),
        ("imagePullSecrets", FieldMerge::Keyed(NAME, None)),
        ("hostAliases", FieldMerge::Keyed(IP, None)),
        (
            "topologySpreadConstraints",
            FieldMerge::Keyed(&[key("topologyKey"), key("whenUnsatisfiable")], None),
        ),
        ("resourceClaims", FieldMerge::Keyed(NAME, None)),
        ("schedulingGates", FieldMerge::Keyed(NAME, None)),
    ],
};
static POD_STATUS: MergeType = MergeType {
    name: "PodStatus",
    fields: &[
        CONDITIONS,
        ("podIPs", FieldMerge::Keyed(IP, None)),
        ("hostIPs", FieldMerge::Keyed(IP, None)),
        ("resourceClaimStatuses", FieldMerge::Keyed(NAME, None)),
    ],
};
static POD: MergeType = MergeType {
    name: "Pod",
    fields: &[METADATA, ("spec", FieldMerge::Object(&POD_SPEC)), ("status", FieldMerge::Object(&POD_STATUS))],
};
static POD_TEMPLATE: MergeType =
    MergeType { name: "PodTemplateSpec", fields: &[METADATA, ("spec", FieldMerge::Object(&POD_SPEC))] };
static WORKLOAD_SPEC: MergeType = MergeType { name: "WorkloadSpec", fields: &[TEMPLATE] };
static WORKLOAD: MergeType =
    MergeType { name: "Workload", fields: &[METADATA, ("spec", FieldMerge::Object(&WORKLOAD_SPEC)), STATUS] };
static JOB_TEMPLATE: MergeType =
    MergeType { name: "JobTemplateSpec", fields: &[METADATA, ("spec", FieldMerge::Object(&WORKLOAD_SPEC))] };
static CRON_JOB_SPEC: MergeType =
    MergeType { name: "CronJobSpec", fields: &[("jobTemplate", FieldMerge::Object(&JOB_TEMPLATE))] };
static CRON_JOB: MergeType =
    MergeType { name: "CronJob", fields: &[METADATA, ("spec", FieldMerge::Object(&CRON_JOB_SPEC))] };
static POD_TEMPLATE_KIND: MergeType = MergeType { name: "PodTemplate", fields: &[METADATA, TEMPLATE] };
static SERVICE_SPEC: MergeType = MergeType {
    name: "ServiceSpec",
    fields: &[("ports", FieldMerge::Keyed(&[key("port"), PROTOCOL], None))],
};
static SERVICE: MergeType =
    MergeType { name: "Service", fields: &[METADATA, ("spec", FieldMerge::Object(&SERVICE_SPEC)), STATUS] };
static SERVICE_ACCOUNT: MergeType =
    MergeType { name: "ServiceAccount", fields: &[METADATA, ("secrets", FieldMerge::Keyed(NAME, None))] };
static COMPONENT_STATUS: MergeType = MergeType { name: "ComponentStatus", fields: &[METADATA, CONDITIONS] };
static NODE_SPEC: MergeType = MergeType { name: "NodeSpec", fields: &[("podCIDRs", FieldMerge::Set)] };
static NODE_STATUS: MergeType =
    MergeType { name: "NodeStatus", fields: &[CONDITIONS, ("addresses", FieldMerge::Keyed(TYPE, None))] };
static NODE: MergeType = MergeType {
    name: "Node",
    fields: &[
        METADATA,
        ("spec", FieldMerge::Object(&NODE_SPEC)),
        ("status", FieldMerge::Object(&NODE_STATUS)),
    ],
};
static WEBHOOK: MergeType =
    MergeType { name: "Webhook", fields: &[("matchConditions", FieldMerge::Keyed(NAME, None))] };
static WEBHOOK_CONFIGURATION: MergeType = MergeType {
    name: "WebhookConfiguration",
    fields: &[METADATA, ("webhooks", FieldMerge::Keyed(NAME, Some(&WEBHOOK)))],
};
static ADMISSION_POLICY_SPEC: MergeType = MergeType {
    name: "AdmissionPolicySpec",
    fields: &[
        ("matchConditions", FieldMerge::Keyed(NAME, None)),
        ("variables", FieldMerge::Keyed(NAME, None)),
    ],
};
static ADMISSION_POLICY: MergeType = MergeType {
    name: "AdmissionPolicy",
    fields: &[METADATA, ("spec", FieldMerge::Object(&ADMISSION_POLICY_SPEC)), STATUS],
};
static CSI_NODE_SPEC: MergeType =
    MergeType { name: "CSINodeSpec", fields: &[("drivers", FieldMerge::Keyed(NAME, None))] };
static CSI_NODE: MergeType =
    MergeType { name: "CSINode", fields: &[METADATA, ("spec", FieldMerge::Object(&CSI_NODE_SPEC))] };

/// The kinds that have more to merge than metadata and conditions.
static KINDS: &[(&str, &str, &MergeType)] = &[
    ("", "Pod", &POD),
    ("", "PodTemplate", &POD_TEMPLATE_KIND),
    ("", "ReplicationController", &WORKLOAD),
    ("", "Service", &SERVICE),
    ("", "ServiceAccount", &SERVICE_ACCOUNT),
    ("", "ComponentStatus", &COMPONENT_STATUS),
    ("", "Node", &NODE),
    ("apps", "Deployment", &WORKLOAD),
    ("apps", "ReplicaSet", &WORKLOAD),
    ("apps", "StatefulSet", &WORKLOAD),
    ("apps", "DaemonSet", &WORKLOAD),
    ("batch", "Job", &WORKLOAD),
    ("batch", "CronJob", &CRON_JOB),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", &WEBHOOK_CONFIGURATION),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", &WEBHOOK_CONFIGURATION),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", &ADMISSION_POLICY),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", &ADMISSION_POLICY),
    ("storage.k8s.io", "CSINode", &CSI_NODE),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows `path` from a kind, and returns the keys of the list there; `set`, `object` or `replace` otherwise.
    fn merge_at(api_version: &str, kind: &str, path: &str) -> String {
        let mut here = MergeType::of_kind(api_version, kind);
        let mut last = None;
        for field in path.split('.') {
            last = here.and_then(|here| here.field(field));
            here = match last {
                Some(FieldMerge::Object(below) | FieldMerge::Keyed(_, Some(below))) => Some(below),
                _ => None,
            };
        }
        match last {
            Some(FieldMerge::Keyed(keys, _)) => keys.iter().map(|key| key.name).collect::<Vec<_>>().join("+"),
            Some(FieldMerge::Set) => "set".to_owned(),
            Some(FieldMerge::Object(_)) => "object".to_owned(),
            None => "replace".to_owned(),
        }
    }

    #[test]
    fn lists_of_pods_are_merged_wherever_a_pod_is_described() {
        for (api_version, kind, path) in [
            ("v1", "Pod", "spec"),
            ("apps/v1", "Deployment", "spec.template.spec"),
            ("apps/v1beta1", "Deployment", "spec.template.spec"),
            ("batch/v1", "CronJob", "spec.jobTemplate.spec.template.spec"),
            ("v1", "PodTemplate", "template.spec"),
        ] {
            let at = |field: &str| merge_at(api_version, kind, &format!("{path}.{field}"));
            assert_eq!(at("containers"), "name", "{kind}");
            assert_eq!(at("containers.ports"), "containerPort+protocol", "{kind}");
            assert_eq!(at("tolerations"), "replace", "{kind}");
        }
    }

    #[test]
    fn kinds_of_other_groups_and_lists_of_objects_are_not_known() {
        assert!(MergeType::of_kind("example.com/v1", "Pod").is_none());
        assert!(MergeType::of_kind("gateway.networking.k8s.io/v1", "HTTPRoute").is_none());
        assert!(MergeType::of_kind("v1", "PodList").is_none());
        assert_eq!(merge_at("autoscaling/v2", "HorizontalPodAutoscaler", "status.conditions"), "type");
        assert_eq!(merge_at("autoscaling/v2", "HorizontalPodAutoscaler", "spec.metrics"), "replace");
    }

    #[test]
    fn lists_that_look_alike_may_be_merged_differently() {
        assert_eq!(merge_at("v1", "Pod", "spec.imagePullSecrets"), "name");
        assert_eq!(merge_at("v1", "ServiceAccount", "imagePullSecrets"), "replace");
        assert_eq!(merge_at("v1", "Pod", "spec.ephemeralContainers.ports"), "replace");
        assert_eq!(merge_at("v1", "Pod", "metadata.finalizers"), "set");
    }
}
