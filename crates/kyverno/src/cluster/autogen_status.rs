//! The rules that are generated for controllers, as the status of a policy shows them.
//!
//! They are shown as Kyverno writes them, by putting the path of the Pod template into texts and patterns. What runs is made
//! from the parsed rule and not from this.

use kubewright_cel_rules::rebase_text;
use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Document, Map, Value};

use crate::autogen::AutogenRule;
use crate::source::PolicySource;

/// Returns `status.autogen`: the rules in `generated`, or nothing in it where there are none.
pub(crate) fn autogen_status(document: &Document, policy: &PolicySource, generated: &[AutogenRule]) -> Value {
    if generated.is_empty() {
        return Map::new().into();
    }
    let rule = |of: &AutogenRule| {
        let written = policy.rules.get(of.rule).and_then(|rule| document.value.follow(&rule.path));
        generated_rule(written.unwrap_or(&Value::Null), of)
    };
    Map::from([("rules", Value::array(generated.iter().map(rule).collect()))]).into()
}

/// Returns `status.rulecount`: how many rules there are of each type, with those that are generated.
pub(crate) fn rule_counts(document: &Document, policy: &PolicySource, generated: &[AutogenRule]) -> Value {
    let places = (0..policy.rules.len()).chain(generated.iter().map(|of| of.rule));
    let written: Vec<&Value> = places
        .filter_map(|place| policy.rules.get(place).and_then(|rule| document.value.follow(&rule.path)))
        .collect();
    let count = |field: &str| {
        let of_type = written.iter().filter(|rule| rule.get(field).is_some_and(|value| !value.is_null()));
        Value::from(i64::try_from(of_type.count()).unwrap_or(i64::MAX))
    };
    Map::from([
        ("validate", count("validate")),
        ("mutate", count("mutate")),
        ("generate", count("generate")),
        ("verifyimages", count("verifyImages")),
    ])
    .into()
}

fn generated_rule(written: &Value, of: &AutogenRule) -> Value {
    let kinds: Vec<Value> = controllers(of).into_iter().map(Value::from).collect();
    let is_cel = written.at(&["validate", "cel"]).is_some();
    let mut rule = Map::new();
    for (key, value) in written.as_object().into_iter().flat_map(Map::iter) {
        let value = match key.as_str() {
            "name" => of.name.clone().into(),
            "match" | "exclude" => with_kinds(value, &Value::array(kinds.clone())),
            "validate" => generated_check(value, of.workload, is_cel),
            _ => rebased(value, of.workload, is_cel),
        };
        rule.insert(key.clone(), value);
    }
    if let Some(matching) = rule.get_mut("match").and_then(Value::as_object_mut)
        && matching.get("resources").is_none()
    {
        matching.insert("resources".into(), Map::new().into());
    }
    if rule.get("skipBackgroundRequests").is_none() {
        rule.insert("skipBackgroundRequests".into(), true.into());
    }
    rule.into()
}

/// The controllers that the rule is for, as it matches them.
fn controllers(of: &AutogenRule) -> Vec<String> {
    let filters = of.matching.any.iter().chain(&of.matching.all).chain(&of.matching.flat);
    let with_kinds = filters.map(|filter| &filter.kinds).find(|kinds| !kinds.is_empty());
    with_kinds.into_iter().flatten().map(|kind| kind.value.to_string()).collect()
}

/// Returns `value`, a `match` or a part of it, with `kinds` in place of Pods.
fn with_kinds(value: &Value, kinds: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entry = |(key, item): (&kubewright_value::Text, &Value)| match key.as_str() {
                "kinds" => (key.clone(), kinds.clone()),
                _ => (key.clone(), with_kinds(item, kinds)),
            };
            map.iter().map(entry).collect::<Map>().into()
        }
        Value::Array(list) => Value::array(list.iter().map(|item| with_kinds(item, kinds)).collect()),
        other => other.clone(),
    }
}

fn generated_check(value: &Value, workload: PodTemplatePath, is_cel: bool) -> Value {
    let mut check = Map::new();
    for (key, item) in value.as_object().into_iter().flat_map(Map::iter) {
        let item = rebased(item, workload, is_cel);
        let item = match key.as_str() {
            "pattern" => below_template(item, workload),
            "anyPattern" => {
                let all = item.as_array().unwrap_or_default().iter().cloned();
                Value::array(all.map(|one| below_template(one, workload)).collect())
            }
            _ => item,
        };
        check.insert(key.clone(), item);
    }
    if check.get("allowExistingViolations").is_none() {
        check.insert("allowExistingViolations".into(), true.into());
    }
    check.into()
}

/// Returns `value`, a pattern for Pods, as one for objects with a Pod template.
fn below_template(value: Value, workload: PodTemplatePath) -> Value {
    let keys = workload.keys().iter().rev();
    keys.fold(value, |value, key| Map::from([(*key, value)]).into())
}

/// Returns `value` with paths into Pods in its texts put below the template.
fn rebased(value: &Value, workload: PodTemplatePath, is_cel: bool) -> Value {
    match value {
        Value::String(text) if is_cel => rebase_text(text, workload).into(),
        Value::String(text) => rebased_variables(text, workload).into(),
        Value::Array(list) => Value::array(list.iter().map(|item| rebased(item, workload, is_cel)).collect()),
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| (key.clone(), rebased(item, workload, is_cel)))
            .collect::<Map>()
            .into(),
        other => other.clone(),
    }
}

fn rebased_variables(text: &str, workload: PodTemplatePath) -> String {
    let below = workload.keys().join(".");
    let mut text = text.to_owned();
    for object in ["request.object.", "request.oldObject."] {
        for part in ["spec", "metadata"] {
            text = text.replace(&format!("{object}{part}"), &format!("{object}{below}.{part}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Document, Value, yaml};

    use super::autogen_status;
    use crate::{autogen, source};

    fn status(kinds: &str) -> Value {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    \
             match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}\n    validate:\n      \
             message: '{{{{ request.object.spec.nodeName }}}}'\n      pattern: {{spec: {{hostPID: false}}}}\n"
        );
        let document = Document::written(yaml::parse(&text).expect("YAML"), "policy.yaml");
        let policy = source::read_policy_document(&document).0.expect("a policy");
        autogen_status(&document, &policy, &autogen::autogen_rules(&policy))
    }

    #[test]
    fn rules_for_controllers_are_shown_with_the_path_of_the_template() {
        let status = status("Pod");
        let rules = status.get("rules").and_then(Value::as_array).expect("rules");
        let names: Vec<&str> = rules.iter().map(|rule| rule.str_at(&["name"])).collect();
        assert_eq!(names, ["autogen-r", "autogen-cronjob-r"]);
        let first = rules.first().expect("a rule");
        let hidden = ["validate", "pattern", "spec", "template", "spec", "hostPID"];
        assert_eq!(first.at(&hidden), Some(&Value::from(false)));
        assert_eq!(
            first.str_at(&["validate", "message"]),
            "{{ request.object.spec.template.spec.nodeName }}"
        );
        let kinds = first.at(&["match", "any"]).and_then(|any| any.item(0)?.at(&["resources", "kinds"]));
        assert_eq!(kinds.and_then(Value::as_array).map(<[Value]>::len), Some(6));
    }

    #[test]
    fn without_such_rules_it_is_empty() {
        assert_eq!(status("Pod, Deployment").to_string(), "{}");
    }
}
