//! How many webhooks of their own rules may have.

use kubewright_dialects::DialectOptions;
use kubewright_serve::Snapshot;
use kubewright_value::{Source, yaml};

/// Returns how many webhooks there are for `count` policies that each have a condition of `length` letters, and whether
/// every rule is behind one.
fn hooks(count: usize, length: usize) -> usize {
    let letters = "a".repeat(length);
    let policy = |number: usize| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p{number}}}\nspec:\n  \
             webhookConfiguration: {{matchConditions: [{{name: a, expression: \"request.name != '{letters}'\"}}]}}\n  \
             rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    \
             validate: {{message: no, deny: {{}}}}\n"
        )
    };
    let text: Vec<String> = (0..count).map(policy).collect();
    let documents = yaml::read(&Source::new("p.yaml", text.join("---\n"))).documents;
    let snapshot = Snapshot::of(&DialectOptions::default(), &[], &documents, 1);
    let rules: usize = snapshot.hooks.iter().map(|hook| hook.engine.rules().len()).sum();
    assert_eq!(rules, count, "every rule is asked");
    let conditions = snapshot.hooks.iter().flat_map(|hook| &hook.webhook.match_conditions);
    assert!(conditions.map(|(_, expression)| expression.len()).sum::<usize>() < 200 << 10);
    snapshot.hooks.len()
}

#[test]
fn rules_with_conditions_have_webhooks_of_their_own_as_long_as_there_is_room() {
    assert_eq!(hooks(3, 10), 3);
    assert_eq!(hooks(200, 10), 65);
    assert_eq!(hooks(10, 50_000), 4);
}
