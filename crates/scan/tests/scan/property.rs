//! After any sequence of changes the results are those of a fresh scan.

use kubewright_report::cluster_report::ObjectResults;
use kubewright_scan::{ObjectKey, ReportOn, ScanSettings};

use super::cluster::{SimulatedCluster, every_status, key, object, timeless};
use super::rules;

/// Numbers at random, the same in every run with the same start.
struct Dice(u64);

impl Dice {
    /// Returns a number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn choose<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from.get(self.roll(from.len() as u64) as usize).copied().unwrap_or_default()
    }
}

const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// Changes one thing and returns what, for the message of a failure.
fn change(cluster: &mut SimulatedCluster, dice: &mut Dice) -> String {
    let namespace = dice.choose(&NAMESPACES);
    match dice.roll(12) {
        0..=3 => {
            let pod = random_pod(dice, namespace);
            cluster.put(object(&pod));
            pod
        }
        4..=5 => {
            let deployment = random_deployment(dice, namespace);
            cluster.put(object(&deployment));
            deployment
        }
        6 => {
            let name = dice.choose(&["registries", "ceiling", "other"]);
            let data = dice.choose(&["{registry: r1, replicas: '1'}", "{registry: r2, replicas: '9'}"]);
            let labels = dice.choose(&["{}", "{seen: 'yes'}"]);
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}, labels: {labels}}}\n\
                 data: {data}"
            );
            cluster.put(object(&text));
            text
        }
        7 => {
            let labels = dice.choose(&["{}", "{env: prod}", "{team: red}", "{env: prod, team: red}"]);
            let text =
                format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}, labels: {labels}}}");
            cluster.put(object(&text));
            text
        }
        8 => {
            let keys: Vec<ObjectKey> = cluster.objects.keys().cloned().collect();
            let gone = keys.get(dice.roll(keys.len().max(1) as u64) as usize).cloned();
            let gone = gone.unwrap_or_else(|| key("Pod", "a", "none"));
            cluster.delete(&gone);
            format!("deleted {gone}")
        }
        9 => {
            let policy = dice.choose(rules::ALL);
            // Sometimes with another text, sometimes as it was.
            let policy = match dice.roll(2) {
                0 => policy.replace("give the", "set the").replace("at most", "no more than"),
                _ => policy.to_owned(),
            };
            cluster.put_rules(&policy);
            policy
        }
        10 => {
            let name = dice.choose(&[
                "require-app",
                "selected",
                "ceiling",
                "ceiling-everywhere",
                "team",
                "annotate",
                "two-writers",
                "copy",
                "label-targets",
                "settings",
                "existing",
            ]);
            cluster.delete_rules(|key| key.name == name);
            format!("deleted rule {name}")
        }
        _ if dice.roll(2) == 0 => {
            cluster.put_exception(rules::EXCEPTION);
            cluster.put_exception(rules::GENERATE_EXCEPTION);
            "exception".to_owned()
        }
        _ => {
            cluster.delete_exceptions();
            "no exception".to_owned()
        }
    }
}

fn random_pod(dice: &mut Dice, namespace: &str) -> String {
    let (name, labels) = (dice.roll(4), dice.choose(&["{}", "{app: web}", "{app: web, team: red}"]));
    let owner = dice.choose(&[
        "",
        "",
        "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}],",
    ]);
    let image = dice.choose(&["r1/x", "r2/x"]);
    let privileged = dice.choose(&["true", "false"]);
    let spec = dice.choose(&["hostname: h", "serviceAccountName: default", "serviceAccountName: own"]);
    let phase = dice.choose(&["Running", "Pending"]);
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{name}, namespace: {namespace}, {owner} labels: {labels}}}\n\
         spec:\n  {spec}\n  containers: [{{name: c, image: {image}, securityContext: {{privileged: {privileged}}}}}]\n\
         status: {{phase: {phase}}}"
    )
}

fn random_deployment(dice: &mut Dice, namespace: &str) -> String {
    let (name, replicas) = (dice.roll(3), dice.roll(5));
    let labels = dice.choose(&["{}", "{app: web}"]);
    let claim = dice.choose(&["c1", "c2"]);
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{name}, namespace: {namespace}}}\n\
         spec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {labels}}}\n\
         \x20   spec:\n      containers: [{{name: c, image: r1/x, volumeMounts: [{{name: v, mountPath: /v}}]}}]\n\
         \x20     volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}]"
    )
}

#[test]
fn incremental_results_are_those_of_a_fresh_scan() {
    for (start, report_on) in
        [(1, ReportOn::All), (2, ReportOn::Roots), (3, ReportOn::All), (4, ReportOn::Roots)]
    {
        let settings = ScanSettings { report_on, report_results: every_status(), ..ScanSettings::default() };
        let mut cluster = SimulatedCluster::new(settings.clone(), &rules::ALL.join("---\n"), "");
        let mut dice = Dice(start);
        // What a caller has that only takes changes.
        let mut taken = std::collections::BTreeMap::new();
        for step in 0..80 {
            cluster.now += 10;
            let what = change(&mut cluster, &mut dice);
            cluster.scanner.refresh_patterns(cluster.now);
            let fresh = cluster.fresh(settings.clone());
            let want = timeless(&fresh);
            assert_eq!(timeless(&cluster.scanner), want, "start {start}, step {step}: {what}");
            assert_eq!(cluster.scanner.totals(), fresh.totals(), "start {start}, step {step}: {what}");
            for changed in cluster.scanner.take_changed() {
                let key = (changed.source, changed.scope);
                match changed.results {
                    Some(results) => taken.insert(key, results),
                    None => taken.remove(&key),
                };
            }
            let mut known: Vec<ObjectResults> = cluster.scanner.results().collect();
            known.sort_by(|one, other| (one.source, &one.scope).cmp(&(other.source, &other.scope)));
            assert_eq!(
                taken.values().cloned().collect::<Vec<_>>(),
                known,
                "start {start}, step {step}: {what}"
            );
        }
        // Everything once more changes nothing.
        let judged = cluster.counts();
        cluster.list_all();
        cluster.scanner.refresh_patterns(cluster.now);
        assert_eq!(cluster.changes(), Vec::<String>::new());
        assert_eq!(cluster.counts().object - judged.object, not_kept(&cluster), "judged though unchanged");
    }
}

/// Returns how many objects nothing is kept of, so that they are judged whenever they are seen.
fn not_kept(cluster: &SimulatedCluster) -> u64 {
    cluster.objects.keys().filter(|key| !cluster.scanner.contains(key)).count() as u64
}
