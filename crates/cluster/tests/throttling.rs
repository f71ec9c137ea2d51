//! What the client sends, and what it does with answers that ask to come back later: a server that says what it is told.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use kubewright_cluster::{CallLimits, Client, Config, Error, GroupVersionResource, ProxyServer};
use kubewright_value::{Value, json};

const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 4\r\n\r\nbusy";
const STARTING: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 4\r\n\r\nwait";

/// A server that gives its answers one after the other, and the last one for ever.
struct Answers {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Answers {
    fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (requests, connections) = (Arc::default(), Arc::default());
        let server = Self { address, requests: Arc::clone(&requests), connections: Arc::clone(&connections) };
        let answers = Arc::new(Mutex::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *connections.lock().unwrap() += 1;
                let (answers, requests) = (Arc::clone(&answers), Arc::clone(&requests));
                thread::spawn(move || answer_all(&stream, &answers, &requests));
            }
        });
        server
    }

    fn config(&self) -> Config {
        Config::at(&format!("http://{}", self.address))
    }

    fn client(&self) -> Client {
        Client::new(self.config()).unwrap()
    }

    /// The heads of the requests so far.
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer_all(
    stream: &TcpStream,
    answers: &Mutex<Vec<Vec<u8>>>,
    requests: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        requests.lock().unwrap().push(head);
        let answer = {
            let mut answers = answers.lock().unwrap();
            if answers.len() > 1 { answers.remove(0) } else { answers.first().unwrap().clone() }
        };
        (&*stream).write_all(&answer).ok()?;
    }
}

fn good(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn list(items: &str) -> String {
    format!(
        r#"{{"kind":"ThingList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#
    )
}

fn things() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "things")
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap().block_on(work)
}

#[test]
fn a_busy_server_is_asked_again_after_as_long_as_it_says() {
    let server = Answers::start(vec![BUSY.into(), STARTING.into(), good("{}")]);
    let started = Instant::now();
    run(server.client().get(&things().all())).unwrap();
    assert!(started.elapsed() >= Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(server.requests().len(), 3);
    assert_eq!(*server.connections.lock().unwrap(), 1, "the connection is kept");
}

#[test]
fn a_write_is_repeated_only_where_the_server_has_not_begun() {
    let server = Answers::start(vec![BUSY.into(), good("{}")]);
    run(server.client().create(&things().within("a"), &Value::Null)).unwrap();
    assert_eq!(server.requests().len(), 2);

    let server = Answers::start(vec![STARTING.into(), good("{}")]);
    let error = run(server.client().create(&things().within("a"), &Value::Null)).unwrap_err();
    assert_eq!((error.code(), error.retry_after()), (Some(503), Some(Duration::from_secs(1))));
    assert_eq!(error.to_string(), "the API server answered with 503: wait (it asks to retry after 1 s)");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn lists_and_watches_wait_too() {
    let server = Answers::start(vec![
        BUSY.into(),
        good(&list(r#"{"metadata":{"name":"a"}}"#)),
        BUSY.into(),
        good("{}\n"),
    ]);
    run(async {
        let found = server.client().list(&things().all()).await.unwrap();
        assert_eq!((found.items.len(), found.version.as_str()), (1, "7"));
        let mut lines = server.client().watch(&things().all(), Duration::from_secs(5)).await.unwrap();
        assert_eq!(lines.next().await.unwrap(), Some(json::parse("{}").unwrap()));
    });
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_call_never_waits_longer_than_its_limits() {
    let later = BUSY.replace("retry-after: 1", "retry-after: 30");
    let server = Answers::start(vec![later.into()]);
    let short =
        CallLimits { time: Duration::from_secs(2), throttle_wait: Duration::ZERO, ..CallLimits::default() };
    let started = Instant::now();
    let error = run(server.client().limited(short).get(&things().all())).unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(30)));
    assert!(started.elapsed() < Duration::from_secs(1), "nothing is waited for that cannot come in time");

    let server = Answers::start(vec![BUSY.into()]);
    let started = Instant::now();
    let error = run(server.client().limited(short).get(&things().all())).unwrap_err();
    assert_eq!(error.code(), Some(429));
    assert!(started.elapsed() <= Duration::from_millis(2500), "{:?}", started.elapsed());
}

#[test]
fn answers_may_be_compressed_where_the_config_says_so_and_watches_are_not() {
    let text = list(&vec![r#"{"metadata":{"name":"a"}}"#; 5000].join(","));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    let compressed = [head.into_bytes(), body].concat();
    let server = Answers::start(vec![compressed.clone(), compressed.clone(), compressed, good("{}\n")]);
    let client = Client::new(Config { is_gzip_accepted: true, ..server.config() }).unwrap();
    run(async {
        assert_eq!(client.list(&things().all()).await.unwrap().items.len(), 5000);
        assert_eq!(client.raw("GET", &things().all(), None).await.unwrap(), text);
        let small = client.limited(CallLimits { size: 10_000, ..CallLimits::default() });
        assert_eq!(small.get(&things().all()).await.unwrap_err(), Error::TooLarge(10_000));
        client.watch(&things().all(), Duration::from_secs(5)).await.unwrap();
    });
    let asked: Vec<bool> =
        server.requests().iter().map(|head| head.contains("accept-encoding: gzip\r\n")).collect();
    assert_eq!(asked, [true, true, true, false]);
}

#[test]
fn an_encoding_that_was_not_asked_for_is_an_error() {
    let server =
        Answers::start(vec!["HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".into()]);
    let error = run(server.client().get(&things().all())).unwrap_err();
    assert!(error.to_string().ends_with("unknown Content-Encoding `br`"), "{error}");
}

#[test]
fn the_path_of_the_server_stands_before_every_path() {
    let server = Answers::start(vec![good("{}")]);
    let config = Config::at(&format!("http://{}/k8s/clusters/c-abc/", server.address));
    run(Client::new(config).unwrap().get(&things().named("a", "b"))).unwrap();
    let [head] = server.requests().try_into().unwrap();
    assert!(head.starts_with("GET /k8s/clusters/c-abc/api/v1/namespaces/a/things/b HTTP/1.1\r\n"), "{head}");
}

#[test]
fn a_proxy_gets_the_whole_url_of_a_server_without_tls() {
    let server = Answers::start(vec![good("{}")]);
    let proxy = ProxyServer::parse(&format!("http://ann:pass@{}", server.address)).unwrap();
    let config = Config { proxy: Some(proxy), ..Config::at("http://api.example.com:8080") };
    run(Client::new(config).unwrap().get(&things().all())).unwrap();
    let [head] = server.requests().try_into().unwrap();
    assert!(head.starts_with("GET http://api.example.com:8080/api/v1/things HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: api.example.com:8080\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic YW5uOnBhc3M=\r\n"), "{head}");
}

/// A SOCKS proxy that accepts the password `pass` and connects to `target`, whatever it is asked for.
fn socks_proxy(target: String) -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked: Arc<Mutex<Vec<u8>>> = Arc::default();
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut greeting = [0; 4];
            stream.read_exact(&mut greeting).unwrap();
            stream.write_all(&[5, 2]).unwrap();
            let mut login = [0; 10];
            stream.read_exact(&mut login).unwrap();
            let is_right = login == *b"\x01\x03ann\x04pass";
            stream.write_all(&[1, u8::from(!is_right)]).unwrap();
            if !is_right {
                continue;
            }
            let mut request = vec![0; 5 + "api.example.com".len() + 2];
            stream.read_exact(&mut request).unwrap();
            *seen.lock().unwrap() = request;
            stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).unwrap();
            let server = TcpStream::connect(&target).unwrap();
            let (mut back, mut to) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut stream, &mut to));
            let mut server = server;
            thread::spawn(move || std::io::copy(&mut server, &mut back));
        }
    });
    (address, asked)
}

#[test]
fn a_socks_proxy_resolves_the_name_itself() {
    let server = Answers::start(vec![good("{}")]);
    let (address, asked) = socks_proxy(server.address);
    let client = |password: &str| {
        let proxy = ProxyServer::parse(&format!("socks5://ann:{password}@{address}")).unwrap();
        Client::new(Config { proxy: Some(proxy), ..Config::at("http://api.example.com:8080") }).unwrap()
    };
    run(client("pass").get(&things().all())).unwrap();
    assert_eq!(*asked.lock().unwrap(), b"\x05\x01\x00\x03\x0fapi.example.com\x1f\x90");
    let error = run(client("oops").get(&things().all())).unwrap_err().to_string();
    let want = format!(
        "cannot reach the API server at http://api.example.com:8080: proxy socks5://{address}: it refuses the user or the password"
    );
    assert_eq!(error, want);
}
