//! A store that is kept by a watch, where what is between here and the API server misbehaves: a server of our own that
//! says what a test wants it to.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_cluster::{
    CallLimits, Client, Config, GroupVersionResource, Store, WatchPolicy, run_reflector,
};
use kubewright_value::Value;
use tokio::runtime::Runtime;

/// What the server does with one request.
#[derive(Clone)]
enum Act {
    /// A list of the objects, each `name@version`, at a version.
    List(&'static str, u64),
    /// A watch that says each line, then ends as it should.
    Watch(Vec<String>),
    /// A watch that says each line, then breaks off in the middle of another one.
    Cut(Vec<String>),
    /// A watch that says each line and then nothing, for ever.
    Silence(Vec<String>),
    /// An answer with a status.
    Status(u16, &'static str),
}

/// A server that does what is planned, and the last thing for ever.
struct Scripted {
    requests: Arc<Mutex<Vec<String>>>,
    store: Arc<Store>,
    _runtime: Runtime,
}

impl Scripted {
    fn start(plan: Vec<Act>) -> Self {
        Self::with(plan, quick(), CallLimits::default())
    }

    fn with(plan: Vec<Act>, pace: WatchPolicy, limits: CallLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, plan) = (Arc::clone(&requests), Arc::new(Mutex::new(plan)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, plan) = (Arc::clone(&seen), Arc::clone(&plan));
                thread::spawn(move || answer(&stream, &seen, &plan));
            }
        });
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let store = Arc::new(Store::default());
        let client = Client::new(Config::at(&address)).unwrap().limited(limits);
        runtime.spawn(run_reflector(
            client,
            GroupVersionResource::new("", "v1", "things").all(),
            Arc::clone(&store),
            pace,
        ));
        Self { requests, store, _runtime: runtime }
    }

    /// Waits until the store holds `want`, such as `a@3 b@7`.
    #[track_caller]
    fn holds(&self, want: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.held() != want {
            assert!(Instant::now() < deadline, "`{}` is not `{want}`; {:?}", self.held(), self.requests());
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn held(&self) -> String {
        let text =
            |object: &Value, key| object.at(&["metadata", key]).and_then(Value::as_str).unwrap().to_owned();
        let all = self.store.all();
        let all =
            all.iter().map(|object| format!("{}@{}", text(object, "name"), text(object, "resourceVersion")));
        all.collect::<Vec<_>>().join(" ")
    }

    /// What was asked: `list`, or `watch` and the version.
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Impatient, so that tests are quick.
fn quick() -> WatchPolicy {
    WatchPolicy {
        idle: Duration::from_millis(300),
        first_wait: Duration::from_millis(5),
        longest_wait: Duration::from_millis(50),
        ..WatchPolicy::default()
    }
}

fn answer(stream: &TcpStream, seen: &Mutex<Vec<String>>, plan: &Mutex<Vec<Act>>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let first = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        if first.contains("sendInitialEvents") {
            whole(stream, 422, r#"{"kind":"Status","code":422,"message":"the feature is off"}"#)?;
            continue;
        }
        let is_watch = first.contains("watch=true");
        let version = first.split("resourceVersion=").nth(1).and_then(|rest| rest.split(['&', ' ']).next());
        let asked =
            if is_watch { format!("watch {}", version.unwrap_or_default()) } else { "list".to_owned() };
        seen.lock().unwrap().push(asked);
        let act = {
            let mut plan = plan.lock().unwrap();
            if plan.len() > 1 { plan.remove(0) } else { plan.first().unwrap().clone() }
        };
        let is_wrong = is_watch != matches!(act, Act::Watch(_) | Act::Cut(_) | Act::Silence(_));
        match act {
            Act::Status(code, message) => {
                let body = format!(r#"{{"kind":"Status","code":{code},"message":"{message}"}}"#);
                whole(stream, code, &body)?;
            }
            _ if is_wrong => whole(stream, 400, "the plan says something else")?,
            Act::List(objects, version) => {
                let items: Vec<String> = objects.split_whitespace().map(object).collect();
                let body = format!(
                    r#"{{"kind":"ThingList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#,
                    items.join(",")
                );
                whole(stream, 200, &body)?;
            }
            Act::Watch(lines) => {
                begin(stream, &lines)?;
                (&*stream).write_all(b"0\r\n\r\n").ok()?;
            }
            Act::Cut(lines) => {
                begin(stream, &lines)?;
                (&*stream).write_all(b"fff\r\n{\"type\":\"ADDED\",\"obj").ok()?;
                return None;
            }
            Act::Silence(lines) => {
                begin(stream, &lines)?;
                thread::sleep(Duration::from_secs(60));
            }
        }
    }
}

fn whole(mut stream: &TcpStream, code: u16, body: &str) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {code} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).ok()
}

fn begin(mut stream: &TcpStream, lines: &[String]) -> Option<()> {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for line in lines {
        text.push_str(&format!("{:x}\r\n{line}\n\r\n", line.len() + 1));
    }
    stream.write_all(text.as_bytes()).ok()
}

fn object(text: &str) -> String {
    let (name, version) = text.split_once('@').unwrap_or_else(|| panic!("{text} has no version"));
    format!(r#"{{"kind":"Thing","metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#)
}

/// Lines of a watch: `+a@3` is a state, `-a@4` a deletion, `~@5` a bookmark, `!410` an error.
fn events(text: &str) -> Vec<String> {
    let line = |word: &str| {
        let (kind, rest) = word.split_at(1);
        match kind {
            "!" => format!(r#"{{"type":"ERROR","object":{{"kind":"Status","code":{rest},"message":"no"}}}}"#),
            kind => {
                let kind = match kind {
                    "+" => "MODIFIED",
                    "-" => "DELETED",
                    _ => "BOOKMARK",
                };
                format!(r#"{{"type":"{kind}","object":{}}}"#, object(rest))
            }
        }
    };
    text.split_whitespace().map(line).collect()
}

fn silence(text: &str) -> Act {
    Act::Silence(events(text))
}

#[test]
fn a_watch_that_ends_goes_on_from_where_it_was() {
    let server = Scripted::start(vec![
        Act::List("a@1", 5),
        Act::Watch(events("+b@6 ~@9")),
        Act::Watch(events("+c@10")),
        silence("-a@11"),
    ]);
    server.holds("b@6 c@10");
    assert_eq!(server.requests(), ["list", "watch 5", "watch 9", "watch 10"]);
}

#[test]
fn a_connection_that_breaks_off_loses_nothing() {
    let server = Scripted::start(vec![Act::List("a@1", 5), Act::Cut(events("+b@6")), silence("+c@7")]);
    server.holds("a@1 b@6 c@7");
    assert_eq!(server.requests(), ["list", "watch 5", "watch 6"]);
}

#[test]
fn events_that_come_again_and_in_disorder_do_no_harm() {
    let server = Scripted::start(vec![
        Act::List("a@1", 5),
        Act::Cut(events("+b@8 +b@6 -a@9 +a@7 +c@10")),
        silence("+b@6 +b@8 +c@10 -b@11 +b@8 +d@12 +a@7"),
    ]);
    server.holds("c@10 d@12");
}

#[test]
fn a_version_that_is_forgotten_leads_to_a_list() {
    let server = Scripted::start(vec![
        Act::List("a@1 b@2", 5),
        Act::Watch(events("+c@6 !410")),
        Act::List("b@2 d@20", 30),
        Act::Status(410, "too old"),
        Act::List("d@20 e@31", 40),
        silence("+f@41"),
    ]);
    server.holds("d@20 e@31 f@41");
    assert_eq!(server.requests(), ["list", "watch 5", "list", "watch 30", "list", "watch 40"]);
}

#[test]
fn a_server_that_is_busy_is_asked_again_from_the_same_version() {
    let server = Scripted::start(vec![
        Act::List("a@1", 5),
        Act::Status(503, "starting"),
        Act::Status(429, "busy"),
        silence("+b@6"),
    ]);
    server.holds("a@1 b@6");
    assert_eq!(server.requests(), ["list", "watch 5", "watch 5", "watch 5"]);
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let server = Scripted::start(vec![Act::List("a@1", 5), silence("+b@6"), silence("+c@7")]);
    server.holds("a@1 b@6 c@7");
    assert_eq!(server.requests().get(..3).unwrap(), ["list", "watch 5", "watch 6"]);
}

#[test]
fn reflector_recovers_dropped_events_by_listing_again() {
    let pace = WatchPolicy { list_again: Duration::from_millis(400), ..quick() };
    let plan = vec![Act::List("a@1", 5), silence(""), silence(""), Act::List("a@1 lost@6", 9), silence("")];
    let server = Scripted::with(plan, pace, CallLimits::default());
    server.holds("a@1 lost@6");
}

#[test]
fn an_event_that_is_too_large_breaks_the_watch_and_not_the_client() {
    let large = format!(r#"{{"type":"ADDED","object":{{"x":"{}"}}}}"#, "x".repeat(5000));
    let plan = vec![Act::List("a@1", 5), Act::Silence(vec![large]), silence("+b@6")];
    let server = Scripted::with(plan, quick(), CallLimits { size: 1000, ..CallLimits::default() });
    server.holds("a@1 b@6");
}

#[test]
fn lines_that_are_no_events_break_the_watch_and_not_the_client() {
    let lines = |text: &str| Act::Silence(vec![text.to_owned()]);
    let server = Scripted::start(vec![
        Act::List("a@1", 5),
        lines("{no json"),
        lines(r#"{"type":"STRANGE","object":{}}"#),
        lines(r#"{"type":"ADDED"}"#),
        lines(r#"{"type":"ADDED","object":{"kind":"Thing"}}"#),
        silence("+b@6"),
    ]);
    server.holds("a@1 b@6");
}

#[test]
fn what_is_known_stays_while_lists_fail() {
    let server = Scripted::start(vec![
        Act::List("a@1", 5),
        Act::Watch(events("!410")),
        Act::Status(500, "no"),
        Act::Status(403, "forbidden"),
        Act::List("a@1 b@7", 8),
        silence(""),
    ]);
    let seen = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = Vec::new();
            loop {
                match server.held() {
                    held if held == "a@1 b@7" => return seen,
                    held => seen.push(held),
                }
            }
        });
        server.holds("a@1 b@7");
        watching.join().unwrap()
    });
    assert!(seen.iter().filter(|held| !held.is_empty()).all(|held| held == "a@1"), "{seen:?}");
    assert!(server.store.is_synced());
}
