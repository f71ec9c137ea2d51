//! Paths of the API server: a written path parses to the same request, and cannot escape to another one.

use kubewright_k8s::ApiPath;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "api_path",
    run: fuzz_api_path,
    seeds: &[
        "/api/v1/namespaces/default/pods/web/status",
        "/apis/apps/v1/namespaces/default/deployments?labelSelector=app%3Dweb&limit=5",
        "/api/v1/namespaces/a/status",
        "/version",
    ],
    dictionaries: &[],
    words: &[
        "/",
        "//",
        "..",
        ".",
        "%2e",
        "%2E",
        "%252e",
        "%2f",
        "?",
        "&",
        "=",
        "#",
        ";",
        "%00",
        "\\",
        "\r\n",
        "namespaces",
        "/namespaces/",
        "api",
        "apis",
        "v1",
        "status",
        "finalize",
        "proxy",
        "watch",
        "+",
        "\u{ff0e}",
        "labelSelector=",
    ],
};

fn fuzz_api_path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(path) = ApiPath::parse(text) else { return };
    let sent = path.to_string();
    assert_eq!(ApiPath::parse(&sent).as_ref(), Ok(&path), "`{text}` is sent as `{sent}`");
    assert!(!sent.contains("..") && !sent.contains("//"), "`{sent}`");
    assert!(sent.bytes().all(|byte| byte.is_ascii_graphic() && !b"#;\\".contains(&byte)), "`{sent}`");
    assert_eq!(served_namespace(&sent), path.namespace.as_str(), "`{sent}`");
}

/// Returns the namespace as the API server reads it.
fn served_namespace(sent: &str) -> &str {
    let (path, _) = sent.split_once('?').unwrap_or((sent, ""));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        ["api", _, "namespaces", _, "status" | "finalize", ..]
        | ["apis", _, _, "namespaces", _, "status" | "finalize", ..] => "",
        ["api", _, "namespaces", namespace, _, ..] | ["apis", _, _, "namespaces", namespace, _, ..] => {
            namespace
        }
        _ => "",
    }
}
