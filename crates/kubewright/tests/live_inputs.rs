//! `-r cluster:` and `--world cluster:` on a real control plane.

#![cfg(feature = "serve")]
#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::path::Path;
use std::process::{Command, Stdio};

use kubewright_controlplane::TestCluster;

/// Runs `kubewright ARGUMENTS` with a kubeconfig; returns the exit code and everything that was printed.
fn kubewright(kubeconfig: &Path, arguments: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments.split_whitespace())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inputs"))
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Runs the binary and checks its exit code and some of what it prints.
#[track_caller]
fn says(kubeconfig: &Path, arguments: &str, code: i32, parts: &[&str]) -> String {
    let (found, said) = kubewright(kubeconfig, arguments);
    assert_eq!(found, Some(code), "{arguments}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments}: no `{part}` in {said}");
    }
    said
}

#[test]
fn a_live_cluster_is_an_input_of_every_command() {
    let Some(cluster) = TestCluster::start() else { return };
    cluster.create_namespace("shop");
    cluster.create_namespace("other");
    let objects: String = (0..600)
        .map(|at| {
            format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}, namespace: shop}}\n")
        })
        .collect();
    cluster.kubectl(&["create", "-f", "-"], &objects).expect_success();
    cluster.kubectl(&["create", "configmap", "elsewhere", "-n", "other"], "").expect_success();
    let admin = cluster.kubeconfig();
    // More than one page, and the place of a live object.
    let said = says(
        &admin,
        "apply rules-a -r cluster:shop --kinds configmaps -q -o json",
        1,
        &["\"file\":\"cluster:ConfigMap/shop/c599\""],
    );
    assert!(!said.contains("elsewhere"), "{said}");
    says(&admin, "apply rules-a -r cluster: --kinds ConfigMap -v", 1, &["cluster:ConfigMap/other/elsewhere"]);
    says(&admin, "impact rules-b -r cluster:other", 1, &["other\n", "ConfigMap/elsewhere"]);
    says(&admin, "diff rules-a rules-b -r cluster:other", 1, &["cluster:ConfigMap/other/elsewhere"]);
    says(&admin, "trace rules-a -r cluster:other --kinds ConfigMap", 1, &["ConfigMap other/elsewhere"]);
    says(&admin, "graph -r cluster:other -o json", 0, &["elsewhere"]);
    let (code, said) = kubewright(&admin, "detect -r cluster:other");
    assert!(matches!(code, Some(0 | 1)), "{said}");
    says(&admin, "apply rules-a -r rendered.yaml --world cluster:", 1, &["Deployment default/shop"]);
    says(
        &admin,
        "apply rules-a -r cluster: --kinds ConfigMapp",
        2,
        &["no kind `ConfigMapp`", "did you mean"],
    );
    says(&admin, "apply rules-a -r cluster: --kube-context nowhere", 2, &["nowhere"]);

    // What may not be listed is named once, and the rest goes on.
    let rights = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: maps, namespace: other}\nrules: [{apiGroups: [''], resources: [configmaps], verbs: [list]}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: maps, namespace: other}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: maps}\nsubjects: [{kind: ServiceAccount, name: default, namespace: other}]\n";
    cluster.kubectl(&["apply", "-f", "-"], rights).expect_success();
    let poor = cluster.kubeconfig_of("other", "default");
    let said = says(&poor, "apply rules-a -r cluster:other -q", 1, &["KW-F014", "other kinds", "elsewhere"]);
    assert_eq!(said.matches("warning[KW-F014]").count(), 1, "{said}");
}
