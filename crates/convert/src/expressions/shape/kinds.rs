//! The fields of the kinds that most rules are about. What is not listed may be anything.

use super::Shape::{self, Amount, Any, Bool, Int, List, Map, MapOf, Port, Required, Text, Word};

/// Returns what objects of a built-in kind look like; nothing for kinds that are not listed here.
pub(super) fn object(group: Option<&str>, kind: &str) -> Option<&'static Shape> {
    let (own, shape) = match kind {
        "Pod" => ("", &POD),
        "ReplicationController" => ("", &CONTROLLER),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => ("apps", &CONTROLLER),
        "Job" => ("batch", &CONTROLLER),
        "CronJob" => ("batch", &CRON_JOB),
        "Service" => ("", &SERVICE),
        "Namespace" | "ServiceAccount" | "Node" => ("", &PLAIN),
        "ConfigMap" => ("", &CONFIG_MAP),
        "Secret" => ("", &SECRET),
        "PersistentVolumeClaim" => ("", &CLAIM),
        "Ingress" => ("networking.k8s.io", &INGRESS),
        "PodDisruptionBudget" => ("policy", &DISRUPTION_BUDGET),
        "HorizontalPodAutoscaler" => ("autoscaling", &AUTOSCALER),
        "Role" | "ClusterRole" => ("rbac.authorization.k8s.io", &ROLE),
        "RoleBinding" | "ClusterRoleBinding" => ("rbac.authorization.k8s.io", &BINDING),
        "StorageClass" => ("storage.k8s.io", &STORAGE_CLASS),
        _ => return None,
    };
    group.is_none_or(|group| group == own || (group == "*" && !own.is_empty())).then_some(shape)
}

/// Returns whether `shape` is that of Pods, or of what makes them.
pub(super) fn is_workload(shape: &Shape) -> bool {
    [POD, CONTROLLER, CRON_JOB, WORKLOAD].contains(shape)
}

pub(super) const METADATA: Shape = Map(&[
    ("name", Word),
    ("generateName", Word),
    ("namespace", Word),
    ("labels", WORDS),
    ("annotations", TEXTS),
    ("finalizers", WORD_LIST),
    (
        "ownerReferences",
        List(&Map(&[("apiVersion", Word), ("kind", Word), ("name", Word), ("controller", Bool)])),
    ),
]);

const WORDS: Shape = MapOf(&Word);
const TEXTS: Shape = MapOf(&Text);
const WORD_LIST: Shape = List(&Word);
const TEXT_LIST: Shape = List(&Text);

macro_rules! object {
    ($($field:expr),* $(,)?) => {
        Map(&[
            ("apiVersion", Required(&Word)),
            ("kind", Required(&Word)),
            ("metadata", Required(&METADATA)),
            $($field),*
        ])
    };
}

const PLAIN: Shape = object!();

const CONFIG_MAP: Shape = object!(("data", TEXTS), ("immutable", Bool));

const SECRET: Shape = object!(("type", Word), ("data", TEXTS), ("immutable", Bool));

const ROLE: Shape = object!((
    "rules",
    List(&Map(&[
        ("apiGroups", TEXT_LIST),
        ("resources", TEXT_LIST),
        ("resourceNames", TEXT_LIST),
        ("verbs", TEXT_LIST),
        ("nonResourceURLs", TEXT_LIST),
    ]))
));

const BINDING: Shape = object!(
    ("roleRef", Map(&[("apiGroup", Word), ("kind", Word), ("name", Word)])),
    ("subjects", List(&Map(&[("apiGroup", Word), ("kind", Word), ("name", Text), ("namespace", Word)]))),
);

const STORAGE_CLASS: Shape = object!(
    ("provisioner", Word),
    ("reclaimPolicy", Word),
    ("volumeBindingMode", Word),
    ("allowVolumeExpansion", Bool),
    ("parameters", TEXTS),
);

const SERVICE: Shape = object!((
    "spec",
    Required(&Map(&[
        ("type", Word),
        ("clusterIP", Word),
        ("externalIPs", WORD_LIST),
        ("externalName", Word),
        ("externalTrafficPolicy", Word),
        ("loadBalancerClass", Word),
        ("loadBalancerIP", Word),
        ("loadBalancerSourceRanges", WORD_LIST),
        ("sessionAffinity", Word),
        ("selector", WORDS),
        (
            "ports",
            List(&Map(&[
                ("name", Word),
                ("port", Int),
                ("targetPort", Port),
                ("nodePort", Int),
                ("protocol", Word),
                ("appProtocol", Word),
            ])),
        ),
    ]))
));

const CLAIM: Shape = object!(("spec", Required(&CLAIM_SPEC)));

const CLAIM_SPEC: Shape = Map(&[
    ("accessModes", WORD_LIST),
    ("storageClassName", Word),
    ("volumeMode", Word),
    ("volumeName", Word),
    ("resources", RESOURCES),
]);

const INGRESS: Shape = object!((
    "spec",
    Required(&Map(&[
        ("ingressClassName", Word),
        ("defaultBackend", BACKEND),
        ("tls", List(&Map(&[("hosts", WORD_LIST), ("secretName", Word)]))),
        (
            "rules",
            List(&Map(&[
                ("host", Word),
                (
                    "http",
                    Map(&[(
                        "paths",
                        List(&Map(&[("path", Text), ("pathType", Word), ("backend", BACKEND)]))
                    )]),
                ),
            ])),
        ),
    ]))
));

const BACKEND: Shape =
    Map(&[("service", Map(&[("name", Word), ("port", Map(&[("name", Word), ("number", Int)]))]))]);

const DISRUPTION_BUDGET: Shape = object!((
    "spec",
    Required(&Map(&[
        ("minAvailable", Port),
        ("maxUnavailable", Port),
        ("selector", SELECTOR),
        ("unhealthyPodEvictionPolicy", Word),
    ]))
));

const SELECTOR: Shape = Map(&[("matchLabels", WORDS), ("matchExpressions", List(&Any))]);

const AUTOSCALER: Shape = object!((
    "spec",
    Required(&Map(&[
        ("minReplicas", Int),
        ("maxReplicas", Int),
        ("scaleTargetRef", Map(&[("apiVersion", Word), ("kind", Word), ("name", Word)])),
    ]))
));

macro_rules! controller_spec {
    ($more:expr) => {
        Map(&[
            $more,
            ("replicas", Int),
            ("minReadySeconds", Int),
            ("revisionHistoryLimit", Int),
            ("paused", Bool),
            ("strategy", Map(&[("type", Word)])),
            ("activeDeadlineSeconds", Int),
            ("backoffLimit", Int),
            ("completions", Int),
            ("parallelism", Int),
            ("ttlSecondsAfterFinished", Int),
            ("schedule", Text),
            ("concurrencyPolicy", Word),
            ("startingDeadlineSeconds", Int),
            ("successfulJobsHistoryLimit", Int),
            ("failedJobsHistoryLimit", Int),
            ("suspend", Bool),
            ("serviceName", Word),
            ("volumeClaimTemplates", List(&Map(&[("metadata", METADATA), ("spec", CLAIM_SPEC)]))),
        ])
    };
}

macro_rules! pod_spec {
    () => {
        Map(&[
            ("activeDeadlineSeconds", Int),
            ("containers", Required(&CONTAINERS)),
            ("affinity", Map(&[])),
            ("automountServiceAccountToken", Bool),
            ("initContainers", CONTAINERS),
            ("ephemeralContainers", CONTAINERS),
            ("dnsPolicy", Word),
            ("enableServiceLinks", Bool),
            ("hostAliases", List(&Map(&[("ip", Word), ("hostnames", WORD_LIST)]))),
            ("hostIPC", Bool),
            ("hostNetwork", Bool),
            ("hostPID", Bool),
            ("hostUsers", Bool),
            ("hostname", Word),
            ("imagePullSecrets", List(&NAMED)),
            ("nodeName", Word),
            ("nodeSelector", WORDS),
            ("preemptionPolicy", Word),
            ("priority", Int),
            ("priorityClassName", Word),
            ("restartPolicy", Word),
            ("runtimeClassName", Word),
            ("schedulerName", Word),
            ("securityContext", POD_SECURITY_CONTEXT),
            ("serviceAccount", Word),
            ("serviceAccountName", Word),
            ("shareProcessNamespace", Bool),
            ("subdomain", Word),
            ("terminationGracePeriodSeconds", Int),
            (
                "tolerations",
                List(&Map(&[
                    ("key", Word),
                    ("operator", Word),
                    ("value", Word),
                    ("effect", Word),
                    ("tolerationSeconds", Int),
                ])),
            ),
            (
                "topologySpreadConstraints",
                List(&Map(&[
                    ("maxSkew", Int),
                    ("topologyKey", Word),
                    ("whenUnsatisfiable", Word),
                    ("labelSelector", SELECTOR),
                ])),
            ),
            ("volumes", List(&VOLUME)),
        ])
    };
}

const POD: Shape = object!(("spec", Required(&POD_SPEC)));

const CONTROLLER: Shape = object!(("spec", Required(&controller_spec!(("template", Required(&TEMPLATE))))));

const CRON_JOB: Shape = object!((
    "spec",
    Required(&controller_spec!((
        "jobTemplate",
        Required(&Map(&[
            ("metadata", METADATA),
            (
                "spec",
                Required(&Map(&[
                    ("backoffLimit", Int),
                    ("ttlSecondsAfterFinished", Int),
                    ("activeDeadlineSeconds", Int),
                    ("template", Required(&TEMPLATE)),
                ])),
            ),
        ])),
    )))
));

/// Pods and what makes them: no field of one is another thing in the other.
pub(super) const WORKLOAD: Shape = object!((
    "spec",
    Required(&Map(&[
        ("replicas", Int),
        ("containers", CONTAINERS),
        ("initContainers", CONTAINERS),
        ("ephemeralContainers", CONTAINERS),
        ("volumes", List(&VOLUME)),
        ("serviceAccountName", Word),
        ("template", Map(&[("metadata", METADATA), ("spec", POD_SPEC)]),),
        (
            "jobTemplate",
            Map(&[("spec", Map(&[("template", Map(&[("metadata", METADATA), ("spec", POD_SPEC)]))]))]),
        ),
    ]))
));

const TEMPLATE: Shape = Map(&[("metadata", METADATA), ("spec", Required(&POD_SPEC))]);

const POD_SPEC: Shape = pod_spec!();

const NAMED: Shape = Map(&[("name", Word)]);

const RESOURCES: Shape = Map(&[("limits", MapOf(&Amount)), ("requests", MapOf(&Amount))]);

const CONTAINERS: Shape = List(&Map(&[
    ("name", Word),
    ("image", Word),
    ("imagePullPolicy", Word),
    ("command", TEXT_LIST),
    ("args", TEXT_LIST),
    ("workingDir", Text),
    ("stdin", Bool),
    ("tty", Bool),
    ("restartPolicy", Word),
    ("terminationMessagePath", Text),
    ("terminationMessagePolicy", Word),
    ("resources", RESOURCES),
    ("securityContext", SECURITY_CONTEXT),
    (
        "env",
        List(&Map(&[
            ("name", Text),
            ("value", Text),
            (
                "valueFrom",
                Map(&[
                    ("secretKeyRef", KEY),
                    ("configMapKeyRef", KEY),
                    ("fieldRef", Map(&[("fieldPath", Text)])),
                    ("resourceFieldRef", Map(&[("resource", Word), ("containerName", Word)])),
                ]),
            ),
        ])),
    ),
    ("envFrom", List(&Map(&[("secretRef", NAMED), ("configMapRef", NAMED), ("prefix", Word)]))),
    (
        "ports",
        List(&Map(&[
            ("name", Word),
            ("containerPort", Int),
            ("hostPort", Int),
            ("hostIP", Word),
            ("protocol", Word),
        ])),
    ),
    (
        "volumeMounts",
        List(&Map(&[
            ("name", Word),
            ("mountPath", Text),
            ("subPath", Text),
            ("readOnly", Bool),
            ("mountPropagation", Word),
        ])),
    ),
    ("livenessProbe", PROBE),
    ("readinessProbe", PROBE),
    ("startupProbe", PROBE),
    ("lifecycle", Map(&[("preStop", HANDLER), ("postStart", HANDLER)])),
]));

const KEY: Shape = Map(&[("name", Word), ("key", Word), ("optional", Bool)]);

const PROBE: Shape = Map(&[
    ("initialDelaySeconds", Int),
    ("periodSeconds", Int),
    ("timeoutSeconds", Int),
    ("successThreshold", Int),
    ("failureThreshold", Int),
    ("terminationGracePeriodSeconds", Int),
    ("exec", EXEC),
    ("httpGet", HTTP_GET),
    ("tcpSocket", Map(&[("host", Word), ("port", Port)])),
    ("grpc", Map(&[("port", Int), ("service", Word)])),
]);

const HANDLER: Shape = Map(&[("exec", EXEC), ("httpGet", HTTP_GET)]);

const EXEC: Shape = Map(&[("command", TEXT_LIST)]);

const HTTP_GET: Shape = Map(&[("host", Word), ("path", Text), ("port", Port), ("scheme", Word)]);

const SECCOMP: Shape = Map(&[("type", Word), ("localhostProfile", Text)]);

const SE_LINUX: Shape = Map(&[("level", Text), ("role", Text), ("type", Text), ("user", Text)]);

const WINDOWS: Shape = Map(&[
    ("hostProcess", Bool),
    ("runAsUserName", Text),
    ("gmsaCredentialSpec", Text),
    ("gmsaCredentialSpecName", Word),
]);

const POD_SECURITY_CONTEXT: Shape = Map(&[
    ("fsGroup", Int),
    ("fsGroupChangePolicy", Word),
    ("runAsGroup", Int),
    ("runAsNonRoot", Bool),
    ("runAsUser", Int),
    ("seLinuxOptions", SE_LINUX),
    ("seccompProfile", SECCOMP),
    ("appArmorProfile", SECCOMP),
    ("supplementalGroups", List(&Int)),
    ("sysctls", List(&Map(&[("name", Word), ("value", Text)]))),
    ("windowsOptions", WINDOWS),
]);

const SECURITY_CONTEXT: Shape = Map(&[
    ("allowPrivilegeEscalation", Bool),
    ("capabilities", Map(&[("add", WORD_LIST), ("drop", WORD_LIST)])),
    ("privileged", Bool),
    ("procMount", Word),
    ("readOnlyRootFilesystem", Bool),
    ("runAsGroup", Int),
    ("runAsNonRoot", Bool),
    ("runAsUser", Int),
    ("seLinuxOptions", SE_LINUX),
    ("seccompProfile", SECCOMP),
    ("appArmorProfile", SECCOMP),
    ("windowsOptions", WINDOWS),
]);

const VOLUME: Shape = Map(&[
    ("name", Word),
    ("hostPath", Map(&[("path", Text), ("type", Word)])),
    ("emptyDir", Map(&[("medium", Word), ("sizeLimit", Amount)])),
    ("secret", Map(&[("secretName", Word), ("optional", Bool), ("defaultMode", Int)])),
    ("configMap", Map(&[("name", Word), ("optional", Bool), ("defaultMode", Int)])),
    ("persistentVolumeClaim", Map(&[("claimName", Word), ("readOnly", Bool)])),
    ("nfs", Map(&[("server", Text), ("path", Text), ("readOnly", Bool)])),
    ("csi", Map(&[("driver", Word), ("readOnly", Bool), ("fsType", Word), ("volumeAttributes", TEXTS)])),
]);
