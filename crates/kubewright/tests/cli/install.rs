//! `install`.

use super::check;

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
fn install_refuses_what_it_cannot_promise() {
    check("install-secrets", "install --can-read secrets");
    check("install-language", "install --dialects kyvernos");
    check("install-name", "install --name Guard");
}
