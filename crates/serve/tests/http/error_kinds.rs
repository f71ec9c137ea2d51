//! `kubewright_rule_errors_total` counts errors of rules by their kind.

use kubewright_dialects::DialectOptions;
use kubewright_engine::{AdmissionPhase, OpenWorld, Rule};
use kubewright_serve::Snapshot;
use kubewright_value::{Source, yaml};

use crate::programs::rule;
use crate::server::{Running, review};

/// Three nested loops over 300 words cost more than the API server allows an expression.
const COSTLY: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: costly}
spec:
  validationFailureAction: Enforce
  rules:
  - name: loops
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      cel:
        expressions:
        - expression: >-
            object.data.words.split(' ').all(a, object.data.words.split(' ').all(b,
            object.data.words.split(' ').all(c, a + b + c != '')))
";

fn costly_rules() -> Vec<Rule> {
    let documents = yaml::read(&Source::new("costly.yaml", COSTLY)).documents;
    kubewright_dialects::load_documents(
        &kubewright_dialects::all_dialects(&DialectOptions::default()),
        &documents,
    )
    .rules
}

/// Lets `rules` decide about a ConfigMap, and returns how many errors of each kind were counted.
fn counted(rules: Vec<Rule>) -> [f64; 3] {
    let snapshot = Snapshot::of_rules(AdmissionPhase::Validating, rules, 1);
    let server = Running::start(snapshot, |state| state.world = Box::new(OpenWorld::default()));
    let object = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"shop"}},"data":{{"words":"{}"}}}}"#,
        vec!["word"; 300].join(" ")
    );
    server.post("/validate", review("CREATE", &object));
    ["evaluation", "limit", "lookup"]
        .map(|reason| server.metric(&format!("kubewright_rule_errors_total{{reason=\"{reason}\"}}")))
}

#[test]
fn steps_bytes_depth_and_cel_cost_are_counted_as_limits() {
    let mut rules = costly_rules();
    rules.extend(["spends steps", "spends bytes", "spends depth"].map(|name| rule(name, "ConfigMap")));
    assert_eq!(counted(rules), [0.0, 4.0, 0.0]);
}

#[test]
fn a_lookup_is_counted_only_for_the_rule_that_asked() {
    let rules = ["asks", "errs", "spends depth"].map(|name| rule(name, "ConfigMap"));
    assert_eq!(counted(rules.into()), [1.0, 1.0, 1.0]);
}
