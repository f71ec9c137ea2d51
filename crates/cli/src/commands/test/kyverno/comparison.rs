//! Compares an object that rules made with the one that a test expects, as Kyverno's CLI does.
//!
//! Labels that say where an object comes from do not count, nor do nulls and empty maps and lists. Lists are compared in
//! their order.

use std::borrow::Cow;

use kubewright_engine::Diagnostic;
use kubewright_k8s::{AdmissionRequest, GroupVersionKind, is_cluster_scoped, object_title};
use kubewright_value::{Map, Value};

use super::super::difference::object_difference_lines;
use super::CaseSetup;

/// The label of objects that Kyverno made, which is added where it is missing.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What begins the labels that say which rule made an object.
const ORIGIN_PREFIX: &str = "generate.kyverno.io/";
/// The namespace of objects that name none.
const DEFAULT_NAMESPACE: &str = "default";
/// How deep objects are compared.
const MAX_COMPARED_DEPTH: usize = 200;

/// The objects that a row expects, in the files that it names.
pub(super) struct ExpectedObjects {
    /// As the row names them.
    files: String,
    objects: Vec<Value>,
}

impl ExpectedObjects {
    /// Reads `files`; nothing where the row names none.
    pub(super) fn read(
        files: &[String],
        setup: &CaseSetup<'_>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        if files.is_empty() {
            return None;
        }
        let books = setup.library.read_files(setup.folder, files, problems);
        let books = books.iter().filter_map(|loan| loan.get());
        let objects = books.flat_map(|book| book.objects(problems)).map(|document| document.value.clone());
        Some(Self { objects: objects.collect(), files: files.join(", ") })
    }

    /// Returns why `actual` is not as expected; nothing where it is.
    pub(super) fn mismatch(&self, actual: &Value) -> Option<String> {
        let identity = ObjectIdentity::of(actual);
        let Some(expected) = self.objects.iter().find(|object| ObjectIdentity::of(object) == identity) else {
            return Some(format!(
                "{} has no {}, so there is nothing to compare",
                self.files,
                identity.title()
            ));
        };
        let (expected, found) = (comparable_object(expected), comparable_object(actual));
        let title = || format!("{} is not as in {}", identity.title(), self.files);
        (expected != found).then(|| object_difference_lines(&title(), &expected, &found))
    }
}

/// What identifies an object among the expected ones.
#[derive(Debug, PartialEq, Eq)]
struct ObjectIdentity<'o> {
    api_version: &'o str,
    kind: &'o str,
    namespace: &'o str,
    name: &'o str,
}

impl<'o> ObjectIdentity<'o> {
    fn of(object: &'o Value) -> Self {
        let metadata = |key: &str| object.str_at(&["metadata", key]);
        let namespace = match metadata("namespace") {
            "" if !is_cluster_scoped(&GroupVersionKind::of(object)) => DEFAULT_NAMESPACE,
            namespace => namespace,
        };
        let (api_version, kind) = (object.str_at(&["apiVersion"]), object.str_at(&["kind"]));
        Self { api_version, kind, namespace, name: metadata("name") }
    }

    fn title(&self) -> String {
        object_title(self.kind, self.namespace, self.name)
    }
}

/// Returns the object as it is compared.
fn comparable_object(object: &Value) -> Value {
    // A test file may leave out the namespace that the API server fills in.
    let mut object = AdmissionRequest::for_stored(object.clone(), DEFAULT_NAMESPACE).object;
    if let Some(metadata) = object.as_object_mut().and_then(|map| map.get_mut("metadata")) {
        let mut labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        let origins: Vec<_> = labels.keys().filter(|key| key.starts_with(ORIGIN_PREFIX)).cloned().collect();
        for key in origins {
            labels.remove(&key);
        }
        if !labels.contains_key(MANAGED_BY) {
            labels.insert(MANAGED_BY.into(), "kyverno".into());
        }
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("labels".into(), labels.into());
        }
    }
    without_empty_parts(&object, MAX_COMPARED_DEPTH).into_owned()
}

/// Returns `value` without nulls, empty maps and empty lists in it.
fn without_empty_parts(value: &Value, deeper: usize) -> Cow<'_, Value> {
    if deeper == 0 {
        return Cow::Borrowed(value);
    }
    let is_filled = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    match value {
        Value::Array(items) => {
            let kept = items.iter().map(|item| without_empty_parts(item, deeper - 1).into_owned());
            Cow::Owned(Value::array(kept.filter(is_filled).collect()))
        }
        Value::Object(map) => {
            let kept = map
                .iter()
                .map(|(key, item)| (key.clone(), without_empty_parts(item, deeper - 1).into_owned()));
            Cow::Owned(Value::object(kept.filter(|(_, item)| is_filled(item)).collect()))
        }
        other => Cow::Borrowed(other),
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::yaml;

    use super::*;

    fn mismatch(expected: &str, actual: &str) -> Option<String> {
        let value = |text: &str| yaml::parse(text).expect("YAML");
        let expected = ExpectedObjects { files: "p.yaml".to_owned(), objects: vec![value(expected)] };
        expected.mismatch(&value(actual))
    }

    #[track_caller]
    fn check(expected: &str, actual: &str, is_equal: bool) {
        let object = |more: &str| format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, {more}}}");
        let found = mismatch(&object(expected), &object(actual));
        assert_eq!(found.is_none(), is_equal, "{expected} {actual}: {found:?}");
    }

    #[test]
    fn empty_parts_and_the_order_of_keys_do_not_count() {
        check("spec: {a: 1, b: []}", "spec: {b: null, c: {}, a: 1.0}", true);
        check("spec: {l: [{}, 1]}", "spec: {l: [1]}", true);
        check("spec: {a: ''}", "spec: {}", false);
        check("spec: {a: false}", "spec: {}", false);
        check("spec: {l: [1, 2]}", "spec: {l: [2, 1]}", false);
    }

    #[test]
    fn labels_of_the_origin_do_not_count() {
        let object = |labels: &str| {
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, labels: {{{labels}}}}}}}")
        };
        let made = object("generate.kyverno.io/rule-name: r, app.kubernetes.io/managed-by: kyverno");
        assert_eq!(mismatch(&object(""), &made), None);
        assert!(mismatch(&object("app: b"), &made).is_some());
    }

    #[test]
    fn a_missing_namespace_is_the_default_one() {
        let pod = |more: &str| format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a{more}}}}}");
        assert_eq!(mismatch(&pod(""), &pod(", namespace: default")), None);
        let absent = mismatch(&pod(", namespace: shop"), &pod(""));
        assert_eq!(absent.as_deref(), Some("p.yaml has no Pod default/a, so there is nothing to compare"));
    }
}
