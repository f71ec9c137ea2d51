//! ModRules made by code, for measuring decisions.

use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::Rule;
use kubewright_value::{Source, yaml};

/// Returns `matching` rules that patch the Deployments of this crate, and `others` that are
/// about other kinds, other namespaces or other operations in turn.
///
/// # Panics
/// When one of them is not a rule, which would be a mistake in this file.
#[must_use]
pub fn bench_rules(matching: usize, others: usize) -> Vec<Rule> {
    let documents = yaml::read(&Source::new("rules", bench_rules_text(matching, others))).documents;
    let loaded = load_documents(&all_dialects(&DialectOptions::default()), &documents);
    let errors: Vec<_> =
        loaded.diagnostics.iter().map(ToString::to_string).filter(|text| text.starts_with("error")).collect();
    assert!(errors.is_empty() && loaded.rules.len() == matching + others, "{errors:#?}");
    loaded.rules
}

/// Returns the text of [`bench_rules`].
#[must_use]
pub fn bench_rules_text(matching: usize, others: usize) -> String {
    (0..matching).map(matching_rule).chain((0..others).map(other_rule)).collect()
}

/// Returns the text of `matching` rules that patch, and `others` that look at the same Deployments and do not match.
#[must_use]
pub fn unmet_text(matching: usize, others: usize) -> String {
    (0..matching).map(matching_rule).chain((0..others).map(unmet_rule)).collect()
}

/// Returns the text of `matching` rules that each set one label, and `others` as in [`bench_rules_text`].
#[must_use]
pub fn label_rules_text(matching: usize, others: usize) -> String {
    (0..matching).map(plain_rule).chain((0..others).map(other_rule)).collect()
}

/// Matches by kind and label and sets a label.
fn plain_rule(i: usize) -> String {
    format!(
        r#"
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {{name: plain-{i}, namespace: shop}}
spec:
  type: Patch
  match:
    - {{select: $.kind, matchValue: Deployment}}
    - {{select: $.metadata.labels.tier, matchValue: frontend}}
  patch:
    - {{op: add, path: /metadata/labels/rule-{i}, value: applied}}
"#
    )
}

/// Matches by kind and by a regular expression on images; sets an annotation from a template and a port through a select.
fn matching_rule(i: usize) -> String {
    format!(
        r#"
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {{name: matching-{i}, namespace: shop}}
spec:
  type: Patch
  match:
    - {{select: $.kind, matchValue: Deployment}}
    - {{select: '$.spec.template.spec.containers[*].image', matchRegex: '^(registry\.example\.com/)?[a-z/]+web:1\.\d+'}}
  patch:
    - op: add
      path: /metadata/annotations/example.com~1rule-{i}
      value: '{{{{ .Target.metadata.name }}}}-{{{{ .Namespace | upper }}}}'
    - op: replace
      select: '$.spec.template.spec.containers[? @.name =~ "web"].ports[? @.containerPort >= 80]'
      path: /spec/template/spec/containers/#0/ports/#1/containerPort
      value: '{}'
"#,
        9000 + i
    )
}

/// Cannot match, for one of three reasons.
fn other_rule(i: usize) -> String {
    let (kind, namespace, operation) = match i % 3 {
        0 => (
            ["Service", "Ingress", "ConfigMap", "StatefulSet"].get(i / 3 % 4).copied().unwrap_or("Job"),
            "shop".to_owned(),
            "CREATE",
        ),
        1 => ("Deployment", format!("team-{i}"), "CREATE"),
        _ => ("Deployment", "shop".to_owned(), "DELETE"),
    };
    format!(
        r#"
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {{name: other-{i}, namespace: {namespace}}}
spec:
  type: Patch
  admissionOperations: [{operation}]
  match:
    - {{select: $.kind, matchValue: {kind}}}
    - {{select: '$.spec.template.spec.containers[*].image', matchRegex: 'other-{i}'}}
  patch:
    - {{op: add, path: /metadata/labels/x, value: hello}}
"#
    )
}

/// Is about every Deployment in the namespace, and finds no image.
fn unmet_rule(i: usize) -> String {
    format!(
        r#"
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {{name: unmet-{i}, namespace: shop}}
spec:
  type: Patch
  match:
    - {{select: $.kind, matchValue: Deployment}}
    - {{select: '$.spec.template.spec.containers[*].image', matchRegex: 'other-{i}'}}
  patch:
    - {{op: add, path: /metadata/labels/x, value: hello}}
"#
    )
}
