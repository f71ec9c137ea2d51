use super::ApiPath;

fn same(text: &str) {
    assert_eq!(ApiPath::parse(text).map(|path| path.to_string()).as_deref(), Ok(text));
}

fn refused(text: &str) {
    assert!(ApiPath::parse(text).is_err(), "{text} was read");
}

#[test]
fn an_address_is_sent_as_it_was_read() {
    same("/api/v1/namespaces");
    same("/api/v1/namespaces/default");
    same("/api/v1/namespaces/default/pods");
    same("/apis/apps/v1/namespaces/default/deployments/web");
    same("/apis/apps/v1/deployments?labelSelector=app%3Dweb");
    same("/api/v1/namespaces/default/pods/web/status");
    same("/version");
}

#[test]
fn what_means_the_same_is_sent_in_one_form() {
    let sent = |text: &str| ApiPath::parse(text).expect("an address").to_string();
    assert_eq!(sent("/api/v1/pods/"), "/api/v1/pods");
    assert_eq!(sent("/api/v1/pods?"), "/api/v1/pods");
    assert_eq!(sent("/api/v1/pods?limit=5&&"), "/api/v1/pods?limit=5");
    assert_eq!(sent("/api/v1/pods?labelSelector=a=b,c"), "/api/v1/pods?labelSelector=a%3Db%2Cc");
    assert_eq!(sent("/api/v1/pods?labelSelector=a+in+(b)"), "/api/v1/pods?labelSelector=a%20in%20%28b%29");
    assert_eq!(sent("/api/v1/pods?labelSelector=../b"), "/api/v1/pods?labelSelector=.%2E%2Fb");
}

#[test]
fn the_parts_of_a_namespace_are_no_resources_in_it() {
    for part in ["status", "finalize"] {
        let path = ApiPath::parse(&format!("/api/v1/namespaces/a/{part}")).expect("an address");
        assert_eq!((path.namespace.as_str(), path.resource.as_str()), ("", "namespaces"));
        assert_eq!((path.name.as_str(), path.subresource.as_str()), ("a", part));
    }
}

/// Strings that lead, by one reader or another, out of namespace `a`.
const ESCAPES: &[&str] = &[
    // Steps elsewhere.
    "/api/v1/namespaces/a/../b/pods",
    "/api/v1/namespaces/a/../../namespaces/b/pods",
    "/api/v1/namespaces/a/pods/../../b/secrets",
    "/api/v1/namespaces/a/pods/..",
    "/api/v1/namespaces/a/./pods",
    "/api/v1/namespaces/./pods",
    "/api/v1/namespaces/../pods",
    "/../api/v1/namespaces/b/pods",
    "/api/v1/namespaces/a/.../pods",
    "/api/v1/namespaces/a..b/pods",
    "/api/v1/namespaces/a/pods/x..y",
    // The same, encoded once, twice and badly.
    "/api/v1/namespaces/a/%2e%2e/b/pods",
    "/api/v1/namespaces/a/%2E%2E/b/pods",
    "/api/v1/namespaces/a/.%2e/b/pods",
    "/api/v1/namespaces/a/%2e./b/pods",
    "/api/v1/namespaces/a/%252e%252e/b/pods",
    "/api/v1/namespaces/a/%252e/pods",
    "/api/v1/namespaces/a/%25252e%25252e/b/pods",
    "/api/v1/namespaces/a%2f..%2fb/pods",
    "/api/v1/namespaces/a%2Fpods",
    "/api/v1/namespaces/b%2fpods%3f/../a/pods",
    "/api/v1/namespaces/a/%c0%ae%c0%ae/b/pods",
    "/api/v1/namespaces/a/%e0%80%ae/b/pods",
    "/api/v1/namespaces/a/%u002e%u002e/b/pods",
    "/api/v1/namespaces/a/%/pods",
    "/api/v1/namespaces/a/%2/pods",
    "/api/v1/namespaces/a/%zz/pods",
    "/api/v1/namespaces/%61/pods",
    "/api/v1/name%73paces/b/pods",
    // Slashes of other kinds, and too many of them.
    "/api/v1//pods",
    "//api/v1/namespaces/b/pods",
    "//example.com/api/v1/pods",
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/a//pods",
    "/api/v1/namespaces/a/pods//",
    "/api/v1/namespaces/a\\..\\b/pods",
    "\\api\\v1\\namespaces\\b\\pods",
    "/api/v1/namespaces/a\u{2215}..\u{2215}b/pods",
    "/api/v1/namespaces/a\u{ff0f}b/pods",
    // Separators of other parts of an address.
    "/api/v1/pods#/namespaces/a/pods",
    "/api/v1/namespaces/b/pods#/../../a",
    "/api/v1/pods;namespaces=a",
    "/api/v1/namespaces/a;/../b/pods",
    "/api/v1/namespaces/b/pods%3fnamespaces/a",
    "/api/v1/namespaces/b/pods%23",
    "/api/v1/pods?labelSelector=a#b",
    "/api/v1/pods?a=%zz",
    "/api/v1/pods?a=%2",
    "/api/v1/pods?a=%ff",
    "/api/v1/pods?=a",
    "/api/v1/pods?a/b=c",
    "/api/v1/pods?%61=c",
    "/api/v1/pods??a=b",
    "/api/v1/pods?watch=true",
    "/api/v1/namespaces/a/pods/x/log?follow=1",
    // Bytes that end, hide or fold.
    "/api/v1/pods\0",
    "/api/v1/namespaces/b/pods\0/namespaces/a",
    "/api/v1/namespaces/a/%00/pods",
    "/api/v1/namespaces/b\n/pods",
    "/api/v1/namespaces/a HTTP/1.1\r\nHost: x",
    "/api/v1/namespaces/a\r\n/pods",
    "/api/v1/namespaces/a\t/pods",
    "/api/v1/namespaces/ a/pods",
    "/api/v1/namespaces/a /pods",
    "/api/v1/namespaces/a\u{200b}/pods",
    "/api/v1/namespaces/\u{202e}a/pods",
    "/api/v1/namespaces/a\u{ff0e}\u{ff0e}/pods",
    "/api/v1/namespaces/\u{2024}\u{2024}/pods",
    "/api/v1/namespaces/\u{430}/pods",
    "/api/v1/namespaces/a\u{7f}/pods",
    // Other words in the place of a word.
    "/api/v1/namespaces/A/pods",
    "/api/v1/namespaces/a/Pods",
    "/api/v1/namespaces/*/pods",
    "/api/v1/namespaces/a,b/pods",
    "/api/v1/namespaces/{a}/pods",
    "/api/v1/namespaces/a:b/pods",
    "/api/v1/namespaces/a@b/pods",
    "/api/v1/watch/namespaces/b/pods",
    "/api/v1/watch/pods",
    "/api/v1/proxy/namespaces/b/services/x",
    "/api/v1/redirect/nodes",
    "/api/v1/namespaces/a/namespaces/b",
    "/api/v1/namespaces/a/namespaces/b/pods",
    "/api/v1/namespaces/a/pods/x/exec",
    "/api/v1/namespaces/a/pods/x/attach",
    "/api/v1/namespaces/a/pods/x/portforward",
    "/api/v1/namespaces/a/services/x/proxy",
    "/api/v1/nodes/x/proxy",
    "/api/v1/namespaces/a/services/x/proxy/path",
    "/api/v1/namespaces/a/pods/x/status/y",
    "/apis/apps/v1/namespaces/a/deployments/x/scale/y",
    // No address of the API server at all.
    "",
    "/",
    "?",
    "api/v1/pods",
    "/api/v1",
    "/api",
    "/apis/apps/v1",
    "/apis/../api/v1",
    "/a/b",
    "https://example.com/api/v1/pods",
    "http:/api/v1/pods",
    "/http://example.com",
    "@example.com/api/v1/pods",
    "/api/v1:80@example.com/pods",
    "/apis/Apps/v1/deployments",
    "/apis/a:b/v1/deployments",
];

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    assert!(ESCAPES.len() > 60);
    ESCAPES.iter().for_each(|text| refused(text));
    refused(&format!("/api/v1/pods/{}", "a".repeat(254)));
    refused(&format!("/api/v1/namespaces/{}/pods", "a".repeat(64)));
    refused(&format!("/api/v1/pods?labelSelector={}", "a".repeat(9000)));
    refused(&format!("/api/v1/pods?labelSelector={}", "=".repeat(3000)));
}
