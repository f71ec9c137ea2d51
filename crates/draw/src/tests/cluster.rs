//! A made-up cluster of any size, with the shapes and degrees of a real one.

use crate::{Class, LineStyle, Picture, PictureLine, PictureNode};
use std::collections::HashMap;

/// About `size` objects: applications in namespaces, what they use, and what watches them.
pub(crate) fn cluster(size: usize) -> Picture {
    let mut maker = Maker::default();
    maker.node("", "StorageClass", "standard");
    maker.node("", "ClusterRole", "view");
    for node in 0..(size / 60).clamp(1, 6) {
        maker.node("", "Node", &format!("worker-{node}"));
    }
    let per = if size < 60 { size } else { (size / 6).clamp(36, 130) };
    let mut namespace = 0;
    while maker.picture.nodes.len() < size {
        let name = match namespace % 8 {
            0 => "shop".to_owned(),
            1 => "payments".to_owned(),
            2 => "monitoring".to_owned(),
            3 => "identity".to_owned(),
            4 => "search".to_owned(),
            5 => "logistics".to_owned(),
            6 => "kube-system".to_owned(),
            _ => "data-platform".to_owned(),
        };
        let name = if namespace < 8 { name } else { format!("{name}-{}", namespace / 8) };
        let end = (maker.picture.nodes.len() + per).min(size);
        maker.namespace(&name, end);
        namespace += 1;
    }
    maker.picture.title = format!("{size} objects");
    maker.picture
}

#[derive(Default)]
struct Maker {
    picture: Picture,
    ids: HashMap<String, usize>,
    seed: u64,
}

const WORDS: [&str; 20] = [
    "web",
    "cart",
    "checkout",
    "orders",
    "catalog",
    "prices",
    "stock",
    "mailer",
    "gateway",
    "ledger",
    "invoices",
    "refunds",
    "sessions",
    "profiles",
    "images",
    "reports",
    "audit",
    "router",
    "indexer",
    "recommendations",
];

impl Maker {
    fn roll(&mut self, sides: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % sides
    }

    fn node(&mut self, namespace: &str, kind: &str, name: &str) -> usize {
        let id = format!("{kind}/{namespace}/{name}");
        if let Some(&at) = self.ids.get(&id) {
            return at;
        }
        let at = self.picture.nodes.len();
        self.ids.insert(id.clone(), at);
        self.picture.nodes.push(PictureNode {
            id: id.into(),
            label: name.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            ..PictureNode::default()
        });
        at
    }

    fn line(&mut self, from: usize, to: usize, label: &str, via: &str) {
        self.picture.lines.push(PictureLine {
            from,
            to,
            label: label.into(),
            via: via.into(),
            ..PictureLine::default()
        });
    }

    fn namespace(&mut self, name: &str, end: usize) {
        let shared = self.node(name, "ServiceAccount", "default");
        let mut app = 0;
        while self.picture.nodes.len() < end {
            let word = WORDS[(app + name.len() * 3) % WORDS.len()];
            let word =
                if app < WORDS.len() { word.to_owned() } else { format!("{word}-{}", app / WORDS.len()) };
            self.app(name, &word, shared);
            app += 1;
        }
        if name.starts_with("monitoring") {
            let watcher = self.node(name, "ServiceMonitor", "everything");
            let services: Vec<usize> = (0..self.picture.nodes.len())
                .filter(|&at| self.picture.nodes[at].kind == "Service")
                .take(6)
                .collect();
            for service in services {
                self.line(watcher, service, "SELECTS", "spec.selector.matchLabels");
            }
        }
    }

    fn app(&mut self, ns: &str, word: &str, shared: usize) {
        let shape = self.roll(10);
        let account = if self.roll(3) == 0 {
            let account = self.node(ns, "ServiceAccount", word);
            let binding = self.node(ns, "RoleBinding", word);
            let role = if self.roll(2) == 0 {
                self.node("", "ClusterRole", "view")
            } else {
                self.node(ns, "Role", word)
            };
            self.line(binding, account, "BINDS", "subjects[0]");
            self.line(binding, role, "GRANTS", "roleRef");
            account
        } else {
            shared
        };
        let config = self.node(ns, "ConfigMap", &format!("{word}-config"));
        let secret = (self.roll(2) == 0).then(|| self.node(ns, "Secret", &format!("{word}-credentials")));
        if shape == 0 {
            let job = self.node(ns, "CronJob", &format!("{word}-nightly"));
            let run = self.node(ns, "Job", &format!("{word}-nightly-29384720"));
            self.line(job, run, "OWNS", "metadata.ownerReferences[0]");
            let pod = self.node(ns, "Pod", &format!("{word}-nightly-29384720-x7k2p"));
            self.line(run, pod, "OWNS", "metadata.ownerReferences[0]");
            self.uses(pod, config, secret, account);
            return;
        }
        if shape == 1 {
            self.node(ns, "ConfigMap", &format!("{word}-old"));
        }
        let service = self.node(ns, "Service", word);
        if self.roll(2) == 0 {
            let ingress = self.node(ns, "Ingress", word);
            self.line(ingress, service, "ROUTES_TO", "spec.rules[0].http.paths[0].backend.service");
        }
        if shape <= 3 {
            let set = self.node(ns, "StatefulSet", word);
            let class = self.node("", "StorageClass", "standard");
            self.line(set, service, "GOVERNED_BY", "spec.serviceName");
            for replica in 0..1 + self.roll(3) {
                let pod = self.node(ns, "Pod", &format!("{word}-{replica}"));
                let claim = self.node(ns, "PersistentVolumeClaim", &format!("data-{word}-{replica}"));
                self.line(set, pod, "OWNS", "metadata.ownerReferences[0]");
                self.line(service, pod, "EXPOSES", "spec.selector");
                self.line(pod, claim, "MOUNTS", "spec.volumes[0].persistentVolumeClaim");
                self.line(claim, class, "OF_CLASS", "spec.storageClassName");
                self.uses(pod, config, secret, account);
            }
            return;
        }
        let deployment = self.node(ns, "Deployment", word);
        let hash = self.roll(0xfff_ffff);
        let set = self.node(ns, "ReplicaSet", &format!("{word}-{hash:x}"));
        self.line(deployment, set, "OWNS", "metadata.ownerReferences[0]");
        for _ in 0..1 + self.roll(4) {
            let suffix = self.roll(0xf_ffff);
            let pod = self.node(ns, "Pod", &format!("{word}-{hash:x}-{suffix:05x}"));
            self.line(set, pod, "OWNS", "metadata.ownerReferences[0]");
            self.line(set, pod, "MANAGES", "metadata.ownerReferences[0]");
            self.line(service, pod, "EXPOSES", "spec.selector");
            self.uses(pod, config, secret, account);
        }
        if shape == 5 {
            let scaler = self.node(ns, "HorizontalPodAutoscaler", word);
            self.line(scaler, deployment, "SCALES", "spec.scaleTargetRef");
        }
        if shape == 6 {
            let gone = self.node(ns, "Secret", &format!("{word}-tls"));
            self.picture.nodes[gone].class = Class::Absent;
            self.line(deployment, gone, "USES_CONFIG", "spec.template.spec.volumes[2].secret");
            if let Some(line) = self.picture.lines.last_mut() {
                line.style = LineStyle::Dashed;
            }
        }
    }

    fn uses(&mut self, pod: usize, config: usize, secret: Option<usize>, account: usize) {
        self.line(pod, config, "USES_CONFIG", "spec.containers[0].envFrom[0].configMapRef");
        if let Some(secret) = secret {
            self.line(pod, secret, "MOUNTS", "spec.volumes[1].secret");
        }
        self.line(pod, account, "USES_SA", "spec.serviceAccountName");
        let node = format!("worker-{}", self.roll(3));
        let node = self.node("", "Node", &node);
        self.line(pod, node, "RUNS_ON", "spec.nodeName");
    }
}

/// One finding: two pods that should be one, with roles, points and a missing line.
pub(crate) fn finding() -> Picture {
    use crate::{Badge, Tone};
    let mut maker = Maker::default();
    let main = maker.node("shop", "Pod", "frontend-7d9f8b6c5-x2x4z");
    let side = maker.node("shop", "Pod", "log-shipper-0");
    let claim = maker.node("shop", "PersistentVolumeClaim", "frontend-logs");
    let config = maker.node("shop", "ConfigMap", "shipper-config");
    let service = maker.node("shop", "Service", "frontend");
    let policy = maker.node("shop", "NetworkPolicy", "frontend-egress");
    maker.line(main, claim, "MOUNTS", "spec.volumes[0].persistentVolumeClaim");
    maker.line(side, claim, "MOUNTS", "spec.volumes[0].persistentVolumeClaim");
    maker.line(service, main, "EXPOSES", "spec.selector");
    maker.line(side, config, "USES_CONFIG", "spec.containers[0].envFrom[0].configMapRef");
    maker.line(main, side, "SAME_NETWORK", "spec.podSelector");
    maker.line(main, side, "HAS_AFFINITY_TO", "spec.affinity.podAffinity");
    maker.line(policy, side, "SAME_NETWORK", "spec.podSelector");
    let lines = &mut maker.picture.lines;
    lines[1].points = Some(0.6);
    lines[4].points = Some(0.25);
    lines[5].style = LineStyle::Missing;
    lines[6].style = LineStyle::Missing;
    maker.picture.nodes[main].badges = vec![Badge { tone: Tone::Role, text: "main-app".into() }];
    maker.picture.nodes[side].badges = vec![
        Badge { tone: Tone::Role, text: "sidecar".into() },
        Badge { tone: Tone::Warning, text: "warning".into() },
    ];
    maker.picture.nodes[main].class = Class::Focus;
    maker.picture.nodes[policy].class = Class::Absent;
    maker.picture.title = "Sidecar: shop/frontend-7d9f8b6c5-x2x4z".to_owned();
    maker.picture.legend = vec![
        "Pod `frontend-7d9f8b6c5-x2x4z` appears to be separated from its sidecar pod `log-shipper-0`."
            .to_owned(),
        "0.85 of 1 points, confidence 0.85".to_owned(),
    ];
    maker.picture
}
