//! Clusters made by code: applications as they are mostly written, in namespaces, on nodes.

use kubewright_value::{Value, json};

/// The number of objects of an application.
const OBJECTS_PER_APPLICATION: usize = 20;
/// The number of applications in a namespace, which share its NetworkPolicies, quota and default account.
const APPLICATIONS_PER_NAMESPACE: usize = 10;

/// Returns about `count` objects: half of them Pods, each with an owner, configuration, an account, a node and images.
#[must_use]
pub fn cluster_objects(count: usize) -> Vec<Value> {
    let mut objects = Vec::with_capacity(count);
    each_cluster_object(count, &mut |text| push_json(&mut objects, text));
    objects
}

/// Hands over the texts of the objects that [`cluster_objects`] returns, in JSON.
pub fn each_cluster_object(count: usize, take: &mut dyn FnMut(&str)) {
    let mut left = count;
    let mut take = |text: &str| {
        if left > 0 {
            left -= 1;
            take(text);
        }
    };
    let applications = count.div_ceil(OBJECTS_PER_APPLICATION + 1);
    for node in 0..applications.div_ceil(5) {
        take(&format!(
            r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{node}","uid":"node-{node}","labels":{{"kubernetes.io/hostname":"node-{node}","zone":"z{}"}}}}}}"#,
            node % 3
        ));
    }
    for application in 0..applications {
        if application % APPLICATIONS_PER_NAMESPACE == 0 {
            take_namespace(&mut take, application / APPLICATIONS_PER_NAMESPACE);
        }
        take_application(&mut take, application, applications.div_ceil(5));
    }
}

/// Returns one Service and `count` Pods that it selects, which keep away from each other, under one policy.
#[must_use]
pub fn crowd_objects(count: usize) -> Vec<Value> {
    let mut objects = Vec::with_capacity(count + 2);
    push_json(
        &mut objects,
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"crowd","namespace":"big"},"spec":{"selector":{"app":"crowd"}}}"#,
    );
    push_json(
        &mut objects,
        r#"{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"all","namespace":"big"},"spec":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}]}}"#,
    );
    for at in 0..count {
        push_json(
            &mut objects,
            &format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"crowd-{at}","namespace":"big","uid":"crowd-{at}","labels":{{"app":"crowd"}}}},"spec":{{"affinity":{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"labelSelector":{{"matchLabels":{{"app":"crowd"}}}},"topologyKey":"host"}}]}}}},"containers":[{{"name":"c","image":"crowd:1","envFrom":[{{"configMapRef":{{"name":"shared"}}}}]}}],"volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"shared"}}}}]}}}}"#
            ),
        );
    }
    objects
}

/// Returns `count` Pods of one namespace that all mount the same claim and use the same ConfigMap, one in ten for logs.
#[must_use]
pub fn sharing(count: usize) -> Vec<Value> {
    let mut objects = Vec::with_capacity(count + 2);
    for kind in ["PersistentVolumeClaim", "ConfigMap"] {
        push_json(
            &mut objects,
            &format!(
                r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"shared","namespace":"big"}}}}"#
            ),
        );
    }
    for at in 0..count {
        let tier = if at % 10 == 0 { "job" } else { "web" };
        push_json(
            &mut objects,
            &format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{at}","namespace":"big","labels":{{"tier":"{tier}"}}}},"spec":{{"containers":[{{"name":"c","image":"app:1","envFrom":[{{"configMapRef":{{"name":"shared"}}}}],"volumeMounts":[{{"name":"data","mountPath":"/data"}}]}}],"volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"shared"}}}}]}}}}"#
            ),
        );
    }
    objects
}

fn take_namespace(take: &mut dyn FnMut(&str), at: usize) {
    let ns = format!("ns-{at}");
    take(&format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{ns}","labels":{{"team":"t{}"}}}}}}"#,
        at % 20
    ));
    take(&format!(
        r#"{{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"default","namespace":"{ns}"}}}}"#
    ));
    take(&format!(
        r#"{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"quota","namespace":"{ns}"}}}}"#
    ));
    take(&format!(
        r#"{{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{{"name":"default","namespace":"{ns}"}},"spec":{{"podSelector":{{}},"ingress":[{{"from":[{{"namespaceSelector":{{"matchLabels":{{"kubernetes.io/metadata.name":"ns-0"}}}}}},{{"podSelector":{{}}}}]}}]}}}}"#
    ));
}

fn take_application(take: &mut dyn FnMut(&str), at: usize, nodes: usize) {
    let tier = match at % 3 {
        0 => "web",
        1 => "db",
        _ => "job",
    };
    let (ns, app) = (format!("ns-{}", at / APPLICATIONS_PER_NAMESPACE), format!("app-{at}"));
    let labels = format!(
        r#"{{"app":"{app}","app.kubernetes.io/instance":"{app}","tier":"{tier}","pod-template-hash":"h{at}"}}"#
    );
    let selector = format!(r#"{{"matchLabels":{{"app":"{app}","tier":"{tier}"}}}}"#);
    let spec = |node: usize| {
        format!(
            r#"{{"serviceAccountName":"{app}","nodeName":"node-{node}","containers":[{{"name":"main","image":"registry.example.com/{app}:1.{}","envFrom":[{{"configMapRef":{{"name":"{app}"}}}}],"env":[{{"name":"PASSWORD","valueFrom":{{"secretKeyRef":{{"name":"{app}","key":"password"}}}}}}],"resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"memory":"256Mi"}}}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}},"volumeMounts":[{{"name":"data","mountPath":"/data"}},{{"name":"config","mountPath":"/etc/app"}}]}}],"volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"{app}"}}}},{{"name":"config","configMap":{{"name":"{app}"}}}}]}}"#,
            at % 50
        )
    };
    let metadata = |name: &str, more: &str| {
        format!(r#"{{"name":"{name}","namespace":"{ns}","uid":"uid-{name}-{at}","labels":{labels}{more}}}"#)
    };
    let owner = |kind: &str, name: &str| {
        format!(
            r#","ownerReferences":[{{"apiVersion":"apps/v1","kind":"{kind}","name":"{name}","uid":"uid-{name}-{at}","controller":true}}]"#
        )
    };
    let template = format!(
        r#"{{"metadata":{{"labels":{labels}}},"spec":{}}}"#,
        spec(0).replace(r#""nodeName":"node-0","#, "")
    );
    let set = format!("{app}-h{at}");
    take(&format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{},"spec":{{"replicas":10,"selector":{selector},"template":{template}}}}}"#,
        metadata(&app, "")
    ));
    take(&format!(
        r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{},"spec":{{"replicas":10,"selector":{selector},"template":{template}}}}}"#,
        metadata(&set, &owner("Deployment", &app))
    ));
    for pod in 0..10 {
        let name = format!("{set}-{pod}");
        take(&format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":{},"status":{{"phase":"Running"}}}}"#,
            metadata(&name, &owner("ReplicaSet", &set)),
            spec((at * 10 + pod) % nodes.max(1))
        ));
    }
    for kind in ["ConfigMap", "Secret", "ServiceAccount"] {
        take(&format!(
            r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"{app}","namespace":"{ns}"}}}}"#
        ));
    }
    take(&format!(
        r#"{{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{app}","namespace":"{ns}"}},"spec":{{"storageClassName":"fast"}}}}"#
    ));
    take(&format!(
        r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{app}","namespace":"{ns}"}},"spec":{{"selector":{{"app":"{app}"}}}}}}"#
    ));
    take(&format!(
        r#"{{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{{"name":"{app}","namespace":"{ns}"}},"spec":{{"ingressClassName":"nginx","rules":[{{"http":{{"paths":[{{"backend":{{"service":{{"name":"{app}"}}}}}}]}}}}]}}}}"#
    ));
    take(&format!(
        r#"{{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{{"name":"{app}","namespace":"{ns}"}},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"{app}"}}}}}}"#
    ));
    take(&format!(
        r#"{{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"{app}","namespace":"{ns}"}},"spec":{{"selector":{selector}}}}}"#
    ));
}

/// Adds the object of a JSON text; invalid JSON would be a mistake in this file and is ignored.
fn push_json(objects: &mut Vec<Value>, text: &str) {
    objects.extend(json::parse(text).ok());
}
