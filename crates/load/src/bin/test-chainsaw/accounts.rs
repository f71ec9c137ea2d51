//! The accounts of the test bed: those of Kyverno, which policies and suites name, and that of our controller, which has the
//! rights of Kyverno's background and cleanup controllers besides those that `kubewright install` gives it.

use kubewright_value::{Source, Value, json, yaml};

/// The account of our controller as `kubewright install` makes it.
pub(crate) const CONTROLLER_ACCOUNT: &str = "kubewright-scan";

/// The namespace of all accounts.
pub(crate) const ACCOUNT_NAMESPACE: &str = "kyverno";

/// The accounts of Kyverno, which policies name, with the rights that suites give them by labels.
const KYVERNO_ACCOUNTS: [&str; 4] =
    ["admission-controller", "background-controller", "cleanup-controller", "reports-controller"];

/// The rights of these accounts that Kyverno's chart gives them.
const KYVERNO_RIGHTS: &str = include_str!("../../../inputs/kyverno-rights.yaml");

/// The roles that every account has that our controller may use: those of the scan, and reading all kinds.
const CONTROLLER_ROLES: [&str; 3] =
    ["kubewright-scan-objects", "kubewright-scan-rules", "kubewright-reads-all"];

/// Returns the manifests of all accounts, of which `installed` are those that `kubewright install` prints.
pub(crate) fn account_manifests(installed: &str) -> String {
    let mut manifests = vec![KYVERNO_RIGHTS.to_owned(), scan_rights(installed)];
    manifests.extend(KYVERNO_ACCOUNTS.map(kyverno_account));
    for role in ["kyverno:background-controller", "kyverno:cleanup-controller", "kubewright-reads-all"] {
        manifests.push(cluster_binding(role, CONTROLLER_ACCOUNT));
    }
    for account in ["kyverno-background-controller", "kyverno-cleanup-controller"] {
        manifests.extend(CONTROLLER_ROLES.map(|role| cluster_binding(role, account)));
        manifests.push(binding("RoleBinding", ("Role", CONTROLLER_ACCOUNT), account));
    }
    manifests.join("\n---\n")
}

/// Returns the kubeconfig of an administrator who acts as `account`. A token of the account would expire while suites run.
pub(crate) fn impersonating(kubeconfig: &str, account: &str) -> Result<String, String> {
    let mut config = yaml::parse(kubeconfig).map_err(|error| error.to_string())?;
    let users = config.as_object_mut().and_then(|map| map.get_mut("users")).and_then(Value::as_array_mut);
    for user in users.into_iter().flatten() {
        let user = user.as_object_mut().and_then(|map| map.get_mut("user")).and_then(Value::as_object_mut);
        let name = format!("system:serviceaccount:{ACCOUNT_NAMESPACE}:{account}");
        user.ok_or("a kubeconfig without a user")?.insert("as".into(), name.into());
    }
    Ok(json::to_string(&config))
}

/// Returns those of the `installed` objects that give the scan its rights.
fn scan_rights(installed: &str) -> String {
    let documents = yaml::read(&Source::new("install", installed)).documents;
    let is_right = |object: &Value| {
        let kind = object.str_at(&["kind"]);
        let is_kind = kind == "ServiceAccount" || kind.contains("Role");
        is_kind && object.str_at(&["metadata", "name"]).contains("scan")
    };
    let rights = documents.iter().map(|document| &document.value).filter(|object| is_right(object));
    rights.map(json::to_string).collect::<Vec<_>>().join("\n---\n")
}

/// Returns an account of Kyverno with a role that gathers others by their labels, new ones and older ones.
fn kyverno_account(account: &str) -> String {
    let rbac = "apiVersion: rbac.authorization.k8s.io/v1";
    let labels = format!(
        "{{app.kubernetes.io/component: {account}, app.kubernetes.io/instance: kyverno, app.kubernetes.io/part-of: kyverno}}"
    );
    let name = format!("kyverno-{account}");
    format!(
        "{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {name}, namespace: {ACCOUNT_NAMESPACE}}}}}\n---\n\
         {{{rbac}, kind: ClusterRole, metadata: {{name: 'kyverno:{account}'}}, aggregationRule: {{clusterRoleSelectors: \
         [{{matchLabels: {{rbac.kyverno.io/aggregate-to-{account}: 'true'}}}}, {{matchLabels: {labels}}}]}}}}\n---\n{}",
        cluster_binding(&format!("kyverno:{account}"), &name)
    )
}

fn cluster_binding(role: &str, account: &str) -> String {
    binding("ClusterRoleBinding", ("ClusterRole", role), account)
}

fn binding(kind: &str, (role_kind, role): (&str, &str), account: &str) -> String {
    let place = if role_kind == "Role" { format!(", namespace: {ACCOUNT_NAMESPACE}") } else { String::new() };
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: '{role}:{account}'{place}}}, \
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {role_kind}, name: '{role}'}}, subjects: \
         [{{kind: ServiceAccount, name: {account}, namespace: {ACCOUNT_NAMESPACE}}}]}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_administrator_acts_as_the_account() {
        let text =
            impersonating("users: [{name: user, user: {token: t}}]", "controller").expect("a kubeconfig");
        let config = json::parse(&text).expect("JSON");
        let user = config.get("users").and_then(|users| users.item(0)).expect("a user");
        assert_eq!(user.str_at(&["user", "as"]), "system:serviceaccount:kyverno:controller");
        assert_eq!(user.str_at(&["user", "token"]), "t");
    }

    #[test]
    fn only_the_rights_of_the_scan_are_taken_from_an_installation() {
        let installed = "{kind: ClusterRole, metadata: {name: kubewright}}\n---\n{kind: ClusterRole, metadata: {name: \
                         kubewright-scan-rules}}\n---\n{kind: Deployment, metadata: {name: kubewright-scan}}\n";
        assert_eq!(
            scan_rights(installed),
            r#"{"kind":"ClusterRole","metadata":{"name":"kubewright-scan-rules"}}"#
        );
    }
}
