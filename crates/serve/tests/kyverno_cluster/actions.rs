//! What a violation leads to: refusals, records, warnings; by namespace, by what was before, by who asks.

use crate::serving::{allowed, apply, ask, ask_as, cluster, config_map, policy, refused, rule};

/// A check that only lets ConfigMaps through which say `ok: "yes"`.
const CHECK: &str = "validate: {message: wrong, pattern: {data: {ok: 'fine'}}}";

fn good() -> String {
    config_map("good", "ok: fine")
}

fn bad() -> String {
    config_map("bad", "ok: nothing")
}

#[test]
fn a_refusal_is_told_in_the_words_of_the_original() {
    let Some(cluster) = cluster() else { return };
    cluster.create_namespace("enforce");
    let rules =
        [rule("r10", "ConfigMap", "enforce", CHECK), rule("r9", "ConfigMap", "enforce", CHECK)].join(", ");
    apply(cluster, "", &policy("enforce", &format!("validationFailureAction: Enforce, rules: [{rules}]")));
    let told = refused(cluster, "enforce", &bad());
    let want = "denied the request: \n\nresource ConfigMap/enforce/bad was blocked due to the following policies \n\n\
                enforce:\n  r9: 'validation error: wrong. rule r9 failed at path /data/ok/'\n  \
                r10: 'validation error: wrong. rule r10 failed at path /data/ok/'\n";
    assert!(told.contains(want), "{told}");
    assert!(ask(cluster, "enforce", &good()).is_success());
    assert!(ask(cluster, "default", &bad()).is_success());
}

#[test]
fn what_is_only_reported_passes_and_may_be_warned_of() {
    let Some(cluster) = cluster() else { return };
    cluster.create_namespace("audit");
    let quiet = rule("quiet", "ConfigMap", "audit", CHECK);
    let loud = rule("loud", "ConfigMap", "audit", CHECK);
    apply(cluster, "", &policy("audit-quiet", &format!("rules: [{quiet}]")));
    apply(cluster, "", &policy("audit-loud", &format!("emitWarning: true, rules: [{loud}]")));
    let want = "Warning: policy audit-loud.loud: validation error: wrong. rule loud failed at path /data/ok/";
    cluster.wait_until("the warning is there", || ask(cluster, "audit", &bad()).stderr.contains(want));
    let answer = ask(cluster, "audit", &bad());
    assert!(!answer.stderr.contains("audit-quiet"), "{answer}");
    answer.expect_success();
    apply(cluster, "audit", &bad());
    cluster.wait_until("the violation is recorded", || {
        let events = cluster.kubectl(&["get", "events", "-A", "-o", "json"], "").stdout;
        events.contains("audit-quiet") && events.contains("rule quiet failed at path /data/ok/")
    });
}

#[test]
fn another_action_may_hold_in_some_namespaces() {
    let Some(cluster) = cluster() else { return };
    for namespace in ["over-strict", "over-loose", "over-labelled"] {
        cluster.create_namespace(namespace);
    }
    cluster.kubectl(&["label", "namespace", "over-labelled", "strict=true"], "").expect_success();
    let spec = format!(
        "validationFailureAction: Audit, validationFailureActionOverrides: [{{action: Enforce, namespaces: ['*-strict']}}, {{action: Enforce, namespaceSelector: {{matchLabels: {{strict: 'true'}}}}}}], rules: [{}]",
        rule("r", "ConfigMap", "over-*", CHECK)
    );
    apply(cluster, "", &policy("overrides", &spec));
    refused(cluster, "over-strict", &bad());
    refused(cluster, "over-labelled", &bad());
    assert!(ask(cluster, "over-loose", &bad()).is_success());
}

#[test]
fn what_was_bad_before_may_stay_so() {
    let Some(cluster) = cluster() else { return };
    for namespace in ["existing", "existing-not"] {
        cluster.create_namespace(namespace);
        apply(cluster, namespace, &bad());
        let more = if namespace == "existing" { "" } else { "allowExistingViolations: false, " };
        let check = CHECK.replace("{message", &format!("{{{more}message"));
        let rule = rule("r", "ConfigMap", namespace, &check);
        apply(cluster, "", &policy(namespace, &format!("validationFailureAction: Enforce, rules: [{rule}]")));
        refused(cluster, namespace, &config_map("other", "ok: nothing"));
    }
    let label = |namespace: &str| cluster.kubectl(&["label", "configmap", "bad", "a=b", "-n", namespace], "");
    label("existing").expect_success();
    assert!(label("existing-not").failure().contains("was blocked"));
    apply(cluster, "existing", &good());
    let worse = ["patch", "configmap", "good", "-n", "existing", "-p", "{\"data\":{\"ok\":\"nothing\"}}"];
    assert!(cluster.kubectl(&worse, "").failure().contains("was blocked"));
}

#[test]
fn a_rule_may_ask_who_it_is() {
    let Some(cluster) = cluster() else { return };
    cluster.create_namespace("who");
    for account in ["plain", "trusted", "named"] {
        cluster.kubectl(&["create", "serviceaccount", account, "-n", "who"], "").expect_success();
        let user = format!("who:{account}");
        let bind =
            ["create", "rolebinding", account, "--clusterrole=edit", "--serviceaccount", &user, "-n", "who"];
        cluster.kubectl(&bind, "").expect_success();
    }
    cluster
        .kubectl(&["create", "role", "trust", "--verb=get", "--resource=secrets", "-n", "who"], "")
        .expect_success();
    let bind =
        ["create", "rolebinding", "trust", "--role=trust", "--serviceaccount=who:trusted", "-n", "who"];
    cluster.kubectl(&bind, "").expect_success();
    let spec = format!(
        "background: false, validationFailureAction: Enforce, rules: [{}, {}]",
        "{name: by-cluster-role, match: {any: [{resources: {kinds: [ConfigMap], namespaces: [who]}, clusterRoles: [edit]}]}, exclude: {any: [{roles: ['who:trust']}, {subjects: [{kind: ServiceAccount, name: named, namespace: who}]}]}, validate: {message: wrong, pattern: {data: {ok: fine}}}}",
        "{name: by-variable, match: {any: [{resources: {kinds: [Secret], namespaces: [who]}}]}, validate: {message: 'roles {{request.roles || `[]`}} {{request.clusterRoles}}', deny: {conditions: {all: [{key: edit, operator: AnyIn, value: '{{request.clusterRoles}}'}, {key: 'who:trust', operator: AnyNotIn, value: '{{request.roles || `[]`}}'}]}}}}"
    );
    apply(cluster, "", &policy("who", &spec));
    let of = |account: &str| cluster.kubeconfig_of("who", account);
    let (plain, trusted, named) = (of("plain"), of("trusted"), of("named"));
    cluster.wait_until("one of no role is refused", || !ask_as(cluster, &plain, "who", &bad()).is_success());
    let told = ask_as(cluster, &plain, "who", &bad()).failure();
    assert!(told.contains("by-cluster-role: 'validation error: wrong."), "{told}");
    ask_as(cluster, &trusted, "who", &bad()).expect_success();
    ask_as(cluster, &named, "who", &bad()).expect_success();
    // The administrator is bound to another role.
    allowed(cluster, "who", &bad());
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";
    let told = ask_as(cluster, &plain, "who", secret).failure();
    assert!(told.contains("by-variable: roles [] [\"edit\""), "{told}");
    ask_as(cluster, &trusted, "who", secret).expect_success();
    // A role that is taken away is gone at once.
    cluster.kubectl(&["delete", "rolebinding", "trust", "-n", "who"], "").expect_success();
    cluster.wait_until("the role is gone", || !ask_as(cluster, &trusted, "who", &bad()).is_success());
}
