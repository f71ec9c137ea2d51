//! Exceptions: only from the namespace that the operator names, until they end, and never for what keeps rules in force.

use kubewright_controlplane::TestCluster;

use crate::serving::{EXEMPT, allowed, apply, ask, cluster, config_map, policy, refused, rule};

fn exception(name: &str, policy: &str, kind: &str, more: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {{name: {name}}}, spec: {{{more}exceptions: [{{policyName: {policy}, ruleNames: ['*']}}], match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}}}}}"
    )
}

fn strict(cluster: &TestCluster, name: &str, kind: &str) {
    cluster.create_namespace(name);
    let rule = rule("r", kind, name, "validate: {message: wrong, deny: {}}");
    apply(cluster, "", &policy(name, &format!("validationFailureAction: Enforce, rules: [{rule}]")));
}

#[test]
fn an_exception_counts_from_the_named_namespace_alone() {
    let Some(cluster) = cluster() else { return };
    strict(cluster, "excepted", "ConfigMap");
    let object = config_map("x", "a: b");
    refused(cluster, "excepted", &object);
    apply(cluster, "excepted", &exception("own", "excepted", "ConfigMap", ""));
    apply(cluster, EXEMPT, &exception("other", "another", "ConfigMap", ""));
    assert!(!ask(cluster, "excepted", &object).is_success());
    apply(cluster, EXEMPT, &exception("ours", "excepted", "ConfigMap", ""));
    allowed(cluster, "excepted", &object);
    apply(cluster, "excepted", &object);
    cluster.wait_until("its use is recorded", || {
        cluster.kubectl(&["get", "events", "-A", "-o", "json"], "").stdout.contains("exempt/ours")
    });
    cluster.kubectl(&["delete", "polex", "ours", "-n", EXEMPT], "").expect_success();
    refused(cluster, "excepted", &config_map("y", "a: b"));
}

#[test]
fn an_exception_that_has_ended_counts_no_more() {
    let Some(cluster) = cluster() else { return };
    strict(cluster, "ended", "ConfigMap");
    let object = config_map("x", "a: b");
    refused(cluster, "ended", &object);
    apply(cluster, EXEMPT, &exception("ended", "ended", "ConfigMap", "expiresAt: '2020-01-01T00:00:00Z', "));
    apply(cluster, EXEMPT, &exception("later", "later", "ConfigMap", ""));
    strict(cluster, "later", "ConfigMap");
    allowed(cluster, "later", &object);
    assert!(!ask(cluster, "ended", &object).is_success());
}

#[test]
fn there_are_no_exceptions_for_what_keeps_rules_in_force() {
    let Some(cluster) = cluster() else { return };
    strict(cluster, "guarded", "Role");
    let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}}";
    refused(cluster, "guarded", role);
    apply(cluster, EXEMPT, &exception("guarded", "guarded", "Role", ""));
    apply(cluster, EXEMPT, &exception("seen", "seen", "ConfigMap", ""));
    strict(cluster, "seen", "ConfigMap");
    allowed(cluster, "seen", &config_map("x", "a: b"));
    assert!(!ask(cluster, "guarded", role).is_success());
}
