//! `install`.

use super::{check, kubewright};

#[test]
fn install_prints_the_manifests() {
    check("install", "install --no-crds --dialects modrule --image registry.example.com/kubewright:1.2.3");
}

#[test]
fn install_with_everything_that_can_be_chosen() {
    check(
        "install-chosen",
        "install --no-crds --dialects kyverno --namespace policies --name guard --replicas 2 --exceptions-from platform,security \
         --targets +widgets.example.com,-pods --can-read services,deployments.apps --allow-host api.example.com --cert-manager",
    );
}

#[test]
fn install_makes_the_namespace_of_cluster_rules_with_the_definitions() {
    let printed = |arguments: &str| String::from_utf8_lossy(&kubewright(arguments, "").stdout).into_owned();
    let made = "kind: Namespace\nmetadata:\n  name: kubemod-system\n";
    for arguments in ["install", "install --crds", "install --dialects modrule --namespace policies"] {
        assert_eq!(printed(arguments).matches(made).count(), 1, "{arguments}");
    }
    for arguments in ["install --no-crds", "install --dialects kyverno"] {
        assert!(!printed(arguments).contains(made), "{arguments}");
    }
    // The server's own namespace is printed once.
    assert_eq!(printed("install --namespace kubemod-system").matches(made).count(), 1);
    // Deleting the manifests must not delete system namespaces.
    assert!(!printed("install").contains("name: kube-system"));
}

#[test]
fn install_refuses_what_it_cannot_promise() {
    check("install-secrets", "install --can-read secrets");
    check("install-language", "install --dialects kyvernos");
    check("install-name", "install --name Guard");
}
