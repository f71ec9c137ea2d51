//! Policies in CEL that make objects.

use crate::objects::{QUIET, SOON};
use crate::stage::Stage;

/// Returns a GeneratingPolicy that makes a ConfigMap called `downstream` for each ConfigMap labelled `app: NAME`.
fn generating(name: &str, downstream: &str, value: &str, evaluation: &str) -> String {
    format!(
        r#"{{apiVersion: policies.kyverno.io/v1, kind: GeneratingPolicy, metadata: {{name: {name}}}, spec: {{evaluation: {evaluation},
         matchConstraints: {{resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}}]}},
         matchConditions: [{{name: labelled, expression: "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels.app == '{name}'"}}],
         generate: [{{expression: 'generator.Apply(object.metadata.namespace, [{{"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"), "metadata": dyn({{"name": "{downstream}"}}), "data": dyn({{"value": "{value}"}})}}])'}}]}}}}"#
    )
}

#[test]
fn generating_policies_have_the_same_life() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("kinds", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    let synchronized = "{synchronize: {enabled: true}}";
    stage.apply(&generating("cel", "cel", "one", synchronized));
    std::thread::sleep(QUIET);
    stage.put_config_map("kinds", "trigger", "{app: cel}", "{}");
    stage.within("a trigger makes it", SOON, || stage.data("kinds", "cel", "value") == "one");
    stage.kubectl(&["patch", "configmap", "cel", "-n", "kinds", "-p", r#"{"data":{"value":"edited"}}"#]);
    stage.within("an edit is undone", SOON, || stage.data("kinds", "cel", "value") == "one");
    stage.apply(&generating("cel", "renamed", "two", synchronized));
    stage.within("another name is followed, and the old object goes", SOON, || {
        stage.data("kinds", "renamed", "value") == "two" && stage.config_map("kinds", "cel").is_none()
    });
    stage.put_config_map("kinds", "trigger", "{app: other}", "{}");
    stage.within("it goes when conditions are met no more", SOON, || {
        stage.config_map("kinds", "renamed").is_none()
    });
    stage.put_config_map("kinds", "trigger", "{app: cel}", "{}");
    stage.within("and comes back", SOON, || stage.data("kinds", "renamed", "value") == "two");
    scan.stop();

    // A policy without a kind in it that goes unseen.
    stage.delete("generatingpolicies.policies.kyverno.io", "", "cel");
    let scan = stage.scan("two");
    stage.within("what it made is found by its labels and goes", 2 * SOON, || {
        stage.config_map("kinds", "renamed").is_none()
    });
    scan.stop();
}
