//! Pods that are said to run.

use kubewright_controlplane::{ControlPlaneComponent, TestCluster};

#[track_caller]
fn roll_out(cluster: &TestCluster, name: &str, namespace: &str) {
    let create = ["create", "deployment", name, "--image=nginx", "--replicas=2", "-n", namespace];
    cluster.kubectl(&create, "").expect_success();
    let wait = ["rollout", "status", &format!("deployment/{name}"), "--timeout=60s", "-n", namespace];
    cluster.kubectl(&wait, "").expect_success();
}

#[test]
fn deployments_become_available_and_namespaces_can_be_removed() {
    let Some(cluster) = TestCluster::start() else { return };
    let _kubelet = cluster.run_pods();
    cluster.create_namespace("shop");
    roll_out(&cluster, "before", "shop");

    cluster.stop(ControlPlaneComponent::ApiServer);
    cluster.start_again(ControlPlaneComponent::ApiServer).expect("it starts");
    roll_out(&cluster, "after-the-api-server-was-gone", "shop");

    // The namespace controller looks again only after half of the pods' grace period: this takes 16 s.
    cluster.kubectl(&["delete", "namespace", "shop", "--timeout=60s"], "").expect_success();
}
