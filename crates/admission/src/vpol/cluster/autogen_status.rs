//! The policies that are generated for controllers, as the status of a policy shows them: as Kyverno writes them, by putting
//! the path of the Pod template into expressions. What runs is made from the parsed policy and not from this.

use kubewright_cel_rules::rebase_text;
use kubewright_k8s::{Operation, PodTemplatePath, kind_of_resource};
use kubewright_value::{Document, Map, Text, Value};

use crate::source::ResourceRule;
use crate::vpol::autogen::ControllerPolicy;

/// Returns `status.autogen`: a `spec` for each sort of controllers, or nothing in it where there are none.
pub(super) fn autogen_status(document: &Document, generated: &[ControllerPolicy]) -> Value {
    let spec = document.value.get("spec").and_then(Value::as_object);
    let mut configs = Map::new();
    for policy in generated {
        let (Some(workload), Some(spec)) = (policy.workload, spec) else { continue };
        let name = policy.name.strip_prefix("autogen-").unwrap_or(policy.name);
        let config = Map::from([
            ("spec", Value::from(generated_spec(spec, workload, policy))),
            ("targets", targets(&policy.constraints.rules)),
        ]);
        configs.insert(name.into(), config.into());
    }
    if configs.is_empty() { Map::new().into() } else { Map::from([("configs", configs.into())]).into() }
}

fn generated_spec(spec: &Map, workload: PodTemplatePath, policy: &ControllerPolicy) -> Map {
    let mut written = Map::new();
    for (key, value) in spec.iter() {
        let value = match key.as_str() {
            "matchConstraints" => {
                let mut constraints = value.as_object().cloned().unwrap_or_default();
                constraints.insert("resourceRules".into(), resource_rules(&policy.constraints.rules));
                constraints.into()
            }
            _ => rebased(value, workload),
        };
        written.insert(key.clone(), value);
    }
    written
}

/// Returns the rules as a list, with the resources of one group in one entry.
fn resource_rules(rules: &[ResourceRule]) -> Value {
    let mut groups: Vec<(&[Text], &ResourceRule, Vec<Value>)> = Vec::new();
    for rule in rules {
        let resources = rule.resources.iter().map(|resource| Value::from(resource.value.clone()));
        match groups.iter_mut().find(|(group, ..)| *group == rule.groups.as_slice()) {
            Some((_, _, all)) => all.extend(resources),
            None => groups.push((&rule.groups, rule, resources.collect())),
        }
    }
    let entry = |(_, rule, resources): (&[Text], &ResourceRule, Vec<Value>)| {
        let texts = |list: &[Text]| Value::array(list.iter().map(|text| text.clone().into()).collect());
        let all = [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
        let operations =
            all.into_iter().filter(|one| rule.operations.contains(*one)).map(|one| Value::from(one.name()));
        Value::from(Map::from([
            ("apiGroups", texts(&rule.groups)),
            ("apiVersions", texts(&rule.versions)),
            ("operations", Value::array(operations.collect())),
            ("resources", Value::array(resources)),
        ]))
    };
    Value::array(groups.into_iter().map(entry).collect())
}

/// Returns the kinds that the policy is for, each with its resource.
fn targets(rules: &[ResourceRule]) -> Value {
    let first = |list: &[Text]| list.first().cloned().unwrap_or_default();
    let mut targets: Vec<(Text, Text, Text, Text)> = Vec::new();
    for rule in rules {
        for resource in &rule.resources {
            let Some(kind) = kind_of_resource(&resource.value) else { continue };
            targets.push((first(&rule.groups), kind.into(), resource.value.clone(), first(&rule.versions)));
        }
    }
    targets.sort();
    let target = |(group, kind, resource, version): (Text, Text, Text, Text)| {
        Value::from(Map::from([
            ("group", group.into()),
            ("kind", kind.into()),
            ("resource", resource.into()),
            ("version", version.into()),
        ]))
    };
    Value::array(targets.into_iter().map(target).collect())
}

fn rebased(value: &Value, workload: PodTemplatePath) -> Value {
    match value {
        Value::String(text) => rebase_text(text, workload).into(),
        Value::Array(list) => Value::array(list.iter().map(|item| rebased(item, workload)).collect()),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (key.clone(), rebased(item, workload))).collect::<Map>().into()
        }
        other => other.clone(),
    }
}
