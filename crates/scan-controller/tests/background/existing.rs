//! Rules that change existing objects.

use crate::objects::{QUIET, SOON};
use crate::stage::Stage;

/// Returns a policy that notes in the ConfigMap `target` which ConfigMap labelled `app: NAME` came last.
fn mutating(name: &str, options: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: note, match: {{any: \
         [{{resources: {{kinds: [ConfigMap], selector: {{matchLabels: {{app: {name}}}}}}}}}]}}, mutate: {{{options}targets: \
         [{{apiVersion: v1, kind: ConfigMap, name: target, namespace: targets}}], patchStrategicMerge: {{data: {{{name}: \
         '{{{{request.object.metadata.name}}}}'}}}}}}}}]}}}}"
    )
}

#[test]
fn existing_objects_are_changed_because_of_others() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("targets", "{}");
    stage.put_config_map("targets", "target", "{}", "{kept: 'yes'}");
    stage.put_config_map("targets", "early", "{app: late}", "{}");
    stage.put_config_map("targets", "existing", "{app: at-once}", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.apply(&mutating("late", ""));
    stage.apply(&mutating("at-once", "mutateExistingOnPolicyUpdate: true, "));
    stage.within("existing triggers count where the rule says so", SOON, || {
        stage.data("targets", "target", "at-once") == "existing"
    });
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("targets", "target", "late"), "", "others do not");
    stage.put_config_map("targets", "trigger", "{app: late}", "{}");
    stage.within("a trigger changes its target", SOON, || {
        stage.data("targets", "target", "late") == "trigger"
    });
    assert_eq!(stage.data("targets", "target", "kept"), "yes", "the rest stays");

    // A rule whose target is its own trigger, and which never finds it as it wants it.
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: itself}, spec: {rules: [{name: count, match: {any: \
         [{resources: {kinds: [ConfigMap], names: [counter]}}]}, mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: \
         counter, namespace: targets}], patchStrategicMerge: {data: {value: '{{ target.data.value }}x'}}}}]}}",
    );
    std::thread::sleep(QUIET);
    stage.put_config_map("targets", "counter", "{}", "{value: x}");
    stage.within("it is changed", SOON, || stage.data("targets", "counter", "value") == "xx");
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("targets", "counter", "value"), "xx", "what a rule wrote does not trigger it");
    let writes = scan.metric("kubewright_background_writes_total{verb=\"update\"}");
    assert_eq!(writes, 3, "one write for each change");
    scan.stop();
}

#[test]
fn policies_in_cel_change_existing_objects_too() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("cel-targets", "{}");
    stage.put_config_map("cel-targets", "target", "{}", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.apply(
        r#"{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: cel-existing}, spec: {evaluation:
         {mutateExisting: {enabled: true}}, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations:
         [CREATE, UPDATE], resources: [namespaces], resourceNames: [cel-targets]}]}, targetMatchConstraints: {resourceRules:
         [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps], resourceNames: [target]}]},
         mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels:
         Object.metadata.labels{noted: 'yes'}}}"}}]}}"#,
    );
    std::thread::sleep(QUIET);
    stage.namespace("cel-targets", "{changed: 'yes'}");
    stage.within("a trigger changes its target", SOON, || {
        let target = stage.config_map("cel-targets", "target").unwrap_or_default();
        target.str_at(&["metadata", "labels", "noted"]) == "yes"
    });
    scan.stop();
}

#[test]
fn targets_may_be_named_by_wildcards_and_be_parts_of_objects() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("parts", "{}");
    stage.put_config_map("parts", "wild-one", "{}", "{}");
    stage.put_config_map("parts", "other", "{}", "{}");
    stage.apply(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: parts}, spec: {replicas: 0, selector: {matchLabels: \
         {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: web}]}}}}",
    );
    stage.apply("{apiVersion: v1, kind: Secret, metadata: {name: password, namespace: parts}}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    let rule = |name: &str, target: &str, patch: &str| {
        format!(
            "{{name: {name}, match: {{any: [{{resources: {{kinds: [ConfigMap], names: [go]}}}}]}}, mutate: {{targets: [{{{target}, \
             namespace: parts}}], patchStrategicMerge: {patch}}}}}"
        )
    };
    let label = "{metadata: {labels: {seen: 'yes'}}}";
    let rules = [
        rule("scale", "apiVersion: apps/v1, kind: Deployment/scale, name: web", "{spec: {replicas: 2}}"),
        rule("any-version", "apiVersion: '*', kind: ConfigM*, name: 'wild-*'", label),
        rule("secret", "apiVersion: v1, kind: Secret, name: password", label),
    ];
    stage.apply(&format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: parts}}, spec: {{rules: [{}]}}}}",
        rules.join(", ")
    ));
    std::thread::sleep(QUIET);
    stage.put_config_map("parts", "go", "{}", "{}");
    let is_seen = |resource: &str, name: &str| {
        let found = stage.get("", "v1", resource, ("parts", name)).unwrap_or_default();
        found.str_at(&["metadata", "labels", "seen"]) == "yes"
    };
    stage.within("the scale of a Deployment is written", SOON, || {
        let web = stage.get("apps", "v1", "deployments", ("parts", "web")).unwrap_or_default();
        web.at(&["spec", "replicas"]).and_then(kubewright_value::Value::as_i64) == Some(2)
    });
    stage.within("what wildcards name is changed", SOON, || is_seen("configmaps", "wild-one"));
    stage.within("a Secret that the rule names is changed", SOON, || is_seen("secrets", "password"));
    assert!(!is_seen("configmaps", "other"), "nothing else is");
    scan.stop();
}

#[test]
fn a_policy_in_cel_without_targets_changes_what_it_matches() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("own", "{}");
    stage.put_config_map("own", "standing", "{}", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.apply(
        r#"{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: own}, spec: {evaluation: {admission: {enabled:
         false}, mutateExisting: {enabled: true}}, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1],
         operations: [CREATE, UPDATE], resources: [configmaps], resourceNames: [standing]}]}, mutations: [{patchType:
         ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels:
         Object.metadata.labels{noted: 'yes'}}}"}}]}}"#,
    );
    let label = || {
        let found = stage.config_map("own", "standing").unwrap_or_default();
        found.str_at(&["metadata", "labels", "noted"]).to_owned()
    };
    stage.within("the object that is there is changed", SOON, || label() == "yes");
    std::thread::sleep(QUIET);
    let writes = scan.metric("kubewright_background_writes_total{verb=\"update\"}");
    assert_eq!(writes, 1, "an object that is as the policy wants it is not written");
    scan.stop();
}
