//! Pods as a cluster has them: of a Deployment, scheduled and running, with the managed fields of three writers.

/// How many Pods are written in one transaction of etcd, which allows 128 operations and 1.5 MB.
pub(crate) const PODS_AT_ONCE: usize = 100;

/// Returns the key in etcd and the JSON of a Pod; another `revision` is another state of it.
pub(crate) fn pod(number: usize, revision: usize) -> (String, String) {
    let (namespace, app) = (format!("team-{}", number % 100), format!("app-{}", number / 10));
    let (hash, node) = (number.wrapping_mul(2_654_435_761) % 0xffff_ffff, number % 1000);
    let name = format!("{app}-{hash:08x}-{number:05}");
    let uid = format!("{hash:08x}-0000-4000-8000-{number:012x}");
    let labels = format!(
        r#""app.kubernetes.io/name":"{app}","app.kubernetes.io/instance":"{app}-main","app.kubernetes.io/managed-by":"Helm","pod-template-hash":"{hash:08x}","team":"{namespace}","revision":"r{revision}""#
    );
    let container = |name: &str, port: usize| {
        format!(
            r#"{{"name":"{name}","image":"registry.example.com/{namespace}/{name}:1.{port}.{node}","ports":[{{"name":"http","containerPort":{port},"protocol":"TCP"}}],"env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"DATABASE_HOST","value":"postgres.{namespace}.svc.cluster.local"}},{{"name":"LOG_LEVEL","value":"info"}}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"config","readOnly":true,"mountPath":"/etc/{name}"}},{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{{"runAsNonRoot":true,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false,"capabilities":{{"drop":["ALL"]}}}}}}"#
        )
    };
    let status = |name: &str| {
        format!(
            r#"{{"name":"{name}","state":{{"running":{{"startedAt":"2026-01-01T00:00:10Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example.com/{namespace}/{name}:1","imageID":"registry.example.com/{namespace}/{name}@sha256:{hash:064x}","containerID":"containerd://{number:064x}","started":true}}"#
        )
    };
    let managed = |manager: &str, fields: &str| {
        format!(
            r#"{{"manager":"{manager}","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{{fields}}}}}"#
        )
    };
    let spec_fields = r#""f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/instance":{},"f:pod-template-hash":{},"f:team":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"x\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"DATABASE_HOST\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}}},"f:securityContext":{".":{},"f:runAsNonRoot":{}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{}}"#;
    let status_fields = r#""f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}"#;
    let condition = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:12Z"}}"#
        )
    };
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","generateName":"{app}-{hash:08x}-","namespace":"{namespace}","uid":"{uid}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{{labels}}},"annotations":{{"prometheus.io/scrape":"true","checksum/config":"{hash:064x}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{app}-{hash:08x}","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{},{}]}},"spec":{{"volumes":[{{"name":"config","configMap":{{"name":"{app}","defaultMode":420}}}},{{"name":"kube-api-access","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}],"defaultMode":420}}}}],"containers":[{},{}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"{app}","serviceAccount":"{app}","nodeName":"node-{node}","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":[{},{},{},{}],"hostIP":"10.0.0.1","podIP":"10.1.0.1","podIPs":[{{"ip":"10.1.0.1"}}],"startTime":"2026-01-01T00:00:01Z","containerStatuses":[{},{}],"qosClass":"Burstable"}}}}"#,
        managed("kube-controller-manager", spec_fields),
        managed("kubelet", status_fields),
        container("web", 8080),
        container("proxy", 15001),
        condition("Initialized"),
        condition("Ready"),
        condition("ContainersReady"),
        condition("PodScheduled"),
        status("proxy"),
        status("web"),
    );
    (format!("/registry/pods/{namespace}/{name}"), json)
}
