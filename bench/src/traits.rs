//! Traits of ten operations each, and the manifests of components that they are applied to.

/// The number of operations of a trait.
pub const OPERATION_COUNT: usize = 10;

/// Five traits, each the text of a document. Every operation is done to one manifest of a component.
pub const TRAITS: [&str; 5] = [LABELS, SIDECAR, LIMITS, ROUTES, SETTINGS];

const LABELS: &str = r#"
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: labels}
spec:
  schema:
    team: string
    tier: "string | enum=small,medium,large default=small"
  patches:
    - target: {group: apps, version: v1, kind: Deployment}
      operations:
        - {op: add, path: /metadata/labels/team, value: "${parameters.team}"}
        - {op: add, path: /metadata/labels/tier, value: "${parameters.tier}"}
        - {op: add, path: /metadata/annotations/example.com~1owner, value: "${parameters.team}@example.com"}
        - {op: add, path: /spec/template/metadata/labels/team, value: "${parameters.team}"}
        - {op: add, path: /spec/template/metadata/annotations/example.com~1component, value: "${metadata.componentName}"}
        - {op: remove, path: /metadata/annotations/example.com~1draft}
    - target: {group: "", version: v1, kind: Service}
      operations:
        - {op: add, path: /metadata/labels/team, value: "${parameters.team}"}
        - {op: add, path: /metadata/annotations/example.com~1owner, value: "${parameters.team}@example.com"}
        - {op: add, path: /spec/sessionAffinity, value: ClientIP}
        - {op: remove, path: /spec/externalTrafficPolicy}
"#;

const SIDECAR: &str = r#"
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: sidecar}
spec:
  schema:
    image: "string | default=example.com/agent:2"
  patches:
    - target: {group: apps, version: v1, kind: Deployment, where: "${resource.spec.replicas > 0}"}
      operations:
        - op: add
          path: /spec/template/spec/containers/-
          value:
            name: agent
            image: ${parameters.image}
            args: ["--component=${metadata.componentName}", "--environment=${metadata.environmentName}"]
            volumeMounts: [{name: logs, mountPath: /var/log/app}]
        - {op: add, path: /spec/template/spec/volumes/-, value: {name: logs, emptyDir: {}}}
        - op: add
          path: /spec/template/spec/containers[?(@.name=='${metadata.componentName}')]/volumeMounts/-
          value: {name: logs, mountPath: /app/logs}
        - op: add
          path: /spec/template/spec/containers[?(@.name=='${metadata.componentName}')]/env/-
          value: {name: LOG_DIR, value: /app/logs}
        - {op: add, path: /spec/template/spec/shareProcessNamespace, value: true}
        - {op: add, path: /spec/template/metadata/annotations/agent.example.com~1inject, value: "true"}
        - {op: add, path: /spec/template/metadata/annotations/agent.example.com~1level, value: info}
        - {op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: 45}
        - {op: replace, path: /spec/strategy/type, value: RollingUpdate}
        - {op: add, path: /spec/minReadySeconds, value: 5}
"#;

const LIMITS: &str = r#"
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: limits}
spec:
  schema:
    memory: integer
  patches:
    - target: {group: apps, version: v1, kind: Deployment}
      operations:
        - {op: add, path: "/spec/template/spec/containers[?(@.name=='${metadata.componentName}')]/resources/limits/memory", value: "${parameters.memory}Mi"}
        - {op: add, path: "/spec/template/spec/containers[?(@.name=='${metadata.componentName}')]/resources/requests/memory", value: "${parameters.memory / 2}Mi"}
        - {op: add, path: "/spec/template/spec/containers[?(@.name=='${metadata.componentName}')]/resources/requests/cpu", value: 250m}
        - {op: add, path: "/spec/template/spec/containers/[*]/imagePullPolicy", value: IfNotPresent}
        - {op: add, path: "/spec/template/spec/containers/[*]/securityContext/allowPrivilegeEscalation", value: false}
        - {op: add, path: "/spec/template/spec/containers/[*]/securityContext/readOnlyRootFilesystem", value: true}
        - {op: add, path: /spec/template/spec/securityContext/runAsNonRoot, value: true}
        - {op: add, path: /spec/template/spec/priorityClassName, value: standard}
        - {op: add, path: /spec/template/spec/automountServiceAccountToken, value: false}
        - {op: remove, path: /spec/template/spec/hostNetwork}
"#;

const ROUTES: &str = r#"
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: routes}
spec:
  schema:
    host: string
  patches:
    - target: {group: gateway.networking.k8s.io, version: v1, kind: HTTPRoute, name: "${metadata.componentName}"}
      operations:
        - {op: add, path: /metadata/labels/host, value: "${oc_dns_label(parameters.host)}"}
        - {op: add, path: /spec/hostnames/-, value: "${metadata.componentName}.${parameters.host}"}
        - op: replace
          path: /spec/rules/[*]/backendRefs/[?(@.name=='${metadata.componentName}')]
          value: {group: gateway.example.com, kind: Backend, name: "${metadata.componentName}-edge"}
        - {op: add, path: "/spec/rules/[*]/filters/-", value: {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-team, value: web}]}}}
        - {op: add, path: /spec/rules/0/timeouts/request, value: 10s}
        - {op: add, path: /metadata/annotations/example.com~1edge, value: "true"}
    - target: {group: "", version: v1, kind: Service}
      operations:
        - {op: add, path: /spec/ports/-, value: {name: metrics, port: 9090, targetPort: 9090, protocol: TCP}}
        - {op: add, path: /metadata/annotations/prometheus.io~1scrape, value: "true"}
        - {op: add, path: /metadata/annotations/prometheus.io~1port, value: "9090"}
        - {op: replace, path: "/spec/ports[?(@.name=='http')]/port", value: 8080}
"#;

const SETTINGS: &str = r#"
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: settings}
spec:
  schema:
    values: map<string>
  patches:
    - target: {group: "", version: v1, kind: ConfigMap}
      forEach: ${parameters.values}
      var: entry
      operations:
        - {op: add, path: "/data/${entry.key}", value: "${entry.value}"}
    - target: {group: apps, version: v1, kind: Deployment, where: "${size(parameters.values) > 0}"}
      operations:
        - {op: add, path: /spec/template/metadata/annotations/example.com~1settings, value: "${oc_hash(string(size(parameters.values)))}"}
        - op: add
          path: /spec/template/spec/containers/0/envFrom/-
          value: {configMapRef: {name: "${metadata.componentName}-settings"}}
        - {op: add, path: /spec/revisionHistoryLimit, value: 3}
        - {op: add, path: "/spec/template/spec/containers/0/env/-", value: {name: A, value: "1"}}
        - {op: add, path: "/spec/template/spec/containers/0/env/-", value: {name: B, value: "2"}}
"#;

/// The parameters of each of [`TRAITS`].
pub const PARAMETERS: [&str; 5] = [
    "team: checkout",
    "{}",
    "memory: 512",
    "host: shop.example.com",
    "values: {LOG_LEVEL: info, MODE: fast, REGION: north, CACHE: 'on', PEERS: '3'}",
];

/// Returns the manifests of component `number`.
#[must_use]
pub fn component_manifests(number: usize) -> String {
    MANIFESTS.replace("NAME", &component_name(number))
}

/// Returns the name of component `number`.
#[must_use]
pub fn component_name(number: usize) -> String {
    format!("storefront-{number}")
}

const MANIFESTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: shop
  labels: {app.kubernetes.io/name: NAME, app.kubernetes.io/part-of: shop, app.kubernetes.io/version: '1.42.0'}
  annotations:
    example.com/draft: 'true'
    example.com/runbook: https://runbooks.example.com/shop/NAME
spec:
  replicas: 3
  strategy:
    type: Recreate
  selector:
    matchLabels: {app.kubernetes.io/name: NAME}
  template:
    metadata:
      labels: {app.kubernetes.io/name: NAME, app.kubernetes.io/part-of: shop}
    spec:
      serviceAccountName: NAME
      hostNetwork: false
      containers:
        - name: NAME
          image: registry.example.com/shop/NAME:1.42.0
          imagePullPolicy: Always
          args: ['--port=8080', '--upstream=http://catalogue.shop.svc:8080', '--timeout=2s']
          ports:
            - {name: http, containerPort: 8080}
          env:
            - {name: DATABASE_HOST, value: postgres.shop.svc}
            - {name: DATABASE_USER, valueFrom: {secretKeyRef: {name: NAME-db, key: user}}}
            - {name: DATABASE_PASSWORD, valueFrom: {secretKeyRef: {name: NAME-db, key: password}}}
          readinessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            failureThreshold: 3
          livenessProbe:
            httpGet: {path: /livez, port: http}
            periodSeconds: 20
          resources:
            limits: {cpu: '1'}
            requests: {cpu: 100m}
          volumeMounts:
            - {name: cache, mountPath: /var/cache/shop}
      volumes:
        - {name: cache, emptyDir: {sizeLimit: 1Gi}}
---
apiVersion: v1
kind: Service
metadata:
  name: NAME
  namespace: shop
  labels: {app.kubernetes.io/name: NAME}
spec:
  selector: {app.kubernetes.io/name: NAME}
  ports:
    - {name: http, port: 80, targetPort: http, protocol: TCP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: NAME
  namespace: shop
spec:
  parentRefs:
    - {name: public, namespace: gateways}
  hostnames: [NAME.example.com]
  rules:
    - matches: [{path: {type: PathPrefix, value: /}}]
      backendRefs:
        - {name: NAME, port: 80}
    - matches: [{path: {type: PathPrefix, value: /api}}]
      backendRefs:
        - {name: NAME, port: 80}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME-settings
  namespace: shop
data:
  TIMEOUT: 2s
  RETRIES: '3'
";
