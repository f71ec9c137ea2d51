use kubewright_value::{Document, Source, Value, yaml};

use super::*;
use crate::{Instance, Manifest, RenderOptions, render_traits};

fn document(text: &str) -> Document {
    yaml::read(&Source::new("t.yaml", text)).documents.remove(0)
}

/// Asks `rule` of a Deployment with two replicas; the answer as `true`, `false (what was read)` or the error.
#[track_caller]
fn check(rule: &str, want: &str) {
    let resource = yaml::parse("{kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}").unwrap();
    let metadata = yaml::parse("{name: web}").unwrap();
    let context = RenderContext::new().with("metadata", metadata);
    let found = match evaluate_assertion(rule, &resource, &context) {
        Ok(held) if held.holds => "true".to_owned(),
        Ok(held) => format!("false ({})", held.read.join("; ")),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(found, want, "{rule}");
}

#[test]
fn assertion_returns_the_values_it_read() {
    check("resource.spec.replicas == 2", "true");
    check("${resource.metadata.name == metadata.name}", "true");
    check("resource.spec.replicas > 2", "false (resource.spec.replicas is 2)");
    check("has(resource.spec.paused) && resource.spec.paused", "false (resource.spec.paused is not there)");
    check("oc_hash('a') == ''", "false ()");
}

#[test]
fn assertion_without_a_boolean_is_an_error() {
    check("resource.spec.replicas", "error: it gives int, expected a boolean");
    check("resource.spec.", "error: expected the name of a field, found the end at 1:15");
    check("resources.size() == 1", "error: unknown name `resources`; did you mean `resource`? at 1:1");
    check("resource.spec.paused", "error: no such key: paused");
}

#[test]
fn parts_are_at_work_when_something_comes_of_them() {
    let of = document(
        "apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: t}
spec:
  preRenderValidations:
    - {rule: '${true}', message: m}
  creates:
    - includeWhen: ${false}
      template: {apiVersion: v1, kind: Service, metadata: {name: a}}
    - template: {apiVersion: v1, kind: Secret, metadata: {name: a}}
  patches:
    - target: {group: apps, version: v1, kind: Deployment}
      operations:
        - {op: add, path: /spec/a, value: 1}
    - target: {group: batch, version: v1, kind: Job}
      operations:
        - {op: add, path: /spec/a, value: 1}
  removes:
    - target: {group: '', version: v1, kind: ConfigMap}
",
    );
    let (of, wrong) = CompiledTrait::compile(&of, &[]);
    assert!(wrong.iter().all(|problem| !problem.is_error()), "{wrong:?}");
    let of = of.unwrap();
    let base = yaml::parse("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}").unwrap();
    let nothing = || Document::made(Value::Null, Source::new("none", ""));
    let instance =
        Instance { of: of.clone(), name: "t".into(), parameters: nothing(), environment_configs: nothing() };
    let options = RenderOptions { strict: false, trace: true };
    let rendering =
        render_traits(vec![Manifest::given(0, base)], &[instance], &RenderContext::new(), &options);
    let parts = of.parts(&rendering.trace);
    let told: Vec<String> =
        parts.iter().map(|part| format!("{} {}", u8::from(part.is_exercised), part.what)).collect();
    assert_eq!(
        told,
        [
            "1 rule: ${true}",
            "0 create 1",
            "1 create 2",
            "1 patch 1: add /spec/a",
            "0 patch 2: add /spec/a",
            "0 remove 1",
        ]
    );
}
