//! The cases of the corpora that have an admission shape: rules that live in a cluster, and objects.

use std::path::{Path, PathBuf};

use kubewright_value::{Map, Source, Value, json, yaml};

/// Where rules live that name no namespace, and objects too.
const NAMESPACE: &str = "doors";

/// The kinds of rules that a cluster holds and asks a webhook about.
const RULES: [&str; 9] = [
    "ModRule",
    "ClusterPolicy",
    "Policy",
    "ValidatingPolicy",
    "NamespacedValidatingPolicy",
    "MutatingPolicy",
    "NamespacedMutatingPolicy",
    "ImageValidatingPolicy",
    "NamespacedImageValidatingPolicy",
];

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
    /// What registries say about images.
    images: Vec<Value>,
}

impl Case {
    /// Writes the rules into one file, which is returned, and what exists besides into another: the objects.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let file = folder.join("rules.yaml");
        let world = Map::from([
            ("apiVersion", Value::from("kubewright.dev/v1alpha1")),
            ("kind", "World".into()),
            ("images", self.images.clone().into()),
        ]);
        let world = [self.objects.as_slice(), &[world.into()]].concat();
        std::fs::write(folder.join("world.yaml"), documents(&world)).expect("a file");
        std::fs::write(&file, documents(&self.rules)).expect("a file");
        file
    }
}

impl Case {
    /// Returns whether a rule is about images: it speaks in two phases, and the first to refuse is the last to speak.
    pub(crate) fn is_about_images(&self) -> bool {
        let has_images = |rule: &Value| {
            let rules = rule.at(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
            kind(rule).ends_with("ImageValidatingPolicy")
                || rules.iter().any(|one| one.get("verifyImages").is_some())
        };
        self.rules.iter().any(has_images)
    }
}

/// Returns `values` as one text of several documents.
pub(crate) fn documents(values: &[Value]) -> String {
    values.iter().map(|value| format!("---\n{}\n", json::to_string(value))).collect()
}

/// Reads all cases below `corpus`, and those of our own `examples`.
pub(crate) fn read(corpus: &Path, examples: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in files(&corpus.join("modrule"), "json") {
        let suite = stem(&file);
        for case in list(&parse(&file), "cases") {
            cases.extend(of_rules(&format!("modrule/{suite}"), &case));
        }
    }
    for suite in ["probes", "probes-mutate", "probes-mutatingpolicy"] {
        for case in list(&parse(&corpus.join(format!("kyverno/{suite}.json"))), "cases") {
            cases.extend(of_probe(&format!("kyverno/{suite}"), &case));
        }
    }
    let tree = |name: &str| (format!("kyverno/{name}"), corpus.join("kyverno").join(name));
    let example = |name: &str| (format!("examples/{name}"), examples.join(name));
    for (suite, folder) in
        [tree("policies"), tree("cli"), example("admission"), example("kyverno"), example("modrule")]
    {
        for file in test_files(&folder) {
            cases.extend(of_test_file(&suite, &folder, &file));
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
        images: Vec::new(),
    })
}

/// `{name, policy, resources, flags}`; flags that change more than the operation make no admission.
fn of_probe(suite: &str, case: &Value) -> Option<Case> {
    let text = |key: &str| case.str_at(&[key]);
    let flags: Vec<Value> = list(case, "flags");
    let flags: Vec<&str> = flags.iter().filter_map(Value::as_str).collect();
    let operation = match flags.as_slice() {
        [] | ["--audit-warn"] => "CREATE",
        ["-s", setting] => setting.strip_prefix("request.operation=")?,
        _ => return None,
    };
    Some(of_documents(
        suite.to_owned(),
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
    let rules = ["policies", "rules"].map(beside).concat();
    let context = test.get("context").and_then(Value::as_str).map(|name| file.with_file_name(name));
    let context = context.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let contexts = documents_of(&context, "a context");
    let images = contexts.iter().filter_map(|context| context.at(&["spec", "images"])?.as_array());
    let images = images.flatten().cloned().collect();
    let case = of_documents(suite.to_owned(), name, rules, beside("resources"), "CREATE");
    Some(Case { images, ..case })
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
    Case {
        suite,
        name,
        rules,
        objects,
        operation: operation.to_owned(),
        namespace: NAMESPACE.to_owned(),
        images: Vec::new(),
    }
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
const CLUSTER_WIDE: [&str; 27] = [
    "APIService",
    "CSIDriver",
    "CertificateSigningRequest",
    "ClusterPolicy",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterSecretStore",
    "CustomResourceDefinition",
    "ImageValidatingPolicy",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingPolicy",
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
    "ValidatingPolicy",
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

/// The names of files with tests.
const TEST_FILES: [&str; 2] = ["kyverno-test.yaml", "kubewright-test.yaml"];

fn test_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| TEST_FILES.iter().any(|known| name == *known)) {
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
