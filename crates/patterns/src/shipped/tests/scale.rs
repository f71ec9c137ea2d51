//! Every pattern that ships is looked for to the end in large sets, whatever selects whatever, and its work grows as the set.

use std::fmt::Write as _;

use kubewright_graph::{Graph, References};
use kubewright_value::{Source, Value, yaml};

use super::super::super::detect::{DetectionSettings, detect, detection_budget};
use super::super::super::{Pattern, compile_pattern_document};
use super::super::shipped_patterns;

/// How many Pods the large sets have.
const PODS: usize = 2_000;

/// How much more work twice as many objects may be, with what every search takes anyway.
const MAX_GROWTH: u64 = 3;
const STEPS_ANYWAY: u64 = 200_000;

fn pods(text: &mut String, count: usize, spec: &str) {
    for at in 0..count {
        let _ = writeln!(
            text,
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: pod-{at}, namespace: shop, labels: {{app: web, own: pod-{at}}}}}, spec: {{containers: [{{name: c, image: i, ports: [{{containerPort: 80}}]}}]{spec}}}}}"
        );
    }
}

fn services(text: &mut String, name: &str, count: usize, selector: impl Fn(usize) -> String) {
    for at in 0..count {
        let selector = selector(at);
        let _ = writeln!(
            text,
            "---\n{{apiVersion: v1, kind: Service, metadata: {{name: {name}-{at}, namespace: shop}}, spec: {{selector: {{{selector}}}, ports: [{{port: 80}}]}}}}"
        );
    }
}

fn selecting(text: &mut String, head: &str, field: &str, count: usize) {
    for at in 0..count {
        let _ = writeln!(
            text,
            "---\n{{{head}, metadata: {{name: one-{at}, namespace: shop}}, spec: {{minAvailable: 1, {field}: {{matchLabels: {{app: web}}}}}}}}"
        );
    }
}

fn ingresses(text: &mut String, service: &str, count: usize) {
    for at in 0..count {
        let _ = writeln!(
            text,
            "---\n{{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {{name: in-{at}, namespace: shop}}, spec: {{defaultBackend: {{service: {{name: {service}-{at}, port: {{number: 80}}}}}}}}}}"
        );
    }
}

/// Returns sets of objects for `count` Pods, each with its name.
fn sets(count: usize) -> Vec<(&'static str, String)> {
    let all = |_: usize| "app: web".to_owned();
    let own = |at: usize| format!("own: pod-{at}");
    let build = |write: &dyn Fn(&mut String)| {
        let mut text = String::new();
        write(&mut text);
        text
    };
    let few = (count / 10).max(1);
    vec![
        (
            "a tenth as many Services that select all",
            build(&|text| {
                pods(text, count, "");
                services(text, "all", few, all);
            }),
        ),
        (
            "as many Services that select all",
            build(&|text| {
                pods(text, count, "");
                services(text, "all", count, all);
            }),
        ),
        (
            "a Service for each, and some for all",
            build(&|text| {
                pods(text, count, "");
                services(text, "own", count, own);
                services(text, "all", few, all);
            }),
        ),
        (
            "Services that lead outside",
            build(&|text| {
                pods(text, count, "");
                services(text, "all", count / 4, all);
                ingresses(text, "all", few);
            }),
        ),
        (
            "budgets for all",
            build(&|text| {
                pods(text, count, "");
                selecting(text, "apiVersion: policy/v1, kind: PodDisruptionBudget", "selector", count / 4);
            }),
        ),
        (
            "policies for all",
            build(&|text| {
                pods(text, count, "");
                services(text, "all", few, all);
                selecting(
                    text,
                    "apiVersion: networking.k8s.io/v1, kind: NetworkPolicy",
                    "podSelector",
                    count / 4,
                );
            }),
        ),
        (
            "one claim, Secret and path for all",
            build(&|text| {
                let volumes = ", volumes: [{name: a, persistentVolumeClaim: {claimName: data}}, {name: b, secret: {secretName: key}}, {name: c, hostPath: {path: /data}}]";
                pods(text, count, volumes);
                text.push_str("---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}\n");
                text.push_str(
                    "---\n{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}}\n",
                );
            }),
        ),
    ]
}

fn graph(text: &str) -> Graph {
    let documents = yaml::read(&Source::new("objects.yaml", text)).documents;
    let objects: Vec<Value> = documents.into_iter().map(|document| document.value).collect();
    Graph::build(objects, &References::default())
}

fn patterns() -> Vec<Pattern> {
    let read = |source: &str| {
        let reading = yaml::read(&Source::new("pattern.yaml", source));
        reading.documents.first().and_then(|document| compile_pattern_document(document).0)
    };
    shipped_patterns().iter().filter_map(|shipped| read(shipped.source())).collect()
}

/// Returns how many steps it takes to look for each pattern.
fn work(patterns: &[Pattern], graph: &Graph) -> Vec<Result<u64, String>> {
    let steps = |pattern: &Pattern| {
        let mut budget = detection_budget(pattern, graph);
        let found = detect(pattern, graph, &DetectionSettings::default(), &mut budget);
        found.map(|_| budget.steps_used()).map_err(|error| error.to_string())
    };
    patterns.iter().map(steps).collect()
}

#[test]
fn every_pattern_is_looked_for_to_the_end_and_its_work_grows_with_the_set() {
    let patterns = patterns();
    for ((name, half), (_, whole)) in sets(PODS / 2).into_iter().zip(sets(PODS)) {
        let (half, whole) = (work(&patterns, &graph(&half)), work(&patterns, &graph(&whole)));
        for ((pattern, half), whole) in patterns.iter().zip(half).zip(whole) {
            let (half, whole) = match (half, whole) {
                (Ok(half), Ok(whole)) => (half, whole),
                (half, whole) => panic!("{name}: {}: {half:?} {whole:?}", pattern.name),
            };
            let most = half.saturating_mul(MAX_GROWTH).saturating_add(STEPS_ANYWAY);
            assert!(whole <= most, "{name}: {}: {half} steps, then {whole}", pattern.name);
        }
    }
}
