//! A server that gives the answers a test has planned.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// One answer.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A status and a body.
    Whole(u16, String),
    /// A body in pieces, each in a packet of its own.
    Pieces(Vec<Vec<u8>>),
    /// A beginning, and then the same letter for ever.
    Endless(&'static str),
    /// A watch that sends each line, then ends.
    Watch(Vec<String>),
    /// A watch that sends each line, then breaks off in the middle of another one.
    Cut(Vec<String>),
    /// A watch that sends each line and then nothing, for ever.
    Silence(Vec<String>),
}

impl Answer {
    pub(crate) fn status(code: u16) -> Self {
        Self::Whole(code, format!(r#"{{"kind":"Status","code":{code},"message":"no"}}"#))
    }

    pub(crate) fn watch(events: &str) -> Self {
        Self::Watch(watch_lines(events))
    }

    pub(crate) fn cut(events: &str) -> Self {
        Self::Cut(watch_lines(events))
    }

    pub(crate) fn silence(events: &str) -> Self {
        Self::Silence(watch_lines(events))
    }
}

/// A server that gives planned answers one after the other, and the last one for ever.
pub(crate) struct ScriptedServer {
    pub(crate) address: String,
    pub(crate) sent: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { address, sent: Arc::default(), heads: Arc::default() };
        let (sent, heads, answers) =
            (Arc::clone(&server.sent), Arc::clone(&server.heads), Arc::new(Mutex::new(answers)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sent, heads, answers) = (Arc::clone(&sent), Arc::clone(&heads), Arc::clone(&answers));
                thread::spawn(move || Connection { stream, sent }.serve(&heads, &answers));
            }
        });
        server
    }

    /// What was asked for: `initial`, `watch` and the version, or `list` with its limit and token.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.heads.lock().unwrap().iter().map(|head| request_word(head.lines().next().unwrap())).collect()
    }

    /// The `Accept` of each request.
    pub(crate) fn accepts(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let accept = |head: &String| {
            head.lines().find_map(|line| line.strip_prefix("accept: ")).unwrap_or_default().to_owned()
        };
        heads.iter().map(accept).collect()
    }
}

fn request_word(line: &str) -> String {
    let query = line.split(' ').nth(1).and_then(|target| target.split_once('?')).unwrap_or_default().1;
    let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    match (value("sendInitialEvents"), value("watch")) {
        (Some(_), _) => "initial".to_owned(),
        (None, Some(_)) => format!("watch {}", value("resourceVersion").unwrap_or_default()),
        (None, None) => ["limit", "continue"].iter().fold("list".to_owned(), |word, key| match value(key) {
            Some(value) => format!("{word} {key}={value}"),
            None => word,
        }),
    }
}

struct Connection {
    stream: TcpStream,
    sent: Arc<AtomicUsize>,
}

impl Connection {
    fn serve(&self, heads: &Mutex<Vec<String>>, answers: &Mutex<Vec<Answer>>) -> Option<()> {
        self.stream.set_nodelay(true).ok()?;
        let mut lines = BufReader::new(&self.stream).lines();
        loop {
            let mut head = lines.next()?.ok()?;
            loop {
                match lines.next()?.ok()? {
                    line if line.is_empty() => break,
                    line => head = format!("{head}\n{line}"),
                }
            }
            heads.lock().unwrap().push(head);
            let answer = {
                let mut answers = answers.lock().unwrap();
                if answers.len() > 1 { answers.remove(0) } else { answers.first().unwrap().clone() }
            };
            self.answer(answer)?;
        }
    }

    fn answer(&self, answer: Answer) -> Option<()> {
        match answer {
            Answer::Whole(code, body) => {
                let head = format!("HTTP/1.1 {code} x\r\ncontent-length: {}\r\n\r\n", body.len());
                self.send((head + &body).as_bytes())
            }
            Answer::Pieces(pieces) => {
                self.begin()?;
                pieces.iter().try_for_each(|piece| self.chunk(piece))?;
                self.send(b"0\r\n\r\n")
            }
            Answer::Endless(start) => {
                self.begin()?;
                self.chunk(start.as_bytes())?;
                loop {
                    self.chunk(&[b'x'; 10_000])?;
                }
            }
            Answer::Watch(lines) => {
                self.lines(&lines)?;
                self.send(b"0\r\n\r\n")
            }
            Answer::Cut(lines) => {
                self.lines(&lines)?;
                self.send(b"fff\r\n{\"type\":\"ADDED\",\"obj")?;
                None
            }
            Answer::Silence(lines) => {
                self.lines(&lines)?;
                thread::sleep(Duration::from_secs(60));
                None
            }
        }
    }

    fn lines(&self, lines: &[String]) -> Option<()> {
        self.begin()?;
        lines.iter().try_for_each(|line| self.chunk(format!("{line}\n").as_bytes()))
    }

    fn begin(&self) -> Option<()> {
        self.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    }

    fn chunk(&self, bytes: &[u8]) -> Option<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.send(&chunk)
    }

    fn send(&self, bytes: &[u8]) -> Option<()> {
        (&self.stream).write_all(bytes).ok()?;
        self.sent.fetch_add(bytes.len(), Ordering::SeqCst);
        Some(())
    }
}

/// The JSON of an object, such as `a@3`.
pub(crate) fn object(text: &str) -> String {
    let (name, version) = text.split_once('@').unwrap();
    format!(
        r#"{{"kind":"Thing","apiVersion":"v1","metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#
    )
}

/// The JSON of a list whose items do not say what they are.
pub(crate) fn list(objects: &str, version: u64) -> String {
    page(objects, version, "")
}

/// The JSON of a page of a list, of which 40 objects remain.
pub(crate) fn page(objects: &str, version: u64, token: &str) -> String {
    let item = |text: &str| object(text).replace(r#""kind":"Thing","apiVersion":"v1","#, "");
    let items: Vec<String> = objects.split_whitespace().map(item).collect();
    let rest = match token {
        "" => String::new(),
        token => format!(r#","continue":"{token}","remainingItemCount":40"#),
    };
    format!(
        r#"{{"kind":"ThingList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"{rest}}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// Lines of a watch: `+a@3` is a state, `-a@4` a deletion, `~@5` a bookmark, `>@5` the end of initial events, `!410` an
/// error.
pub(crate) fn watch_lines(text: &str) -> Vec<String> {
    let line = |word: &str| {
        let (kind, rest) = word.split_at(1);
        match kind {
            "!" => format!(r#"{{"type":"ERROR","object":{{"kind":"Status","code":{rest},"message":"no"}}}}"#),
            ">" => {
                let end = r#""annotations":{"k8s.io/initial-events-end":"true"},"name""#;
                format!(r#"{{"type":"BOOKMARK","object":{}}}"#, object(rest).replacen(r#""name""#, end, 1))
            }
            "+" => format!(r#"{{"type":"ADDED","object":{}}}"#, object(rest)),
            "-" => format!(r#"{{"type":"DELETED","object":{}}}"#, object(rest)),
            _ => format!(r#"{{"type":"BOOKMARK","object":{}}}"#, object(rest)),
        }
    };
    text.split_whitespace().map(line).collect()
}
