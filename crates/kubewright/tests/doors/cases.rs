//! The cases of the corpora that have an admission shape: rules that live in a cluster, and objects.

use std::path::{Path, PathBuf};

use kubewright_value::{Map, Source, Value, json, yaml};

/// Where rules live that name no namespace, and objects too.
const NAMESPACE: &str = "doors";

/// The kinds of rules that a cluster holds.
const RULES: [&str; 3] = ["ModRule", "ClusterPolicy", "Policy"];

/// Rules, and objects that they are asked about.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The file it comes from, or the folder.
    pub(crate) suite: String,
    /// Its name in there.
    pub(crate) name: String,
    /// The rules.
    pub(crate) rules: Vec<Value>,
    /// The objects.
    pub(crate) objects: Vec<Value>,
    /// What happens to them.
    pub(crate) operation: String,
    /// The namespace of the request, for objects that name none.
    pub(crate) namespace: String,
}

impl Case {
    /// Writes the rules into one file, which is returned, and what exists besides into another: the objects.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let file = folder.join("rules.yaml");
        std::fs::write(folder.join("world.yaml"), documents(&self.objects)).expect("a file");
        std::fs::write(&file, documents(&self.rules)).expect("a file");
        file
    }
}

/// Returns `values` as one text of several documents.
pub(crate) fn documents(values: &[Value]) -> String {
    values.iter().map(|value| format!("---\n{}\n", json::to_string(value))).collect()
}

/// Reads all cases below `corpus`.
pub(crate) fn read(corpus: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in files(&corpus.join("modrule"), "json") {
        let suite = stem(&file);
        for case in list(&parse(&file), "cases") {
            cases.extend(of_rules(&format!("modrule/{suite}"), &case));
        }
    }
    for case in list(&parse(&corpus.join("kyverno/probes.json")), "cases") {
        cases.extend(of_probe(&case));
    }
    for tree in ["policies", "cli"] {
        let folder = corpus.join("kyverno").join(tree);
        for file in test_files(&folder) {
            cases.extend(of_test_file(&format!("kyverno/{tree}"), &folder, &file));
        }
    }
    cases.retain(|case| !case.rules.is_empty() && !case.objects.is_empty());
    cases
}

/// `{name, rules, input, namespace, operation, ruleNamespaceDefault}`.
fn of_rules(suite: &str, case: &Value) -> Option<Case> {
    let text = |key: &str| case.str_at(&[key]);
    let namespace = some_or(text("namespace"), NAMESPACE);
    let home = some_or(text("ruleNamespaceDefault"), &namespace);
    let rules = list(case, "rules");
    let rules = rules.iter().filter_map(Value::as_str).flat_map(|text| documents_of(text, "a rule"));
    let object = case.get("input")?;
    object.get("kind").and_then(Value::as_str)?;
    Some(Case {
        suite: suite.to_owned(),
        name: text("name").to_owned(),
        rules: rules.filter(is_rule).map(|rule| placed(rule, &home)).collect(),
        objects: vec![placed(with_version(object.clone()), &namespace)],
        operation: some_or(text("operation"), "CREATE"),
        namespace,
    })
}

/// `{name, policy, resources, flags}`; flags that change more than the operation make no admission.
fn of_probe(case: &Value) -> Option<Case> {
    let text = |key: &str| case.str_at(&[key]);
    let flags: Vec<Value> = list(case, "flags");
    let flags: Vec<&str> = flags.iter().filter_map(Value::as_str).collect();
    let operation = match flags.as_slice() {
        [] | ["--audit-warn"] => "CREATE",
        ["-s", setting] => setting.strip_prefix("request.operation=")?,
        _ => return None,
    };
    Some(of_documents(
        "kyverno/probes".to_owned(),
        text("name").to_owned(),
        documents_of(text("policy"), "a policy"),
        documents_of(text("resources"), "resources"),
        operation,
    ))
}

/// A test of the command line: what it says of variables and users has no place in a request, and is left out.
fn of_test_file(suite: &str, folder: &Path, file: &Path) -> Option<Case> {
    let test = documents_of(&std::fs::read_to_string(file).ok()?, "a test").into_iter().next()?;
    let beside = |key: &str| -> Vec<Value> {
        let names = list(&test, key);
        let names = names.iter().filter_map(Value::as_str);
        let paths = names.map(|name| file.parent().unwrap_or(folder).join(name));
        let texts = paths.filter_map(|path| std::fs::read_to_string(path).ok());
        texts.flat_map(|text| documents_of(&text, "a file")).collect()
    };
    let name = file.parent()?.strip_prefix(folder).ok()?.display().to_string();
    Some(of_documents(suite.to_owned(), name, beside("policies"), beside("resources"), "CREATE"))
}

fn of_documents(
    suite: String,
    name: String,
    rules: Vec<Value>,
    objects: Vec<Value>,
    operation: &str,
) -> Case {
    let rules = rules.into_iter().filter(is_rule).map(|rule| placed(rule, NAMESPACE)).collect();
    let objects = objects.into_iter().flat_map(items).filter(|object| !kind(object).is_empty());
    let objects = objects.map(|object| placed(object, NAMESPACE)).collect();
    Case { suite, name, rules, objects, operation: operation.to_owned(), namespace: NAMESPACE.to_owned() }
}

/// The items of a list, or the object itself.
fn items(object: Value) -> Vec<Value> {
    if kind(&object).ends_with("List") && object.get("items").is_some() {
        return list(&object, "items");
    }
    vec![object]
}

fn is_rule(document: &Value) -> bool {
    RULES.contains(&kind(document))
}

pub(crate) fn kind(object: &Value) -> &str {
    object.str_at(&["kind"])
}

/// Kinds that are in no namespace.
const CLUSTER_WIDE: [&str; 24] = [
    "APIService",
    "CSIDriver",
    "CertificateSigningRequest",
    "ClusterPolicy",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterSecretStore",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PodSecurityPolicy",
    "PriorityClass",
    "ProviderConfig",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
    "VolumeSnapshotClass",
];

pub(crate) fn is_cluster_wide(kind: &str) -> bool {
    CLUSTER_WIDE.contains(&kind)
}

/// Lets an object name its namespace, so that it need not be guessed.
fn placed(mut object: Value, namespace: &str) -> Value {
    if is_cluster_wide(kind(&object)) {
        return object;
    }
    if let Some(object) = object.as_object_mut() {
        let metadata = object.get_or_insert(&"metadata".into());
        if let Some(metadata) = metadata {
            if metadata.is_null() {
                *metadata = Value::object(Map::new());
            }
            if let Some(metadata) = metadata.as_object_mut()
                && metadata.get("namespace").is_none_or(Value::is_null)
            {
                metadata.insert("namespace".into(), namespace.into());
            }
        }
    }
    object
}

/// The smallest cases say only that something is a Pod.
fn with_version(mut object: Value) -> Value {
    if object.get("apiVersion").is_none()
        && let Some(map) = object.as_object_mut()
    {
        map.insert("apiVersion".into(), "v1".into());
    }
    object
}

fn documents_of(text: &str, name: &str) -> Vec<Value> {
    let reading = yaml::read(&Source::new(name, text));
    reading.documents.into_iter().map(|document| document.value).collect()
}

fn parse(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    json::parse(&text).unwrap_or_default()
}

fn list(value: &Value, key: &str) -> Vec<Value> {
    value.get(key).and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
}

fn some_or(text: &str, other: &str) -> String {
    if text.is_empty() { other.to_owned() } else { text.to_owned() }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

fn test_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "kyverno-test.yaml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
