//! The list of policies, and the page of one.

use kubewright_value::{Map, Text, Value};

use super::{PluginPolicy, PluginPolicyKind};
use kubewright_value::CompactSort as _;

/// Returns the response to `GET /v1/policies`.
#[must_use]
pub fn policy_list(policies: &[PluginPolicy]) -> Value {
    let mut items: Vec<&PluginPolicy> = policies.iter().collect();
    items.compact_sort_by(|one, other| (&one.category, one.key()).cmp(&(&other.category, other.key())));
    Value::array(items.into_iter().map(|policy| list_item(policy).into()).collect())
}

/// Returns the response to `GET /v1/policies/NAME`, where NAME is `name` or `namespace/name`; nothing if there is no
/// such policy.
#[must_use]
pub fn policy_details(policies: &[PluginPolicy], name: &str) -> Option<Value> {
    let policy = find_policy(policies, name)?;
    let mut page = list_item(policy);
    let engine = Map::from([
        ("name", Value::from("kubewright")),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("subjects", text_list(&policy.subjects)),
    ]);
    page.insert("engine".into(), engine.into());
    let code = Map::from([("contentType", Value::from("yaml")), ("content", policy.content.as_str().into())]);
    page.insert("code".into(), code.into());
    let references = policy.references.iter().map(|link| Map::from([("url", Value::from(link.clone()))]));
    page.insert("references".into(), references.collect::<Vec<_>>().into());
    page.insert("details".into(), vec![titled_item("Kind", &policy.kind)].into());
    page.insert("additional".into(), additional_parts(policy));
    Some(page.into())
}

/// Returns the policy called `name` in reports.
pub(super) fn find_policy<'p>(policies: &'p [PluginPolicy], name: &str) -> Option<&'p PluginPolicy> {
    policies.iter().find(|policy| policy.key() == name)
}

fn list_item(policy: &PluginPolicy) -> Map {
    let mut item = Map::from([("category", Value::from(policy.category.clone()))]);
    if !policy.namespace.is_empty() {
        item.insert("namespace".into(), policy.namespace.clone().into());
    }
    item.insert("name".into(), policy.name.clone().into());
    item.insert("title".into(), policy.title.clone().into());
    item.insert("description".into(), policy.description.clone().into());
    if !policy.severity.is_empty() {
        item.insert("severity".into(), policy.severity.clone().into());
    }
    item
}

/// Returns the rules with their messages, and how an object is excepted.
fn additional_parts(policy: &PluginPolicy) -> Value {
    let mut parts = Vec::new();
    if !policy.rules.is_empty() {
        let rules: Vec<Map> = policy.rules.iter().map(|(name, message)| titled_item(name, message)).collect();
        parts.push(Map::from([("title", Value::from("Rules")), ("items", rules.into())]));
    }
    let exception = match policy.policy_kind {
        PluginPolicyKind::RulePolicy => "a PolicyException of kyverno.io/v2",
        PluginPolicyKind::ValidatingPolicy | PluginPolicyKind::NamespacedValidatingPolicy => {
            "a PolicyException of policies.kyverno.io/v1"
        }
        PluginPolicyKind::Pattern => "the annotation kubewright.dev/ignore-patterns of the object",
        PluginPolicyKind::Other => "the policy itself has to leave the object out",
    };
    let items = vec![titled_item("By", exception)];
    parts.push(Map::from([("title", Value::from("Exceptions")), ("items", items.into())]));
    parts.into()
}

fn titled_item(title: &str, value: &str) -> Map {
    Map::from([("title", Value::from(title)), ("value", value.into())])
}

fn text_list(texts: &[Text]) -> Value {
    Value::array(texts.iter().map(|text| text.clone().into()).collect())
}
