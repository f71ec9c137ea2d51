//! The fields that may differ from the signed manifest.
//!
//! A field is a path with dots, `spec.containers.*.image`, and `*` matches anything. As in the original it also
//! matches inside a longer path: `spec.dnsPolicy` of a Pod is `spec.template.spec.dnsPolicy` of a Deployment, and the lists
//! below rely on it. But it starts and ends with whole keys, which the original does not require: there a ConfigMap may get
//! an entry `metadata.uid.conf`, and a Pod another `spec.serviceAccountName`, because `metadata.uid` and
//! `spec.serviceAccount` are ignored.

use kubewright_k8s::{GroupVersionKind, ObjectName};
use kubewright_value::{Text, Value};

use super::message::SignatureAnnotations;
use crate::signing::DEFAULT_DOMAIN;
use crate::source::manifests::{IgnoreFields, ObjectReference};

/// Fields that may differ, and of which objects.
pub(super) struct Ignored {
    objects: Vec<ObjectReference>,
    fields: Vec<IgnoredField>,
}

/// One path.
#[derive(Debug, Clone)]
pub(super) struct IgnoredField {
    /// The texts between `*`, in order.
    pieces: Vec<Text>,
    /// Whether more letters may follow, as numbers do behind the names of signatures.
    is_start: bool,
}

/// A path in an object.
#[derive(Debug, Default)]
pub(super) struct ManifestPath {
    /// Keys and indexes with dots between them.
    pub(super) key: String,
    /// Where each of them starts, because keys have dots too.
    starts: Vec<usize>,
}

impl ManifestPath {
    pub(super) fn push(&mut self, key: &str) {
        if !self.starts.is_empty() {
            self.key.push('.');
        }
        self.starts.push(self.key.len());
        self.key.push_str(key);
    }

    pub(super) fn pop(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        self.key.truncate(start.saturating_sub(1));
    }

    fn is_start(&self, at: usize) -> bool {
        self.starts.binary_search(&at).is_ok()
    }

    fn is_end(&self, at: usize) -> bool {
        at == self.key.len() || self.is_start(at.saturating_add(1))
    }
}

/// The fields that the API server, controllers and tools write into objects of every kind.
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
    "status",
];

/// The fields that they write into objects of one kind.
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
            "spec.clusterIPs",
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

/// The only kind in [`OF_KIND`] that is limited to one group.
const ROUTES: (&str, &str) = ("Route", "route.openshift.io");

impl Ignored {
    /// Returns the fields that are always ignored, and those of a rule.
    pub(super) fn all(names: &SignatureAnnotations, of_rule: &[IgnoreFields]) -> Vec<Self> {
        let mut everywhere: Vec<IgnoredField> = OF_ALL.iter().copied().map(IgnoredField::new).collect();
        let bases = ["message", "signature", "certificate", "bundle", "resourceBundleRef"];
        for domain in [DEFAULT_DOMAIN, names.domain()] {
            let names = bases.iter().map(|base| format!("metadata.annotations.{domain}/{base}"));
            everywhere.extend(names.map(|name| IgnoredField { is_start: true, ..IgnoredField::new(&name) }));
        }
        let of_kind = OF_KIND.iter().map(|(kind, fields)| {
            let group = if *kind == ROUTES.0 { ROUTES.1 } else { "" };
            let object = ObjectReference { kind: (*kind).into(), group: group.into(), ..Default::default() };
            Self { objects: vec![object], fields: fields.iter().copied().map(IgnoredField::new).collect() }
        });
        let of_rule = of_rule.iter().map(|ignored| Self {
            objects: ignored.objects.clone(),
            fields: ignored.fields.iter().map(|field| IgnoredField::new(field)).collect(),
        });
        let everywhere = Self { objects: Vec::new(), fields: everywhere };
        std::iter::once(everywhere).chain(of_kind).chain(of_rule).collect()
    }

    /// Returns the fields of those `ignored` that match `object`.
    pub(super) fn of<'i>(ignored: &'i [Self], object: &Value) -> Vec<&'i IgnoredField> {
        let (kind, name) = (GroupVersionKind::of(object), ObjectName::of(object));
        let is_about = |ignored: &&Self| {
            ignored.objects.is_empty()
                || ignored.objects.iter().any(|wanted| reference_matches(wanted, &kind, &name))
        };
        ignored.iter().filter(is_about).flat_map(|ignored| &ignored.fields).collect()
    }
}

impl IgnoredField {
    fn new(path: &str) -> Self {
        Self { pieces: path.split('*').map(Text::new).collect(), is_start: false }
    }

    /// Returns whether `place` is this field, or below it. A field of a single word is one of the object itself: the
    /// original does not see a change of `data.status` in a ConfigMap.
    pub(super) fn fits(&self, place: &ManifestPath) -> bool {
        let Some((first, others)) = self.pieces.split_first() else { return false };
        if first.is_empty() {
            return self.goes_on(others, 0, place);
        }
        let word = first.find('.');
        let starts = if word.is_some() { place.starts.as_slice() } else { &[0] };
        starts.iter().any(|start| {
            let is_here = place.key.get(*start..).is_some_and(|rest| rest.starts_with(first.as_str()));
            is_here
                && word.is_none_or(|length| place.is_end(start + length))
                && self.goes_on(others, start + first.len(), place)
        })
    }

    /// Returns whether `pieces` follow somewhere behind `end`, where the one before them ends.
    fn goes_on(&self, pieces: &[Text], end: usize, place: &ManifestPath) -> bool {
        let Some((piece, others)) = pieces.split_first() else {
            return self.is_start || place.is_end(end);
        };
        if others.is_empty() && piece.is_empty() {
            return true;
        }
        let Some(rest) = place.key.get(end..) else { return false };
        let mut found = rest.match_indices(piece.as_str()).map(|(at, _)| end + at);
        let is_good = |at: &usize| !piece.starts_with('.') || place.is_start(at + 1);
        match others.is_empty() {
            // The first match is as good as any other where more may follow.
            false => found.find(is_good).is_some_and(|at| self.goes_on(others, at + piece.len(), place)),
            true => found.filter(is_good).any(|at| self.is_start || place.is_end(at + piece.len())),
        }
    }
}

fn reference_matches(wanted: &ObjectReference, kind: &GroupVersionKind, name: &ObjectName) -> bool {
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
