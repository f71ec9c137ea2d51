use super::*;
use kubewright_value::Map;

#[track_caller]
fn object(parts: [&str; 4], want: &str) {
    assert_eq!(api_object_path(parts).unwrap_or_else(|message| message), want);
}

#[track_caller]
fn list(parts: [&str; 3], labels: &[(&'static str, &str)], want: &str) {
    let labels: Map = labels.iter().map(|(key, value)| ((*key).into(), Value::from(*value))).collect();
    assert_eq!(list_path(parts, &labels.into()).unwrap_or_else(|message| message), want);
}

#[test]
fn objects_are_where_the_api_server_has_them() {
    object(["v1", "configmaps", "shop", "a"], "/api/v1/namespaces/shop/configmaps/a");
    object(["apps/v1", "deployments", "shop", "a"], "/apis/apps/v1/namespaces/shop/deployments/a");
    object(["v1", "namespaces", "", "shop"], "/api/v1/namespaces/shop");
    object(["v1", "pods/status", "shop", "a"], "/api/v1/namespaces/shop/pods/a/status");
}

#[test]
fn lists_may_want_labels() {
    list(["v1", "pods", ""], &[], "/api/v1/pods");
    list(["v1", "pods", "shop"], &[("app", "web")], "/api/v1/namespaces/shop/pods?labelSelector=app=web");
    list(
        ["v1", "pods", ""],
        &[("app", "web"), ("example.com/tier", "")],
        "/api/v1/pods?labelSelector=app=web,example.com/tier=",
    );
    list(["v1", "pods", ""], &[("app", "web,x=y")], "`web,x=y` is no label");
    list(["v1", "pods", ""], &[("app", "web&limit=1")], "`web&limit=1` is no label");
}

#[test]
fn what_is_computed_leads_to_no_other_path() {
    object(["v1", "configmaps", "shop", ""], "name is required");
    object(
        ["v1", "configmaps", "shop", "../../kube-system/secrets/x"],
        "invalid resource name `../../kube-system/secrets/x`",
    );
    object(["v1", "configmaps", "shop", ".."], "invalid resource name `..`");
    object(["v1", "configmaps", "shop", "a?watch=true"], "invalid resource name `a?watch=true`");
    object(["v1", "configmaps", "..", "a"], "invalid namespace `..`");
    object(["v1", "configmaps", "shop/secrets/x", "a"], "invalid namespace `shop/secrets/x`");
    list(["v1", "configmaps", "shop/secrets/x"], &[], "invalid namespace `shop/secrets/x`");
    object(["v1", "configmaps", "shop%2fx", "a"], "invalid namespace `shop%2fx`");
    object(["a/b/c", "configmaps", "shop", "a"], "unexpected GroupVersion string: a/b/c");
    object(["v1", "pods/../../secrets", "shop", "a"], "invalid resource name `..`");
}
