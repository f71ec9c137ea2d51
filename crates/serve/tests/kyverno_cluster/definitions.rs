//! The definitions of policies, as the API server takes them: what is stored is what was sent, no more and no less.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kubewright_controlplane::TestCluster;
use kubewright_dialects::DialectOptions;
use kubewright_engine::Dialect;
use kubewright_value::{Map, Source, Value, json, yaml};

const KINDS: [&str; 4] = ["clusterpolicies", "policies", "policyexceptions", "globalcontextentries"];

/// The cluster that all tests share, with the definitions established.
pub(crate) fn cluster() -> Option<&'static TestCluster> {
    static READY: OnceLock<()> = OnceLock::new();
    let cluster = TestCluster::shared()?;
    READY.get_or_init(|| {
        let definitions = dialect()
            .cluster_support()
            .expect("it lives in clusters")
            .custom_resource_definitions()
            .join("\n---\n");
        cluster.kubectl(&["apply", "-f", "-"], &definitions).expect_success();
        cluster.await_definitions().expect("established definitions");
        cluster.wait_until("policies can be stored", || {
            KINDS.iter().all(|kind| cluster.kubectl(&["get", kind, "-A"], "").is_success())
        });
    });
    Some(cluster)
}

pub(crate) fn dialect() -> Box<dyn Dialect> {
    let mut dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    dialects.retain(|dialect| dialect.name() == "kyverno");
    dialects.pop().expect("the dialect")
}

#[test]
fn the_definitions_are_structural_and_their_names_accepted() {
    let Some(cluster) = cluster() else { return };
    for kind in KINDS {
        let found =
            cluster.kubectl(&["get", "crd", &format!("{kind}.kyverno.io"), "-o", "json"], "").success();
        let found = json::parse(&found).expect("JSON");
        let conditions = found.at(&["status", "conditions"]).expect("conditions").to_string();
        assert!(!conditions.contains("NonStructuralSchema"), "{conditions}");
    }
    for name in ["cpol", "pol", "polex", "gctxentry"] {
        cluster.kubectl(&["get", name, "-A"], "").expect_success();
    }
    let definitions = dialect()
        .cluster_support()
        .expect("it lives in clusters")
        .custom_resource_definitions()
        .join("\n---\n");
    let again = cluster.kubectl(&["apply", "-f", "-"], &definitions).success();
    assert!(!again.contains("configured"), "{again}");
}

/// Objects in which everything is left out that may be.
const SPARSE: [&str; 4] = [
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: sparse}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: 'true'}]}}}, {name: c, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: c, apiCall: {urlPath: /api/v1/pods}}], validate: {message: m, deny: {}}}, {name: f, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {foreach: [{list: 'a', context: [{name: c, apiCall: {urlPath: /api/v1/pods}}], deny: {}}]}}, {name: m, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {manifests: {attestors: [{entries: [{keys: {publicKeys: \"-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEznTDwK2T+6wYDv9WJpn/XF7FAst1DtSdObWjNMjNlw4SahAd3vcYrVAVWfNWRXFnG5sW2exvO1vaOVvuZg9dtw==\\n-----END PUBLIC KEY-----\"}}]}]}}}, {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, verifyImages: [{imageReferences: ['*'], mutateDigest: false, attestors: [{entries: [{keys: {publicKeys: \"-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEznTDwK2T+6wYDv9WJpn/XF7FAst1DtSdObWjNMjNlw4SahAd3vcYrVAVWfNWRXFnG5sW2exvO1vaOVvuZg9dtw==\\n-----END PUBLIC KEY-----\"}}]}]}]}]}}",
    "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: sparse, namespace: default}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {spec: {a: b}}}}]}}",
    "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: sparse, namespace: default}, spec: {match: {any: [{resources: {kinds: [Pod]}}]}, exceptions: [{policyName: p, ruleNames: [r]}]}}",
    "{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: sparse}, spec: {apiCall: {urlPath: /api/v1/pods}}}",
];

#[test]
fn what_is_stored_is_what_was_applied() {
    let Some(cluster) = cluster() else { return };
    for text in SPARSE {
        cluster.kubectl(&["apply", "-f", "-"], text).expect_success();
        let stored = cluster.kubectl(&["get", "-o", "json", "-f", "-"], text).success();
        // What comes from a pipe is shown as a list.
        let stored = json::parse(&stored).expect("JSON");
        let stored = as_applied(stored.get("items").and_then(|items| items.item(0)).expect("one object"));
        assert_eq!(stored, yaml::parse(text).expect("YAML"));
        cluster.kubectl(&["delete", "-f", "-"], text).expect_success();
    }
}

/// Returns `stored` without what the API server and kubectl put there for themselves.
pub(crate) fn as_applied(stored: &Value) -> Value {
    let mut object = stored.clone();
    let map = object.as_object_mut().expect("an object");
    map.remove("status");
    let metadata = map.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
    for key in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
        metadata.remove(key);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    if metadata.get("annotations").and_then(Value::as_object).is_some_and(|map| map.is_empty()) {
        metadata.remove("annotations");
    }
    object
}

#[test]
fn nothing_of_a_policy_is_lost_on_its_way() {
    let Some(cluster) = cluster() else { return };
    let policies = policies();
    assert!(!policies.is_empty());
    let (mut refused, mut compared) = (Vec::new(), 0);
    for batch in policies.chunks(100) {
        let list = Map::from([
            ("apiVersion", Value::from("v1")),
            ("kind", "List".into()),
            ("items", Value::array(batch.iter().map(|(_, policy)| policy.clone()).collect())),
        ]);
        let list = json::to_string(&list.into());
        let output = cluster
            .kubectl(&["create", "--dry-run=server", "--validate=false", "-o", "json", "-f", "-"], &list);
        refused.extend(output.stderr.lines().map(str::to_owned));
        // One object after the other; only the last line of each is not indented.
        let stored = output.stdout.split_inclusive("\n}\n").filter(|text| !text.trim().is_empty());
        let mut stored = stored.map(|text| json::parse(text).expect("JSON"));
        let mut next = stored.next();
        for (file, sent) in batch {
            let name = |object: &Value| object.at(&["metadata", "name"]).map(Value::to_string);
            let Some(found) = next.take_if(|found| name(found) == name(sent)) else { continue };
            let lost = lost(sent, &found, "");
            assert!(lost.is_none(), "{}: {}", file.display(), lost.unwrap_or_default());
            let added = added(sent, &as_applied(&found), "");
            assert!(added.is_none(), "{}: {}", file.display(), added.unwrap_or_default());
            says_the_same(file, sent, &found);
            next = stored.next();
            compared += 1;
        }
        assert!(next.is_none(), "what came back is not what was sent: {next:?}");
    }
    println!("{compared} of {} policies are stored as they were sent; refused: {refused:#?}", policies.len());
    assert!(compared * 50 >= policies.len() * 49, "{refused:#?}");
}

/// A policy compiles to the same, whether it comes from a file or from the cluster.
fn says_the_same(file: &Path, sent: &Value, stored: &Value) {
    let compiled = |value: &Value| {
        let document = yaml::read(&Source::new("policy.yaml", yaml::write(value))).documents.remove(0);
        let compiled = dialect().compile(&document, &[]);
        let errors = compiled.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let errors: Vec<String> =
            errors.map(|error| format!("{}: {}", error.code.id, error.message)).collect();
        let rules: Vec<String> = compiled.rules.iter().map(|rule| rule.id.to_string()).collect();
        (errors, rules)
    };
    assert_eq!(compiled(sent), compiled(stored), "{}", file.display());
}

/// Returns what of `sent` is not in `stored`.
fn lost(sent: &Value, stored: &Value, place: &str) -> Option<String> {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => sent.iter().find_map(|(key, value)| {
            let place = format!("{place}/{key}");
            match stored.get(key) {
                Some(found) => lost(value, found, &place),
                None => Some(format!("{place} is gone: {value}")),
            }
        }),
        (Value::Array(sent), Value::Array(stored)) if sent.len() == stored.len() => {
            let pairs = sent.iter().zip(stored.iter()).enumerate();
            pairs.into_iter().find_map(|(i, (sent, stored))| lost(sent, stored, &format!("{place}/{i}")))
        }
        (sent, stored) if sent == stored => None,
        (sent, stored) => Some(format!("{place}: {sent} became {stored}")),
    }
}

/// Returns what is in `stored` and was not in `sent`: a tool that compares the two would see drift for ever.
fn added(sent: &Value, stored: &Value, place: &str) -> Option<String> {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => stored.iter().find_map(|(key, value)| {
            let place = format!("{place}/{key}");
            match sent.get(key) {
                Some(found) => added(found, value, &place),
                None => Some(format!("{place} was not there: {value}")),
            }
        }),
        (Value::Array(sent), Value::Array(stored)) => {
            let pairs = sent.iter().zip(stored.iter()).enumerate();
            pairs.into_iter().find_map(|(i, (sent, stored))| added(sent, stored, &format!("{place}/{i}")))
        }
        _ => None,
    }
}

/// Returns the policies of the examples and, where it is there, of the corpus.
pub(crate) fn policies() -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("KUBEWRIGHT_CORPUS")
        .map_or_else(|| root.join("../shared/conformance"), PathBuf::from);
    let mut files = Vec::new();
    find(&root.join("examples"), &mut files);
    find(&corpus.join("kyverno"), &mut files);
    files.sort();
    let mut policies = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for document in yaml::read(&Source::new("policy.yaml", text)).documents {
            if !dialect().claims(&document) || document.value.get("spec").is_none() {
                continue;
            }
            let mut policy = document.value;
            let is_namespaced = policy.get("kind").and_then(Value::as_str) == Some("Policy");
            if let Some(metadata) = policy.as_object_mut().and_then(|map| map.get_mut("metadata"))
                && let Some(metadata) = metadata.as_object_mut()
                && is_namespaced
            {
                metadata.insert("namespace".into(), "default".into());
            }
            policies.push((file.clone(), policy));
        }
    }
    policies
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            files.push(path);
        }
    }
}
