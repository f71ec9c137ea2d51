//! Paths that no object of a kind has, such as `spec.containers[*].redinessProbe`.
//!
//! A misspelt path in a negative condition finds everything, so the fields that patterns mostly ask for are known here:
//! those of metadata, of Pods and of what has Pods.

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_value::{Document, Text};

use super::super::diagnostics as code;
use super::super::key::{Key, KeyStep};
use super::super::pattern::Presence;
use super::super::source::{self, Definition, Origin, Resource};
use super::super::types;
use super::named_kinds;
use kubewright_dialect_kit::fields::Placed;

/// What an object may have.
#[derive(Clone, Copy)]
enum Shape {
    /// These fields.
    Fields(&'static [(&'static str, Shape)]),
    /// A list of these.
    List(&'static Shape),
    /// What stands elsewhere in this table.
    See(&'static Shape),
    /// Anything.
    Any,
}

use Shape::{Any, Fields, List, See};

pub(super) fn check(definition: &Definition, document: &Document, diagnostics: &mut Vec<Diagnostic>) {
    for resource in &definition.resources {
        for condition in resource.all.iter().chain(&resource.any).chain(&resource.none) {
            path(resource, &condition.key, document, diagnostics);
        }
    }
    for entry in &definition.entries {
        let [one, other] = entry.ids.as_slice() else { continue };
        let resource = |id: &Placed<Text>| definition.resources.iter().find(|found| found.id == id.value);
        let source::Link::Typed { options, .. } = &entry.link else { continue };
        for criterion in &options.criteria {
            for (id, side) in [(one, &criterion.target), (other, &criterion.dependency)] {
                if let (Some(resource), Origin::Paths(keys)) = (resource(id), &side.origin) {
                    keys.iter().for_each(|key| path(resource, key, document, diagnostics));
                }
            }
        }
    }
}

/// Reports a path that no kind of the resource has.
fn path(resource: &Resource, text: &Placed<Text>, document: &Document, diagnostics: &mut Vec<Diagnostic>) {
    let Ok(key) = Key::parse(&text.value) else { return };
    let location = document.locate(&text.path);
    if resource.presence == Presence::Absent {
        if let Some((wrong, _)) = wrong_step(&ABSENT, &key) {
            let message = format!("of an absent object nothing is known at `{wrong}` in `{}`", key.text);
            let help = "only its name, namespace, kind and version are known";
            diagnostics.push(Diagnostic::new(&code::UNKNOWN_PATH, message, location).help(help));
        }
        return;
    }
    let Some(kinds) = named_kinds(&resource.kinds) else { return };
    // Wrong only if no kind of the list has it.
    let wrong: Option<Vec<_>> = kinds.iter().map(|kind| wrong_in(kind, &key)).collect();
    let Some((wrong, near)) = wrong.and_then(|wrong| wrong.into_iter().next()) else { return };
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    let message = format!("no {} has `{wrong}` in `{}`", kinds.join(" or "), key.text);
    let help = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
    diagnostics.push(Diagnostic::new(&code::UNKNOWN_PATH, message, location).help(help));
}

/// Returns the first name of `key` that no object of the kind has, and one that it has.
fn wrong_in(kind: &str, key: &Key) -> Option<(String, Option<&'static str>)> {
    let Some((KeyStep::PodTemplate, rest)) = key.steps.split_first() else {
        return wrong_step(shape_of(kind)?, key);
    };
    if types::has_no_pods(kind) {
        return Some(("podTemplate".to_owned(), None));
    }
    let shape = if kind == "Pod" { &POD } else { &TEMPLATE };
    wrong_step(shape, &Key { text: key.text.clone(), steps: rest.to_vec() })
}

/// Returns the first name of `key` that `shape` does not have, and one that it has.
fn wrong_step(shape: &'static Shape, key: &Key) -> Option<(String, Option<&'static str>)> {
    let mut shape = *shape;
    for step in &key.steps {
        if let See(elsewhere) = shape {
            shape = *elsewhere;
        }
        shape = match (shape, step) {
            (Fields(fields), KeyStep::Name(name)) => match fields.iter().find(|(field, _)| name == field) {
                Some((_, shape)) => *shape,
                None => {
                    let near = nearest_word(name, fields.iter().map(|(field, _)| *field));
                    return Some((name.to_string(), near));
                }
            },
            (List(inner), KeyStep::Each | KeyStep::Same | KeyStep::Index(_)) => *inner,
            (List(_), KeyStep::Name(name)) => return Some((name.to_string(), None)),
            _ => return None,
        };
    }
    None
}

fn shape_of(kind: &str) -> Option<&'static Shape> {
    Some(match kind {
        "Pod" => &POD,
        "Deployment" => &DEPLOYMENT,
        "StatefulSet" => &STATEFUL_SET,
        "DaemonSet" | "ReplicaSet" => &CONTROLLER,
        "Service" => &SERVICE,
        _ => return None,
    })
}

/// Fields without anything known inside.
macro_rules! open {
    ($($name:literal)*) => { [$(($name, Any)),*] };
}

/// What every object has, around its specification and its status.
macro_rules! object {
    ($spec:expr, $status:expr) => {
        Fields(&[
            ("apiVersion", Any),
            ("kind", Any),
            ("metadata", See(&METADATA)),
            ("spec", $spec),
            ("status", $status),
        ])
    };
}

static METADATA: Shape = Fields(
    &open!["name" "generateName" "namespace" "labels" "annotations" "uid" "resourceVersion"
    "generation" "creationTimestamp" "deletionTimestamp" "deletionGracePeriodSeconds" "ownerReferences" "finalizers" "managedFields" "selfLink"],
);
static ABSENT: Shape =
    Fields(&[("apiVersion", Any), ("kind", Any), ("metadata", Fields(&open!["name" "namespace"]))]);
static CONTAINER: Shape = Fields(
    &open!["name" "image" "command" "args" "workingDir" "ports" "envFrom" "env" "resources"
    "resizePolicy" "restartPolicy" "restartPolicyRules" "volumeMounts" "volumeDevices" "livenessProbe" "readinessProbe" "startupProbe" "lifecycle"
    "terminationMessagePath" "terminationMessagePolicy" "imagePullPolicy" "securityContext" "stdin" "stdinOnce" "tty" "targetContainerName"],
);
static CONTAINER_STATUS: Shape = Fields(
    &open!["name" "state" "lastState" "ready" "restartCount" "image" "imageID" "containerID"
    "started" "allocatedResources" "allocatedResourcesStatus" "resources" "volumeMounts" "user" "stopSignal"],
);
static POD_SPEC: Shape = Fields(&[
    ("containers", List(&CONTAINER)),
    ("initContainers", List(&CONTAINER)),
    ("ephemeralContainers", List(&CONTAINER)),
    ("volumes", Any),
    ("restartPolicy", Any),
    ("terminationGracePeriodSeconds", Any),
    ("activeDeadlineSeconds", Any),
    ("dnsPolicy", Any),
    ("dnsConfig", Any),
    ("nodeSelector", Any),
    ("serviceAccountName", Any),
    ("serviceAccount", Any),
    ("automountServiceAccountToken", Any),
    ("nodeName", Any),
    ("hostNetwork", Any),
    ("hostPID", Any),
    ("hostIPC", Any),
    ("hostUsers", Any),
    ("shareProcessNamespace", Any),
    ("securityContext", Any),
    ("imagePullSecrets", Any),
    ("hostname", Any),
    ("hostnameOverride", Any),
    ("subdomain", Any),
    ("setHostnameAsFQDN", Any),
    ("affinity", Any),
    ("schedulerName", Any),
    ("schedulingGates", Any),
    ("tolerations", Any),
    ("hostAliases", Any),
    ("priorityClassName", Any),
    ("priority", Any),
    ("readinessGates", Any),
    ("runtimeClassName", Any),
    ("enableServiceLinks", Any),
    ("preemptionPolicy", Any),
    ("overhead", Any),
    ("topologySpreadConstraints", Any),
    ("os", Any),
    ("resourceClaims", Any),
    ("resources", Any),
    ("workloadRef", Any),
]);
static POD_STATUS: Shape = Fields(&[
    ("phase", Any),
    ("conditions", Any),
    ("message", Any),
    ("reason", Any),
    ("nominatedNodeName", Any),
    ("hostIP", Any),
    ("hostIPs", Any),
    ("podIP", Any),
    ("podIPs", Any),
    ("startTime", Any),
    ("initContainerStatuses", List(&CONTAINER_STATUS)),
    ("containerStatuses", List(&CONTAINER_STATUS)),
    ("ephemeralContainerStatuses", List(&CONTAINER_STATUS)),
    ("qosClass", Any),
    ("resize", Any),
    ("resourceClaimStatuses", Any),
    ("extendedResourceClaimStatus", Any),
    ("observedGeneration", Any),
    ("allocatedResources", Any),
    ("resources", Any),
]);
static POD: Shape = object!(See(&POD_SPEC), See(&POD_STATUS));
static TEMPLATE: Shape = Fields(&[("metadata", See(&METADATA)), ("spec", See(&POD_SPEC))]);
static DEPLOYMENT: Shape = object!(
    Fields(&[
        ("replicas", Any),
        ("selector", Any),
        ("template", See(&TEMPLATE)),
        ("strategy", Any),
        ("minReadySeconds", Any),
        ("revisionHistoryLimit", Any),
        ("paused", Any),
        ("progressDeadlineSeconds", Any),
    ]),
    Any
);
static STATEFUL_SET: Shape = object!(
    Fields(&[
        ("replicas", Any),
        ("selector", Any),
        ("template", See(&TEMPLATE)),
        ("volumeClaimTemplates", Any),
        ("serviceName", Any),
        ("podManagementPolicy", Any),
        ("updateStrategy", Any),
        ("revisionHistoryLimit", Any),
        ("minReadySeconds", Any),
        ("persistentVolumeClaimRetentionPolicy", Any),
        ("ordinals", Any),
    ]),
    Any
);
static CONTROLLER: Shape = object!(
    Fields(&[
        ("replicas", Any),
        ("selector", Any),
        ("template", See(&TEMPLATE)),
        ("updateStrategy", Any),
        ("revisionHistoryLimit", Any),
        ("minReadySeconds", Any),
    ]),
    Any
);
static SERVICE: Shape = object!(
    Fields(
        &open!["ports" "selector" "clusterIP" "clusterIPs" "type" "externalIPs" "sessionAffinity" "loadBalancerIP"
        "loadBalancerSourceRanges" "externalName" "externalTrafficPolicy" "healthCheckNodePort" "publishNotReadyAddresses"
        "sessionAffinityConfig" "ipFamilies" "ipFamilyPolicy" "allocateLoadBalancerNodePorts" "loadBalancerClass"
        "internalTrafficPolicy" "trafficDistribution"],
    ),
    Any
);
