//! Measures a scan of simulated objects with 40 policies: `measure [OBJECTS]...`.
//!
//! Prints for each number of objects what is kept of each, the time of a judgement and of one outcome without reading
//! JSON, a second pass over unchanged objects, and how long finding dependents takes.

#![expect(clippy::expect_used, reason = "a program for developers ends with a message")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use kubewright_engine::{ClosedWorld, World};
use kubewright_report::OutcomeCounts;
use kubewright_scan::{JudgementCause, ObjectKey, ScanRuleOptions, ScanRules, ScanSettings, Scanner};
use kubewright_value::{Source, Value, json, yaml};

/// How many namespaces objects are in.
const NAMESPACES: usize = 500;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10_000, 100_000, 400_000] } else { sizes };
    let documents = yaml::read(&Source::new("rules.yaml", rules())).documents;
    let (rules, diagnostics) = ScanRules::compile(&documents, &[], &ScanRuleOptions::default());
    for wrong in diagnostics.iter().filter(|diagnostic| diagnostic.is_error()) {
        println!("{}: {}", wrong.location, wrong.message);
    }
    let rules = Arc::new(rules);
    let world = ClosedWorld::new((0..NAMESPACES).map(namespace));
    println!(
        "{:>9} {:>10} {:>9} {:>12} {:>11} {:>12} {:>13}",
        "objects", "bytes each", "outcomes", "µs an object", "µs outcome", "second pass", "dependents ms"
    );
    let per_object: Vec<f64> = sizes.iter().map(|size| measure(*size, &rules, &world)).collect();
    if let (Some(first), Some(last)) = (per_object.first(), per_object.last()) {
        println!("time of an object, last size to first: {:.2}", last / first);
    }
}

/// Scans `size` objects, and returns the microseconds for each of them.
fn measure(size: usize, rules: &Arc<ScanRules>, world: &dyn World) -> f64 {
    let mut scanner = Scanner::new(ScanSettings::default());
    scanner.replace_rules(Arc::clone(rules));
    let before = resident_bytes();
    let first = pass(&mut scanner, size, world);
    let kept = resident_bytes().saturating_sub(before);
    let mut counts = OutcomeCounts::default();
    scanner.totals().rules.values().for_each(|more| counts += *more);
    let second = pass(&mut scanner, size, world);
    let begun = processor_time();
    let dependents = scanner.dependents_of(&ObjectKey::of(&namespace(7))).len();
    let searched = processor_time() - begun;
    let micros = |time: Duration, of: usize| time.as_secs_f64() * 1e6 / of as f64;
    println!(
        "{size:>9} {:>10} {:>9} {:>12.2} {:>11.2} {:>12.2} {:>8.1} ({dependents})",
        kept / size,
        counts.all(),
        micros(first, size),
        micros(first, counts.all()),
        micros(second, size),
        searched.as_secs_f64() * 1e3
    );
    micros(first, size)
}

/// How many objects are read before they are observed.
const BATCH: usize = 1_000;

/// Observes all objects, and returns the time on a processor that it took without reading them.
fn pass(scanner: &mut Scanner, size: usize, world: &dyn World) -> Duration {
    let mut taken = Duration::ZERO;
    for first in (0..size).step_by(BATCH) {
        let objects: Vec<Value> = (first..size.min(first + BATCH))
            .map(|number| json::parse(&object(number)).expect("JSON"))
            .collect();
        let begun = processor_time();
        for object in &objects {
            scanner.observe(object, JudgementCause::Object, world, 1_700_000_000);
        }
        taken += processor_time() - begun;
    }
    taken
}

/// Returns for how long this thread has been on a processor.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default())
}

/// Returns the memory of this process.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

fn namespace(number: usize) -> Value {
    let text = format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"team-{number}","labels":{{"team":"t{number}"}}}}}}"#
    );
    json::parse(&text).expect("JSON")
}

/// Returns an object: mostly Pods of ReplicaSets, some Deployments, Services and ConfigMaps.
fn object(number: usize) -> String {
    let namespace = number % NAMESPACES;
    let metadata = format!(
        r#""namespace":"team-{namespace}","uid":"{:08x}-6a6b-4a0e-9f0e-0123456789ab","resourceVersion":"{number}","labels":{{"app":"web-{}","team":"t{namespace}"}}"#,
        number,
        number % 97,
    );
    // One of ten objects violates a rule.
    let tag = if number.is_multiple_of(10) { "latest" } else { "1.27.3" };
    let pod_spec = format!(
        r#"{{"serviceAccountName":"web","containers":[{{"name":"web","image":"registry.example.com/shop/web:{tag}","resources":{{"limits":{{"memory":"256Mi","cpu":"500m"}},"requests":{{"memory":"128Mi","cpu":"100m"}}}},"securityContext":{{"runAsNonRoot":true,"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true}},"livenessProbe":{{"httpGet":{{"path":"/","port":8080}}}},"ports":[{{"containerPort":8080}}],"env":[{{"name":"MODE","value":"production"}}]}}],"volumes":[{{"name":"config","configMap":{{"name":"web"}}}}]}}"#
    );
    match number % 20 {
        0..=1 => format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web-{number}",{metadata}}},"spec":{{"replicas":3,"template":{{"metadata":{{"labels":{{"app":"web","team":"t{namespace}"}}}},"spec":{pod_spec}}}}}}}"#
        ),
        2 => format!(
            r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"web-{number}",{metadata}}},"spec":{{"type":"ClusterIP","ports":[{{"port":80}}]}}}}"#
        ),
        3..=4 => format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"web-{number}",{metadata}}},"data":{{"a":"b"}}}}"#
        ),
        _ => format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{number}-7d4b9c6f8-x2x9z",{metadata},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u","controller":true}}]}},"spec":{pod_spec},"status":{{"phase":"Running","podIP":"10.0.0.1"}}}}"#
        ),
    }
}

/// Returns 40 policies: 20 with patterns, 8 with conditions, 8 in CEL, 4 for every kind here.
fn rules() -> String {
    let mut text = String::new();
    let patterns = [
        "metadata: {labels: {team: '?*'}}",
        "spec: {containers: [{image: '!*:latest'}]}",
        "spec: {containers: [{resources: {limits: {memory: '?*'}}}]}",
        "spec: {containers: [{securityContext: {runAsNonRoot: true}}]}",
        "spec: {=(hostNetwork): 'false'}",
    ];
    for number in 0..20 {
        let pattern = patterns.iter().cycle().nth(number).copied().unwrap_or_default();
        let _ = write!(
            text,
            "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: pattern-{number}}}\nspec:\n  rules:\n  \
             - name: check\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {{message: 'rule {number} is violated', pattern: {{{pattern}}}}}\n"
        );
    }
    for number in 0..8 {
        let _ = write!(
            text,
            "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: deny-{number}}}\nspec:\n  rules:\n  \
             - name: check\n    match: {{any: [{{resources: {{kinds: [Pod, Deployment]}}}}]}}\n    validate:\n      message: 'team {{{{ request.object.metadata.labels.team }}}}'\n      \
             deny: {{conditions: {{any: [{{key: '{{{{ request.object.metadata.labels.team || ''none'' }}}}', operator: Equals, value: t{number}}}]}}}}\n"
        );
    }
    for number in 0..8 {
        let _ = write!(
            text,
            "---\napiVersion: policies.kyverno.io/v1alpha1\nkind: ValidatingPolicy\nmetadata: {{name: cel-{number}}}\nspec:\n  validationActions: [Audit]\n  \
             matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]\n  validations:\n  \
             - expression: object.spec.containers.all(c, !c.image.endsWith(':latest') && c.?securityContext.runAsNonRoot.orValue(false)) && namespaceObject.metadata.name != ''\n    message: cel {number}\n"
        );
    }
    for number in 0..4 {
        let _ = write!(
            text,
            "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: any-{number}}}\nspec:\n  rules:\n  \
             - name: check\n    match: {{any: [{{resources: {{kinds: [Pod, Deployment, Service, ConfigMap]}}}}]}}\n    validate: {{message: 'no app', pattern: {{metadata: {{labels: {{app: '?*'}}}}}}}}\n"
        );
    }
    text
}
