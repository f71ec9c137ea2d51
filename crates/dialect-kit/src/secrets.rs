//! Which rules may look Secrets up: those whose own text names them.
//!
//! A computed path must not lead to a Secret unless the author names Secrets.

use kubewright_value::Value;

/// The fields in which a rule names its lookups.
const LOOKUP_FIELDS: [&str; 3] = ["urlPath", "expression", "messageExpression"];

/// Returns whether `rule`, as its author wrote it, names the resource `secrets`, a Secret with a key, or Secrets as its
/// parameters.
pub fn names_secrets(rule: &Value) -> bool {
    match rule {
        Value::Array(items) => items.iter().any(names_secrets),
        Value::Object(members) => members.iter().any(|(key, value)| names_secret(key, value)),
        _ => false,
    }
}

fn names_secret(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("paramKind", kind) => kind.get("kind").and_then(Value::as_str) == Some("Secret"),
        ("targets", Value::Array(targets)) => targets.iter().any(is_secret_target),
        ("targetMatchConstraints", constraints) => names_secrets(constraints) || selects_secrets(constraints),
        ("secret", Value::Object(_)) => true,
        ("template", Value::Object(template)) => template.str_at(&["value"]).contains("secrets"),
        ("publicKeys", Value::String(keys)) => keys.contains("k8s://"),
        (field, Value::String(text)) => LOOKUP_FIELDS.contains(&field) && text.contains("secrets"),
        (_, value) => names_secrets(value),
    }
}

/// Returns whether one of the `targets` of a rule is a Secret, or looks one up.
fn is_secret_target(target: &Value) -> bool {
    target.str_at(&["kind"]) == "Secret" || names_secrets(target)
}

/// Returns whether constraints name the resource `secrets`.
fn selects_secrets(constraints: &Value) -> bool {
    let rules = constraints.get("resourceRules").and_then(Value::as_array).unwrap_or_default();
    let resources = |rule: &Value| -> Vec<Value> {
        rule.get("resources").and_then(Value::as_array).unwrap_or_default().to_vec()
    };
    rules.iter().flat_map(resources).any(|resource| resource.as_str() == Some("secrets"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_value::yaml;

    #[track_caller]
    fn check(rule: &str, want: bool) {
        assert_eq!(names_secrets(&yaml::parse(rule).expect("YAML")), want, "{rule}");
    }

    #[test]
    fn a_rule_names_secrets_where_it_says_what_it_looks_up() {
        check("context: [{name: a, apiCall: {urlPath: '/api/v1/namespaces/{{ ns }}/secrets/a'}}]", true);
        check("validate: {cel: {paramKind: {apiVersion: v1, kind: Secret}}}", true);
        check("validations: [{expression: 'resource.Get(\"v1\", \"secrets\", \"a\", \"b\") != null'}]", true);
        check(
            "generate: [{template: {value: '(( resource.Get(\"v1\", \"secrets\", \"a\", \"b\") ))'}}]",
            true,
        );
        check("mutate: {targets: [{apiVersion: v1, kind: Secret, name: '{{ name }}'}]}", true);
        check(
            "spec: {targetMatchConstraints: {resourceRules: [{apiGroups: [''], resources: [secrets]}]}}",
            true,
        );
        check("manifests: {attestors: [{entries: [{keys: {publicKeys: 'k8s://shop/key'}}]}]}", true);
        check("manifests: {attestors: [{entries: [{keys: {secret: {name: a, namespace: b}}}]}]}", true);
    }

    #[test]
    fn a_path_that_is_made_while_the_rule_runs_names_nothing() {
        check(
            "context: [{name: a, apiCall: {urlPath: '/api/v1/namespaces/a/{{ request.object.data.what }}'}}]",
            false,
        );
        check("match: {any: [{resources: {kinds: [Secret]}}]}", false);
        check("mutate: {targets: [{apiVersion: v1, kind: '*', name: a}]}", false);
        check("spec: {matchConstraints: {resourceRules: [{apiGroups: [''], resources: [secrets]}]}}", false);
        check("validate: {message: 'no secrets'}", false);
    }
}
