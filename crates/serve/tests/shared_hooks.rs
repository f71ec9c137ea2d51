//! How many webhooks of their own rules may have, and how policies of namespaces share theirs.

use kubewright_dialects::DialectOptions;
use kubewright_engine::{KindOrResource, WebhookPlan, WebhookRule};
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
    let conditions = snapshot.webhooks().flat_map(|(_, webhook)| &webhook.match_conditions);
    assert!(conditions.map(|(_, expression)| expression.len()).sum::<usize>() < 200 << 10);
    snapshot.hooks.len()
}

#[test]
fn rules_with_conditions_have_webhooks_of_their_own_as_long_as_there_is_room() {
    assert_eq!(hooks(3, 10), 3);
    assert_eq!(hooks(200, 10), 65);
    assert_eq!(hooks(10, 50_000), 4);
}

/// Returns the webhooks of `policies`, each a namespace, a kind and a timeout: their paths, namespaces, timeouts and rules.
fn webhooks_of(policies: &[(&str, &str, u8)]) -> Vec<String> {
    let policy = |(number, (namespace, kind, timeout)): (usize, &(&str, &str, u8))| {
        let (name, place) = match *namespace {
            "" => ("ClusterPolicy", String::new()),
            namespace => ("Policy", format!(", namespace: {namespace}")),
        };
        format!(
            "apiVersion: kyverno.io/v1\nkind: {name}\nmetadata: {{name: p{number}{place}}}\nspec:\n  failurePolicy: Fail\n  \
             webhookTimeoutSeconds: {timeout}\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    \
             validate: {{message: no, deny: {{}}}}\n"
        )
    };
    let text: Vec<String> = policies.iter().enumerate().map(policy).collect();
    let documents = yaml::read(&Source::new("p.yaml", text.join("---\n"))).documents;
    let snapshot = Snapshot::of(&DialectOptions::default(), &[], &documents, 1);
    let webhook = |(path, plan): (&str, &WebhookPlan)| {
        let mut kinds: Vec<&str> = plan.rules.iter().map(kind_of).collect();
        kinds.dedup();
        let (namespaces, seconds) = (plan.namespaces.join("+"), plan.timeout_seconds);
        format!("{path} {namespaces} {seconds} {}", kinds.join("+"))
    };
    snapshot.webhooks().map(webhook).collect()
}

fn kind_of(rule: &WebhookRule) -> &str {
    match &rule.name {
        KindOrResource::Kind(name) | KindOrResource::Resource(name) => name,
    }
}

#[test]
fn a_policy_of_a_namespace_widens_the_webhook_of_nobody_else() {
    let found = webhooks_of(&[
        ("", "Service", 5),
        ("b", "ConfigMap", 5),
        ("a", "'*'", 30),
        ("c", "ConfigMap", 5),
        ("b", "Secret", 10),
        ("d", "ConfigMap", 5),
    ]);
    let want = [
        "validate/fail  5 Service",
        "validate/fail/namespaced a 30 pods+*",
        "validate/fail/namespaced b 10 ConfigMap+Secret",
        "validate/fail/namespaced c+d 5 ConfigMap",
    ];
    assert_eq!(found, want);
}

#[test]
fn namespaces_have_webhooks_of_their_own_as_long_as_there_is_room() {
    let names: Vec<String> = (100..300).map(|number| format!("n{number}")).collect();
    let kinds: Vec<String> = (0..200).map(|number| format!("Kind{number}")).collect();
    let policies: Vec<(&str, &str, u8)> =
        names.iter().zip(&kinds).map(|(name, kind)| (name.as_str(), kind.as_str(), 5)).collect();
    let found = webhooks_of(&policies);
    assert_eq!(found.len(), 64);
    let last = found.last().expect("one");
    assert!(last.contains("n163+") && last.contains("+n299 "), "{last}");
}
