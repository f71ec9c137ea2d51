//! The server on loopback, asked by a plain TCP client.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kubewright_ui::{
    MAX_PAGE_REQUEST_BYTES, PageAnswer, PageApi, PageContent, PageEvent, PageMethod, PageRequest, PageRoute,
    PageSettings, page_events, spawn_page,
};

/// Answers with what it was asked, panics, or takes long.
struct Echo;

const ROUTES: [PageRoute; 7] = [
    PageRoute { method: PageMethod::Get, path: "/start" },
    PageRoute { method: PageMethod::Get, path: "/about" },
    PageRoute { method: PageMethod::Get, path: "/panic" },
    PageRoute { method: PageMethod::Get, path: "/slow" },
    PageRoute { method: PageMethod::Get, path: "/events" },
    PageRoute { method: PageMethod::Get, path: "/large" },
    PageRoute { method: PageMethod::Post, path: "/echo/{name}" },
];

impl PageApi for Echo {
    fn routes(&self) -> &[PageRoute] {
        &ROUTES
    }

    #[expect(clippy::panic, reason = "the server must survive it")]
    fn answer(&self, request: &PageRequest) -> PageAnswer {
        match request.route.path {
            "/start" => PageContent::json("{\"title\": \"<b>\"}").into(),
            "/panic" => panic!("on purpose"),
            "/slow" => {
                thread::sleep(Duration::from_secs(2));
                PageContent::json("{}").into()
            }
            "/events" => {
                let (sender, answer) = page_events();
                thread::spawn(move || {
                    let _ = sender.send(PageEvent { name: "progress", data: "{\"done\": 1}".to_owned() });
                });
                answer
            }
            "/large" => PageContent::text("text/csv", "x".repeat(32 << 20)).saved_as("rows.csv").into(),
            "/echo/{name}" => {
                let name = request.parameters.first().cloned().unwrap_or_default();
                PageContent::json(format!("{name} {} {}", request.body.len(), request.query_value("q")))
                    .into()
            }
            _ => PageContent::json("{\"version\": \"1\"}").into(),
        }
    }
}

/// Takes long for what the page shows first.
struct LateStart;

impl PageApi for LateStart {
    fn routes(&self) -> &[PageRoute] {
        &ROUTES
    }

    fn answer(&self, request: &PageRequest) -> PageAnswer {
        thread::sleep(Duration::from_secs(2));
        Echo.answer(request)
    }
}

fn start(settings: PageSettings) -> SocketAddr {
    start_api(settings, Echo)
}

fn start_api(settings: PageSettings, api: impl PageApi + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    spawn_page(listener, settings, Arc::new(api)).expect("a thread");
    address
}

fn quick() -> PageSettings {
    let client_timeout = Some(Duration::from_millis(300));
    PageSettings { answer_timeout: Duration::from_millis(300), client_timeout, ..PageSettings::default() }
}

/// Sends `text` and returns everything that comes back.
fn exchange(address: SocketAddr, text: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    // A server that refuses early closes before it has read everything.
    let _ = stream.write_all(text);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\n{headers}\r\n",
        address.port()
    );
    exchange(address, head.as_bytes())
}

fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> String {
    let port = address.port();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    exchange(address, head.as_bytes())
}

#[track_caller]
fn check_status(answer: &str, want: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {want} ")), "{want}: {answer:.300}");
}

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn the_start_page_has_the_security_headers_and_a_fresh_nonce() {
    let address = start(PageSettings::default());
    let (first, second) = (get(address, "/", ""), get(address, "/index.html", ""));
    check_status(&first, 200);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self' 'nonce-",
        "; connect-src 'self'; img-src 'self' data: blob:; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'\r\n",
        "x-content-type-options: nosniff\r\n",
        "referrer-policy: no-referrer\r\n",
        "cross-origin-opener-policy: same-origin\r\n",
        "cache-control: no-store\r\n",
    ] {
        assert!(first.contains(header), "{header} is not in {first}");
    }
    assert!(!first.contains("set-cookie") && !first.contains("access-control"), "{first}");
    let nonce = |answer: &str| -> String {
        let rest = answer.split("'nonce-").nth(1).expect("a nonce");
        rest.split('\'').next().expect("an end").to_owned()
    };
    assert_ne!(nonce(&first), nonce(&second));
    assert_eq!(first.matches(&nonce(&first)).count(), 3, "in the header, and twice in the page");
}

#[test]
fn the_start_page_has_the_start_unless_it_is_late() {
    let has_start = |page: &str| page.contains("id=\"start\">{\"title\": \"\\u003cb>\"}</script>");
    let early = get(start(PageSettings::default()), "/", "");
    assert!(has_start(&early), "{early}");
    let late = get(start_api(PageSettings::default(), LateStart), "/", "");
    check_status(&late, 200);
    assert!(late.contains("id=\"start\"></script>"), "{late}");
}

#[test]
fn assets_are_compressed_and_kept_for_ever() {
    let address = start(PageSettings::default());
    let page = get(address, "/", "");
    let name = page.split("\"assets/").nth(1).and_then(|rest| rest.split('"').next()).expect("an asset");
    let plain = get(address, &format!("/assets/{name}"), "");
    check_status(&plain, 200);
    assert!(plain.contains("cache-control: public, max-age=31536000, immutable\r\n"), "{plain:.600}");
    assert!(!plain.contains("content-encoding"), "{plain:.600}");
    let packed = get(address, &format!("/assets/{name}"), "accept-encoding: br, gzip\r\n");
    assert!(packed.contains("content-encoding: gzip\r\n"), "{packed:.600}");
    let length = |answer: &str| -> usize {
        let rest = answer.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next());
        rest.and_then(|length| length.parse().ok()).expect("a length")
    };
    assert!(length(&packed) < length(&plain), "{} {}", length(&packed), length(&plain));
    let refused = get(address, &format!("/assets/{name}"), "accept-encoding: gzip;q=0\r\n");
    assert!(!refused.contains("content-encoding"), "{refused:.600}");
    check_status(&get(address, "/assets/none.js", ""), 404);
    check_status(&get(address, "/assets/../Cargo.toml", ""), 404);
}

#[test]
fn only_our_own_hosts_are_answered() {
    let address =
        start(PageSettings { hosts: vec!["rules.example.com".to_owned()], ..PageSettings::default() });
    let ask = |host: &str| {
        exchange(address, format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes())
    };
    let port = address.port();
    for host in [format!("127.0.0.1:{port}"), format!("[::1]:{port}"), "rules.example.com".to_owned()] {
        check_status(&ask(&host), 200);
    }
    for host in ["evil.example".to_owned(), format!("evil.example:{port}"), "localhost:1".to_owned()] {
        check_status(&ask(&host), 421);
    }
    check_status(&exchange(address, b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n"), 400);
}

#[test]
fn posts_from_other_sites_are_refused() {
    let address = start(PageSettings::default());
    let path = "/api/v1/echo/a%20b?q=c%26d";
    let own = format!("{JSON}origin: http://localhost:{}\r\nsec-fetch-site: same-origin\r\n", address.port());
    let answer = post(address, path, &own, "12345");
    check_status(&answer, 200);
    assert!(answer.ends_with("a b 5 c&d"), "{answer}");
    check_status(&post(address, path, &format!("{JSON}origin: https://evil.example\r\n"), ""), 403);
    check_status(&post(address, path, &format!("{JSON}origin: null\r\n"), ""), 403);
    check_status(&post(address, path, &format!("{JSON}sec-fetch-site: cross-site\r\n"), ""), 403);
    check_status(&post(address, path, "content-type: text/plain\r\n", "{}"), 415);
    check_status(&post(address, path, "", "{}"), 415);
}

#[test]
fn routes_and_methods_are_checked() {
    let address = start(PageSettings::default());
    check_status(&get(address, "/api/v1/about", ""), 200);
    check_status(&get(address, "/api/v1/echo/x", ""), 405);
    check_status(&post(address, "/api/v1/about", JSON, "{}"), 405);
    check_status(&get(address, "/api/v1/none", ""), 404);
    check_status(&post(address, "/", JSON, "{}"), 405);
    let head = format!(
        "HEAD /api/v1/about HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\n\r\n",
        address.port()
    );
    let answer = exchange(address, head.as_bytes());
    check_status(&answer, 200);
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    let put = format!(
        "PUT /api/v1/about HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\n\r\n",
        address.port()
    );
    check_status(&exchange(address, put.as_bytes()), 405);
}

#[test]
fn large_bodies_are_refused() {
    let address = start(PageSettings::default());
    let body = "x".repeat(MAX_PAGE_REQUEST_BYTES);
    check_status(&post(address, "/api/v1/echo/x", JSON, &body), 200);
    check_status(&post(address, "/api/v1/echo/x", JSON, &format!("{body}y")), 413);
}

#[test]
fn slow_clients_are_given_up() {
    let address = start(quick());
    let started = Instant::now();
    let head = format!(
        "POST /api/v1/echo/x HTTP/1.1\r\nhost: localhost:{}\r\n{JSON}content-length: 10\r\n\r\nabc",
        address.port()
    );
    check_status(&exchange(address, head.as_bytes()), 408);
    assert_eq!(exchange(address, b"GET / HTTP/1.1\r\nhost: loc"), "", "headers that never end");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let address = start(quick());
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!("GET /api/v1/large HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", address.port());
    stream.write_all(head.as_bytes()).expect("written");
    thread::sleep(Duration::from_secs(2));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.len() < 32 << 20, "{} bytes", answer.len());
    assert!(String::from_utf8_lossy(&answer).contains("attachment; filename=\"rows.csv\""));
}

#[test]
fn a_panic_and_an_overrun_affect_one_request() {
    let address = start(quick());
    check_status(&get(address, "/api/v1/panic", ""), 500);
    let slow = get(address, "/api/v1/slow", "");
    check_status(&slow, 504);
    check_status(&get(address, "/api/v1/about", ""), 200);
}

#[test]
fn more_requests_than_threads_wait_or_are_refused() {
    let address = start(quick());
    let asked: Vec<_> = (0..8).map(|_| thread::spawn(move || get(address, "/api/v1/slow", ""))).collect();
    for answer in asked {
        let answer = answer.join().expect("an answer");
        assert!(answer.contains(" 504 ") || answer.contains(" 503 "), "{answer:.200}");
    }
}

#[test]
fn events_arrive_one_by_one() {
    let address = start(PageSettings::default());
    let answer = get(address, "/api/v1/events", "");
    check_status(&answer, 200);
    assert!(answer.contains("content-type: text/event-stream\r\n"), "{answer}");
    assert!(answer.contains("event: progress\ndata: {\"done\": 1}\n\n"), "{answer}");
}

#[test]
fn a_prefix_is_served_with_its_assets() {
    let settings = PageSettings { prefix: "/ui".to_owned(), is_tunnelled: true, ..PageSettings::default() };
    let address = start(settings);
    let moved = get(address, "/ui", "");
    check_status(&moved, 308);
    assert!(moved.contains("location: /ui/\r\n"), "{moved}");
    check_status(&get(address, "/ui/", ""), 200);
    check_status(&get(address, "/ui/api/v1/about", ""), 200);
    check_status(&get(address, "/", ""), 404);
    let other = b"GET /ui/ HTTP/1.1\r\nhost: localhost:9999\r\nconnection: close\r\n\r\n";
    check_status(&exchange(address, other), 200);
}
