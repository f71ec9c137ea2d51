use super::*;

type Check = fn(&str) -> Result<String, String>;

fn takes(check: Check, texts: &[&str]) {
    for text in texts {
        assert_eq!(check(text).as_deref(), Ok(*text), "{text}");
    }
}

fn refuses(check: Check, texts: &[&str]) {
    for text in texts {
        assert!(check(text).is_err(), "{text}");
    }
}

#[test]
fn names_and_namespaces_are_those_of_kubernetes() {
    takes(check_dns_label, &["kubewright", "a-1"]);
    refuses(check_dns_label, &["", "1a", "A", "a_b", "a-", "a.b"]);
    takes(check_namespace, &["kube-system", "1a"]);
    refuses(check_namespace, &["", "*", "A_B", "-a", &"a".repeat(64)]);
    takes(check_namespace_or_any, &["*", "platform"]);
    refuses(check_namespace_or_any, &["a*"]);
}

#[test]
fn the_server_is_installed_into_no_namespace_of_the_system() {
    takes(check_own_namespace, &["kubewright-system", "policies"]);
    refuses(check_own_namespace, &["kube-system", "kube-public", "default"]);
}

#[test]
fn the_api_server_calls_over_https_and_without_a_path() {
    takes(check_webhook_url, &["https://127.0.0.1:9443", "https://host", "https://[::1]:9443/"]);
    refuses(
        check_webhook_url,
        &["", "host", "http://host", "https://", "https:///", "https://host/path", "https://u@h"],
    );
}

#[test]
fn hosts_of_services_have_neither_path_nor_wildcard() {
    takes(check_host, &["api.example.com", "api:8443", "http://api", "https://api:1", "[fd00::1]:80"]);
    refuses(check_host, &["", "*", "*.example.com", "http://", "http://x/y", "ftp://x"]);
}

#[test]
fn resources_are_plural_lower_case_and_may_have_a_sign() {
    takes(check_target, &["pods", "+widgets.example.com", "-deployments.apps"]);
    refuses(check_target, &["+", "*", "Pods", "pods/status", ""]);
    takes(check_readable_resource, &["services"]);
    refuses(check_readable_resource, &["secrets", "*", "+pods"]);
}

#[test]
fn an_unknown_language_gets_the_nearest() {
    takes(check_language, &check_languages());
    assert!(check_language("kyvern").unwrap_err().contains("did you mean"));
}

#[test]
fn a_certificate_has_a_namespace() {
    takes(check_certificate_name, &["a/b"]);
    refuses(check_certificate_name, &["b", "/b", "a/", "a/b/c"]);
}
