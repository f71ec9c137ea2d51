//! Policies made by code, for measuring many of them.

use std::fmt::Write as _;

/// Returns policies of all sorts that are enforced at admission, none of which refuses or changes the Pods of this crate.
#[must_use]
pub fn generated_policies(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = match number % 7 {
            5 => writeln!(text, "{}", validating_policy(number)),
            6 => writeln!(text, "{}", mutating_policy(number)),
            _ => writeln!(text, "{}", cluster_policy(number)),
        };
    }
    text
}

fn cluster_policy(number: usize) -> String {
    let message = format!("failureAction: Enforce\n        message: 'number {number} does not allow this'");
    let (kind, rule) = match number % 7 {
        0 => (
            "validate",
            format!(
                "{message}\n        pattern: {{spec: {{containers: [{{name: '!forbidden-{number}', image: '!*:canary-{number}'}}]}}}}"
            ),
        ),
        1 => (
            "validate",
            format!(
                "{message}\n        deny: {{conditions: {{any: [{{key: '{{{{ request.object.metadata.labels.team || `\"none\"` }}}}', operator: Equals, value: team-{number}}}]}}}}"
            ),
        ),
        2 => (
            "validate",
            format!(
                "{message}\n        foreach: [{{list: request.object.spec.containers, deny: {{conditions: {{all: [{{key: '{{{{ element.image }}}}', operator: AnyIn, value: ['*/bad-{number}:*', '*/worse-{number}:*']}}]}}}}}}]"
            ),
        ),
        3 => (
            "mutate",
            format!(
                "patchStrategicMerge: {{metadata: {{(name): 'only-{number}', labels: {{+(team): 'team-{number}'}}}}}}"
            ),
        ),
        _ => (
            "mutate",
            format!(
                "foreach: [{{list: request.object.spec.containers, preconditions: {{all: [{{key: '{{{{ element.image }}}}', operator: Equals, value: 'image-{number}'}}]}}, patchStrategicMerge: {{spec: {{containers: [{{name: '{{{{ element.name }}}}', imagePullPolicy: Always}}]}}}}}}]"
            ),
        ),
    };
    format!(
        "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: policy-{number}}}\nspec:\n  rules:\n    - name: rule-{number}\n      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n      {kind}:\n        {rule}"
    )
}

/// The constraints of policies about Pods.
const PODS: &str = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}";

fn validating_policy(number: usize) -> String {
    format!(
        "---\napiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: policy-{number}}}\nspec:\n  {PODS}\n  validations:\n    - expression: \"object.spec.containers.all(c, !c.image.endsWith('bad-{number}'))\"\n      message: number {number} does not allow this"
    )
}

fn mutating_policy(number: usize) -> String {
    format!(
        "---\napiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {{name: policy-{number}}}\nspec:\n  {PODS}\n  matchConditions:\n    - {{name: named, expression: \"object.metadata.name == 'only-{number}'\"}}\n  mutations:\n    - patchType: ApplyConfiguration\n      applyConfiguration: {{expression: \"Object{{metadata: Object.metadata{{labels: {{'team': 'team-{number}'}}}}}}\"}}"
    )
}
