use super::{ProxyScheme, ProxyServer, proxy_from_environment};

#[test]
fn a_proxy_is_read_and_shown_without_its_password() {
    let proxy = ProxyServer::parse("http://ann:p%40ss%3Aword@proxy.example.com:3128/").unwrap();
    assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example.com", 3128));
    assert_eq!(proxy.credentials, Some(("ann".to_owned(), "p@ss:word".to_owned())));
    assert_eq!(proxy.to_string(), "http://proxy.example.com:3128");
    assert!(!format!("{proxy:?}").contains("p@ss"));
    let proxy = ProxyServer::parse("socks5://[::1]").unwrap();
    assert_eq!((proxy.scheme, proxy.to_string().as_str()), (ProxyScheme::Socks5, "socks5://[::1]:1080"));
    assert_eq!(ProxyServer::parse("https://proxy").unwrap().port, 443);
}

#[track_caller]
fn check_wrong(url: &str, want: &str) {
    let error = ProxyServer::parse(url).unwrap_err();
    assert!(error.contains(want) && !error.contains("hidden"), "{error}");
}

#[test]
fn what_is_not_a_proxy_is_said_without_its_password() {
    check_wrong("ftp://ann:hidden@proxy:21", "`ftp://proxy:21` is not a proxy: its scheme must be");
    check_wrong("ann:hidden@proxy:21", "`proxy:21` is not a proxy: it has no scheme");
    check_wrong("http://ann:hidden@proxy:port", "its port is not a number");
    check_wrong("http://", "it has no host");
}

/// Returns the proxy for `server` where the environment has `variables`, such as `HTTPS_PROXY=a NO_PROXY=b`.
#[track_caller]
fn proxy(server: &str, variables: &str) -> String {
    let variable = |name: &str| {
        let mut pairs = variables.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    let found = proxy_from_environment(server, variable).unwrap();
    found.map(|proxy| proxy.to_string()).unwrap_or_default()
}

#[test]
fn the_variable_of_the_scheme_counts_in_either_case() {
    let both = "HTTPS_PROXY=http://s:1 http_proxy=h:2";
    assert_eq!(proxy("https://api:6443", both), "http://s:1");
    assert_eq!(proxy("http://api:8080", both), "http://h:2");
    assert_eq!(proxy("https://api", "https_proxy=https://s"), "https://s:443");
    assert_eq!(proxy("https://api", "HTTP_PROXY=h:2"), "");
    assert_eq!(proxy("https://api", ""), "");
    let wrong = proxy_from_environment("https://api", |_| Some("ftp://a:hidden@b".to_owned())).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "HTTPS_PROXY: `ftp://b` is not a proxy: its scheme must be `http`, `https` or `socks5`"
    );
}

#[test]
fn this_machine_is_never_behind_a_proxy() {
    for server in
        ["https://localhost:6443", "https://127.0.0.1:6443", "https://127.9.9.9", "https://[::1]:6443/x"]
    {
        assert_eq!(proxy(server, "HTTPS_PROXY=p:1"), "", "{server}");
    }
}

/// Checks whether `server` is named by `exceptions`.
#[track_caller]
fn check_exception(server: &str, exceptions: &str, want: bool) {
    let found = proxy(&format!("https://{server}"), &format!("HTTPS_PROXY=p:1 NO_PROXY={exceptions}"));
    assert_eq!(found.is_empty(), want, "{server} and {exceptions}");
}

#[test]
fn exceptions_are_names_suffixes_addresses_and_networks() {
    check_exception("api.example.com", "example.com", true);
    check_exception("example.com", "example.com", true);
    check_exception("notexample.com", "example.com", false);
    check_exception("api.example.com", ".example.com", true);
    check_exception("example.com", ".example.com", false);
    check_exception("api.example.com", "*.example.com", true);
    check_exception("API.Example.COM", "other,,eXample.com", true);
    check_exception("api.example.com:6443", "api.example.com:6443", true);
    check_exception("api.example.com:6443", "api.example.com:443", false);
    check_exception("api.example.com", "api.example.com:443", true);
    check_exception("api.example.com", "*", true);
    check_exception("api.example.com", "10.0.0.0/8", false);
    check_exception("10.1.2.3:6443", "10.0.0.0/8", true);
    check_exception("11.1.2.3", "10.0.0.0/8", false);
    check_exception("11.1.2.3", "0.0.0.0/0", true);
    check_exception("10.1.2.3", "10.1.2.3", true);
    check_exception("10.1.2.3:6443", "10.1.2.3:443", false);
    check_exception("[fd00::1]:6443", "fd00::/8", true);
    check_exception("[fd00::1]:6443", "fd00::1", true);
    check_exception("[fd00::1]:6443", "[fd00::1]:6443", true);
    check_exception("[fe00::1]:6443", "fd00::/8,fd00::/129", false);
}
