//! Requests that the controller gets from the webhook, because nothing is stored that a watch could tell of.

use kubewright_controlplane::TestCluster;

use crate::serving::{apply, cluster, policy, rule};

const NAMESPACE: &str = "handed-unchanged";

fn secret(name: &str, value: &str) -> String {
    format!("{{apiVersion: v1, kind: Secret, metadata: {{name: {name}}}, stringData: {{a: {value}}}}}")
}

/// Replaces a Secret.
#[track_caller]
fn replace(cluster: &TestCluster, object: &str) {
    cluster.kubectl(&["replace", "-n", NAMESPACE, "-f", "-"], object).expect_success();
}

/// Returns the requests about `name` that wait for the controller.
fn handed(cluster: &TestCluster, name: &str) -> Vec<String> {
    let path = "jsonpath={range .items[*]}{.data.request}{\"\\n\"}{end}";
    let label = "kubewright.dev/handed-request=true";
    let waiting =
        cluster.kubectl(&["get", "configmaps", "-n", "kubewright-system", "-l", label, "-o", path], "");
    let name = format!("\"name\":\"{name}\"");
    waiting.success().lines().filter(|line| line.contains(&name)).map(str::to_owned).collect()
}

#[test]
fn an_update_that_changes_nothing_is_handed_to_rules_that_change_others() {
    let Some(cluster) = cluster() else { return };
    cluster.create_namespace(NAMESPACE);
    let targets = "mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: target, namespace: handed-unchanged}], \
                   patchStrategicMerge: {data: {a: b}}}";
    let rules = rule("r", "Secret", NAMESPACE, targets);
    apply(cluster, "", &policy("handed-unchanged", &format!("background: false, rules: [{rules}]")));
    for name in ["first", "second"] {
        let created = cluster.kubectl(&["create", "-n", NAMESPACE, "-f", "-"], &secret(name, "hidden"));
        created.expect_success();
    }
    cluster.wait_until("an update that changes nothing is handed over", || {
        replace(cluster, &secret("first", "hidden"));
        !handed(cluster, "first").is_empty()
    });
    // A watch tells of the one that changes something.
    replace(cluster, &secret("second", "changed"));
    replace(cluster, &secret("second", "changed"));
    cluster.wait_until("the next one is handed over", || !handed(cluster, "second").is_empty());
    let second = handed(cluster, "second");
    assert_eq!(second.len(), 1, "{second:?}");
    let told = second.concat();
    assert!(told.contains("\"unchanged\":true") && !told.contains("\"data\""), "{told}");
}
