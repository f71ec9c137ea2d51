use std::net::TcpListener as StdListener;

use kubewright_engine::ServiceCall;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

fn services(hosts: &[&str]) -> Services {
    Services::new(&hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
}

fn get(url: &str) -> ApiCall {
    ApiCall::service("GET", url, "".into(), ServiceCall::default())
}

#[track_caller]
fn refused(hosts: &[&str], url: &str, want: &str) {
    let error = run(services(hosts).call(&get(url))).expect_err(url);
    assert!(error.contains(want), "{url}: {error}");
}

#[test]
fn without_a_word_of_the_operator_no_service_is_called() {
    refused(&[], "https://example.com/", "may not be called");
    refused(&["other.com"], "https://example.com/", "may not be called");
    refused(&["example.com"], "https://example.com.evil.org/", "may not be called");
    refused(&["example.com"], "https://evil.org/?example.com", "may not be called");
    refused(&["example.com:8443"], "https://example.com/", "may not be called");
}

#[test]
fn a_service_is_called_over_tls_unless_the_operator_says_otherwise() {
    refused(&["example.com"], "http://example.com/", "--allow-host http://example.com");
    refused(&["https://example.com"], "http://example.com/", "may not be called");
}

#[test]
fn addresses_that_lead_back_are_never_called() {
    for host in [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "169.254.169.254",
        "169.254.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "100.100.100.200",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[ff02::1]",
        "[fd00:ec2::254]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[::7f00:1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "[fec0::1]",
        "localhost",
    ] {
        let url = format!("https://{host}/");
        refused(&[host], &url, "never called");
        refused(&[&format!("http://{host}")], &format!("http://{host}/"), "never called");
    }
}

#[test]
fn an_address_that_can_be_read_in_two_ways_is_refused() {
    for url in [
        "https://a@127.0.0.1/",
        "https://example.com\\@evil.org/",
        "https://example.com#@evil.org/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://127.1/",
        "https://0177.0.0.1/",
        "https://example.com:99999/",
        "https:///x",
        "https://exa mple.com/",
        "https://example.com/\r\nHost: x",
        "ftp://example.com/",
        "//example.com/",
        "example.com",
        "https://metadata.google.internal/",
        "https://METADATA/",
        "https://exämple.com/",
        "https://[::1/",
        "https://[::1]x/",
    ] {
        assert!(ServiceUrl::parse(url).is_err(), "{url}");
    }
}

#[test]
fn hosts_are_compared_as_hosts() {
    let url = ServiceUrl::parse("https://EXAMPLE.com.:443/a?b=c").expect("an address");
    assert_eq!((url.host.as_str(), url.port, url.target.as_str()), ("example.com", 443, "/a?b=c"));
    assert!(AllowedHost::parse("Example.com").is_some_and(|allowed| allowed.is(&url)));
    assert_eq!(url.authority(), "example.com");
}

#[test]
fn usual_addresses_may_be_called() {
    for address in ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd12::1", "2606:4700::1111"] {
        assert!(!address::is_forbidden(address.parse().expect("an address")), "{address}");
    }
}

/// Answers one request with `answer`, and returns what was asked.
fn serve(answer: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = StdListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = std::thread::spawn(move || {
        run(async {
            listener.set_nonblocking(true).expect("nonblocking");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            while !text.contains("\r\n\r\n") || (text.starts_with("POST") && !text.ends_with('}')) {
                let count = stream.read(&mut buffer).await.expect("bytes");
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            stream.write_all(answer.as_bytes()).await.expect("written");
            text
        })
    });
    (port, asked)
}

/// As in production, but this machine may be called.
fn here() -> Services {
    Services { is_forbidden: |_| false, ..services(&["http://127.0.0.1"]) }
}

#[test]
fn a_call_has_what_the_rule_says_and_nothing_else() {
    let (port, asked) = serve("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}");
    let service = ServiceCall { headers: vec![("X-Who".into(), "rule".into())], ca_bundle: "".into() };
    let call =
        ApiCall::service("POST", &format!("http://127.0.0.1:{port}/x?y=z"), "{\"k\":1}".into(), service);
    let answered = run(here().call(&call)).expect("an answer");
    assert_eq!((answered.status, answered.body.as_str()), (200, "{\"a\": 1}"));
    let asked = asked.join().expect("asked").to_lowercase();
    assert!(asked.starts_with("post /x?y=z http/1.1\r\n"), "{asked}");
    assert!(asked.contains("x-who: rule") && asked.ends_with("{\"k\":1}"), "{asked}");
    assert!(!asked.contains("authorization") && !asked.contains("cookie"), "{asked}");
}

#[test]
fn no_redirect_is_followed() {
    let (port, _asked) =
        serve("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n");
    let answered = run(here().call(&get(&format!("http://127.0.0.1:{port}/")))).expect("an answer");
    assert_eq!(answered.status, 302);
}

#[test]
fn some_headers_are_not_a_rules_to_write() {
    for header in ["Host", "Transfer-Encoding", "content-length", "a b"] {
        let service = ServiceCall { headers: vec![(header.into(), "x".into())], ca_bundle: "".into() };
        let (port, _asked) = serve("");
        let call = ApiCall::service("GET", &format!("http://127.0.0.1:{port}/"), "".into(), service);
        assert!(run(here().call(&call)).is_err(), "{header}");
    }
}

#[test]
fn an_answer_is_read_up_to_a_limit() {
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}",
        MAX_SERVICE_ANSWER_BYTES + 1,
        "a".repeat(MAX_SERVICE_ANSWER_BYTES + 1)
    );
    let (port, _asked) = serve(Box::leak(answer.into_boxed_str()));
    let error = run(here().call(&get(&format!("http://127.0.0.1:{port}/")))).expect_err("too large");
    assert!(error.contains("larger than"), "{error}");
}
