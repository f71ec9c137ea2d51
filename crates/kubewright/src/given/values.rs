//! Values of variables, by rule and object: the file of `--values`.

use kubewright_engine::{Diagnostic, RuleId};
use kubewright_k8s::{AdmissionRequest, GroupVersionKind, Operation};
use kubewright_value::{Document, Map, Text, Value};

use crate::fields::Reader;

/// The fields of values.
pub(crate) const FIELDS: &[&str] =
    &["globalValues", "policies", "namespaceSelector", "namespaces", "subresources"];
const FILE_FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "globalValues",
    "policies",
    "namespaceSelector",
    "namespaces",
    "subresources",
];
const RESOURCE_TYPE_FIELDS: &[&str] = &[
    "name",
    "singularName",
    "namespaced",
    "group",
    "version",
    "kind",
    "verbs",
    "shortNames",
    "categories",
    "storageVersionHash",
];
/// The variable that also selects the operation.
pub(super) const OPERATION: &str = "request.operation";

/// Values of variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    global: Given,
    policies: Vec<PolicyValues>,
    /// Objects.
    namespaces: Vec<Value>,
    subresources: Vec<Subresource>,
    set: Given,
}

type Given = Vec<(Text, Value)>;

#[derive(Debug, Clone)]
struct PolicyValues {
    name: String,
    /// By the name of the object.
    resources: Vec<(String, Given)>,
    /// By the name of the rule, without what automatic rules have before it.
    rules: Vec<(String, Given)>,
}

/// A kind that stands for a part of another one, as `Scale` does for a Deployment.
#[derive(Debug, Clone)]
struct Subresource {
    kind: GroupVersionKind,
    parent: GroupVersionKind,
    part: Text,
}

impl Values {
    /// Reads a `Values` document; the older form without `apiVersion` and `kind` is read too, and so are the values in a
    /// `Test`.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub(crate) fn read(document: &Document) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader::ignoring_case(document);
        if document.value.get("kind").and_then(Value::as_str) == Some("Test") {
            let values = reader.field("values", Self::fields).unwrap_or_default();
            return reader.finish(values);
        }
        reader.check_fields(FILE_FIELDS);
        let values = Self::fields(&mut reader);
        reader.finish(values)
    }

    /// Reads the fields of values where `reader` is.
    pub(crate) fn fields(reader: &mut Reader<'_>) -> Self {
        let mut namespaces: Vec<Value> = reader.each("namespaceSelector", selected_namespace);
        // Behind the others, because they replace those of the same name.
        namespaces.extend(reader.each("namespaces", namespace));
        Self {
            global: reader.entries("globalValues"),
            policies: reader.each("policies", policy),
            namespaces,
            subresources: reader.each("subresources", subresource),
            set: Vec::new(),
        }
    }

    /// Sets variables whatever else is said about them.
    pub(crate) fn set(&mut self, pairs: impl IntoIterator<Item = (Text, Value)>) {
        self.set.extend(pairs);
    }

    /// Returns the namespaces that are described, as objects.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Value> {
        self.namespaces.iter()
    }

    /// Returns the variables of `rule` for `request`; later ones replace earlier ones.
    pub(crate) fn given(&self, rule: &RuleId, request: &AdmissionRequest) -> Given {
        let mut given = self.global.clone();
        let policies = || self.policies.iter().filter(|policy| is_named(&rule.policy, &policy.name));
        for policy in policies() {
            let resources = policy.resources.iter().filter(|(name, _)| *name == request.name);
            given.extend(resources.flat_map(|(_, values)| values.clone()));
        }
        given.extend(self.set.iter().cloned());
        for policy in policies() {
            let rules = policy.rules.iter().filter(|(name, _)| is_rule(&rule.rule, name));
            given.extend(rules.flat_map(|(_, values)| values.clone()));
        }
        given
    }

    /// Returns the operation that is selected for the object called `name`: by `policy`, or by any policy.
    pub(crate) fn operation(&self, policy: Option<&str>, name: &str) -> Option<Operation> {
        let of = |given: &Given| {
            let last = given.iter().rev().find(|(key, _)| key == OPERATION);
            last.and_then(|(_, value)| value.as_str()).and_then(Operation::named)
        };
        let of_policies = || {
            let policies =
                self.policies.iter().filter(|known| policy.is_none_or(|id| is_named(id, &known.name)));
            let resources = policies.flat_map(|policy| &policy.resources);
            resources.filter(|(known, _)| known == name).filter_map(|(_, given)| of(given)).next_back()
        };
        // Nothing in a manifest says what it is to connect to it.
        of(&self.set)
            .or_else(of_policies)
            .or_else(|| of(&self.global))
            .filter(|operation| *operation != Operation::Connect)
    }

    /// Lets a request about a kind that stands for a part of another one be about that other one.
    pub(crate) fn place(&self, request: &mut AdmissionRequest) {
        if let Some(found) = self.subresources.iter().find(|known| known.kind == request.kind) {
            request.kind = found.parent.clone();
            request.subresource = found.part.clone();
        }
    }
}

fn policy(reader: &mut Reader<'_>) -> PolicyValues {
    reader.check_fields(&["name", "resources", "rules"]);
    PolicyValues {
        name: reader.required_text("name", "a policy with values"),
        resources: reader.each("resources", |reader| {
            reader.check_fields(&["name", "values"]);
            (reader.required_text("name", "a resource with values"), reader.entries("values"))
        }),
        rules: reader.each("rules", rule),
    }
}

fn rule(reader: &mut Reader<'_>) -> (String, Given) {
    reader.check_fields(&["name", "values", "foreachValues"]);
    let mut values = reader.entries("values");
    // One value for each element, of which the first is always taken.
    for (name, list) in reader.entries("foreachValues") {
        match list.as_array().map(<[Value]>::first) {
            Some(first) => values.extend(first.map(|first| (name, first.clone()))),
            None => reader.wrong("foreachValues", format!("the values of `{name}` are no list")),
        }
    }
    (reader.required_text("name", "a rule with values"), values)
}

fn selected_namespace(reader: &mut Reader<'_>) -> Value {
    reader.check_fields(&["name", "labels"]);
    let name = reader.required_text("name", "a namespace");
    let labels: Map = reader.entries("labels").into_iter().collect();
    let metadata = Map::from([("name", Value::from(name)), ("labels", labels.into())]);
    Map::from([
        ("apiVersion", Value::from("v1")),
        ("kind", "Namespace".into()),
        ("metadata", metadata.into()),
    ])
    .into()
}

/// Returns a namespace as it is written, with the type that it may leave out.
fn namespace(reader: &mut Reader<'_>) -> Value {
    reader.check_fields(&["apiVersion", "kind", "metadata", "spec", "status"]);
    let mut object = Map::from([("apiVersion", Value::from("v1")), ("kind", "Namespace".into())]);
    for field in ["metadata", "spec", "status"] {
        if let Some(value) = reader.value(field) {
            object.insert(field.into(), value.clone());
        }
    }
    object.into()
}

fn subresource(reader: &mut Reader<'_>) -> Subresource {
    reader.check_fields(&["subresource", "parentResource"]);
    let (kind, name) = reader.field("subresource", resource_type).unwrap_or_default();
    let (parent, _) = reader.field("parentResource", resource_type).unwrap_or_default();
    let part = name.split_once('/').map_or("", |(_, part)| part);
    if part.is_empty() {
        reader.wrong("subresource", "`name` is such as `deployments/scale`".to_owned());
    }
    Subresource { kind, parent, part: part.into() }
}

fn resource_type(reader: &mut Reader<'_>) -> (GroupVersionKind, String) {
    reader.check_fields(RESOURCE_TYPE_FIELDS);
    let mut text = |field: &str| reader.text(field).unwrap_or_default();
    let kind = GroupVersionKind {
        group: text("group").into(),
        version: text("version").into(),
        kind: text("kind").into(),
    };
    (kind, text("name"))
}

/// Returns whether the policy `id`, which may have a namespace before its name, is called `name`.
fn is_named(id: &str, name: &str) -> bool {
    id == name || id.rsplit_once('/').is_some_and(|(_, last)| last == name)
}

/// Returns whether `rule` is called `name` or was made automatically from the one that is.
pub(crate) fn is_rule(rule: &str, name: &str) -> bool {
    rule == name
        || rule.strip_prefix("autogen-").is_some_and(|rest| {
            // Names are cut at 63 characters.
            let is_same = |rest: &str| rest == name || (rule.len() == 63 && name.starts_with(rest));
            is_same(rest) || rest.strip_prefix("cronjob-").is_some_and(is_same)
        })
}

#[cfg(test)]
mod tests;
