//! Who may take a namespace out of all rules, on a real control plane.

use kubewright_controlplane::{Balancer, CommandOutput, TestCluster};
use kubewright_serve::ServeSettings;

use crate::replica::{POLICY, Replica, get, settings};

const LABEL: &str = "admission.kubemod.io/ignore=true";

#[test]
fn only_administrators_and_the_exempt_give_a_namespace_the_label() {
    let Some(cluster) = TestCluster::start() else { return };
    let balancer = Balancer::start().expect("a balancer");
    cluster.create_namespace("guarded");
    let settings = ServeSettings {
        guard_exempt: vec!["group:platform".to_owned(), "user:alice".to_owned()],
        ..settings(&balancer, "guarded", "guarded")
    };
    // They may do everything, as far as roles go.
    let everybody = [
        "create",
        "clusterrolebinding",
        "people",
        "--clusterrole=cluster-admin",
        "--user=bob",
        "--user=alice",
        "--group=platform",
    ];
    cluster.kubectl(&everybody, "").expect_success();
    for namespace in ["shop", "depot"] {
        cluster.create_namespace(namespace);
    }
    let _replica = Replica::start(&cluster, &balancer, settings, POLICY);
    cluster.wait_until("the guard is there", || {
        get(&cluster, &["validatingwebhookconfigurations", "guarded"]).is_some()
    });

    let label = |who: &[&str], namespace: &str, label: &str| -> CommandOutput {
        cluster.kubectl(&[&["label", "namespace", namespace, label], who].concat(), "")
    };
    cluster.wait_until("the guard stands", || !label(&["--as=bob"], "shop", LABEL).is_success());
    let refusal = label(&["--as=bob"], "shop", LABEL).failure();
    assert!(refusal.contains("`bob` may not set it"), "{refusal}");
    label(&["--as=bob"], "shop", "colour=blue").expect_success();
    let made = "{apiVersion: v1, kind: Namespace, metadata: {name: hideout, labels: {admission.kubemod.io/ignore: 'true'}}}";
    let refusal = cluster.kubectl(&["create", "--as=bob", "-f", "-"], made).failure();
    assert!(refusal.contains("`bob` may not set it"), "{refusal}");
    // Labels can be written with parts of a namespace too.
    let labelled = r#"{"metadata": {"labels": {"admission.kubemod.io/ignore": "true"}}}"#;
    let by_status = ["patch", "namespace", "shop", "--subresource=status", "--as=bob", "--type=merge", "-p"];
    let refusal = cluster.kubectl(&[&by_status[..], &[labelled]].concat(), "").failure();
    assert!(refusal.contains("`bob` may not set it"), "{refusal}");
    let shop = "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"shop\", \"labels\": \
                {\"admission.kubemod.io/ignore\": \"true\"}}, \"spec\": {\"finalizers\": [\"kubernetes\"]}}";
    let finalize = ["replace", "--raw", "/api/v1/namespaces/shop/finalize", "--as=bob", "-f", "-"];
    let refusal = cluster.kubectl(&finalize, shop).failure();
    assert!(refusal.contains("`bob` may not set it"), "{refusal}");

    label(&["--as=alice"], "shop", LABEL).expect_success();
    label(&["--as=carol", "--as-group=platform"], "depot", LABEL).expect_success();
    label(&["--as=bob"], "shop", "colour-").expect_success();
    label(&["--as=bob"], "shop", "admission.kubemod.io/ignore-").expect_success();
    label(&[], "shop", LABEL).expect_success();
    // As the installation documentation says, for every user.
    label(&["--as=bob"], "kube-system", LABEL).expect_success();

    let agent = |namespace: &str| {
        cluster.kubectl(
            &["create", "-n", namespace, "-f", "-"],
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: bond, labels: {agent: 'yes'}}}",
        )
    };
    agent("shop").expect_success();
    assert!(agent("default").failure().contains("agents are not welcome"));
}
