//! Texts to read, the same ones every time.

use std::fmt::Write;

use kubewright_value::{json, yaml};

/// Returns about `bytes` bytes of Deployments, Services and policy-like documents.
#[must_use]
pub fn document_stream(bytes: usize) -> String {
    let mut random = TextRandom(42);
    let mut out = String::with_capacity(bytes + 4096);
    while out.len() < bytes {
        out.push_str("---\n");
        match random.below(4) {
            0 => write_policy(&mut out, &mut random),
            1 => service(&mut out, &mut random),
            _ => out.push_str(&write_deployment(&mut random)),
        }
    }
    out
}

/// Returns `count` Deployments of about 1 KB each, as a YAML stream. All are in namespace `shop` and have a
/// container `web`.
#[must_use]
pub fn deployments(count: usize) -> String {
    let template = yaml::write(&json::parse(include_str!("../inputs/deployment.json")).unwrap_or_default());
    let mut out = String::with_capacity(count * (template.len() + 16));
    for i in 0..count {
        out.push_str("---\n");
        out.push_str(&template.replace("storefront", &format!("storefront-{i}")));
    }
    out
}

/// Returns one Deployment of about 1 KB as JSON.
#[must_use]
pub fn deployment_json() -> String {
    as_json(&write_deployment(&mut TextRandom(7)))
}

/// Returns an admission review of about 3 KB as JSON.
#[must_use]
pub fn review_json() -> String {
    let old = deployment_json();
    let new = as_json(&write_deployment(&mut TextRandom(8)));
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","kind":{{"group":"apps","version":"v1","kind":"Deployment"}},"resource":{{"group":"apps","version":"v1","resource":"deployments"}},"requestKind":{{"group":"apps","version":"v1","kind":"Deployment"}},"requestResource":{{"group":"apps","version":"v1","resource":"deployments"}},"name":"web","namespace":"shop","operation":"UPDATE","userInfo":{{"username":"system:serviceaccount:kube-system:deployment-controller","uid":"5d5c9b1e-0d3b-4f3c-8a63-1f3c1a3c2b9a","groups":["system:serviceaccounts","system:serviceaccounts:kube-system","system:authenticated"]}},"object":{new},"oldObject":{old},"dryRun":false,"options":{{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"}}}}}}"#
    )
}

fn as_json(text: &str) -> String {
    yaml::parse(text).map(|value| value.to_string()).unwrap_or_default()
}

fn write_deployment(random: &mut TextRandom) -> String {
    let mut out = String::new();
    let name = format!("{}-{}", random.word(), random.below(1000));
    let _ = write!(
        out,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: {}\n  labels:\n    \
         app.kubernetes.io/name: {name}\n    app.kubernetes.io/part-of: shop\n    tier: {}\n  annotations:\n    \
         deployment.kubernetes.io/revision: \"{}\"\n    example.com/contact: 'team-{}@example.com'\nspec:\n  \
         replicas: {}\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: {name}\n  strategy:\n    \
         rollingUpdate:\n      maxSurge: 25%\n      maxUnavailable: 1\n    type: RollingUpdate\n  template:\n    \
         metadata:\n      labels:\n        app.kubernetes.io/name: {name}\n    spec:\n      containers:\n",
        random.word(),
        random.word(),
        random.below(90),
        random.below(20),
        random.below(9),
    );
    for _ in 0..1 + random.below(2) {
        container(&mut out, random);
    }
    let _ = writeln!(
        out,
        "      securityContext:\n        runAsNonRoot: true\n        runAsUser: {}\n      restartPolicy: Always",
        random.below(60000)
    );
    out
}

fn container(out: &mut String, random: &mut TextRandom) {
    let word = random.word();
    let _ = write!(
        out,
        "      - name: {word}\n        image: registry.example.com/{word}:1.{}.{}\n        imagePullPolicy: \
         IfNotPresent\n        args: [\"--port\", \"{}\", --verbose]\n        env:\n        - name: LOG_LEVEL\n          \
         value: info\n        - name: POD_NAME\n          valueFrom:\n            fieldRef:\n              fieldPath: \
         metadata.name\n        ports:\n        - containerPort: {}\n          protocol: TCP\n        resources:\n          \
         limits:\n            cpu: 500m\n            memory: {}Mi\n          requests:\n            cpu: 0.25\n            \
         memory: 64Mi\n",
        random.below(30),
        random.below(10),
        random.below(9000),
        8000 + random.below(999),
        64 * (1 + random.below(8)),
    );
}

fn service(out: &mut String, random: &mut TextRandom) {
    let name = random.word();
    let _ = write!(
        out,
        "# Source: shop/templates/service.yaml\napiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  type: \
         ClusterIP\n  ports:\n    - name: http\n      port: {}\n      targetPort: http\n  selector: {{app: {name}}}\n",
        random.below(9000)
    );
}

fn write_policy(out: &mut String, random: &mut TextRandom) {
    let name = random.word();
    let _ = write!(
        out,
        "apiVersion: policies.example.com/v1\nkind: ClusterPolicy\nmetadata:\n  name: require-{name}\n  annotations:\n    \
         title: Require {name} labels\n    description: >-\n      Every workload must carry the label {name}, because \
         the\n      network rules of the cluster select by it. This policy checks\n      that it is there.\nspec:\n  \
         background: true\n  rules:\n  - name: check-{name}\n    match:\n      any:\n      - resources:\n          kinds:\n          \
         - Deployment\n          - StatefulSet\n    preconditions:\n      all:\n      - key: \"{{{{ request.operation }}}}\"\n        \
         operator: NotEquals\n        value: DELETE\n    validate:\n      message: \"The label `{name}` is \
         required.\"\n      script: |\n        if object.metadata.labels[\"{name}\"] == nil then\n          return \
         false\n        end\n        return true\n      pattern:\n        metadata:\n          labels:\n            {name}: \
         \"?*\"\n            weight: {}\n",
        random.below(100)
    );
}

/// SplitMix64.
struct TextRandom(u64);

impl TextRandom {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 12] = [
            "web",
            "checkout",
            "payments",
            "inventory",
            "search",
            "frontend",
            "cart",
            "recommendation",
            "mail",
            "metrics",
            "gateway",
            "session-cache",
        ];
        let place = usize::try_from(self.below(WORDS.len() as u64)).unwrap_or(0);
        WORDS.get(place).copied().unwrap_or("web")
    }
}
