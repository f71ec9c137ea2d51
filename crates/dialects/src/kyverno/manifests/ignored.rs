//! Which fields may differ from what was signed.
//!
//! A field is a path with dots, `spec.containers.*.image`, and `*` stands for anything. As in the original it also
//! fits inside a longer path, and what begins with it: `spec.dnsPolicy` of a Pod is `spec.template.spec.dnsPolicy` of
//! a Deployment. The lists below rely on it.

use kubewright_engine::{GroupVersionKind, ObjectName};
use kubewright_value::{Text, Value};

use super::message::Names;
use crate::kyverno::signing::DEFAULT_DOMAIN;
use crate::kyverno::source::manifests::{IgnoreFields, ObjectReference};

/// Fields that may differ, and of which objects.
pub(super) struct Ignored {
    objects: Vec<ObjectReference>,
    fields: Vec<Field>,
}

/// One path.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// What stands between `*`, in this order.
    pieces: Vec<Text>,
    /// Whether the path starts at the object, and ends with a whole key.
    is_whole: bool,
}

/// What the API server, controllers and tools write into objects of every kind.
const OF_ALL: &[&str] = &[
    "metadata.namespace",
    "metadata.managedFields.*",
    "metadata.resourceVersion",
    "metadata.selfLink",
    "metadata.creationTimestamp",
    "metadata.generation",
    "metadata.uid",
    "metadata.finalizers",
    "metadata.labels.app.kubernetes.io/instance",
    "metadata.annotations.namespace",
    "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    "metadata.annotations.control-plane.alpha.kubernetes.io/leader",
    "metadata.annotations.deprecated.daemonset.template.generation",
    "metadata.annotations.deployment.kubernetes.io/revision",
    "spec.containers.*.imagePullPolicy",
    "spec.containers.*.terminationMessagePath",
    "spec.containers.*.terminationMessagePolicy",
    "spec.dnsPolicy",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.terminationGracePeriodSeconds",
];

/// Only the field of the object itself. The original takes every path with this word in it, and so does not see a
/// change of `data.status` in a ConfigMap.
const STATUS: &str = "status";

/// What they write into objects of one kind.
const OF_KIND: &[(&str, &[&str])] = &[
    (
        "Pod",
        &[
            "spec.volumes.*.name",
            "spec.volumes.*.projected.*",
            "spec.volumes.*.configMap.defaultMode",
            "spec.containers.*.volumeMounts.*",
            "spec.tolerations.*",
            "spec.enableServiceLinks",
            "spec.preemptionPolicy",
            "spec.priority",
            "spec.serviceAccount",
        ],
    ),
    (
        "Deployment",
        &[
            "spec.progressDeadlineSeconds",
            "spec.revisionHistoryLimit",
            "spec.strategy.*",
            "spec.template.metadata.creationTimestamp",
            "spec.containers.*.ports.*.protocol",
            "spec.containers.*.resources",
            "spec.securityContext",
        ],
    ),
    ("CustomResourceDefinition", &["spec.conversion.strategy", "spec.names.listKind"]),
    (
        "Service",
        &[
            "spec.ports.*.nodePort",
            "spec.clusterIP",
            "spec.clusterIPs.0",
            "spec.sessionAffinity",
            "spec.type",
            "spec.ipFamilies.*",
            "spec.ipFamilyPolicy",
            "spec.internalTrafficPolicy",
        ],
    ),
    ("ClusterPolicy", POLICY),
    ("Policy", POLICY),
    ("ServiceAccount", &["secrets.*.name", "imagePullSecrets.*.name"]),
    ("Route", &["spec.host"]),
];

const POLICY: &[&str] = &[
    "metadata.annotations.pod-policies.kyverno.io/autogen-controllers",
    "spec.failurePolicy",
    "spec.background",
    "spec.validationFailureAction",
];

/// The only kind in [`OF_KIND`] that is meant in one group alone.
const ROUTES: (&str, &str) = ("Route", "route.openshift.io");

impl Ignored {
    /// Returns what is always ignored, and what a rule ignores besides.
    pub(super) fn all(names: &Names, of_rule: &[IgnoreFields]) -> Vec<Self> {
        let mut everywhere: Vec<Field> = OF_ALL.iter().copied().map(Field::new).collect();
        everywhere.push(Field { pieces: vec![STATUS.into()], is_whole: true });
        let bases = ["message", "signature", "certificate", "bundle", "resourceBundleRef"];
        for domain in [DEFAULT_DOMAIN, names.domain()] {
            everywhere.extend(
                bases.iter().map(|base| Field::new(&format!("metadata.annotations.{domain}/{base}"))),
            );
        }
        let of_kind = OF_KIND.iter().map(|(kind, fields)| {
            let group = if *kind == ROUTES.0 { ROUTES.1 } else { "" };
            let object = ObjectReference { kind: (*kind).into(), group: group.into(), ..Default::default() };
            Self { objects: vec![object], fields: fields.iter().copied().map(Field::new).collect() }
        });
        let of_rule = of_rule.iter().map(|ignored| Self {
            objects: ignored.objects.clone(),
            fields: ignored.fields.iter().map(|field| Field::new(field)).collect(),
        });
        let everywhere = Self { objects: Vec::new(), fields: everywhere };
        std::iter::once(everywhere).chain(of_kind).chain(of_rule).collect()
    }

    /// Returns the fields of those `ignored` that are about `object`.
    pub(super) fn of<'i>(ignored: &'i [Self], object: &Value) -> Vec<&'i Field> {
        let (kind, name) = (GroupVersionKind::of(object), ObjectName::of(object));
        let is_about = |ignored: &&Self| {
            ignored.objects.is_empty() || ignored.objects.iter().any(|wanted| fits(wanted, &kind, &name))
        };
        ignored.iter().filter(is_about).flat_map(|ignored| &ignored.fields).collect()
    }
}

impl Field {
    fn new(path: &str) -> Self {
        Self { pieces: path.split('*').map(Text::new).collect(), is_whole: false }
    }

    /// Returns whether the path `key` is this field, or below it.
    pub(super) fn fits(&self, key: &str) -> bool {
        if self.is_whole {
            let rest = self.pieces.first().and_then(|piece| key.strip_prefix(piece.as_str()));
            return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        }
        let mut rest = key;
        self.pieces.iter().all(|piece| match rest.split_once(piece.as_str()) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

fn fits(wanted: &ObjectReference, kind: &GroupVersionKind, name: &ObjectName) -> bool {
    is_like(&wanted.group, &kind.group)
        && is_like(&wanted.version, &kind.version)
        && is_like(&wanted.kind, &kind.kind)
        && is_like(&wanted.name, &name.name)
        && is_like(&wanted.namespace, &name.namespace)
}

/// Returns whether `text` is what `pattern` says: nothing or `*` for any, `-` for none, a beginning with `*` behind
/// it, the text itself, or several of these with commas between them.
fn is_like(pattern: &str, text: &str) -> bool {
    let one = |pattern: &str| match pattern.trim() {
        "" | "*" => true,
        "-" if text.is_empty() => true,
        pattern => match pattern.strip_suffix('*') {
            Some(start) => text.starts_with(start.trim_end_matches('*')),
            None => pattern == text,
        },
    };
    // A pattern that ends with `*` is one, whatever is in it.
    if pattern.trim_end().ends_with('*') { one(pattern) } else { one(pattern) || several(pattern, one) }
}

fn several(pattern: &str, one: impl Fn(&str) -> bool) -> bool {
    pattern.contains(',') && pattern.split(',').any(one)
}
