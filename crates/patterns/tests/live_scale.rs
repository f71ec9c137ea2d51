//! The size of a live search, and the time that one change takes, with objects as an API server stores them.
//!
//! `KUBEWRIGHT_LIVE_OBJECTS=100000 cargo test --release -p kubewright-patterns --test live_scale -- --nocapture` prints the
//! figures of a large cluster. The limits below hold for any size; times are only printed, because other tests run beside.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot do its work has failed"
)]

use std::time::{Duration, Instant};

use kubewright_graph::References;
use kubewright_k8s::ObjectName;
use kubewright_patterns::shipped::shipped_patterns;
use kubewright_patterns::{DetectionSettings, LivePatterns, Pattern, compile_pattern_document};
use kubewright_value::{Source, Value, json, yaml};

/// The memory that an object may take: all that the process has more than before, with what was found, what the first search
/// has left to the allocator, and in a debug build.
const MAX_BYTES_PER_OBJECT: usize = 3_500;

/// The objects of one application: a Deployment, its present ReplicaSet and two old ones, Pods and what they need.
const PODS: usize = 6;
const APPLICATIONS_PER_NAMESPACE: usize = 10;

fn patterns() -> Vec<Pattern> {
    let read = |source: &str| {
        let reading = yaml::read(&Source::new("pattern.yaml", source));
        reading.documents.first().and_then(|document| compile_pattern_document(document).0)
    };
    shipped_patterns().iter().filter_map(|shipped| read(shipped.source())).collect()
}

fn uid(kind: &str, at: usize, more: usize) -> String {
    let number = kind
        .bytes()
        .fold(at * 1_000 + more, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", at, more, number % 4_096, at % 4_096, number % (1 << 48))
}

/// Fields that the API server and controllers add to every object.
fn metadata(kind: &str, name: &str, namespace: &str, at: usize, more: usize, extra: &str) -> String {
    format!(
        r#"{{"name":"{name}","namespace":"{namespace}","uid":"{}","resourceVersion":"{at}{more}","generation":3,"creationTimestamp":"2026-11-{:02}T08:{:02}:11Z","managedFields":[{{"manager":"kubectl","operation":"Apply","apiVersion":"v1","time":"2026-11-01T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{"f:app":{{}},"f:tier":{{}}}}}},"f:spec":{{"f:template":{{"f:spec":{{"f:containers":{{}}}}}}}}}}}}]{extra}}}"#,
        uid(kind, at, more),
        1 + at % 28,
        more % 60
    )
}

fn owner(kind: &str, name: &str, uid: &str) -> String {
    format!(
        r#","ownerReferences":[{{"apiVersion":"apps/v1","kind":"{kind}","name":"{name}","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}]"#
    )
}

fn pod_spec(app: &str, pod: Option<(usize, usize)>) -> String {
    let (more, token_mount, token_volume) = match pod {
        None => (String::new(), String::new(), String::new()),
        Some((at, pod)) => {
            let name = format!("kube-api-access-{:05}", (at * 7 + pod * 13) % 100_000);
            (
                format!(
                    r#""nodeName":"node-{}","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","#,
                    (at + pod) % 200
                ),
                format!(
                    r#",{{"name":"{name}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}"#
                ),
                format!(
                    r#",{{"name":"{name}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}"#
                ),
            )
        }
    };
    format!(
        r#"{{{more}"serviceAccountName":"{app}","restartPolicy":"Always","dnsPolicy":"ClusterFirst","schedulerName":"default-scheduler","terminationGracePeriodSeconds":30,"securityContext":{{"runAsNonRoot":true}},"containers":[{{"name":"main","image":"registry.example.com/team/{app}:1.4.2","imagePullPolicy":"IfNotPresent","args":["--listen=:8080","--log-level=info"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"envFrom":[{{"configMapRef":{{"name":"{app}"}}}}],"env":[{{"name":"LOG_FORMAT","value":"json"}},{{"name":"PASSWORD","valueFrom":{{"secretKeyRef":{{"name":"{app}","key":"password"}}}}}},{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"fieldPath":"metadata.name"}}}}}}],"resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"memory":"256Mi"}}}},"livenessProbe":{{"httpGet":{{"path":"/live","port":8080}},"periodSeconds":10}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}},"periodSeconds":5}},"terminationMessagePath":"/dev/termination-log","volumeMounts":[{{"name":"config","mountPath":"/etc/app"}}{token_mount}]}},{{"name":"proxy","image":"registry.example.com/mesh/proxy:2.1.0","args":["proxy","sidecar"],"resources":{{"requests":{{"cpu":"10m","memory":"64Mi"}}}},"volumeMounts":[{{"name":"tmp","mountPath":"/tmp"}}{token_mount}]}}],"volumes":[{{"name":"config","configMap":{{"name":"{app}","defaultMode":420}}}},{{"name":"tmp","emptyDir":{{}}}}{token_volume}]}}"#
    )
}

fn pod_status(at: usize, pod: usize, restarts: usize) -> String {
    let container = |name: &str| {
        format!(
            r#"{{"name":"{name}","ready":true,"started":true,"restartCount":{restarts},"image":"registry.example.com/{name}","imageID":"registry.example.com/{name}@sha256:{at:064x}","containerID":"containerd://{:064x}","state":{{"running":{{"startedAt":"2026-11-02T09:{:02}:00Z"}}}}}}"#,
            at * 100 + pod,
            pod % 60
        )
    };
    format!(
        r#"{{"phase":"Running","podIP":"10.{}.{}.{}","hostIP":"10.0.0.{}","qosClass":"Burstable","startTime":"2026-11-02T09:00:{:02}Z","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-11-02T09:{:02}:10Z"}},{{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-02T09:00:01Z"}}],"containerStatuses":[{},{}]}}"#,
        at / 65_536,
        at / 256 % 256,
        at % 256,
        pod,
        pod % 60,
        at % 60,
        container("main"),
        container("proxy")
    )
}

fn parse(text: &str) -> Value {
    json::parse(text).expect("JSON")
}

struct Names {
    namespace: String,
    app: String,
    labels: String,
    set: String,
}

impl Names {
    fn of(at: usize) -> Self {
        let app = format!("app-{at}");
        Self {
            namespace: format!("team-{}", at / APPLICATIONS_PER_NAMESPACE),
            labels: format!(
                r#"{{"app":"{app}","app.kubernetes.io/name":"{app}","app.kubernetes.io/instance":"{app}","tier":"web"}}"#
            ),
            set: format!("{app}-5d7f9c8b6d"),
            app,
        }
    }
}

fn pod(at: usize, pod: usize, restarts: usize) -> Value {
    let Names { namespace, app, set, .. } = Names::of(at);
    let name = format!("{set}-x{pod:04}");
    let labels = format!(
        r#","generateName":"{set}-","labels":{{"app":"{app}","app.kubernetes.io/name":"{app}","app.kubernetes.io/instance":"{app}","tier":"web","pod-template-hash":"5d7f9c8b6d"}}"#
    );
    let extra = labels + &owner("ReplicaSet", &set, &uid("ReplicaSet", at, 0));
    parse(&format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":{},"status":{}}}"#,
        metadata("Pod", &name, &namespace, at, pod, &extra),
        pod_spec(&app, Some((at, pod))),
        pod_status(at, pod, restarts)
    ))
}

fn application(at: usize) -> Vec<Value> {
    let Names { namespace, app, labels, set } = Names::of(at);
    let mut objects = Vec::new();
    let template = format!(r#"{{"metadata":{{"labels":{labels}}},"spec":{}}}"#, pod_spec(&app, None));
    let selector = format!(r#"{{"matchLabels":{{"app":"{app}"}}}}"#);
    let meta = |kind: &str, name: &str, more: usize, extra: &str| {
        metadata(kind, name, &namespace, at, more, &format!(r#","labels":{labels}{extra}"#))
    };
    objects.push(parse(&format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{},"spec":{{"replicas":{PODS},"revisionHistoryLimit":10,"strategy":{{"type":"RollingUpdate"}},"selector":{selector},"template":{template}}},"status":{{"replicas":{PODS},"readyReplicas":{PODS},"availableReplicas":{PODS},"observedGeneration":3,"conditions":[{{"type":"Available","status":"True"}},{{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}}]}}}}"#,
        meta("Deployment", &app, 0, "")
    )));
    for old in 0..3 {
        let name = if old == 0 { set.clone() } else { format!("{app}-6b8d4c7f{old}") };
        let replicas = if old == 0 { PODS } else { 0 };
        objects.push(parse(&format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{},"spec":{{"replicas":{replicas},"selector":{selector},"template":{template}}},"status":{{"replicas":{replicas},"observedGeneration":1}}}}"#,
            meta("ReplicaSet", &name, old, &owner("Deployment", &app, &uid("Deployment", at, 0)))
        )));
    }
    objects.extend((0..PODS).map(|number| pod(at, number, 0)));
    for (kind, rest) in [
        (
            "ConfigMap",
            r#""data":{"settings.yaml":"listen: 8080\nlevel: info\nfeatures: [a, b, c, d, e, f]\n"}"#,
        ),
        ("Secret", r#""type":"Opaque","data":{"password":"cGFzc3dvcmQtZm9yLXRoZS1kYXRhYmFzZQ=="}"#),
        ("ServiceAccount", r#""automountServiceAccountToken":true"#),
    ] {
        let meta = meta(kind, &app, 0, "");
        objects.push(parse(&format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{meta},{rest}}}"#)));
    }
    objects.push(parse(&format!(
        r#"{{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{{"type":"ClusterIP","clusterIP":"10.96.{}.{}","selector":{{"app":"{app}"}},"ports":[{{"name":"http","port":80,"targetPort":8080,"protocol":"TCP"}}]}}}}"#,
        meta("Service", &app, 0, ""),
        at / 256 % 256,
        at % 256
    )));
    let endpoints: Vec<String> = (0..PODS)
        .map(|number| {
            format!(
                r#"{{"addresses":["10.1.{}.{number}"],"conditions":{{"ready":true}},"nodeName":"node-1","targetRef":{{"kind":"Pod","name":"{set}-x{number:04}","namespace":"{namespace}","uid":"{}"}}}}"#,
                at % 256,
                uid("Pod", at, number)
            )
        })
        .collect();
    objects.push(parse(&format!(
        r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{},"addressType":"IPv4","endpoints":[{}],"ports":[{{"name":"http","port":8080}}]}}"#,
        metadata("EndpointSlice", &format!("{app}-abcde"), &namespace, at, 0, &format!(r#","labels":{{"kubernetes.io/service-name":"{app}"}}"#)),
        endpoints.join(",")
    )));
    objects.push(parse(&format!(
        r#"{{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{},"spec":{{"ingressClassName":"nginx","rules":[{{"host":"{app}.example.com","http":{{"paths":[{{"path":"/","pathType":"Prefix","backend":{{"service":{{"name":"{app}","port":{{"number":80}}}}}}}}]}}}}]}}}}"#,
        meta("Ingress", &app, 0, "")
    )));
    objects.push(parse(&format!(
        r#"{{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{},"spec":{{"minReplicas":2,"maxReplicas":10,"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"{app}"}},"metrics":[{{"type":"Resource","resource":{{"name":"cpu","target":{{"type":"Utilization","averageUtilization":70}}}}}}]}}}}"#,
        meta("HorizontalPodAutoscaler", &app, 0, "")
    )));
    objects.push(parse(&format!(
        r#"{{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{},"spec":{{"maxUnavailable":1,"selector":{selector}}}}}"#,
        meta("PodDisruptionBudget", &app, 0, "")
    )));
    objects
}

fn namespace(at: usize) -> Vec<Value> {
    let name = format!("team-{at}");
    let text = format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}","uid":"{}","labels":{{"kubernetes.io/metadata.name":"{name}","team":"{}"}}}},"spec":{{"finalizers":["kubernetes"]}},"status":{{"phase":"Active"}}}}"#,
        uid("Namespace", at, 0),
        at % 20
    );
    let mut objects = vec![parse(&text)];
    for (version, kind, spec) in [
        ("v1", "ResourceQuota", r#""spec":{"hard":{"pods":"100"}}"#),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            r#""spec":{"podSelector":{},"ingress":[{"from":[{"podSelector":{}}]}]}"#,
        ),
        ("v1", "ServiceAccount", r#""secrets":[]"#),
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            r#""roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"ServiceAccount","name":"default"}]"#,
        ),
    ] {
        let meta = metadata(kind, "default", &name, at, 0, "");
        objects.push(parse(&format!(
            r#"{{"apiVersion":"{version}","kind":"{kind}","metadata":{meta},{spec}}}"#
        )));
    }
    objects
}

fn resident_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()? * 1_024)
}

struct Loaded {
    live: LivePatterns,
    objects: usize,
    applications: usize,
    bytes: Option<usize>,
}

fn loaded(count: usize) -> Loaded {
    let settings = DetectionSettings { per_pattern: usize::MAX, ..DetectionSettings::default() };
    let mut live = LivePatterns::new(patterns(), &References::default(), settings);
    // What the first objects and the parser take is not counted.
    drop(application(0));
    let before = resident_bytes();
    let (mut objects, mut applications, mut json_bytes) = (0, 0, 0);
    let start = Instant::now();
    let mut inserting = Duration::ZERO;
    while objects < count {
        let mut all = application(applications);
        if applications % APPLICATIONS_PER_NAMESPACE == 0 {
            all.extend(namespace(applications / APPLICATIONS_PER_NAMESPACE));
        }
        if applications < 100 {
            json_bytes += all.iter().map(|object| object.to_string().len()).sum::<usize>();
        }
        objects += all.len();
        applications += 1;
        let before = Instant::now();
        all.iter().for_each(|object| live.insert(object));
        inserting += before.elapsed();
    }
    let searching = Instant::now();
    let mut findings = 0;
    live.refresh_each(0, |_, _| findings += 1);
    println!(
        "{objects} objects of {} bytes of JSON on average: inserted in {inserting:.2?} of {:.2?}, {findings} findings in {:.2?}",
        json_bytes / (applications.min(100) * objects / applications).max(1),
        start.elapsed(),
        searching.elapsed()
    );
    let bytes = before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before));
    Loaded { live, objects, applications, bytes }
}

fn timed(name: &str, times: &mut Vec<Duration>) {
    times.sort_unstable();
    println!(
        "{name}: median {:.3?}, 99 of 100 within {:.3?}",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
    times.clear();
}

#[test]
fn live_objects_take_little_memory_and_changes_little_time() {
    let count = std::env::var("KUBEWRIGHT_LIVE_OBJECTS").ok().and_then(|text| text.parse().ok());
    let Loaded { mut live, objects, applications, bytes } = loaded(count.unwrap_or(10_000));
    if let Some(bytes) = bytes {
        println!("{} bytes an object, {} findings", bytes / objects, live.finding_count());
        assert!(bytes / objects <= MAX_BYTES_PER_OBJECT, "{} bytes an object", bytes / objects);
    }
    let before = live.redetections();
    let mut times = Vec::new();
    let rounds = 200.min(applications);
    let place = |round: usize| round * 7 % applications;
    for round in 0..rounds {
        let mut changed = pod(place(round), 0, 0);
        touch_heartbeat(&mut changed, round);
        let start = Instant::now();
        live.insert(&changed);
        assert!(live.refresh(1).is_empty());
        times.push(start.elapsed());
    }
    timed("a Pod of which nothing changed that is read", &mut times);
    assert_eq!(live.redetections().leaders, before.leaders);
    assert_eq!(live.redetections().patterns, before.patterns);
    for round in 0..rounds {
        let changed = pod(place(round), 0, 50);
        let start = Instant::now();
        live.insert(&changed);
        live.refresh(2);
        times.push(start.elapsed());
    }
    timed("a Pod that was restarted", &mut times);
    for round in 0..rounds {
        let created = pod(place(round), PODS, 0);
        let start = Instant::now();
        live.insert(&created);
        live.refresh(3);
        times.push(start.elapsed());
    }
    timed("a new Pod", &mut times);
    for round in 0..rounds {
        let name = ObjectName::of(&pod(place(round), PODS, 0));
        let start = Instant::now();
        live.remove(&name);
        live.refresh(4);
        times.push(start.elapsed());
    }
    timed("a Pod that is gone", &mut times);
    let after = live.redetections();
    println!("{after:?}");
    for place in ["Deployment", "ConfigMap", "Service", "NetworkPolicy"] {
        for round in 0..rounds.min(40) {
            let all = [application(round), namespace(round / APPLICATIONS_PER_NAMESPACE)].concat();
            let object = all.into_iter().find(|object| object.str_at(&["kind"]) == place).expect("an object");
            let start = Instant::now();
            live.remove(&ObjectName::of(&object));
            live.refresh(5);
            live.insert(&object);
            live.refresh(6);
            times.push(start.elapsed() / 2);
        }
        timed(&format!("a {place} that is gone or new"), &mut times);
    }
    println!("{:?}", live.redetections());
    assert_eq!(live.incomplete(), []);
}

/// Changes what a kubelet writes all the time.
fn touch_heartbeat(pod: &mut Value, round: usize) {
    let metadata = pod.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
    metadata.expect("metadata").insert("resourceVersion".into(), format!("9{round}").into());
    let status = pod.as_object_mut().and_then(|map| map.get_mut("status")).and_then(Value::as_object_mut);
    status.expect("a status").insert("hostIP".into(), format!("10.9.9.{round}").into());
}
