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
fn what_could_be_read_in_two_ways_is_refused() {
    for text in [
        "api/v1/pods",
        "/api/v1/namespaces/a/../b/pods",
        "/api/v1/namespaces/a/%2e%2e/b/pods",
        "/api/v1/namespaces/a/%252e/pods",
        "/api/v1//pods",
        "/api/v1/namespaces/./pods",
        "/api/v1/pods#fragment",
        "/api/v1/pods;a=b",
        "/api/v1/pods\0",
        "/api/v1/namespaces/a\u{ff0e}\u{ff0e}/pods",
        "/api/v1/pods?a=%zz",
        "/api/v1/pods?a=%2",
        "/api/v1",
        "/apis/apps/v1",
        "//example.com/api/v1/pods",
        "/a/b",
        "",
    ] {
        refused(text);
    }
}
