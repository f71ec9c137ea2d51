//! The rights that roles grant, one by one.

use std::collections::BTreeSet;
use std::fmt;

use kubewright_value::{Source, Value, yaml};

/// What an account asked the API server for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiRequest {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// With its subresource: `pods/status`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, group, resource, namespace, name } = self;
        write!(f, "{verb} {resource}.{group} `{name}` in `{namespace}`")
    }
}

/// One verb on one resource, for one account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    /// The only name that it is about; empty for all.
    pub(crate) name: String,
    /// The only namespace that it is about; empty for all.
    pub(crate) namespace: String,
}

impl Right {
    pub(crate) fn allows(&self, request: &ApiRequest) -> bool {
        let is_within = |only: &str, asked: &str| only.is_empty() || only == asked;
        self.verb == request.verb
            && self.group == request.group
            && self.resource == request.resource
            && is_within(&self.namespace, &request.namespace)
            && is_within(&self.name, &request.name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, group, resource, name, namespace } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{verb} {resource}{dot}{group}")?;
        if !name.is_empty() {
            write!(f, "/{name}")?;
        }
        if !namespace.is_empty() {
            write!(f, " in {namespace}")?;
        }
        Ok(())
    }
}

/// Returns the rights that the roles of `manifests` give to `account`, a ServiceAccount's name.
pub(crate) fn granted_rights(manifests: &str, account: &str) -> BTreeSet<Right> {
    let objects: Vec<Value> = yaml::read(&Source::new("manifests", manifests))
        .documents
        .into_iter()
        .map(|document| document.value)
        .collect();
    let is_bound = |binding: &&Value| {
        binding.str_at(&["kind"]).ends_with("RoleBinding")
            && items(binding, "subjects").iter().any(|subject| subject.str_at(&["name"]) == account)
    };
    let mut rights = BTreeSet::new();
    for binding in objects.iter().filter(is_bound) {
        let namespace = binding.str_at(&["metadata", "namespace"]);
        let is_role = |object: &&Value| {
            object.str_at(&["kind"]) == binding.str_at(&["roleRef", "kind"])
                && object.str_at(&["metadata", "name"]) == binding.str_at(&["roleRef", "name"])
        };
        let role = objects.iter().find(is_role).expect("a binding is of a role of the manifests");
        rights.extend(items(role, "rules").iter().flat_map(|rule| rights_of_rule(rule, namespace)));
    }
    rights
}

fn rights_of_rule(rule: &Value, namespace: &str) -> Vec<Right> {
    let mut rights = Vec::new();
    let mut names = texts(rule, "resourceNames");
    if names.is_empty() {
        names.push(String::new());
    }
    for group in texts(rule, "apiGroups") {
        for resource in texts(rule, "resources") {
            for verb in texts(rule, "verbs") {
                rights.extend(names.iter().map(|name| Right {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    namespace: namespace.to_owned(),
                }));
            }
        }
    }
    rights
}

fn items<'v>(object: &'v Value, key: &str) -> &'v [Value] {
    object.get(key).and_then(Value::as_array).unwrap_or_default()
}

fn texts(object: &Value, key: &str) -> Vec<String> {
    items(object, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
