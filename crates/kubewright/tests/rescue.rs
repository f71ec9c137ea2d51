//! `doctor` and `rescue` on a real control plane.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kubewright_controlplane::TestCluster;
use kubewright_value::{Value, json};

/// The one cluster. A door that is shut is shut for all, so that one test has it at a time.
fn cluster() -> Option<(&'static TestCluster, MutexGuard<'static, ()>)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    TestCluster::shared().map(|cluster| (cluster, turn))
}

/// The exit code and what was printed.
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// Runs `kubewright ARGUMENTS` with a kubeconfig and no terminal.
fn kubewright(kubeconfig: &Path, arguments: &str) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments.split_whitespace())
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    Said {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The grades of what `doctor` says about `what`.
fn grades(said: &Said, what: &str) -> Vec<String> {
    let document = json::parse(&said.out).expect("JSON");
    let findings = document.get("findings").and_then(Value::as_array).expect("findings");
    let text = |finding: &Value, key: &str| finding.str_at(&[key]).to_owned();
    findings.iter().filter(|one| text(one, "what") == what).map(|one| text(one, "grade")).collect()
}

/// A webhook configuration as the server makes it, whose servers are all gone: every ConfigMap is refused.
fn dead_webhook(name: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
         metadata:\n  name: {name}\n  labels:\n    app.kubernetes.io/name: kubewright\n    \
         app.kubernetes.io/instance: {name}\n    app.kubernetes.io/component: webhooks\n\
         webhooks:\n  - name: validate-fail.kubewright.dev\n    failurePolicy: Fail\n    sideEffects: None\n    \
         admissionReviewVersions: [v1]\n    timeoutSeconds: 1\n    clientConfig: {{url: 'https://127.0.0.1:1/validate/fail'}}\n    \
         rules:\n      - apiGroups: ['*']\n        apiVersions: ['*']\n        resources: [configmaps, clusterroles]\n        \
         operations: ['*']\n"
    )
}

/// The manifests without what needs Pods to run.
fn install(cluster: &TestCluster) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_kubewright")).arg("install").output().expect("the binary starts");
    let manifests = String::from_utf8(output.stdout).expect("text");
    cluster.kubectl(&["apply", "-f", "-"], &manifests).expect_success();
}

#[test]
fn the_door_is_opened_while_everything_is_refused_and_kept_open() {
    let Some((cluster, _turn)) = cluster() else { return };
    let config = cluster.kubeconfig();
    cluster.create_namespace("rescued");
    cluster.kubectl(&["create", "clusterrole", "lost", "--verb=get", "--resource=pods"], "").expect_success();
    cluster.kubectl(&["apply", "-f", "-"], &dead_webhook("lost")).expect_success();
    let create = || {
        let words = ["create", "configmap", "a", "-n", "rescued", "--dry-run=server"];
        cluster.kubectl(&words, "").is_success()
    };
    cluster.wait_until("everything is refused", || !create());

    let unasked = kubewright(&config, "rescue --name lost");
    assert_eq!(unasked.code, 2, "{}", unasked.err);
    assert!(unasked.err.contains("confirm with --yes"), "{}", unasked.err);
    let dry = kubewright(&config, "rescue --name lost --dry-run");
    assert!(
        dry.code == 0 && dry.out.contains("would remove validatingwebhookconfiguration/lost"),
        "{}",
        dry.out
    );
    let elsewhere = kubewright(&config, "rescue --name other --yes");
    assert!(
        elsewhere.code == 0 && elsewhere.out.contains("no webhook configuration of kubewright"),
        "{}",
        elsewhere.out
    );
    assert!(!create(), "nothing was removed so far");

    // The role, which has to be changed, is refused by the very webhook that is removed before.
    let rescued = kubewright(&config, "rescue --name lost --yes --hold");
    assert_eq!(rescued.code, 0, "{}", rescued.err);
    assert!(rescued.out.contains("1 webhook, 1 with failurePolicy Fail"), "{}", rescued.out);
    cluster.wait_until("the door is open", create);
    let annotation = || {
        let path = r"jsonpath={.metadata.annotations.kubewright\.dev/webhooks}";
        cluster.kubectl(&["get", "clusterrole", "lost", "-o", path], "").success()
    };
    assert_eq!(annotation(), "off");

    let tried = kubewright(&config, "rescue --name lost --resume --dry-run");
    assert_eq!((tried.code, annotation().as_str()), (0, "off"), "{}", tried.out);
    assert_eq!(kubewright(&config, "rescue --name lost --resume").code, 0);
    assert_eq!(annotation(), "");
    cluster.kubectl(&["delete", "clusterrole", "lost"], "").expect_success();

    cluster.kubectl(&["apply", "-f", "-"], &dead_webhook("lost")).expect_success();
    let unheld = kubewright(&config, "rescue --name lost --yes --hold");
    assert!(unheld.code == 1 && unheld.err.contains("there is no ClusterRole `lost`"), "{}", unheld.err);
    cluster.wait_until("the door is open without a role", create);
}

#[test]
fn an_installation_is_graded_and_what_may_not_be_seen_is_said() {
    let Some((cluster, _turn)) = cluster() else { return };
    let config = cluster.kubeconfig();
    let none = kubewright(&config, "doctor -o json --namespace nowhere");
    assert_eq!((none.code, grades(&none, "servers")), (1, vec!["bad".to_owned()]), "{}", none.out);

    let _kubelet = cluster.run_pods();
    install(cluster);
    let wait = ["rollout", "status", "deployment/kubewright", "--timeout=60s", "-n", "kubewright-system"];
    cluster.kubectl(&wait, "").expect_success();
    let said = kubewright(&config, "doctor -o json");
    assert_eq!(said.code, 1, "{}", said.out);
    for (what, grade) in
        [("servers", "ok"), ("disruption budget", "ok"), ("spread", "warn"), ("webhooks", "bad")]
    {
        assert_eq!(grades(&said, what), [grade], "{what}: {}", said.out);
    }

    cluster.kubectl(&["create", "serviceaccount", "powerless", "-n", "default"], "").expect_success();
    let powerless = kubewright(&cluster.kubeconfig_of("default", "powerless"), "doctor -o json");
    assert_eq!(powerless.code, 1, "{}{}", powerless.out, powerless.err);
    for what in ["servers", "webhooks", "excluded namespaces"] {
        assert_eq!(grades(&powerless, what), ["unseen"], "{what}: {}", powerless.out);
    }
    let text = kubewright(&config, "doctor --quiet");
    assert!(text.out.contains("bad    webhooks") && text.out.contains("  = "), "{}", text.out);
}

#[test]
fn without_a_cluster_there_is_nothing_to_look_at() {
    let nowhere = kubewright(Path::new("/nowhere/kubeconfig"), "doctor");
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.err.contains("`--kubeconfig`"), "{}", nowhere.err);
}
